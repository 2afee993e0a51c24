//! Numbers and amounts, by the decimal mark that the document itself shows.

use rust_decimal::Decimal;

use super::text::has_digit;
use super::view::{Span, View};
use super::vocabulary::CURRENCIES;

/// The mark before the decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Dot,
    Comma,
    /// No number tells; three digits after a mark are thousands.
    Unknown,
}

/// A number as the document writes it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Amount {
    pub(crate) span: Span,
    pub(crate) value: Decimal,
    /// The ISO 4217 code of the currency next to it.
    pub(crate) currency: Option<&'static str>,
    /// Whether it has exactly two decimals or a currency: money rather than a count.
    pub(crate) is_money: bool,
    pub(crate) is_percent: bool,
    /// Whether its word contains only it, a currency and marks.
    pub(crate) is_clean: bool,
    /// Whether it has a mark for decimals or thousands.
    pub(crate) has_mark: bool,
}

/// The ISO 4217 code of a sign or code of a currency.
pub(crate) fn currency(word: &str) -> Option<&'static str> {
    let lower =
        word.trim_matches(|c: char| matches!(c, '.' | ':' | '(' | ')' | ',' | '[' | ']')).to_lowercase();
    CURRENCIES.iter().find(|(_, signs)| signs.has(&lower)).map(|(code, _)| *code)
}

/// The parts of a word that holds a number: what is before, the digits with their marks, what is after.
fn parts(word: &str) -> Option<(&str, &str, &str)> {
    let start = word.find(|c: char| c.is_ascii_digit())?;
    let start = match word[..start].chars().next_back() {
        Some('.' | ',') if start == 1 => start - 1,
        _ => start,
    };
    let rest = &word[start..];
    let mut end = rest
        .char_indices()
        .find(|(_, c)| !c.is_ascii_digit() && !matches!(c, '.' | ',' | '\'' | '’'))
        .map_or(rest.len(), |(at, _)| at);
    while end > 0 && !rest.as_bytes()[end - 1].is_ascii_digit() {
        end -= 1;
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
    }
    Some((&word[..start], &rest[..end], &rest[end..]))
}

/// The number of digits with marks; none where the marks do not fit a number.
pub(crate) fn decimal(digits: &str, mark: Mark) -> Option<Decimal> {
    let body: String =
        digits.chars().filter(|c| !matches!(c, '\'' | '’' | ' ' | '\u{a0}' | '\u{202f}')).collect();
    let marks: Vec<(usize, char)> = body.char_indices().filter(|(_, c)| matches!(c, '.' | ',')).collect();
    let tail = marks.last().map_or(0, |(at, _)| body.len() - at - 1);
    let thousands = || {
        let groups: Vec<&str> = body.split(['.', ',']).collect();
        (1..=3).contains(&groups[0].len()) && groups[1..].iter().all(|group| group.len() == 3)
    };
    let both = marks.iter().any(|(_, c)| *c == '.') && marks.iter().any(|(_, c)| *c == ',');
    let is_decimal = match (marks.len(), both) {
        (0, _) => false,
        (_, true) => {
            let last = marks[marks.len() - 1].1;
            let is_one = marks.iter().filter(|(_, c)| *c == last).count() == 1;
            if !is_one && !thousands() {
                return None;
            }
            is_one
        }
        (1, _) if tail == 3 && body.find(['.', ',']) != Some(0) => match (mark, marks[0].1) {
            (Mark::Dot, '.') | (Mark::Comma, ',') => true,
            _ => !thousands(),
        },
        (1, _) => true,
        _ => {
            if !thousands() {
                return None;
            }
            false
        }
    };
    let plain: String = if is_decimal {
        let at = marks[marks.len() - 1].0;
        let whole: String = body[..at].chars().filter(char::is_ascii_digit).collect();
        format!("{}.{}", if whole.is_empty() { "0" } else { &whole }, &body[at + 1..])
    } else {
        body.chars().filter(char::is_ascii_digit).collect()
    };
    if plain.len() > 20 {
        return None;
    }
    plain.parse().ok()
}

