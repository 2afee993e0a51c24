//! Booleans in queries and forms.

/// `true`, `false`, `1` or `0`, ignoring case (contract 5.1).
pub fn parse_boolean(text: &str) -> Option<bool> {
    if text == "1" || text.eq_ignore_ascii_case("true") {
        Some(true)
    } else if text == "0" || text.eq_ignore_ascii_case("false") {
        Some(false)
    } else {
        None
    }
}
