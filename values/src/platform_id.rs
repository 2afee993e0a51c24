//! Platform ids: 24 hexadecimal digits, 4 bytes of creation time and 8 random bytes (contract 2).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Invalid, Timestamp};
use crate::json::schemas;
use crate::validation::{ValidationCode, ValidationIssue};

/// Twelve bytes, shown as 24 lowercase hexadecimal digits. Ids of one kind sort by their creation time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlatformId([u8; 12]);

impl PlatformId {
    /// An id of `at` with the given randomness.
    #[must_use]
    pub fn new(at: Timestamp, random: [u8; 8]) -> Self {
        let seconds = u32::try_from(at.seconds()).unwrap_or(if at.seconds() < 0 { 0 } else { u32::MAX });
        let mut bytes = [0; 12];
        bytes[..4].copy_from_slice(&seconds.to_be_bytes());
        bytes[4..].copy_from_slice(&random);
        PlatformId(bytes)
    }

    /// The id of these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 12]) -> Self {
        PlatformId(bytes)
    }

    /// When the id was made, in whole seconds.
    #[must_use]
    pub const fn created_at(&self) -> Timestamp {
        let [a, b, c, d, ..] = self.0;
        Timestamp::from_millis(u32::from_be_bytes([a, b, c, d]) as i64 * 1_000)
    }

    /// The bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 12] {
        &self.0
    }

    /// The id that sorts right after this one; itself where it is the last.
    #[must_use]
    pub fn next(self) -> Self {
        let mut bytes = self.0;
        for byte in bytes.iter_mut().rev() {
            *byte = byte.wrapping_add(1);
            if *byte > 0 {
                return PlatformId(bytes);
            }
        }
        self
    }

    fn parse(text: &str) -> Result<Self, ValidationIssue> {
        let invalid = || ValidationIssue::new(ValidationCode::Format, "must be 24 hexadecimal characters");
        let digits: &[u8; 24] = text.as_bytes().try_into().map_err(|_| invalid())?;
        let nibble = |digit: u8| match digit {
            b'0'..=b'9' => Ok(digit - b'0'),
            b'a'..=b'f' => Ok(digit - b'a' + 10),
            b'A'..=b'F' => Ok(digit - b'A' + 10),
            _ => Err(invalid()),
        };
        let mut bytes = [0; 12];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Ok(PlatformId(bytes))
    }

    fn with_hex<T>(&self, use_text: impl FnOnce(&str) -> T) -> T {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [b'0'; 24];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        use_text(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Display for PlatformId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_hex(|text| f.write_str(text))
    }
}

impl fmt::Debug for PlatformId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for PlatformId {
    type Err = Invalid;

    /// Accepts upper-case digits, which the contract normalises (contract 5.1).
    fn from_str(text: &str) -> Result<Self, Invalid> {
        PlatformId::parse(text).map_err(Invalid)
    }
}

impl Serialize for PlatformId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.with_hex(|text| serializer.serialize_str(text))
    }
}

impl<'de> Deserialize<'de> for PlatformId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

macro_rules! platform_ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(PlatformId);

        impl $name {
            /// The bytes.
            #[must_use]
            pub const fn as_bytes(&self) -> &[u8; 12] {
                self.0.as_bytes()
            }

            /// The id of these bytes.
            #[must_use]
            pub const fn from_bytes(bytes: [u8; 12]) -> Self {
                $name(PlatformId::from_bytes(bytes))
            }

            /// When the id was made, in whole seconds.
            #[must_use]
            pub const fn created_at(&self) -> Timestamp {
                self.0.created_at()
            }
        }

        impl From<PlatformId> for $name {
            fn from(id: PlatformId) -> Self {
                $name(id)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        schemas! { $name: { "type": "string", "pattern": "^[0-9a-f]{24}$" }, }

        impl FromStr for $name {
            type Err = Invalid;

            fn from_str(text: &str) -> Result<Self, Invalid> {
                text.parse().map($name)
            }
        }
    )*};
}

platform_ids! {
    /// The platform id of a contact: `<contactId>` of the specification.
    ContactId;
    /// The id of a contact's file: `<fileId>` of the specification.
    FileId;
    /// The id of a form template: `<templateId>` of the specification.
    TemplateId;
    /// The id of a form submission: `<submissionId>` of the specification.
    SubmissionId;
    /// The id of an API key's record; what callers see is the public key string.
    KeyId;
    /// The id of an audit entry.
    AuditId;
    /// The id of a conversation in the widget.
    ConversationId;
    /// The id of a message of a conversation.
    MessageId;
    /// The id of a document that an agent answers from.
    KnowledgeId;
    /// The id of a job that runs in the background: `<jobId>`.
    JobId;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_id_sorts_right_after() {
        let ending = |bytes: [u8; 3]| {
            let mut id = [7; 12];
            id[9..].copy_from_slice(&bytes);
            PlatformId::from_bytes(id)
        };
        for (id, next) in [([1, 2, 3], [1, 2, 4]), ([1, 2, 255], [1, 3, 0]), ([1, 255, 255], [2, 0, 0])] {
            assert_eq!(ending(id).next(), ending(next));
        }
        let last = PlatformId::from_bytes([255; 12]);
        assert_eq!(last.next(), last);
    }
}
