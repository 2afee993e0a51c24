//! Recovery codes: the way back of a person who has lost their authenticators.

use openapi_core::platform::Platform;
use openapi_core::reply::ApiError;
use openapi_core::storage::RecordChange;
use openapi_core::values::PlatformId;
use subtle::ConstantTimeEq;

use super::records::{OperatorBody, People, RecoveryCodesBody, Stored, unique_email};
use crate::context::Context;
use crate::state::Inner;

/// How many codes are made at once.
const CODES: usize = 10;
/// The characters of a code: 50 random bits.
const CHARS: usize = 10;
const PURPOSE: &str = "console recovery code";
/// Crockford's base 32: no letter looks like a digit.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// New codes of an operator: as they are shown, and as they are stored.
pub(crate) fn make(platform: &Platform, operator: PlatformId) -> (Vec<String>, RecoveryCodesBody) {
    let keys = &platform.ports().server_keys;
    let (mut shown, mut tags) = (Vec::new(), Vec::new());
    for _ in 0..CODES {
        let mut code = [0; CHARS];
        platform.ports().ids.fill(&mut code);
        let code = code.map(|byte| ALPHABET[usize::from(byte & 31)]);
        tags.push(super::cookies::encode(&keys.tag(PURPOSE, &message(operator, &code))));
        let halves: Vec<String> =
            code.chunks(CHARS / 2).map(|half| half.iter().copied().map(char::from).collect()).collect();
        shown.push(halves.join("-"));
    }
    let server_key = keys.current_id().to_owned();
    (shown, RecoveryCodesBody { tags, server_key, made_at: platform.now(), used_at: None })
}

fn message(operator: PlatformId, code: &[u8]) -> Vec<u8> {
    [operator.as_bytes().as_slice(), code].concat()
}

/// A code as it was made, however it was typed.
fn read(text: &str) -> Vec<u8> {
    let letters = text.bytes().filter(|byte| byte.is_ascii_alphanumeric()).take(CHARS + 1);
    let read = letters.map(|letter| match letter.to_ascii_uppercase() {
        b'O' => b'0',
        b'I' | b'L' => b'1',
        letter => letter,
    });
    read.collect()
}

impl RecoveryCodesBody {
    /// Uses a code up; `false` if it is none of these.
    pub(crate) fn accept(&mut self, platform: &Platform, operator: PlatformId, sent: &str) -> bool {
        let keys = &platform.ports().server_keys;
        let tag = keys.tag_with(&self.server_key, PURPOSE, &message(operator, &read(sent)));
        let tag = tag.map(|tag| super::cookies::encode(&tag)).unwrap_or_default();
        let before = self.tags.len();
        self.tags.retain(|known| !bool::from(known.as_bytes().ct_eq(tag.as_bytes())));
        if self.tags.len() < before {
            self.used_at = Some(platform.now());
        }
        self.tags.len() < before
    }
}

impl Inner {
    /// Makes new recovery codes of an operator in place of the former ones, and adds them to the changes.
    pub(crate) async fn new_recovery_codes(
        &self,
        operator: PlatformId,
        changes: &mut Vec<RecordChange>,
    ) -> Result<Vec<String>, ApiError> {
        let (shown, body) = make(self.platform(), operator);
        changes.push(People(self.platform()).replace(operator.into(), body).await?);
        Ok(shown)
    }

    /// Verifies a recovery code and uses it up. An unknown address takes as long and gets the same answer.
    pub(crate) async fn proven_recovery(
        &self,
        cx: &Context<'_>,
        email: &str,
        code: &str,
    ) -> Result<(Stored<OperatorBody>, RecordChange), ApiError> {
        let key = unique_email(email);
        let people = People(self.platform());
        let account = people.by_unique::<OperatorBody>(&key).await?;
        let operator = account.as_ref().map(Stored::operator_id).transpose()?;
        self.count_attempt(cx, key, operator)?;
        let operator = operator.unwrap_or(PlatformId::from_bytes([0; 12]));
        let stored = people.get::<RecoveryCodesBody>(&operator.into()).await?;
        let is_there = stored.is_some();
        // Codes of nobody, so that the work is the same.
        let mut stored = stored.unwrap_or_else(|| {
            let server_key = self.platform().ports().server_keys.current_id().to_owned();
            let body = RecoveryCodesBody {
                tags: vec!["A".repeat(43); CODES],
                server_key,
                made_at: self.platform().now(),
                used_at: None,
            };
            Stored::new(operator.into(), body)
        });
        let fits = stored.body.accept(self.platform(), operator, code) && is_there;
        match account.filter(|account| fits && !account.body.is_disabled) {
            Some(account) => Ok((account, stored.save()?)),
            None => Err(self.failed_attempt(cx, "a recovery code")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_however_it_is_typed() {
        for text in ["01ABC-DEFGH", "o1abcdefgh", " OlAbc defgh ", "0iabc–defgh"] {
            assert_eq!(read(text), b"01ABCDEFGH", "{text}");
        }
        assert_eq!(read("01ABC-DEFGH-more and more").len(), CHARS + 1);
    }
}
