//! Telephone numbers and their country codes (contract 2.1.1).

use compact_str::CompactString;

use super::{TextValue, refuse_controls, refuse_longer, text_value};
use crate::validation::{ValidationCode, ValidationIssue};

/// A telephone number: 3 to 15 digits among spaces and `( ) - . /`, an optional leading `+`; stored as sent (trimmed).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Phone(CompactString);

text_value!(Phone);

impl Phone {
    /// The digits alone.
    #[must_use]
    pub fn digits(&self) -> String {
        digits(&self.0)
    }

    /// Whether the number agrees with `code`: with a leading `+` its digits begin with those of the code.
    #[must_use]
    pub fn agrees_with(&self, code: &PhoneCode) -> bool {
        !self.0.starts_with('+') || self.digits().starts_with(code.0.trim_start_matches('+'))
    }
}

pub(crate) fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

impl TextValue for Phone {
    fn parse(text: &str) -> Result<Self, ValidationIssue> {
        let text = text.trim();
        refuse_controls(text)?;
        if text.is_empty() {
            return Err(ValidationIssue::required());
        }
        refuse_longer(text, 32)?;
        let number = text.strip_prefix('+').unwrap_or(text);
        let allowed = number.chars().all(|c| c.is_ascii_digit() || " ()-./".contains(c));
        let count = number.bytes().filter(u8::is_ascii_digit).count();
        if !allowed || !(3..=15).contains(&count) {
            return Err(ValidationIssue::new(
                ValidationCode::Format,
                "must be a telephone number of 3 to 15 digits, spaces and ( ) - . / with an optional leading +",
            ));
        }
        Ok(Phone(text.into()))
    }

    fn json_schema() -> serde_json::Value {
        serde_json::json!({ "type": "string", "maxLength": 32 })
    }
}

/// A country calling code, stored with its leading `+`: `+44`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PhoneCode(CompactString);

text_value!(PhoneCode);

impl PhoneCode {
    /// The published pattern, to be applied after removal of spaces and hyphens.
    pub const PATTERN: &'static str = r"^\+?[1-9][0-9]{0,3}$";
}

impl TextValue for PhoneCode {
    fn parse(text: &str) -> Result<Self, ValidationIssue> {
        let text = text.trim();
        refuse_controls(text)?;
        if text.is_empty() {
            return Err(ValidationIssue::required());
        }
        let plain: String = text.chars().filter(|c| !matches!(c, ' ' | '-')).collect();
        let number = plain.strip_prefix('+').unwrap_or(&plain);
        let valid = (1..=4).contains(&number.len())
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && !number.starts_with('0');
        if !valid {
            return Err(ValidationIssue::new(
                ValidationCode::Format,
                "must be a country calling code such as +44",
            ));
        }
        Ok(PhoneCode(format!("+{number}").into()))
    }

    fn json_schema() -> serde_json::Value {
        serde_json::json!({ "type": "string" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_codes_of_the_contract() {
        for good in ["123", "20 7946 0958", "+44 (0)20/7946-0958", "+123456789012345"] {
            assert!(Phone::parse(good).is_ok(), "{good}");
        }
        for bad in ["12", "1234567890123456", "12+34", "++123", "123 ext 4", "١٢٣"] {
            assert_eq!(Phone::parse(bad).unwrap_err().rule, ValidationCode::Format, "{bad}");
        }
        assert_eq!(Phone::parse(&"1 ".repeat(20)).unwrap_err().rule, ValidationCode::MaxLength);
        for (text, stored) in [("44", "+44"), ("+1-684", "+1684"), ("+ 44", "+44"), ("1", "+1")] {
            assert_eq!(PhoneCode::parse(text).unwrap().as_str(), stored);
        }
        for bad in ["0", "+0", "12345", "+", "4a", "-"] {
            assert_eq!(PhoneCode::parse(bad).unwrap_err().rule, ValidationCode::Format, "{bad}");
        }
        let agrees = |phone: &str| Phone::parse(phone).unwrap().agrees_with(&PhoneCode::parse("44").unwrap());
        assert!(agrees("+44 20 7946") && agrees("20 7946") && !agrees("+49 20 7946"));
    }
}
