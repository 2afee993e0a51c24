//! Text and numbers as values.

use std::borrow::Cow;

use openapi_core::json::{Json, parse};

use super::vocabulary::{ABSENT, ABSENT_PHRASES, PROMPTS};

/// A number as JSON, as it is written.
pub(crate) fn number_json(value: rust_decimal::Decimal) -> Json {
    parse(value.normalize().to_string().as_bytes()).unwrap_or(Json::Null)
}

/// Text without the marks that separate it from what is around.
pub(crate) fn tidy(text: &str) -> String {
    let trimmed = text.trim_matches(|c: char| {
        c.is_whitespace()
            || matches!(c, ',' | ';' | ':' | '：' | '|' | '*' | '=' | '·' | '•' | '"' | '“' | '”' | '_')
    });
    let trimmed = if trimmed.starts_with('(') && trimmed.ends_with(')') && trimmed.matches('(').count() == 1 {
        &trimmed[1..trimmed.len() - 1]
    } else {
        trimmed
    };
    trimmed.to_owned()
}

/// Whether text states that there is no value.
pub(crate) fn is_nothing(text: &str) -> bool {
    let bare = text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '.' | ',' | ':' | '(' | ')'));
    let lower = bare.to_lowercase();
    ABSENT.has(&lower) || ABSENT_PHRASES.has(&lower) || is_placeholder(bare)
}

/// Whether text is what a template has where a value is to be written: `[Insert name]`, `{{customer}}`, `<Date>`, `____`.
fn is_placeholder(text: &str) -> bool {
    let within = [("{{", "}}"), ("<<", ">>"), ("[", "]"), ("<", ">"), ("«", "»"), ("${", "}"), ("%", "%")];
    let inner = within.iter().find_map(|(open, close)| text.strip_prefix(open)?.strip_suffix(close));
    let is_inner = inner.is_some_and(|inner| {
        inner.chars().filter(|c| c.is_alphabetic()).count() >= 3
            && !inner.contains(['[', '<', '{', '«'])
            && !inner.contains("://")
            && !inner.contains('@')
    });
    let is_blank =
        text.chars().count() >= 3 && text.chars().all(|c| matches!(c, '_' | '.' | '…' | '-' | ' ' | '/'));
    is_inner || is_blank || PROMPTS.occur_at_start(&text.to_lowercase())
}

pub(crate) fn has_digit(text: &str) -> bool {
    text.chars().any(|c| digit(c).is_some())
}

/// The first digits of the scripts in which documents write numbers, each followed by its nine others.
const ZEROES: [char; 7] = ['0', '٠', '۰', '०', '০', '๐', '０'];

fn digit(c: char) -> Option<char> {
    let of = |zero: char| (c as u32).checked_sub(zero as u32).filter(|offset| *offset < 10);
    ZEROES.into_iter().find_map(of).and_then(|offset| char::from_digit(offset, 10))
}

/// Text with digits and marks of numbers of other scripts as ASCII.
pub(crate) fn ascii_digits(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let plain = |c: char| match c {
        '٫' | '．' => '.',
        '٬' | '，' => ',',
        '／' => '/',
        '－' => '-',
        _ => digit(c).unwrap_or(c),
    };
    Cow::Owned(text.chars().map(plain).collect())
}

/// Whether text begins with a capital.
pub(crate) fn is_capitalised(text: &str) -> bool {
    text.chars().next().is_some_and(char::is_uppercase)
}
