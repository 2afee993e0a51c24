//! Visitor tokens: the holder of a token is the visitor of one conversation.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openapi_core::server_keys::ServerKeys;
use openapi_core::values::{AgentId, ConversationId, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::hex;
use crate::VisitorId;
use crate::conversation::DAY_MILLIS;

/// Separates signatures of tokens from other uses of a server key.
const PURPOSE: &str = "visitor token";
/// The prefix of a token.
const PREFIX: &str = "vt1.";
/// The most bytes of a token.
const MAX_BYTES: usize = 512;
/// The epoch of the tokens of a conversation until they are revoked.
pub(crate) const FIRST_EPOCH: u32 = 1;
/// How long a token lives.
const LIFE_MILLIS: i64 = 30 * DAY_MILLIS;
/// How long a token of a session lives.
const SESSION_MILLIS: i64 = DAY_MILLIS;
/// The age from which on a token is replaced.
const RENEWED_MILLIS: i64 = DAY_MILLIS;

/// The content of a token. It opens its own conversation and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct VisitorToken {
    #[serde(rename = "a")]
    pub(crate) agent: AgentId,
    #[serde(rename = "v")]
    pub(crate) visitor: VisitorId,
    #[serde(rename = "c")]
    pub(crate) conversation: ConversationId,
    /// The first bytes of the SHA-256 of the page's origin.
    #[serde(rename = "o")]
    origin: String,
    /// The conversation's epoch. A later epoch revokes the token.
    #[serde(rename = "e")]
    pub(crate) epoch: u32,
    #[serde(rename = "l")]
    pub(crate) level: u8,
    /// Random, so that no two tokens are equal.
    #[serde(rename = "n")]
    nonce: u32,
    #[serde(rename = "i")]
    issued: i64,
    #[serde(rename = "x")]
    expires: i64,
}

impl VisitorToken {
    #[expect(clippy::too_many_arguments, reason = "each is a member of the token")]
    pub(crate) fn new(
        agent: AgentId,
        visitor: VisitorId,
        conversation: ConversationId,
        origin: &str,
        epoch: u32,
        level: u8,
        is_session: bool,
        nonce: u32,
        now: Timestamp,
    ) -> Self {
        let life = if is_session { SESSION_MILLIS } else { LIFE_MILLIS };
        let expires = now.plus_millis(life).seconds();
        let origin = origin_hash(origin);
        VisitorToken {
            agent,
            visitor,
            conversation,
            origin,
            epoch,
            level,
            nonce,
            issued: now.seconds(),
            expires,
        }
    }

    pub(crate) fn sign(&self, keys: &ServerKeys) -> String {
        let payload = URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default());
        let signature = URL_SAFE_NO_PAD.encode(keys.tag(PURPOSE, payload.as_bytes()));
        format!("{PREFIX}{payload}.{signature}")
    }

    /// Reads a token of a page of `origin`; [`None`] if it is altered, expired or of another origin. The content is
    /// parsed only after the signature is verified.
    pub(crate) fn read(keys: &ServerKeys, text: &str, origin: &str, now: Timestamp) -> Option<Self> {
        let (payload, signature) =
            text.strip_prefix(PREFIX).filter(|_| text.len() <= MAX_BYTES)?.split_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok().filter(|signature| signature.len() == 32)?;
        if !keys.verifies(PURPOSE, payload.as_bytes(), &signature) {
            return None;
        }
        let token: VisitorToken = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).ok()?).ok()?;
        (now.seconds() < token.expires && token.origin == origin_hash(origin)).then_some(token)
    }

    pub(crate) fn expires_at(&self) -> Timestamp {
        Timestamp::from_millis(self.expires * 1_000)
    }

    /// Whether it is a token of a session.
    pub(crate) fn is_session(&self) -> bool {
        (self.expires - self.issued) * 1_000 <= SESSION_MILLIS
    }

    /// Whether it is old enough to be replaced.
    pub(crate) fn is_aged(&self, now: Timestamp) -> bool {
        (now.seconds() - self.issued) * 1_000 >= RENEWED_MILLIS
    }
}

/// Pages without an origin share the hash of the empty one.
fn origin_hash(origin: &str) -> String {
    hex(&Sha256::digest(origin.to_ascii_lowercase())[..8])
}

#[cfg(test)]
mod tests {
    use super::*;
    use openapi_core::server_keys::ServerKey;
    use proptest::prelude::*;

    const NOW: Timestamp = Timestamp::from_millis(1_769_852_400_000);
    const PAGE: &str = "https://www.example.com";

    fn keys(bytes: &[u8]) -> ServerKeys {
        let mut keys = bytes.iter().map(|byte| ServerKey::new(&[*byte; 32]));
        ServerKeys::new(keys.next().expect("a key"), keys.collect())
    }

    fn token() -> VisitorToken {
        let conversation = "697dcf3a5b0c8e14d2f7a690".parse().expect("an id");
        VisitorToken::new(
            "acme".parse().expect("an id"),
            VisitorId([3; 16]),
            conversation,
            PAGE,
            1,
            0,
            false,
            7,
            NOW,
        )
    }

    #[test]
    fn a_token_opens_its_conversation_until_it_ends() {
        let signed = token().sign(&keys(&[7]));
        assert!(signed.len() <= MAX_BYTES, "{}", signed.len());
        assert_eq!(VisitorToken::read(&keys(&[7]), &signed, PAGE, NOW), Some(token()));
        assert_eq!(VisitorToken::read(&keys(&[8, 7]), &signed, PAGE, NOW), Some(token()), "a rotated key");
        assert_eq!(VisitorToken::read(&keys(&[8]), &signed, PAGE, NOW), None);
        assert_eq!(VisitorToken::read(&keys(&[7]), &signed, "https://evil.example", NOW), None);
        let last = Timestamp::from_millis(token().expires_at().millis() - 1);
        assert!(VisitorToken::read(&keys(&[7]), &signed, PAGE, last).is_some());
        assert_eq!(VisitorToken::read(&keys(&[7]), &signed, PAGE, token().expires_at()), None);
        assert!(!token().is_aged(NOW) && token().is_aged(NOW.plus_millis(DAY_MILLIS)));
        assert!(!token().is_session());
    }

    proptest! {
        #[test]
        fn an_altered_token_is_none(at in 0_usize..400, with in any::<char>()) {
            let signed = token().sign(&keys(&[7]));
            let mut letters: Vec<char> = signed.chars().collect();
            let at = at % letters.len();
            prop_assume!(letters[at] != with);
            letters[at] = with;
            let altered: String = letters.into_iter().collect();
            prop_assert_eq!(VisitorToken::read(&keys(&[7]), &altered, PAGE, NOW), None);
        }

        #[test]
        fn no_text_breaks_the_reader(text in ".*") {
            prop_assert_eq!(VisitorToken::read(&keys(&[7]), &text, PAGE, NOW), None);
            prop_assert_eq!(VisitorToken::read(&keys(&[7]), &format!("vt1.{text}"), PAGE, NOW), None);
        }
    }
}
