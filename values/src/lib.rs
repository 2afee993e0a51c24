//! The values of the Open API: types that cannot hold something invalid, the JSON they come from, and the errors that
//! refuse it.
//!
//! One declaration gives a type its parser and its JSON Schema; the generators of the crate `testkit` produce what the
//! parsers accept. The crate `openapi-core` re-exports everything here as `openapi_core::values`,
//! `openapi_core::json` and `openapi_core::validation`.

mod agent_id;
mod boolean;
pub mod byte_range;
mod date;
mod disposition;
mod email;
mod external_id;
mod file_name;
mod fold;
pub mod json;
mod marks;
mod origin;
pub mod part_head;
mod phone;
pub mod phone_forms;
mod platform_id;
mod status;
mod text;
mod timestamp;
pub mod validation;
mod words;

pub use agent_id::AgentId;
pub use boolean::parse_boolean;
pub use date::Date;
pub use disposition::Disposition;
pub use email::{Email, without_marks as email_without_marks};
pub use external_id::ExternalId;
pub use file_name::FileName;
pub use fold::{fold, fold_case};
pub use marks::visible;
pub use origin::Origin;
pub use phone::{Phone, PhoneCode, digits};
pub use platform_id::{
    AuditId, ContactId, ConversationId, FileId, JobId, KeyId, KnowledgeId, MessageId, PlatformId,
    SubmissionId, TemplateId,
};
pub use status::ContactStatus;
pub use text::{Block, Line, Opaque, Tag};
pub use timestamp::Timestamp;

use crate::json::JsonSchema;
use crate::validation::ValidationIssue;

/// A value that is read from text.
///
/// # Contract
/// - `parse` accepts exactly what the value's rule allows and returns the stored form.
/// - Text that `parse` accepts, `json_schema` accepts.
pub trait TextValue: Sized {
    /// Reads the value.
    ///
    /// # Errors
    /// The first rule that the text breaks, in the order of contract 6.2: characters, length, format, range.
    fn parse(text: &str) -> Result<Self, ValidationIssue>;

    /// The JSON Schema (2020-12) of the text.
    fn json_schema() -> serde_json::Value;
}

impl<T: TextValue> JsonSchema for T {
    fn schema() -> serde_json::Value {
        T::json_schema()
    }
}

/// A value that a store keeps as its text.
pub trait StoredText: TextValue {
    /// The value of stored text, which [`TextValue::parse`] returned once. It is not checked again: what was accepted
    /// stays readable when a rule becomes stricter.
    fn from_stored(text: &str) -> Self;
}

/// Implements what every text value has: [`StoredText`], `FromStr`, `Display`, `Serialize`, `Deserialize` by
/// [`TextValue::parse`] and `as_str`.
macro_rules! text_value {
    ($name:ty $(, const $max:ident)?) => {
        impl $(<const $max: usize>)? $name {
            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl $(<const $max: usize>)? $crate::StoredText for $name {
            fn from_stored(text: &str) -> Self {
                Self(text.into())
            }
        }
        impl $(<const $max: usize>)? std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(self.as_str(), f)
            }
        }
        impl $(<const $max: usize>)? std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
        impl $(<const $max: usize>)? std::str::FromStr for $name {
            type Err = $crate::Invalid;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                <Self as $crate::TextValue>::parse(text).map_err($crate::Invalid)
            }
        }
        impl $(<const $max: usize>)? serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
        impl<'de $(, const $max: usize)?> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                <Self as $crate::TextValue>::parse(&text).map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use text_value;

/// Text that a value's rule refuses: the broken rule and its words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(pub ValidationIssue);

/// Refuses control characters (general category Cc).
///
/// # Errors
/// The text has one.
pub fn refuse_controls(text: &str) -> Result<(), ValidationIssue> {
    if text.chars().any(char::is_control) { Err(ValidationIssue::invalid_characters()) } else { Ok(()) }
}

/// Refuses text over `most` characters.
///
/// # Errors
/// The text is longer.
pub fn refuse_longer(text: &str, most: usize) -> Result<(), ValidationIssue> {
    if text.len() > most && text.chars().count() > most {
        Err(ValidationIssue::max_length(most))
    } else {
        Ok(())
    }
}
