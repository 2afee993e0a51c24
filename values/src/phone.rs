//! Telephone numbers and their country codes (contract 2.1.1).

use std::borrow::Cow;

use compact_str::CompactString;
use unicode_normalization::UnicodeNormalization;

use super::fold::dash_or_self;
use super::marks::is_invisible;
use super::{TextValue, refuse_controls, refuse_longer, text_value};
use crate::validation::{ValidationCode, ValidationIssue};

/// A telephone number: 3 to 15 digits among spaces and `( ) - . /`, an optional leading `+`, an optional extension after
/// `x` or `;ext=`. Stored as sent, except that white space around it, invisible characters, `tel:` and typographic variants
/// of its characters are written plainly ([`Phone::plain`]).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Phone(CompactString);

text_value!(Phone);

/// What announces an extension. Only the first two are stored; the others become ` x`.
const EXTENSIONS: [&str; 7] = [";ext=", "x", "extension", "extn", "ext.", "ext", "#"];

/// The most digits of an extension.
const MAX_EXTENSION: usize = 10;

impl Phone {
    /// The number without its extension.
    #[must_use]
    pub fn number(&self) -> &str {
        split(&self.0).0
    }

    /// The digits of the number alone.
    #[must_use]
    pub fn digits(&self) -> String {
        digits(self.number())
    }

    /// Whether the number agrees with `code`: with a leading `+` its digits begin with those of the code.
    #[must_use]
    pub fn agrees_with(&self, code: &PhoneCode) -> bool {
        !self.0.starts_with('+') || self.digits().starts_with(code.0.trim_start_matches('+'))
    }

    /// The text that stands for the same number in plain characters: without invisible characters and `tel:`, with ASCII
    /// for full-width forms, dashes and blanks, and with `x` before an extension. White space around it stays.
    #[must_use]
    pub fn plain(text: &str) -> Cow<'_, str> {
        if is_plain(text.trim_start_matches('+')) {
            return Cow::Borrowed(text);
        }
        let blank = |c: char| if c.is_whitespace() && !c.is_control() { ' ' } else { c };
        let text: String = text.nfkc().filter(|c| !is_invisible(*c)).map(dash_or_self).map(blank).collect();
        let start = text.len() - text.trim_start().len();
        let scheme = text.get(start..start + 4).filter(|scheme| scheme.eq_ignore_ascii_case("tel:"));
        let text = if scheme.is_some() { format!("{}{}", &text[..start], &text[start + 4..]) } else { text };
        let trimmed = text.trim_end();
        let Some((number, mark, extension)) = extension_of(trimmed) else { return Cow::Owned(text) };
        let after = &text[trimmed.len()..];
        let plain = match mark {
            ";ext=" => format!("{};ext={extension}{after}", number.trim_end()),
            "x" => format!("{number}x{extension}{after}"),
            _ => format!("{} x{extension}{after}", number.trim_end()),
        };
        Cow::Owned(plain)
    }
}

/// Whether a text has none but the characters of a number.
fn is_plain(number: &str) -> bool {
    number.bytes().all(|byte| byte.is_ascii_digit() || b" ()-./".contains(&byte))
}

/// The number, what announces the extension, and the digits of the extension.
fn extension_of(text: &str) -> Option<(&str, &'static str, &str)> {
    let before = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let extension = &text[before.len()..];
    let announced = before.trim_end();
    let mark = EXTENSIONS.into_iter().find(|mark| {
        announced
            .len()
            .checked_sub(mark.len())
            .and_then(|at| announced.get(at..))
            .is_some_and(|end| end.eq_ignore_ascii_case(mark))
    })?;
    // `ext` ends in no `x`, but `extn` and `ext.` contain `ext`: the longest is listed first.
    (1..=MAX_EXTENSION)
        .contains(&extension.len())
        .then(|| (&announced[..announced.len() - mark.len()], mark, extension))
}

/// The number and the extension of a plain text.
fn split(text: &str) -> (&str, Option<&str>) {
    match extension_of(text) {
        Some((number, ";ext=" | "x", extension)) => (number.trim_end(), Some(extension)),
        _ => (text, None),
    }
}

/// The ASCII digits of a text, in order.
#[must_use]
pub fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

impl TextValue for Phone {
    fn parse(text: &str) -> Result<Self, ValidationIssue> {
        let text = Phone::plain(text);
        let text = text.trim();
        refuse_controls(text)?;
        if text.is_empty() {
            return Err(ValidationIssue::required());
        }
        refuse_longer(text, 32)?;
        let (number, _) = split(text);
        let number = number.strip_prefix('+').unwrap_or(number);
        let count = number.bytes().filter(u8::is_ascii_digit).count();
        if !is_plain(number) || !(3..=15).contains(&count) {
            return Err(ValidationIssue::new(
                ValidationCode::Format,
                "must be a telephone number of 3 to 15 digits, spaces and ( ) - . / with an optional leading + and an optional extension such as x123",
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
        let text = Phone::plain(text);
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
        for bad in [
            "12",
            "1234567890123456",
            "12+34",
            "++123",
            "١٢٣",
            "123 x",
            "123 x12345678901",
            "x123",
            "123;isub=4",
            "123 x4 x5",
        ] {
            assert_eq!(Phone::parse(bad).unwrap_err().rule, ValidationCode::Format, "{bad}");
        }
        for (sent, stored, digits) in [
            ("tel:+44-20-7946-0958", "+44-20-7946-0958", "442079460958"),
            ("TEL: 020 7946 0958", "020 7946 0958", "02079460958"),
            ("tel:+44-20-7946-0958;ext=123", "+44-20-7946-0958;ext=123", "442079460958"),
            ("020 7946 0958 x123", "020 7946 0958 x123", "02079460958"),
            ("02079460958X123", "02079460958x123", "02079460958"),
            ("020 7946 0958 ext. 123", "020 7946 0958 x123", "02079460958"),
            ("020 7946 0958 Ext 123", "020 7946 0958 x123", "02079460958"),
            ("020 7946 0958 extension 123", "020 7946 0958 x123", "02079460958"),
            ("020 7946 0958 #123", "020 7946 0958 x123", "02079460958"),
            ("\u{202a}+44 20 7946 0958\u{202c}", "+44 20 7946 0958", "442079460958"),
            ("\u{feff}020\u{200b}7946\u{a0}0958", "0207946 0958", "02079460958"),
            ("＋４４　（２０）　７９４６−０９５８", "+44 (20) 7946-0958", "442079460958"),
            ("020–7946—0958", "020-7946-0958", "02079460958"),
            (" (30)\u{2011}123/456 ", "(30)-123/456", "30123456"),
        ] {
            let phone = Phone::parse(sent).unwrap();
            assert_eq!((phone.as_str(), phone.digits().as_str()), (stored, digits), "{sent:?}");
            assert_eq!(Phone::parse(stored).unwrap(), phone, "what is stored stays");
        }
        assert_eq!(PhoneCode::parse("＋４４").unwrap().as_str(), "+44");
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