/// What a number with three digits after a mark, which are likely thousands, tells of the other mark; one with two digits
/// tells 1 of its own.
const THOUSANDS: f64 = 0.4;

/// The decimal mark that the numbers of the document show.
pub(crate) fn mark(view: &View<'_>) -> Mark {
    let (mut dot, mut comma, mut thousands_dot, mut thousands_comma) = (0_u32, 0_u32, 0_u32, 0_u32);
    for word in &view.words {
        let Some((before, digits, _)) = parts(word.text) else { continue };
        if before.chars().any(char::is_alphabetic) && currency(before).is_none() {
            continue;
        }
        let marks: Vec<(usize, char)> =
            digits.char_indices().filter(|(_, c)| matches!(c, '.' | ',')).collect();
        let Some(&(last, c)) = marks.last() else { continue };
        let tail = digits.len() - last - 1;
        if marks.len() > 2 && tail != 2 && tail != 3 || marks.len() == 2 && marks[0].1 == c && tail < 3 {
            continue; // A date or a section.
        }
        match (c, tail) {
            ('.', 2) => dot += 1,
            (',', 2) => comma += 1,
            ('.', 3) => thousands_dot += 1,
            (',', 3) => thousands_comma += 1,
            _ => {}
        }
    }
    let dots = f64::from(dot) + THOUSANDS * f64::from(thousands_comma);
    let commas = f64::from(comma) + THOUSANDS * f64::from(thousands_dot);
    if dot + comma == 0 {
        Mark::Unknown
    } else if dots > commas {
        Mark::Dot
    } else if commas > dots {
        Mark::Comma
    } else {
        Mark::Unknown
    }
}

/// The number in a word, if the word is one but for currency, signs and a few letters.
pub(crate) fn of_word(text: &str, mark: Mark) -> Option<Amount> {
    let (before, digits, after) = parts(text)?;
    let mut value = decimal(digits, mark)?;
    let margin =
        before.trim_end_matches(['-', '−', '+', '(', '*', '@', '#', 'x', 'X', '=', ':', '~', '|', '[']);
    let sign = before.ends_with(['-', '−']) || before.starts_with(['-', '−']);
    let code = currency(margin).or_else(|| currency(after.trim_end_matches(['-', '*', ')'])));
    let lead_fits = margin.trim_matches(['-', '−', '(', '[']).is_empty()
        || currency(margin.trim_matches(['-', '−', '('])).is_some();
    let trail =
        after.trim_matches([')', '*', '-', ',', ';', '.', '%', ':', '|', ']', '−', '=', '+', '/', '"', '”']);
    let is_label = before.ends_with([':', '=']) && !margin.is_empty();
    if !(lead_fits || is_label)
        || trail.chars().count() > 3 && currency(trail).is_none()
        || trail.chars().any(|c| c.is_ascii_digit())
    {
        return None;
    }
    let negative = sign
        || (before.ends_with('(') || margin.starts_with('(')) && after.starts_with(')')
        || after.starts_with(['-', '−']) && after.len() <= 3;
    // `(5)` counts, `(5.00)` is owed.
    let decimals = value.scale();
    if negative && (decimals > 0 || !before.contains('(')) {
        value.set_sign_negative(true);
    }
    let has_mark = digits.contains(['.', ',']);
    Some(Amount {
        span: Span { start: 0, end: 1 },
        value,
        currency: code,
        is_money: code.is_some() || decimals == 2,
        is_percent: after.contains('%'),
        is_clean: lead_fits && (trail.is_empty() || currency(trail).is_some()),
        has_mark,
    })
}

