//! The signed links of an e-mail: one that leads back to the conversation, and one that stops such e-mail.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openapi_core::server_keys::ServerKeys;
use openapi_core::storage::{RecordId, RecordKey, RecordKind};
use openapi_core::values::{AgentId, ConversationId, Email, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::conversation::DAY_MILLIS;

/// The most bytes of a link's token.
const MAX_BYTES: usize = 512;
/// How long a link leads back to a conversation.
const LIFE_MILLIS: i64 = 7 * DAY_MILLIS;

/// A token with a content of its own; separate purposes keep the tokens of one kind from counting as another.
trait SignedLink: Serialize + DeserializeOwned {
    /// Separates its signatures from other uses of a server key.
    const PURPOSE: &'static str;
    /// What it begins with.
    const PREFIX: &'static str;

    fn signed(&self, keys: &ServerKeys) -> String {
        let payload = URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default());
        let signature = URL_SAFE_NO_PAD.encode(keys.tag(Self::PURPOSE, payload.as_bytes()));
        format!("{}{payload}.{signature}", Self::PREFIX)
    }

    /// The content of a token; [`None`] if it is altered. It is parsed only after the signature is verified.
    fn verified(keys: &ServerKeys, text: &str) -> Option<Self> {
        let (payload, signature) =
            text.strip_prefix(Self::PREFIX).filter(|_| text.len() <= MAX_BYTES)?.split_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok().filter(|signature| signature.len() == 32)?;
        if !keys.verifies(Self::PURPOSE, payload.as_bytes(), &signature) {
            return None;
        }
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).ok()?).ok()
    }
}

/// Leads back to a conversation, once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ResumeLink {
    #[serde(rename = "a")]
    pub(crate) agent: AgentId,
    #[serde(rename = "c")]
    pub(crate) conversation: ConversationId,
    /// The conversation's epoch. A later epoch revokes the link.
    #[serde(rename = "e")]
    pub(crate) epoch: u32,
    /// The number of the last message in the e-mail, which distinguishes the links of a conversation.
    #[serde(rename = "n")]
    pub(crate) number: u64,
    #[serde(rename = "x")]
    expires: i64,
}

impl SignedLink for ResumeLink {
    const PURPOSE: &'static str = "resume link";
    const PREFIX: &'static str = "rl1.";
}

impl ResumeLink {
    pub(super) fn new(
        agent: AgentId,
        conversation: ConversationId,
        epoch: u32,
        number: u64,
        now: Timestamp,
    ) -> Self {
        let expires = now.plus_millis(LIFE_MILLIS).seconds();
        ResumeLink { agent, conversation, epoch, number, expires }
    }

    pub(super) fn sign(&self, keys: &ServerKeys) -> String {
        self.signed(keys)
    }

    /// The link of a token; [`None`] if it is altered or has expired.
    pub(crate) fn read(keys: &ServerKeys, text: &str, now: Timestamp) -> Option<Self> {
        ResumeLink::verified(keys, text).filter(|link| now.seconds() < link.expires)
    }
}

/// Stops e-mail of an agent to an address. It names the address by a hash and never expires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OptOutLink {
    #[serde(rename = "a")]
    pub(super) agent: AgentId,
    #[serde(rename = "h")]
    address: String,
}

impl SignedLink for OptOutLink {
    const PURPOSE: &'static str = "unsubscribe link";
    const PREFIX: &'static str = "un1.";
}

impl OptOutLink {
    pub(super) fn new(agent: AgentId, address: &Email) -> Self {
        OptOutLink { agent, address: URL_SAFE_NO_PAD.encode(Sha256::digest(address.normalized())) }
    }

    pub(super) fn sign(&self, keys: &ServerKeys) -> String {
        self.signed(keys)
    }

    pub(super) fn read(keys: &ServerKeys, text: &str) -> Option<Self> {
        OptOutLink::verified(keys, text)
    }

    /// The key of the record that says that the address wants no e-mail.
    pub(super) fn record(&self) -> RecordKey {
        let hash = URL_SAFE_NO_PAD.decode(&self.address).unwrap_or_default();
        RecordKey::new(RecordKind::MailOptOut, RecordId::from_bytes(&hash).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use openapi_core::server_keys::ServerKey;
    use proptest::prelude::*;

    const NOW: Timestamp = Timestamp::from_millis(1_769_852_400_000);

    fn keys(byte: u8) -> ServerKeys {
        ServerKeys::new(ServerKey::new(&[byte; 32]), Vec::new())
    }

    fn link() -> ResumeLink {
        let conversation = "697dcf3a5b0c8e14d2f7a690".parse().expect("an id");
        ResumeLink::new("acme".parse().expect("an id"), conversation, 1, 4, NOW)
    }

    fn opt_out() -> OptOutLink {
        let address = "Zoe@Example.com".parse().expect("an address");
        OptOutLink::new("acme".parse().expect("an id"), &address)
    }

    #[test]
    fn a_link_opens_its_conversation_for_a_week() {
        let signed = link().sign(&keys(7));
        assert_eq!(ResumeLink::read(&keys(7), &signed, NOW), Some(link()));
        assert_eq!(ResumeLink::read(&keys(8), &signed, NOW), None);
        assert!(ResumeLink::read(&keys(7), &signed, NOW.plus_millis(LIFE_MILLIS - 1_000)).is_some());
        assert_eq!(ResumeLink::read(&keys(7), &signed, NOW.plus_millis(LIFE_MILLIS)), None);
    }

    #[test]
    fn a_link_of_one_kind_is_none_of_the_other() {
        let (resume, stop) = (link().sign(&keys(7)), opt_out().sign(&keys(7)));
        let as_other = |text: &str, from: &str, to: &str| text.replacen(from, to, 1);
        assert_eq!(ResumeLink::read(&keys(7), &as_other(&stop, "un1.", "rl1."), NOW), None);
        assert_eq!(OptOutLink::read(&keys(7), &as_other(&resume, "rl1.", "un1.")), None);
        assert_eq!(OptOutLink::read(&keys(7), &stop), Some(opt_out()));
    }

    #[test]
    fn equal_addresses_have_one_record() {
        let of = |text: &str| {
            OptOutLink::new("acme".parse().expect("an id"), &text.parse().expect("an address")).record()
        };
        assert_eq!(of("zoe@example.com"), of("ZOE@EXAMPLE.COM"));
        assert_ne!(of("zoe@example.com"), of("zoe@example.org"));
        assert_eq!(of("zoe@example.com").id.as_bytes().len(), 32);
    }

    proptest! {
        #[test]
        fn an_altered_link_is_none(at in 0_usize..400, with in any::<char>()) {
            for signed in [link().sign(&keys(7)), opt_out().sign(&keys(7))] {
                let mut letters: Vec<char> = signed.chars().collect();
                let at = at % letters.len();
                prop_assume!(letters[at] != with);
                letters[at] = with;
                let altered: String = letters.into_iter().collect();
                prop_assert_eq!(ResumeLink::read(&keys(7), &altered, NOW), None);
                prop_assert_eq!(OptOutLink::read(&keys(7), &altered), None);
            }
        }

        #[test]
        fn no_text_breaks_the_reader(text in ".*") {
            for text in [text.clone(), format!("rl1.{text}"), format!("un1.{text}")] {
                prop_assert_eq!(ResumeLink::read(&keys(7), &text, NOW), None);
                prop_assert_eq!(OptOutLink::read(&keys(7), &text), None);
            }
        }
    }
}
