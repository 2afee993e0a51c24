//! The forms in which people write the same telephone number: with a country code or without, with `+` or `00` before it,
//! with the zero that is dialled within the country. A contact is stored with some of them, a search tries the others, so
//! that any form finds any other.

use crate::{Phone, PhoneCode, digits};

/// Stands before the digits of a number whose country is not known. A search with a country code finds such a number by
/// the digits after the code, and no number of another country.
const NO_COUNTRY: char = '/';

/// The fewest digits of a number with its country code that a search takes apart.
const WHOLE: usize = 7;

/// The most digits of a number with prefixes that a search reads as one.
const MOST: usize = 20;

/// The length of the country calling code (ITU-T E.164) at the beginning of these digits: no code begins another one.
fn country_code(digits: &str) -> usize {
    let two = |lead: u8, ends: &[u8]| {
        digits.as_bytes().first() == Some(&lead)
            && digits.as_bytes().get(1).is_some_and(|end| ends.contains(end))
    };
    match digits.as_bytes().first() {
        Some(b'1' | b'7') => 1,
        _ if two(b'2', b"07") || two(b'3', b"0123469") || two(b'4', b"013456789") => 2,
        _ if two(b'5', b"12345678")
            || two(b'6', b"0123456")
            || two(b'8', b"1246")
            || two(b'9', b"0123458") =>
        {
            2
        }
        _ => 3,
    }
}

/// Digits with a country code before them, without a prefix; of text that begins with `+` or `00`.
fn international(text: &str) -> Option<String> {
    let all = digits(text);
    let text = text.trim_start();
    match all.strip_prefix("00") {
        _ if text.starts_with('+') => Some(all),
        Some(rest) if text.starts_with(['0', '(']) && rest.len() >= WHOLE => Some(rest.to_owned()),
        _ => None,
    }
}

/// Without the zero that is dialled within a country, which is often written in parentheses after the code.
fn without_trunk(text: &str) -> String {
    text.replacen("(0)", "", 1)
}

/// The digits under which a contact is found by its telephone number: forms with line feeds between them.
#[must_use]
pub fn searched(phone: Option<&Phone>, code: Option<&PhoneCode>) -> String {
    let code = code.map(|code| digits(code.as_str()));
    let Some(phone) = phone else { return code.unwrap_or_default() };
    let number = phone.number();
    let (before, rest) = match (international(number), code) {
        (Some(all), code) => {
            let length = match &code {
                Some(code) if all.starts_with(code.as_str()) => code.len(),
                _ => country_code(&all).min(all.len()),
            };
            (all[..length].to_owned(), all[length..].to_owned())
        }
        (None, Some(code)) => (code, digits(number)),
        (None, None) => return format!("{NO_COUNTRY}{}", digits(number)),
    };
    let national = match rest.strip_prefix('0') {
        Some(national) => national,
        None => &rest,
    };
    let mut forms = vec![format!("{before}{national}"), format!("0{national}")];
    if national.len() < rest.len() {
        forms.push(format!("{before}{rest}"));
    }
    forms.join("\n")
}