/// Every number of the document.
pub(crate) fn find(view: &View<'_>, mark: Mark) -> Vec<Amount> {
    let mut found: Vec<Amount> = Vec::new();
    let mut at = 0;
    while at < view.words.len() {
        let word = &view.words[at];
        let Some(mut amount) = has_digit(word.text).then(|| of_word(word.text, mark)).flatten() else {
            at += 1;
            continue;
        };
        let line = word.line;
        let mut end = at + 1;
        // `1 234 567,89`: groups of three with one space between them.
        if let Some((joined, length)) = grouped(view, at, mark) {
            amount = joined;
            end = at + length;
        }
        let neighbour = |index: usize| view.words.get(index).filter(|next| next.line == line);
        let mut start = at;
        if amount.currency.is_none() {
            let before = at.checked_sub(1).and_then(neighbour).filter(|_| view.words[at].gap <= 2);
            let after = neighbour(end).filter(|next| next.gap <= 2);
            if let Some(code) = before.and_then(|word| currency(word.text)) {
                (amount.currency, amount.is_money) = (Some(code), true);
                start = at - 1;
            } else if let Some(code) = after.and_then(|word| currency(word.text)) {
                (amount.currency, amount.is_money) = (Some(code), true);
                end += 1;
            }
        }
        if let Some(after) = neighbour(end) {
            if after.text == "%" {
                amount.is_percent = true;
                end += 1;
            } else if after.text == "-" && after.gap <= 1 && amount.is_money {
                amount.value.set_sign_negative(true);
                end += 1;
            }
        }
        if let Some(before) = start.checked_sub(1).and_then(neighbour)
            && matches!(before.text, "-" | "−")
            && amount.is_money
            && view.words[start].gap <= 1
            && start
                .checked_sub(2)
                .and_then(neighbour)
                .is_none_or(|further| !further.text.ends_with(|c: char| c.is_ascii_digit()))
        {
            amount.value.set_sign_negative(true);
            start -= 1;
        }
        amount.span = Span { start, end };
        found.push(amount);
        at = end.max(at + 1);
    }
    found
}

fn grouped(view: &View<'_>, at: usize, mark: Mark) -> Option<(Amount, usize)> {
    let line = view.words[at].line;
    let (_, digits, after) = parts(view.words[at].text)?;
    if !after.is_empty() || digits.len() > 3 || digits.contains(['.', ',']) || mark == Mark::Dot {
        return None;
    }
    let mut joined = view.words[at].text.to_owned();
    let mut length = 1;
    while let Some(next) = view.words.get(at + length).filter(|next| next.line == line && next.gap == 1) {
        let (before, digits, _) = parts(next.text)?;
        let whole = digits.split(['.', ',']).next().unwrap_or("");
        if !before.is_empty() || whole.len() != 3 {
            break;
        }
        joined.push_str(next.text);
        length += 1;
        if digits.len() > 3 {
            return of_word(&joined, mark).filter(|amount| amount.is_money).map(|amount| (amount, length));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, mark: Mark) -> Option<String> {
        of_word(text, mark).map(|amount| amount.value.normalize().to_string())
    }

    #[test]
    fn amounts_of_several_countries() {
        for (text, mark, value) in [
            ("1,234.56", Mark::Unknown, "1234.56"),
            ("1.234,56", Mark::Unknown, "1234.56"),
            ("60.000", Mark::Unknown, "60000"),
            ("60.000", Mark::Comma, "60000"),
            ("1.234", Mark::Dot, "1.234"),
            ("3,000", Mark::Comma, "3"),
            ("45,455", Mark::Dot, "45455"),
            ("Rp.56.000", Mark::Unknown, "56000"),
            ("£1,234.50", Mark::Dot, "1234.5"),
            ("(5.00)", Mark::Dot, "-5"),
            ("5.00-", Mark::Dot, "-5"),
            ("-60.000", Mark::Unknown, "-60000"),
            ("75.00SR", Mark::Dot, "75"),
            ("1'234.50", Mark::Dot, "1234.5"),
            ("@24.000", Mark::Unknown, "24000"),
            ("1.234.567", Mark::Unknown, "1234567"),
            (".50", Mark::Dot, "0.5"),
            ("19%", Mark::Dot, "19"),
        ] {
            assert_eq!(read(text, mark).as_deref(), Some(value), "{text}");
        }
        for text in ["INV-2043", "A4", "12-34-56", "10:27", "1.2.3", "12ABCD", "ab", "18/01/2018"] {
            assert_eq!(read(text, Mark::Dot), None, "{text}");
        }
    }
}
