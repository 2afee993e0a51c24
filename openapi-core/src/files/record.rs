//! The record of a file and its JSON form.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize, Serializer};

use super::{FileKind, FileName};
use crate::access::Actor;
use crate::json::{json_object, schemas};
use crate::values::{AgentId, ContactId, FileId, Timestamp};

/// A file of a contact (contract 2.2). A file never changes; it is there, or it was deleted.
#[derive(Clone, Debug, PartialEq)]
pub struct ContactFile {
    /// The platform id.
    pub id: FileId,
    /// The agent of the contact.
    pub agent_id: AgentId,
    /// The contact.
    pub contact_id: ContactId,
    /// The name, made safe.
    pub file_name: FileName,
    /// The size in bytes.
    pub file_size: u64,
    /// The media type of the content, whatever the upload declared.
    pub content_type: FileKind,
    /// SHA-256 of the content.
    pub sha256: Sha256Digest,
    /// Where the file came from: `api`.
    pub source: String,
    /// Who uploaded it.
    pub uploaded_by: Actor,
    /// The id of the server key that its content is sealed with. Contents that a former release stored are not sealed
    /// until `Platform::seal_contents` does it.
    pub server_key: Option<String>,
    /// When it was uploaded.
    pub created_at: Timestamp,
    /// The same: a file never changes.
    pub updated_at: Timestamp,
}

json_object! { ContactFile as "File" {
    "description": "A file of a contact. A file never changes; it is there, or it was deleted."
} = |file| {
    "id": FileId = file.id,
    "agentId": AgentId = file.agent_id,
    "contactId": ContactId = file.contact_id,
    "fileName": FileName {
        "description": "The name as sent, made safe for every system; at most 255 bytes."
    } = file.file_name,
    "fileSize": u64 { "minimum": 1, "description": "In bytes." } = file.file_size,
    "contentType": &'static str {
        "description": "The media type of the content, whatever the upload declared."
    } = file.content_type.media_type(),
    "sha256": Sha256Digest { "description": "SHA-256 of the content." } = file.sha256,
    "source": String = file.source,
    "uploadedBy": Actor = file.uploaded_by,
    "createdAt": Timestamp = file.created_at,
    "updatedAt": Timestamp = file.updated_at,
} }

schemas! {
    Sha256Digest: { "type": "string", "pattern": "^[0-9a-f]{64}$" },
}

impl ContactFile {
    /// The strong entity tag of the record, quotes included (contract 5.4).
    #[must_use]
    pub fn etag(&self) -> String {
        format!("\"{}-{:x}\"", self.id, self.updated_at.millis())
    }

    /// The strong entity tag of the content, quotes included (contract 2.2).
    #[must_use]
    pub fn content_etag(&self) -> String {
        format!("\"{}\"", self.sha256)
    }
}

/// A SHA-256 digest, written as 64 lowercase hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sha256Digest(pub [u8; 32]);

impl fmt::Display for Sha256Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Text that is no digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a SHA-256 digest is 64 hexadecimal digits")]
pub struct InvalidDigest;

impl FromStr for Sha256Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        let digits: &[u8; 64] = text.as_bytes().try_into().map_err(|_| InvalidDigest)?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |digit: u8| char::from(digit).to_digit(16).ok_or(InvalidDigest);
            *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
        }
        Ok(Sha256Digest(bytes))
    }
}

impl Serialize for Sha256Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Sha256Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::ApiKey;

    /// The record of contract 2.2, to the byte.
    #[test]
    fn the_contracts_record() {
        let at: Timestamp = "2026-01-31T09:20:11.480Z".parse().expect("a time");
        let file = ContactFile {
            id: "697dc94b74a1f572c54b78cf".parse().expect("an id"),
            agent_id: "695b6f80de7378c4412112d3".parse().expect("an id"),
            contact_id: "697dc8165d4ffa83cfc35cfc".parse().expect("an id"),
            file_name: "referral.pdf".parse().expect("a name"),
            file_size: 48_213,
            content_type: FileKind::Pdf,
            sha256: "97289ea930241a328beebe327b039a7358f952570d36923702f93e165f1b2e37"
                .parse()
                .expect("a digest"),
            source: "api".to_owned(),
            uploaded_by: Actor::ApiKey(ApiKey::parse("svck_RfJZUgVExJF32DK00DIYDXH21VOQOJ").expect("a key")),
            server_key: None,
            created_at: at,
            updated_at: at,
        };
        assert_eq!(
            serde_json::to_string(&file).expect("JSON"),
            r#"{"id":"697dc94b74a1f572c54b78cf","agentId":"695b6f80de7378c4412112d3","contactId":"697dc8165d4ffa83cfc35cfc","fileName":"referral.pdf","fileSize":48213,"contentType":"application/pdf","sha256":"97289ea930241a328beebe327b039a7358f952570d36923702f93e165f1b2e37","source":"api","uploadedBy":{"type":"apiKey","id":"svck_RfJZUgVExJF32DK00DIYDXH21VOQOJ"},"createdAt":"2026-01-31T09:20:11.480Z","updatedAt":"2026-01-31T09:20:11.480Z"}"#
        );
        assert_eq!(file.content_etag().len(), 66);
    }

    #[test]
    fn digests_are_read_strictly() {
        assert_eq!("ab".parse::<Sha256Digest>(), Err(InvalidDigest));
        assert_eq!("g".repeat(64).parse::<Sha256Digest>(), Err(InvalidDigest));
        assert_eq!("0f".repeat(32).parse(), Ok(Sha256Digest([15; 32])));
    }
}
