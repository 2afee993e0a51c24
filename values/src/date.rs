//! Calendar dates: `YYYY-MM-DD`.

use compact_str::CompactString;

use super::{TextValue, text_value};
use crate::validation::{ValidationCode, ValidationIssue};

/// A real calendar date of the years 0000 to 9999, as `YYYY-MM-DD`; its text sorts as the dates do.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Date(CompactString);

text_value!(Date);

impl Date {
    pub(super) fn from_civil(date: jiff::civil::Date) -> Self {
        Date(date.strftime("%Y-%m-%d").to_string().into())
    }

    /// Reads a date as a standard field takes it: also a timestamp at exactly midnight UTC, cut to its date
    /// (contract 2.1.1, `dob`).
    ///
    /// # Errors
    /// `format` for everything else.
    pub fn parse_lenient(text: &str) -> Result<Self, ValidationIssue> {
        let (date, time) = match text.split_at_checked(10) {
            Some((date, time)) => (date, time),
            None => (text, ""),
        };
        let midnight = time
            .strip_prefix(['T', 't'])
            .and_then(|time| time.strip_suffix("+00:00").or_else(|| time.strip_suffix(['Z', 'z'])))
            .and_then(|time| time.strip_prefix("00:00:00"))
            .is_some_and(|rest| {
                rest.is_empty()
                    || (rest.len() > 1 && rest.starts_with('.') && rest[1..].bytes().all(|b| b == b'0'))
            });
        if time.is_empty() || midnight { Date::parse(date) } else { Err(invalid()) }
    }
}

fn invalid() -> ValidationIssue {
    ValidationIssue::new(ValidationCode::Format, "must be a calendar date as YYYY-MM-DD")
}

/// The civil date of `YYYY-MM-DD`.
pub(super) fn civil(text: &[u8]) -> Option<jiff::civil::Date> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text else { return None };
    let year = number(&[*y1, *y2, *y3, *y4])?;
    let month = number(&[*m1, *m2])?;
    let day = number(&[*d1, *d2])?;
    jiff::civil::Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

/// The value of a few ASCII digits.
pub(super) fn number(digits: &[u8]) -> Option<i16> {
    digits
        .iter()
        .try_fold(0, |value: i16, digit| digit.is_ascii_digit().then(|| value * 10 + i16::from(digit - b'0')))
}

impl TextValue for Date {
    fn parse(text: &str) -> Result<Self, ValidationIssue> {
        civil(text.as_bytes()).map(|_| Date(text.into())).ok_or_else(invalid)
    }

    fn json_schema() -> serde_json::Value {
        serde_json::json!({ "type": "string", "format": "date" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_real_and_midnight_is_cut() {
        for good in ["1990-05-17", "2000-02-29", "0000-01-01", "9999-12-31"] {
            assert_eq!(Date::parse(good).unwrap().as_str(), good);
        }
        for bad in [
            "1990-5-17",
            "1900-02-29",
            "1990-13-01",
            "1990-00-10",
            "17.05.1990",
            "1990-05-17 ",
            "-990-05-17",
            "１990-05-17",
        ] {
            assert_eq!(Date::parse(bad).unwrap_err().rule, ValidationCode::Format, "{bad}");
        }
        for midnight in ["1990-05-17T00:00:00.000Z", "1990-05-17T00:00:00Z", "1990-05-17t00:00:00+00:00"] {
            assert_eq!(Date::parse_lenient(midnight).unwrap().as_str(), "1990-05-17");
        }
        for bad in [
            "1990-05-17T00:00:00.001Z",
            "1990-05-17T00:00:00+01:00",
            "1990-05-17T00:00:00.Z",
            "1990-05-17T",
            "éééééé",
        ] {
            assert!(Date::parse_lenient(bad).is_err(), "{bad}");
        }
    }
}