/// What a search for a telephone number looks for: a contact has the number when one of these occurs among its
/// [`searched`] digits. Empty for text of fewer than three digits, and for more than a number has.
#[must_use]
pub fn sought(text: &str) -> Vec<String> {
    let own = digits(text);
    if !(3..=MOST).contains(&own.len()) {
        return Vec::new();
    }
    let mut sought = vec![own.clone()];
    let mut also = |form: String| {
        if !sought.contains(&form) {
            sought.push(form);
        }
    };
    if let Some(all) = international(&without_trunk(text)) {
        also(all.clone());
        let code = country_code(&all);
        if all.len() >= WHOLE {
            let national = all[code..].strip_prefix('0').unwrap_or(&all[code..]);
            also(format!("{}{national}", &all[..code]));
            also(format!("{NO_COUNTRY}{national}"));
            also(format!("{NO_COUNTRY}0{national}"));
        }
    } else if own.len() >= WHOLE {
        // The zero, or the one of North America, may be missing from what is stored.
        let national =
            own.strip_prefix('0').or_else(|| own.strip_prefix('1').filter(|rest| rest.len() == 10));
        if let Some(national) = national {
            also(format!("{NO_COUNTRY}{national}"));
        }
    }
    sought
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TextValue;
    use proptest::prelude::*;

    fn finds(search: &str, phone: &str, code: Option<&str>) -> bool {
        let code = code.map(|code| PhoneCode::parse(code).expect("a code"));
        let stored = searched(Some(&Phone::parse(phone).expect("a number")), code.as_ref());
        sought(search).iter().any(|form| stored.contains(form.as_str()))
    }

    #[test]
    fn any_form_finds_any_other() {
        let stored = [
            ("+44 20 7946 0958", None),
            ("0044 20 7946 0958", None),
            ("+44 (0)20 7946 0958", None),
            ("tel:+44-20-7946-0958", None),
            ("+44 20 7946 0958 x123", None),
            ("20 7946 0958", Some("+44")),
            ("020 7946 0958", Some("44")),
            ("(020) 7946 0958", Some("44")),
            ("+44 20 7946 0958", Some("44")),
            ("020 7946 0958", None),
            ("20 7946 0958", None),
        ];
        let searches = [
            "+442079460958",
            "+4402079460958",
            "+44(0)2079460958",
            "00442079460958",
            "02079460958",
            "(020)7946-0958",
            "2079460958",
            "20.7946.0958",
            "79460958",
        ];
        for (phone, code) in stored {
            for search in searches {
                assert!(finds(search, phone, code), "{search} finds {phone} {code:?}");
            }
            for search in ["+492079460958", "00492079460958", "+442079460959", "20794609588", "99"] {
                assert!(
                    !finds(search, phone, code)
                        || (search.contains("49") && code.is_none() && !phone.contains("44")),
                    "{search} finds {phone} {code:?}"
                );
            }
        }
        assert!(
            finds("1-212-555-0123", "(212) 555-0123", Some("+1"))
                && finds("+12125550123", "(212) 555-0123", None)
        );
        assert!(finds("12125550123", "(212) 555-0123", None) && finds("2125550123", "+1 212 555 0123", None));
        assert!(
            finds("+39061234567", "06 123 4567", Some("39")) && finds("0612345", "+39 06 123 4567", None)
        );
        assert!(finds("+1684555", "+1 684 555", None) && finds("684", "555 0123", Some("+1684")));
    }

    #[test]
    fn a_code_alone_is_found_and_too_few_digits_are_not() {
        assert_eq!(searched(None, PhoneCode::parse("679").ok().as_ref()), "679");
        assert_eq!(searched(None, None), "");
        assert_eq!(sought("+4"), Vec::<String>::new());
        assert_eq!(sought(&"1".repeat(21)), Vec::<String>::new());
    }

    proptest! {
        /// Every sequence of digits that the number has is found, however both are written.
        #[test]
        fn a_part_of_the_number_is_found(
            code in "[1-9][0-9]{0,2}", national in "[1-9][0-9]{5,8}", trunk in any::<bool>(), from in 0_usize..5, length in 3_usize..9
        ) {
            let zero = if trunk { "0" } else { "" };
            let part: String = national.chars().skip(from).take(length).collect();
            prop_assume!(part.len() >= 3);
            for stored in [format!("+{code} {national}"), format!("00{code}{national}"), format!("{zero}{national}")] {
                prop_assert!(finds(&part, &stored, None), "{} finds {}", part, stored);
            }
            let stored = format!("{zero}{national}");
            prop_assert!(finds(&part, &stored, Some(&code)));
        }

        #[test]
        fn any_text_is_searched(text in "[0-9+()./ -]{0,30}") {
            prop_assert!(sought(&text).len() <= 5);
        }
    }
}
