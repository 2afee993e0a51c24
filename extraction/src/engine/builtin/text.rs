//! Text and numbers as values.

use openapi_core::json::{Json, parse};

use super::vocabulary::ABSENT;

/// A number as JSON, as it is written.
pub(crate) fn number_json(value: rust_decimal::Decimal) -> Json {
    parse(value.normalize().to_string().as_bytes()).unwrap_or(Json::Null)
}

/// Text without the marks that separate it from what is around.
pub(crate) fn tidy(text: &str) -> String {
    let trimmed = text.trim_matches(|c: char| {
        c.is_whitespace()
            || matches!(c, ',' | ';' | ':' | '|' | '*' | '=' | '·' | '•' | '"' | '“' | '”' | '_')
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
    ABSENT.has(&bare.to_lowercase())
}

pub(crate) fn has_digit(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}

/// Whether text begins with a capital.
pub(crate) fn is_capitalised(text: &str) -> bool {
    text.chars().next().is_some_and(char::is_uppercase)
}
