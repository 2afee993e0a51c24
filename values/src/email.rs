//! Email addresses (contract 2.1.1, `primaryEmail`).

use std::borrow::Cow;

use compact_str::CompactString;

use super::fold::fold_case;
use super::marks::is_invisible;
use super::{TextValue, refuse_controls, text_value, visible};
use crate::validation::{ValidationCode, ValidationIssue};

/// One address: dot-atom local part, non-ASCII allowed, a domain of at least two labels valid under IDNA. Stored as
/// sent (trimmed, without characters that nobody sees), compared by [`Email::normalized`].
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Email(CompactString);

text_value!(Email);

/// The longest address, in bytes.
const MAX_BYTES: usize = 254;
/// The longest local part, in bytes.
const MAX_LOCAL_BYTES: usize = 64;

impl Email {
    /// The form under which addresses are equal: case folded, the domain in A-label form.
    #[must_use]
    pub fn normalized(&self) -> String {
        let (local, domain) = self.0.rsplit_once('@').unwrap_or((&self.0, ""));
        // The domain was found valid when the address was read.
        format!("{}@{}", fold_case(local), ascii_domain(domain).unwrap_or_default())
    }
}

fn is_atom_char(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c)
    } else {
        !c.is_whitespace() && !c.is_control()
    }
}

/// Whether IDNA leaves the domain as it is but for its case: letters, digits and inner hyphens, and no hyphens in
/// third and fourth position (which may begin an A-label).
fn is_plain_domain(domain: &str) -> bool {
    domain.len() <= 253
        && domain.split('.').all(|label| {
            let bytes = label.as_bytes();
            (1..=63).contains(&bytes.len())
                && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
                && bytes[0] != b'-'
                && bytes[bytes.len() - 1] != b'-'
                && bytes.get(2..4) != Some(b"--")
        })
}

/// The domain in lower case and A-label form, if IDNA knows it as valid.
fn ascii_domain(domain: &str) -> Option<String> {
    if is_plain_domain(domain) {
        return Some(domain.to_ascii_lowercase());
    }
    idna::domain_to_ascii_strict(domain).ok().filter(|ascii| !ascii.ends_with('.'))
}

/// The address without characters that nobody sees. A domain keeps the joiners that IDNA allows it.
pub fn without_marks(text: &str) -> Cow<'_, str> {
    if !text.contains(is_invisible) {
        return Cow::Borrowed(text);
    }
    let removed = |text: &str| text.replace(is_invisible, "");
    let Some((local, domain)) = text.rsplit_once('@') else { return Cow::Owned(removed(text)) };
    let joined = visible(domain);
    let domain = if ascii_domain(joined.trim()).is_some() { joined.into_owned() } else { removed(domain) };
    Cow::Owned(format!("{}@{domain}", removed(local)))
}

impl TextValue for Email {
    fn parse(text: &str) -> Result<Self, ValidationIssue> {
        let text = without_marks(text);
        let text = text.trim();
        refuse_controls(text)?;
        if text.is_empty() {
            return Err(ValidationIssue::required());
        }
        if text.len() > MAX_BYTES {
            return Err(ValidationIssue::new(ValidationCode::MaxLength, "must have at most 254 bytes"));
        }
        let invalid = || ValidationIssue::new(ValidationCode::Format, "must be a valid email address");
        let (local, domain) = text.rsplit_once('@').ok_or_else(invalid)?;
        let local_is_dot_atom =
            local.split('.').all(|atom| !atom.is_empty() && atom.chars().all(is_atom_char));
        if local.len() > MAX_LOCAL_BYTES || !local_is_dot_atom {
            return Err(invalid());
        }
        if !domain.chars().all(|c| c == '.' || is_atom_char(c))
            || !ascii_domain(domain).is_some_and(|ascii| ascii.contains('.'))
        {
            return Err(invalid());
        }
        Ok(Email(text.into()))
    }

    fn json_schema() -> serde_json::Value {
        serde_json::json!({ "type": "string", "format": "idn-email", "maxLength": MAX_BYTES })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_contract() {
        for good in [
            "a@b.co",
            "Zoe.Okafor@example.com",
            "o'brien+tag@sub.example.co.uk",
            "δοκιμή@παράδειγμα.δοκιμή",
            "用户@例子.广告",
            "x@xn--bcher-kva.example",
            "a@b-c.de",
            &format!("{}@example.com", "l".repeat(64)),
        ] {
            assert!(Email::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "a",
            "@b.co",
            "a@",
            "a@b",
            "a@b.",
            "a@.b",
            "a@b..c",
            ".a@b.co",
            "a.@b.co",
            "a..b@b.co",
            "a b@c.de",
            "\"q\"@b.co",
            "a@[127.0.0.1]",
            "Zoe <a@b.co>",
            "a@b_c.de",
            "a@-b.de",
            "a@b-.de",
            "a@@b.co",
            "a,b@c.de",
            "a@b.co.",
            "a@xn--.de",
            "a\u{a0}b@c.de",
            &format!("{}@example.com", "l".repeat(65)),
            &format!("a@{}.com", "d".repeat(64)),
        ] {
            assert_eq!(Email::parse(bad).unwrap_err().rule, ValidationCode::Format, "{bad}");
        }
        assert_eq!(
            Email::parse(&format!("a@{}", "d".repeat(260))).unwrap_err().rule,
            ValidationCode::MaxLength
        );
        assert_eq!(Email::parse("a\u{7}@b.co").unwrap_err().rule, ValidationCode::InvalidCharacters);
        assert_eq!(Email::parse(" a@b.co ").unwrap().as_str(), "a@b.co");
    }

    #[test]
    fn marks_that_copying_brings_along_are_not_part_of_an_address() {
        for mark in [
            '\u{200b}', '\u{200c}', '\u{200d}', '\u{200e}', '\u{202a}', '\u{202e}', '\u{2068}', '\u{2060}',
            '\u{feff}', '\u{ad}',
        ] {
            for sent in [
                format!("{mark}zoe@b.co"),
                format!("zoe@b.co{mark}"),
                format!("zo{mark}e@b{mark}.co"),
                format!(" {mark} zoe@b.co"),
            ] {
                let stored = Email::parse(&sent).unwrap();
                assert_eq!(
                    (stored.as_str(), stored.normalized().as_str()),
                    ("zoe@b.co", "zoe@b.co"),
                    "{sent:?}"
                );
            }
        }
        let joined = "a@\u{646}\u{627}\u{645}\u{647}\u{200c}\u{627}\u{6cc}.com";
        assert_eq!(Email::parse(joined).unwrap().as_str(), joined, "IDNA allows the joiner here");
        assert_eq!(Email::parse("\u{200b}").unwrap_err().rule, ValidationCode::Required);
    }

    #[test]
    fn equal_addresses_have_one_normal_form() {
        let normal = |text: &str| Email::parse(text).unwrap().normalized();
        assert_eq!(normal("Zoe@EXAMPLE.com"), normal("zoe@example.COM"));
        assert_eq!(normal("a@Bücher.example"), "a@xn--bcher-kva.example");
        assert_eq!(normal("a@XN--bcher-kva.example"), normal("A@bücher.example"));
    }
}
