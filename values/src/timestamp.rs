//! Instants: RFC 3339 in UTC with milliseconds (contract 2).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::date::{civil, number};
use super::{Date, Invalid, TextValue};
use crate::validation::{ValidationCode, ValidationIssue};

/// An instant in milliseconds since 1970-01-01T00:00:00Z, within the years 0000 to 9999.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

/// 0000-01-01T00:00:00.000Z
const EARLIEST: i64 = -62_167_219_200_000;
/// 9999-12-31T23:59:59.999Z
const LATEST: i64 = 253_402_300_799_999;

/// A day in milliseconds.
const DAY: i64 = 86_400_000;

/// Year, month and day of a number of days since 1970-01-01, in the Gregorian calendar. Timestamps stand in every
/// record of every reply, and this is a tenth of what a general calendar library needs for it.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    // Years begin in March, so that the leap day comes last; 400 years are 146,097 days.
    let since_march_0000 = days + 719_468;
    let era = since_march_0000.div_euclid(146_097);
    let day_of_era = since_march_0000.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

impl Timestamp {
    /// The instant of these milliseconds since the epoch, held within the years 0000 to 9999.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        if millis < EARLIEST {
            Timestamp(EARLIEST)
        } else if millis > LATEST {
            Timestamp(LATEST)
        } else {
            Timestamp(millis)
        }
    }

    /// Milliseconds since the epoch.
    #[must_use]
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Whole seconds since the epoch, rounded down.
    #[must_use]
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    /// The instant `millis` later.
    #[must_use]
    pub const fn plus_millis(self, millis: i64) -> Self {
        Timestamp::from_millis(self.0.saturating_add(millis))
    }

    /// Milliseconds from `earlier` to this instant.
    #[must_use]
    pub const fn millis_since(self, earlier: Timestamp) -> i64 {
        self.0 - earlier.0
    }

    /// The date in the zone that is `hours` ahead of UTC.
    #[must_use]
    pub fn date_at_offset(self, hours: i64) -> Date {
        Date::from_civil(self.plus_millis(hours * 3_600_000).civil().date())
    }

    fn civil(self) -> jiff::civil::DateTime {
        // The range of this type lies inside jiff's.
        let instant = jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        jiff::tz::Offset::UTC.to_datetime(instant)
    }

    fn with_text<T>(self, use_text: impl FnOnce(&str) -> T) -> T {
        let (days, millis) = (self.0.div_euclid(DAY), self.0.rem_euclid(DAY));
        let (year, month, day) = civil_from_days(days);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let mut put = |at: usize, width: usize, mut value: i64| {
            for index in (at..at + width).rev() {
                text[index] = b'0' + (value % 10) as u8;
                value /= 10;
            }
        };
        put(0, 4, year);
        put(5, 2, month);
        put(8, 2, day);
        put(11, 2, millis / 3_600_000);
        put(14, 2, millis / 60_000 % 60);
        put(17, 2, millis / 1_000 % 60);
        put(20, 3, millis % 1_000);
        use_text(std::str::from_utf8(&text).unwrap_or_default())
    }

    fn read(text: &[u8]) -> Option<Self> {
        let date = civil(text.get(..10)?)?;
        let [b'T' | b't', h1, h2, b':', m1, m2, b':', s1, s2, rest @ ..] = &text[10..] else { return None };
        let hour = i8::try_from(number(&[*h1, *h2])?).ok()?;
        let minute = i8::try_from(number(&[*m1, *m2])?).ok()?;
        // A leap second is stored as the second before it.
        let sent = i8::try_from(number(&[*s1, *s2])?).ok().filter(|second| *second <= 60)?;
        let (second, is_leap) = (sent.min(59), sent == 60);
        let (fraction, zone) = match rest.strip_prefix(b".") {
            Some(rest) => {
                let end = rest.iter().position(|byte| !byte.is_ascii_digit()).filter(|end| *end > 0)?;
                rest.split_at(end)
            }
            None => (&b""[..], rest),
        };
        let millis = [0, 1, 2].iter().fold(0, |value, index| {
            value * 10 + fraction.get(*index).map_or(0, |digit| i64::from(digit - b'0'))
        });
        let offset_minutes = match zone {
            b"Z" | b"z" => 0,
            [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
                let (hours, minutes) = (number(&[*h1, *h2])?, number(&[*m1, *m2])?);
                if hours > 23 || minutes > 59 {
                    return None;
                }
                i64::from(hours * 60 + minutes) * if *sign == b'-' { -1 } else { 1 }
            }
            _ => return None,
        };
        let time = jiff::civil::Time::new(hour, minute, second, 0).ok()?;
        let local = jiff::tz::Offset::UTC.to_timestamp(date.to_datetime(time)).ok()?.as_millisecond();
        let instant = Timestamp(local + millis - offset_minutes * 60_000);
        let is_real = (EARLIEST..=LATEST).contains(&instant.0) && (!is_leap || instant.may_be_leap());
        is_real.then_some(instant)
    }

    /// Whether a leap second may follow: it ends the last day of June or December in UTC (RFC 3339, 5.7).
    fn may_be_leap(self) -> bool {
        let (_, month, day) = civil_from_days(self.0.div_euclid(DAY));
        matches!((month, day), (6, 30) | (12, 31)) && self.0.rem_euclid(DAY) >= DAY - 1_000
    }
}

