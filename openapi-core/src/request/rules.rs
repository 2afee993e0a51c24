//! The rules of query parameters: what a text is read as, and the schema that says so.

use std::ops::RangeInclusive;
use std::str::FromStr;

use serde_json::{Value, json};

use crate::validation::{ValidationCode, ValidationIssue};
use crate::values::{Invalid, Tag, TextValue, parse_boolean, refuse_controls, refuse_longer, visible};

/// How a parameter is read.
pub trait Rule<T: Default> {
    /// The schema of the text.
    fn schema(&self) -> Value;

    /// Reads a text, which is not empty.
    fn parse(&self, text: &str) -> Result<T, ValidationIssue>;

    /// What an absent parameter stands for.
    fn absent(&self) -> T {
        T::default()
    }
}

/// A text value, exactly as sent.
pub struct Text;

impl<T: TextValue> Rule<Option<T>> for Text {
    fn schema(&self) -> Value {
        T::json_schema()
    }

    fn parse(&self, text: &str) -> Result<Option<T>, ValidationIssue> {
        T::parse(text).map(Some)
    }
}

/// A text value; blank is absent.
pub struct UnlessBlank;

impl<T: TextValue> Rule<Option<T>> for UnlessBlank {
    fn schema(&self) -> Value {
        T::json_schema()
    }

    fn parse(&self, text: &str) -> Result<Option<T>, ValidationIssue> {
        if visible(text).trim().is_empty() { Ok(None) } else { T::parse(text).map(Some) }
    }
}

/// A single line of up to so many characters, as sent.
pub struct AsSent(pub usize);

impl Rule<Option<String>> for AsSent {
    fn schema(&self) -> Value {
        json!({ "type": "string", "maxLength": self.0 })
    }

    fn parse(&self, text: &str) -> Result<Option<String>, ValidationIssue> {
        refuse_controls(text)?;
        refuse_longer(text, self.0)?;
        Ok(Some(text.to_owned()))
    }
}

/// The same, trimmed; blank is absent.
pub struct Trimmed(pub usize);

impl Rule<Option<String>> for Trimmed {
    fn schema(&self) -> Value {
        AsSent(self.0).schema()
    }

    fn parse(&self, text: &str) -> Result<Option<String>, ValidationIssue> {
        Ok(AsSent(self.0).parse(text.trim())?.filter(|text| !text.is_empty()))
    }
}

/// A tag in the form under which two are the same.
pub struct FoldedTag;

impl Rule<Option<String>> for FoldedTag {
    fn schema(&self) -> Value {
        Trimmed(64).schema()
    }

    fn parse(&self, text: &str) -> Result<Option<String>, ValidationIssue> {
        Ok(Trimmed(64).parse(text)?.map(|tag| Tag::fold(&tag)))
    }
}

/// A platform id, its digits in either case.
pub struct Id;

impl<T: FromStr<Err = Invalid>> Rule<Option<T>> for Id {
    fn schema(&self) -> Value {
        json!({ "type": "string", "pattern": "^[0-9A-Fa-f]{24}$" })
    }

    fn parse(&self, text: &str) -> Result<Option<T>, ValidationIssue> {
        text.parse().map(Some).map_err(|invalid: Invalid| invalid.0)
    }
}

/// `true`, `false`, `1`, `0`, ignoring case; `false` by default.
pub struct Flag;

impl Rule<bool> for Flag {
    fn schema(&self) -> Value {
        json!({ "type": "boolean", "default": false })
    }

    fn parse(&self, text: &str) -> Result<bool, ValidationIssue> {
        parse_boolean(text).ok_or_else(|| ValidationIssue::wrong_type("true or false"))
    }
}

/// A whole number in plain decimal digits, of this range and with this default.
pub struct Within(pub RangeInclusive<u64>, pub u64);

impl Rule<u64> for Within {
    fn schema(&self) -> Value {
        json!({ "type": "integer", "minimum": self.0.start(), "maximum": self.0.end(), "default": self.1 })
    }

    fn parse(&self, text: &str) -> Result<u64, ValidationIssue> {
        let (least, most) = (*self.0.start(), *self.0.end());
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(ValidationIssue::wrong_type("a whole number"));
        }
        let value = digits.parse().unwrap_or(u64::MAX);
        let is_negative = text.starts_with('-') && value > 0;
        if is_negative || value < least {
            Err(ValidationIssue::new(ValidationCode::Minimum, format!("must be at least {least}")))
        } else if value > most {
            Err(ValidationIssue::new(ValidationCode::Maximum, format!("must be at most {most}")))
        } else {
            Ok(value)
        }
    }

    fn absent(&self) -> u64 {
        self.1
    }
}

/// One of these values, each by its word.
pub struct OneOf<T, const COUNT: usize>(pub [T; COUNT], pub fn(T) -> &'static str);

impl<T: Copy + Default, const COUNT: usize> Rule<T> for OneOf<T, COUNT> {
    fn schema(&self) -> Value {
        json!({ "type": "string", "enum": self.0.map(self.1).as_slice(), "default": (self.1)(T::default()) })
    }

    fn parse(&self, text: &str) -> Result<T, ValidationIssue> {
        let known = self.0.into_iter().find(|value| (self.1)(*value) == text);
        known.ok_or_else(|| ValidationIssue::not_one_of(&self.0.map(self.1)))
    }
}
