//! Numbers and amounts, by the decimal mark that the document itself shows.

use rust_decimal::Decimal;

use super::text::{ascii_digits, has_digit};
use super::view::{COLONS, Span, View};
use super::vocabulary::{CURRENCIES, PERCENT, SCALES};

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
    let bare = word.trim_matches(|c: char| matches!(c, '.' | ':' | '(' | ')' | ',' | '[' | ']'));
    // In other letters it is a foot; likewise below.
    if bare == "Ft" {
        return Some("HUF");
    }
    if matches!(bare, "tl" | "try" | "Try" | "php") {
        return None;
    }
    let lower = bare.to_lowercase();
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
    // Marks of footnotes, and the letter of a scale: `4.5²`, `$250K`.
    let after = after.trim_end_matches(['¹', '²', '³', '⁴', '⁵', '†', '‡', '*']);
    let margin =
        before.trim_end_matches(['-', '−', '+', '(', '*', '@', '#', 'x', 'X', '=', ':', '~', '|', '[']);
    let sign = before.ends_with(['-', '−']) || before.starts_with(['-', '−']);
    let unsigned = margin.trim_matches(['-', '−', '+', '(', '[']);
    let code = currency(unsigned).or_else(|| currency(after.trim_end_matches(['-', '*', ')'])));
    let lead_fits = unsigned.is_empty() || currency(unsigned).is_some();
    let trail =
        after.trim_matches([')', '*', '-', ',', ';', '.', '%', ':', '|', ']', '−', '=', '+', '/', '"', '”']);
    let is_label = before.ends_with([':', '：', '=']) && !margin.is_empty();
    if !(lead_fits || is_label)
        || trail.chars().count() > 3 && currency(trail).is_none()
        || trail.chars().any(|c| c.is_ascii_digit())
    {
        return None;
    }
    let scale = scale(trail).filter(|_| code.is_some() || currency(unsigned).is_some());
    let negative = sign
        || (before.ends_with('(') || margin.starts_with('(')) && after.starts_with(')')
        || after.starts_with(['-', '−']) && after.len() <= 3;
    // `(5)` counts, `(5.00)` is owed.
    let decimals = value.scale();
    if negative && (decimals > 0 || !before.contains('(')) {
        value.set_sign_negative(true);
    }
    if let Some(scaled) = scale.and_then(|zeroes| scaled(value, zeroes)) {
        value = scaled;
    }
    let has_mark = digits.contains(['.', ',']);
    Some(Amount {
        span: Span { start: 0, end: 1 },
        value,
        currency: code,
        is_money: code.is_some() || decimals == 2,
        is_percent: after.contains('%'),
        is_clean: lead_fits && (trail.is_empty() || currency(trail).is_some() || scale.is_some()),
        has_mark,
    })
}

/// The zeroes that a word after a number adds.
fn scale(word: &str) -> Option<u32> {
    let folded = super::view::fold(word);
    SCALES.iter().find(|(_, words)| words.has(&folded)).map(|(zeroes, _)| *zeroes)
}

fn scaled(value: Decimal, zeroes: u32) -> Option<Decimal> {
    value.checked_mul(Decimal::from(10_u64.pow(zeroes))).map(|value| value.normalize())
}

/// Whether a word is only the sign of a number, or a sign and a currency: `−€`.
fn signed_currency(word: &str) -> Option<&'static str> {
    currency(word.strip_prefix(['-', '−', '–'])?)
}

