//! The caller's own id of a contact (contract 2.1.2).

use compact_str::CompactString;

use super::{TextValue, refuse_longer, text_value};
use crate::validation::{ValidationCode, ValidationIssue};

/// `externalReferenceId`: 1 to 255 characters, exact and case-sensitive, never trimmed or normalised.
///
/// The configured id segment is reserved as well; that check needs the settings and is made where they are known
/// (`ServiceInfo::refuse_reserved` of `openapi-core`).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExternalId(CompactString);

text_value!(ExternalId);

impl ExternalId {
    /// The longest id, in characters.
    pub const MAX_LENGTH: usize = 255;

    /// Ids that name other paths.
    pub const RESERVED: [&'static str; 6] = ["schema", "chatbots", "archive", "unarchive", ".", ".."];

    /// The fault of a reserved id.
    #[must_use]
    pub fn reserved() -> ValidationIssue {
        ValidationIssue::new(ValidationCode::Reserved, "is a name kept by the service")
    }
}

impl TextValue for ExternalId {
    fn parse(text: &str) -> Result<Self, ValidationIssue> {
        if text.chars().any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')) {
            return Err(ValidationIssue::new(
                ValidationCode::InvalidCharacters,
                "must not contain control characters or line separators",
            ));
        }
        if text.is_empty() {
            return Err(ValidationIssue::min_length(1));
        }
        refuse_longer(text, Self::MAX_LENGTH)?;
        if text.starts_with(char::is_whitespace) || text.ends_with(char::is_whitespace) {
            return Err(ValidationIssue::new(
                ValidationCode::Pattern,
                "must not begin or end with white space",
            ));
        }
        if Self::RESERVED.contains(&text) {
            return Err(Self::reserved());
        }
        Ok(ExternalId(text.into()))
    }

    fn json_schema() -> serde_json::Value {
        serde_json::json!({ "type": "string", "minLength": 1, "maxLength": Self::MAX_LENGTH })
    }
}
