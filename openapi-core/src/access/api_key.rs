//! The strings of a key: tag, random part, check characters (contract 7.1).

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ports::IdGenerator;
use crate::validation::{ValidationCode, ValidationIssue};
use crate::values::{Invalid, TextValue};

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const KEY_RANDOM: usize = 24;
const SECRET_RANDOM: usize = 43;
const CHECK: usize = 6;

/// The characters of a secret after its prefix.
pub const SECRET_LENGTH: usize = SECRET_RANDOM + CHECK;

/// The tag of issued keys, `svc` by default: `^[a-z][a-z0-9]{1,7}$`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKeyPrefix(String);

impl ApiKeyPrefix {
    /// Reads a tag.
    ///
    /// # Errors
    /// When the text does not match `^[a-z][a-z0-9]{1,7}$`.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        if is_tag(text) {
            Ok(ApiKeyPrefix(text.to_owned()))
        } else {
            Err(Invalid(ValidationIssue::new(ValidationCode::Pattern, "must match ^[a-z][a-z0-9]{1,7}$")))
        }
    }

    /// The tag.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for ApiKeyPrefix {
    fn default() -> Self {
        ApiKeyPrefix("svc".to_owned())
    }
}

fn is_tag(text: &str) -> bool {
    (2..=8).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        && text.as_bytes()[0].is_ascii_lowercase()
}

/// The public identifier of a key: `<tag>k_` + 24 characters + 6 check characters.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ApiKey(Arc<str>);

/// The secret of a key: `<tag>s_` + 43 characters + 6 check characters. Never shown by `Debug`, never stored.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiSecret(Box<str>);

fn check_characters(text: &str) -> [u8; CHECK] {
    let mut rest = crc32fast::hash(text.as_bytes());
    let mut check = [b'0'; CHECK];
    for digit in check.iter_mut().rev() {
        *digit = ALPHABET[(rest % 62) as usize];
        rest /= 62;
    }
    check
}

/// Whether `text` is `<tag><kind>_` + `random` characters of the alphabet + their check characters.
fn is_valid(text: &str, kind: char, random: usize) -> bool {
    let Some((prefix, body)) = text.split_once('_') else { return false };
    let Some((body, check)) = body.split_at_checked(random) else { return false };
    prefix.strip_suffix(kind).is_some_and(is_tag)
        && body.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && check.as_bytes() == check_characters(&text[..text.len() - check.len()])
}

fn generate(tag: &ApiKeyPrefix, kind: char, random: usize, mut fill: impl FnMut(&mut [u8; 64])) -> Box<str> {
    let mut text = format!("{}{kind}_", tag.0);
    let end = text.len() + random;
    let mut pool = [0; 64];
    while text.len() < end {
        fill(&mut pool);
        // Values from 248 on would favour the first eight characters.
        let fair =
            pool.iter().filter(|byte| **byte < 248).map(|byte| char::from(ALPHABET[usize::from(byte % 62)]));
        let missing = end - text.len();
        text.extend(fair.take(missing));
    }
    let check = check_characters(&text);
    text.extend(check.map(char::from));
    text.into()
}

impl std::borrow::Borrow<str> for ApiKey {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl ApiKey {
    /// A new key.
    #[must_use]
    pub fn generate(tag: &ApiKeyPrefix, ids: &dyn IdGenerator) -> Self {
        ApiKey(generate(tag, 'k', KEY_RANDOM, |pool| ids.fill(pool)).into())
    }

    /// Reads a key; `None` for text of another form or with wrong check characters.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        is_valid(text, 'k', KEY_RANDOM).then(|| ApiKey(text.into()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ApiSecret {
    /// A new secret.
    #[must_use]
    pub fn generate(tag: &ApiKeyPrefix, ids: &dyn IdGenerator) -> Self {
        ApiSecret(generate(tag, 's', SECRET_RANDOM, |pool| ids.fill(pool)))
    }

    /// The secret of another kind that these bytes make: the same bytes, the same secret.
    #[must_use]
    pub fn derived(tag: &ApiKeyPrefix, kind: char, bytes: &[u8; 32]) -> String {
        use sha2::{Digest, Sha512};
        let mut round = 0_u8;
        generate(tag, kind, SECRET_RANDOM, |pool| {
            pool.copy_from_slice(&Sha512::digest([bytes.as_slice(), &[round]].concat()));
            round = round.wrapping_add(1);
        })
        .into()
    }

    /// Whether text has the form of a secret of another kind, check characters included.
    #[must_use]
    pub fn has_form(text: &str, kind: char) -> bool {
        is_valid(text, kind, SECRET_RANDOM)
    }

    /// Reads a secret; `None` for text of another form or with wrong check characters.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        is_valid(text, 's', SECRET_RANDOM).then(|| ApiSecret(text.into()))
    }

    /// The secret itself, to be shown once or to be hashed.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiSecret(…)")
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TextValue for ApiKey {
    fn parse(text: &str) -> Result<Self, ValidationIssue> {
        ApiKey::parse(text).ok_or_else(|| ValidationIssue::new(ValidationCode::Format, "must be an API key"))
    }

    fn json_schema() -> serde_json::Value {
        serde_json::json!({ "type": "string", "pattern": "^[a-z][a-z0-9]{1,7}k_[0-9A-Za-z]{30}$" })
    }
}

impl Serialize for ApiKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ApiKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        ApiKey::parse(&text).ok_or_else(|| serde::de::Error::custom("not an API key"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::SequentialIds;

    #[test]
    fn the_contracts_examples_are_valid() {
        assert!(ApiKey::parse("svck_RfJZUgVExJF32DK00DIYDXH21VOQOJ").is_some());
        assert!(ApiSecret::parse("svcs_STsUVpc3qVvl5Sbj31mZ6wKgrlqqE4V28hm8oirHVMa2CI6Cq").is_some());
    }

    #[test]
    fn one_wrong_character_is_noticed() {
        let key = "svck_RfJZUgVExJF32DK00DIYDXH21VOQOJ";
        for at in 0..key.len() {
            let mut wrong = key.as_bytes().to_vec();
            wrong[at] = if wrong[at] == b'x' { b'y' } else { b'x' };
            assert!(ApiKey::parse(std::str::from_utf8(&wrong).unwrap()).is_none(), "at {at}");
        }
        for bad in [
            "",
            "_",
            "svck_",
            "svcs_STsUVpc3qVvl5Sbj31mZ6wKgrlqqE4V28hm8oirHVMa2CI6Cq",
            "k_RfJZUgVExJF32DK00DIYDXH21VOQOJ",
            "svck_éééééééééééééé",
        ] {
            assert!(ApiKey::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn generated_keys_are_valid_and_differ() {
        let ids = SequentialIds::default();
        let tag = ApiKeyPrefix::new("acme").unwrap();
        let keys: Vec<_> = (0..100).map(|_| ApiKey::generate(&tag, &ids)).collect();
        assert!(keys.iter().all(|key| ApiKey::parse(key.as_str()).is_some()));
        assert!(keys.iter().all(|key| key.as_str().starts_with("acmek_")));
        let secret = ApiSecret::generate(&tag, &ids);
        assert!(ApiSecret::parse(secret.expose()).is_some());
        assert_eq!(format!("{secret:?}"), "ApiSecret(…)");
        assert_eq!(keys.iter().collect::<std::collections::HashSet<_>>().len(), 100);
    }
}
