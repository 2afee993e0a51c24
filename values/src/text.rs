//! Free text: one line, a block of lines, a tag.

use compact_str::CompactString;

use super::{TextValue, fold, refuse_controls, refuse_longer, text_value, visible};
use crate::validation::{ValidationCode, ValidationIssue};

/// Single-line text of 1 to `MAX` characters without control characters; stored trimmed and without characters that nobody
/// sees.
///
/// Blank text is no `Line`: the contract reads it as `null` (contract 2.1.1), so a field is `Option<Line<MAX>>`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Line<const MAX: usize>(CompactString);

text_value!(Line<MAX>, const MAX);

impl<const MAX: usize> TextValue for Line<MAX> {
    fn parse(text: &str) -> Result<Self, ValidationIssue> {
        let text = visible(text);
        let text = text.trim();
        refuse_controls(text)?;
        if text.is_empty() {
            return Err(ValidationIssue::required());
        }
        refuse_longer(text, MAX)?;
        Ok(Line(text.into()))
    }

    fn json_schema() -> serde_json::Value {
        serde_json::json!({ "type": "string", "maxLength": MAX })
    }
}

/// Multi-line text of 1 to `MAX` characters: TAB, LF and CR are its only control characters. Stored as sent.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Block<const MAX: usize>(CompactString);

text_value!(Block<MAX>, const MAX);

impl<const MAX: usize> TextValue for Block<MAX> {
    fn parse(text: &str) -> Result<Self, ValidationIssue> {
        if text.chars().any(|c| c.is_control() && !matches!(c, '\t' | '\n' | '\r')) {
            return Err(ValidationIssue::invalid_characters());
        }
        if text.trim().is_empty() {
            return Err(ValidationIssue::required());
        }
        refuse_longer(text, MAX)?;
        Ok(Block(text.into()))
    }

    fn json_schema() -> serde_json::Value {
        serde_json::json!({ "type": "string", "maxLength": MAX })
    }
}

/// A reference of the caller's own: 1 to `MAX` characters on a single line, not all of them white space. Stored as
/// sent.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Opaque<const MAX: usize>(CompactString);

text_value!(Opaque<MAX>, const MAX);

impl<const MAX: usize> TextValue for Opaque<MAX> {
    fn parse(text: &str) -> Result<Self, ValidationIssue> {
        refuse_controls(text)?;
        if text.trim().is_empty() {
            return Err(ValidationIssue::required());
        }
        refuse_longer(text, MAX)?;
        Ok(Opaque(text.into()))
    }

    fn json_schema() -> serde_json::Value {
        serde_json::json!({ "type": "string", "maxLength": MAX })
    }
}

/// A tag: 1 to 64 characters on a single line, stored trimmed and without characters that nobody sees, compared without
/// regard to case (contract 2.1.1).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(CompactString);

text_value!(Tag);

impl Tag {
    /// The most tags of a contact, counted as sent.
    pub const MAX_COUNT: usize = 100;

    /// The form under which two tags are the same.
    #[must_use]
    pub fn folded(&self) -> String {
        Tag::fold(&self.0)
    }

    /// The form under which `text`, trimmed, equals a tag: case folded, accents preserved.
    #[must_use]
    pub fn fold(text: &str) -> String {
        fold::fold_case(visible(text).trim())
    }
}

impl TextValue for Tag {
    fn parse(text: &str) -> Result<Self, ValidationIssue> {
        let text = visible(text);
        let text = text.trim();
        refuse_controls(text)?;
        if text.is_empty() {
            return Err(ValidationIssue::new(ValidationCode::MinLength, "must not be blank"));
        }
        refuse_longer(text, 64)?;
        Ok(Tag(text.into()))
    }

    fn json_schema() -> serde_json::Value {
        serde_json::json!({ "type": "string", "minLength": 1, "maxLength": 64 })
    }
}