impl TextValue for Timestamp {
    fn parse(text: &str) -> Result<Self, ValidationIssue> {
        Timestamp::read(text.as_bytes()).ok_or_else(|| {
            ValidationIssue::new(
                ValidationCode::Format,
                "must be an RFC 3339 timestamp with an offset, such as 2026-01-31T09:15:00Z",
            )
        })
    }

    fn json_schema() -> serde_json::Value {
        serde_json::json!({ "type": "string", "format": "date-time" })
    }
}

impl FromStr for Timestamp {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Timestamp::parse(text).map_err(Invalid)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_text(|text| f.write_str(text))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.with_text(|text| serializer.serialize_str(text))
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rfc_3339_and_nothing_else() {
        for (text, shown) in [
            ("2026-01-31T09:15:02.123Z", "2026-01-31T09:15:02.123Z"),
            ("2026-01-31t09:15:02z", "2026-01-31T09:15:02.000Z"),
            ("2026-01-31T09:15:02.1239999999Z", "2026-01-31T09:15:02.123Z"),
            ("2026-01-31T09:15:02.5+05:30", "2026-01-31T03:45:02.500Z"),
            ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59.000Z"),
            ("2016-12-31T23:59:60.5Z", "2016-12-31T23:59:59.500Z"),
            ("2017-01-01T05:29:60+05:30", "2016-12-31T23:59:59.000Z"),
            ("2015-06-30T15:59:60-08:00", "2015-06-30T23:59:59.000Z"),
            ("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(Timestamp::parse(text).unwrap().to_string(), shown);
        }
        for bad in [
            "2026-01-31",
            "2026-01-31T09:15:02",
            "2026-01-31 09:15:02Z",
            "2026-02-30T00:00:00Z",
            "2026-01-31T24:00:00Z",
            "2026-01-31T09:15:02.Z",
            "2026-01-31T09:15:02+5:30",
            "2026-01-31T09:15:61Z",
            "2026-01-31T09:15:60Z",
            "2026-01-31T23:59:60Z",
            "2016-12-31T23:58:60Z",
            "2016-12-31T23:59:60+01:00",
            "2016-12-30T23:59:60Z",
            "2015-06-30T22:59:60Z",
            "0000-01-01T00:00:00+01:00",
            "2026-01-31T09:15:02Z[UTC]",
            "+002026-01-31T09:15:02Z",
        ] {
            assert_eq!(Timestamp::parse(bad).unwrap_err().rule, ValidationCode::Format, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn text_and_instant_agree(millis in EARLIEST..=LATEST) {
            let instant = Timestamp::from_millis(millis);
            prop_assert_eq!(instant.to_string().parse::<Timestamp>().unwrap(), instant);
        }

        #[test]
        fn the_calendar_is_that_of_a_library(millis in EARLIEST..=LATEST) {
            let theirs = jiff::Timestamp::from_millisecond(millis).unwrap().to_string();
            let ours = Timestamp::from_millis(millis).to_string();
            prop_assert_eq!(&ours[..19], &theirs[..19]);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,30}") {
            let _ = Timestamp::parse(&text);
        }
    }
}
