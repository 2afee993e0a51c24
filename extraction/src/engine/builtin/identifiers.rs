//! Identifiers: account numbers, numbers for tax, and other numbers of letters and digits.

use super::numbers::currency;
use super::scoring::value as weights;
use super::source::Source;
use super::text::has_digit;
use super::view::Span;

/// Numbers of value added tax have as many digits or more.
const MIN_VAT_DIGITS: usize = 7;
/// The most groups, and characters of each, of an identifier in groups.
const GROUPS: usize = 6;
const GROUP: usize = 4;

impl Source<'_, '_> {
    /// An international account number; one whose check digits are wrong only at the beginning of a region.
    pub(super) fn iban(&self, region: Span) -> Option<(Span, f64)> {
        for start in region.start..region.end.min(region.start + 12) {
            let mut joined = String::new();
            let mut whole = None;
            for end in start..region.end.min(start + 9) {
                let text = self.view.words[end].text;
                if text.chars().any(|c| c.is_lowercase() || c == ':')
                    || self.view.words[end].line != self.view.words[start].line
                {
                    break;
                }
                joined.extend(text.chars().filter(char::is_ascii_alphanumeric));
                if joined.len() > 34
                    || joined.len() < 4
                    || !joined.as_bytes()[2..4].iter().all(u8::is_ascii_digit)
                    || !joined.as_bytes()[..2].iter().all(u8::is_ascii_uppercase)
                {
                    break;
                }
                let span = Span { start, end: end + 1 };
                if is_iban(&joined) {
                    return Some((span, 1.0));
                }
                if joined.len() >= 14 && has_digit(self.view.words[end].text) {
                    whole = Some(span);
                }
            }
            if let Some(span) = whole {
                return Some((span, weights::IBAN_WITH_WRONG_CHECK_DIGITS));
            }
        }
        None
    }

    /// Whether a region is a number in short groups of which one has letters alone: `QQ 12 34 56 C`.
    fn is_in_groups(&self, region: Span) -> bool {
        let groups = &self.view.words[region.start..region.end];
        let is_group = |text: &str| {
            text.len() <= GROUP && text.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
        };
        (3..=GROUPS).contains(&groups.len())
            && groups.iter().all(|word| is_group(word.text))
            && groups.iter().skip(1).all(|word| word.gap == 1)
            && groups.iter().filter(|word| has_digit(word.text)).count() >= 2
            && groups.iter().any(|word| !has_digit(word.text))
            && currency(groups[0].text).is_none()
    }

    /// A number of letters and digits, and how much it looks like one.
    pub(super) fn identifier(&self, region: Span, is_vat: bool) -> Option<(Span, f64)> {
        if self.is_in_groups(region) {
            return Some((region, 1.0));
        }
        for at in region.start..region.end.min(region.start + 5) {
            let word = &self.view.words[at];
            let bare = word.text.trim_matches(|c: char| !c.is_alphanumeric());
            let digits = bare.bytes().filter(u8::is_ascii_digit).count();
            let aside = word.text.starts_with('(') && word.text.ends_with(')') && at + 1 < region.end;
            if digits == 0 || bare.is_empty() || aside {
                continue;
            }
            let mut end = at + 1;
            let is_group = |text: &str| text.len() >= 2 && text.bytes().all(|byte| byte.is_ascii_digit());
            while end < region.end
                && end < at + 5
                && self.view.words[end].gap == 1
                && is_group(self.view.words[end].text)
                && (is_group(bare) || is_vat)
            {
                end += 1;
            }
            let mut start = at;
            if is_vat
                && at > region.start
                && self.view.words[at - 1].text.len() == 2
                && self.view.words[at - 1].text.chars().all(char::is_uppercase)
            {
                start = at - 1;
            }
            let span = Span { start, end };
            let total: usize = self.view.words[start..end]
                .iter()
                .flat_map(|word| word.text.bytes())
                .filter(u8::is_ascii_digit)
                .count();
            let mut share = 1.0;
            if self.annotations.dates_in(span).iter().any(|date| date.span == span) {
                share *= weights::DATE_AS_IDENTIFIER;
            }
            if self
                .annotations
                .amounts_in(span)
                .iter()
                .any(|amount| amount.is_money && (amount.has_mark || amount.currency.is_some()))
            {
                share *= weights::MONEY_AS_IDENTIFIER;
            }
            if is_vat && total < MIN_VAT_DIGITS {
                share *= weights::SHORT_VAT_NUMBER;
            }
            if bare.len() < 2 {
                share *= weights::IDENTIFIER_OF_ONE_CHARACTER;
            }
            if bare.contains('%') || word.text.contains('%') || bare.contains('@') {
                continue;
            }
            return Some((span, share));
        }
        None
    }
}

/// Whether text is an account number with right check digits.
fn is_iban(text: &str) -> bool {
    let bytes = text.as_bytes();
    if !(15..=34).contains(&bytes.len())
        || !bytes[..2].iter().all(u8::is_ascii_uppercase)
        || !bytes[2..4].iter().all(u8::is_ascii_digit)
    {
        return false;
    }
    let rest = bytes[4..].iter().chain(&bytes[..4]).try_fold(0_u32, |rest, byte| match byte {
        b'0'..=b'9' => Some((rest * 10 + u32::from(byte - b'0')) % 97),
        b'A'..=b'Z' => Some((rest * 100 + u32::from(byte - b'A') + 10) % 97),
        _ => None,
    });
    rest == Some(1)
}