/// Every number of the document.
pub(crate) fn find(view: &View<'_>, mark: Mark) -> Vec<Amount> {
    let mut found: Vec<Amount> = Vec::new();
    let mut at = 0;
    while at < view.words.len() {
        let word = &view.words[at];
        let read = || of_word(&ascii_digits(word.text), mark);
        let Some(mut amount) = has_digit(word.text).then(read).flatten() else {
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
            } else if let Some(code) = before.and_then(|word| signed_currency(word.text)) {
                (amount.currency, amount.is_money) = (Some(code), true);
                amount.value.set_sign_negative(true);
                start = at - 1;
            } else if let Some(code) = after.and_then(|word| currency(word.text)) {
                (amount.currency, amount.is_money) = (Some(code), true);
                end += 1;
            }
        }
        // `$1.5 million`, `2,5 Mio. EUR`
        let zeroes = neighbour(end)
            .filter(|next| next.gap <= 1 && next.folded.chars().count() > 1)
            .and_then(|next| scale(next.text));
        if let Some(value) = zeroes.and_then(|zeroes| scaled(amount.value, zeroes)) {
            amount.value = value;
            end += 1;
            if let Some(code) =
                neighbour(end).filter(|_| amount.currency.is_none()).and_then(|next| currency(next.text))
            {
                (amount.currency, amount.is_money) = (Some(code), true);
                end += 1;
            }
        }
        if let Some(after) = neighbour(end) {
            if PERCENT.has(after.text.to_lowercase().trim_end_matches(COLONS))
                || matches!(
                    (after.folded.as_str(), neighbour(end + 1).map(|next| next.folded.as_str())),
                    ("per", Some("cent")) | ("pour", Some("cent")) | ("por", Some("ciento"))
                )
            {
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

/// A number in groups of three digits with blanks between them, and its words. `2 150.00` is also a quantity and a price:
/// what is around has to say that it is one number.
fn grouped(view: &View<'_>, at: usize, mark: Mark) -> Option<(Amount, usize)> {
    let word = &view.words[at];
    let first = ascii_digits(word.text);
    let (lead, digits, after) = parts(&first)?;
    let is_lead = lead.trim_matches(['-', '−', '(', '+']).is_empty()
        || currency(lead.trim_matches(['-', '−', '('])).is_some();
    if !after.is_empty()
        || digits.len() > 3
        || digits.contains(['.', ','])
        || digits.starts_with('0')
        || !is_lead
    {
        return None;
    }
    let mut joined = first.clone().into_owned();
    let mut length = 1;
    let (mut has_decimals, mut ends) = (false, false);
    while let Some(next) =
        view.words.get(at + length).filter(|next| next.line == word.line && next.gap == 1 && !ends)
    {
        let text = ascii_digits(next.text);
        let Some((before, digits, rest)) = parts(&text) else { break };
        let whole = digits.split(['.', ',']).next().unwrap_or("");
        let decimals = digits.len() - whole.len();
        if !before.is_empty() || whole.len() != 3 || !matches!(decimals, 0 | 2 | 3) {
            break;
        }
        has_decimals = decimals > 0;
        ends = has_decimals || !rest.is_empty();
        joined.push_str(&text);
        length += 1;
    }
    if length == 1 {
        return None;
    }
    let neighbour = |index: usize| view.words.get(index).filter(|next| next.line == word.line);
    let before = at.checked_sub(1).and_then(neighbour);
    let after = neighbour(at + length).filter(|next| next.gap <= 1);
    let is_priced = |word: &crate::engine::builtin::view::Word<'_>| {
        currency(word.text).or(signed_currency(word.text)).is_some()
    };
    let follows_currency =
        !lead.is_empty() || before.is_some_and(|before| before.gap <= 2 && is_priced(before));
    let precedes_currency = after.is_some_and(is_priced);
    let follows_label = before.is_some_and(|before| before.text.ends_with([':', '：', '=']));
    let is_whole = after.is_none() || precedes_currency;
    let is_one = length >= 3
        || follows_currency
        || follows_label && is_whole
        || mark != Mark::Dot && has_decimals
        || mark != Mark::Dot && precedes_currency && before.is_none_or(|before| !has_digit(before.text));
    if !is_one {
        return None;
    }
    let mut amount = of_word(&joined, mark)?;
    amount.has_mark = true;
    Some((amount, length))
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
