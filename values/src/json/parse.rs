//! The strict parser: UTF-8 only, no repeated names, no lone surrogates, at most 32 levels, nothing after the value.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde_json::value::RawValue;

use super::{Json, Number, Object};

/// The deepest nesting of a request body (contract 9).
pub const MAX_DEPTH: usize = 32;

/// Why a text is not JSON in the contract's sense, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ParseError {
    reason: String,
    line: usize,
    column: usize,
}

impl ParseError {
    /// The line of the fault, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line
    }

    /// The byte of the line at which the fault stands, from 1.
    #[must_use]
    pub fn column(&self) -> usize {
        self.column
    }
}

/// Reads one JSON value; a leading byte order mark is skipped.
///
/// # Errors
/// Syntax faults, trailing content, invalid UTF-8, lone surrogate escapes, repeated member names and nesting deeper
/// than [`MAX_DEPTH`], each with its line and column.
pub fn parse(bytes: &[u8]) -> Result<Json, ParseError> {
    let start = if bytes.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
    let text = std::str::from_utf8(bytes)
        .map_err(|error| position(bytes, start, error.valid_up_to(), "invalid UTF-8".to_owned()))?;
    let mut parser = Parser { text, at: start };
    parser.document().map_err(|fault| position(bytes, start, fault.at, fault.reason.to_string()))
}

impl<'de> Deserialize<'de> for Json {
    /// Reads JSON that this crate has serialized. Only deserializers of JSON text work, because a [`Number`] preserves
    /// its text.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        parse(raw.get().as_bytes()).map_err(D::Error::custom)
    }
}

fn position(bytes: &[u8], start: usize, at: usize, reason: String) -> ParseError {
    let before = &bytes[start.min(at)..at.min(bytes.len())];
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let column =
        before.len() - before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1) + 1;
    ParseError { reason, line, column }
}

struct Rejection {
    at: usize,
    reason: Reason,
}

enum Reason {
    Text(&'static str),
    Repeated(String),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Text(text) => f.write_str(text),
            Reason::Repeated(name) => write!(f, "duplicate member name '{name}'"),
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn document(&mut self) -> Result<Json, Rejection> {
        let value = self.value(0)?;
        self.skip_space();
        if self.at < self.text.len() {
            return self.fault("unexpected content after the value");
        }
        Ok(value)
    }

    fn fault<T>(&self, reason: &'static str) -> Result<T, Rejection> {
        Err(Rejection { at: self.at, reason: Reason::Text(reason) })
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Recursion is bounded by [`MAX_DEPTH`].
    fn value(&mut self, depth: usize) -> Result<Json, Rejection> {
        self.skip_space();
        match self.peek() {
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'"') => self.string().map(Json::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            Some(_) => self.fault("expected a value"),
            None => self.fault("unexpected end of the text"),
        }
    }

    fn word(&mut self, word: &str, value: Json) -> Result<Json, Rejection> {
        if self.text[self.at..].starts_with(word) {
            self.at += word.len();
            Ok(value)
        } else {
            self.fault("expected a value")
        }
    }

    fn deeper(&self, depth: usize) -> Result<(), Rejection> {
        if depth > MAX_DEPTH { self.fault("nested deeper than 32 levels") } else { Ok(()) }
    }

    fn array(&mut self, depth: usize) -> Result<Json, Rejection> {
        self.deeper(depth)?;
        self.at += 1;
        let mut items = Vec::new();
        self.skip_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value(depth)?);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Json::Array(items));
                }
                _ => return self.fault("expected ',' or ']'"),
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, Rejection> {
        self.deeper(depth)?;
        self.at += 1;
        let mut members = Object::new();
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Object(members));
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return self.fault("expected a member name in double quotes");
            }
            let name_at = self.at;
            let name = self.string()?;
            if members.get(&name).is_some() {
                let shown = name.chars().take(64).collect();
                return Err(Rejection { at: name_at, reason: Reason::Repeated(shown) });
            }
            self.skip_space();
            if self.peek() != Some(b':') {
                return self.fault("expected ':' after a member name");
            }
            self.at += 1;
            let value = self.value(depth)?;
            members.insert(name, value);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Json::Object(members));
                }
                _ => return self.fault("expected ',' or '}'"),
            }
        }
    }

    fn digits(&mut self) -> Result<(), Rejection> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { self.fault("expected a digit") } else { Ok(()) }
    }

    fn number(&mut self) -> Result<Json, Rejection> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
            if matches!(self.peek(), Some(b'0'..=b'9')) {
                return self.fault("a number has no leading zeros");
            }
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(Json::Number(Number::from_checked(&self.text[start..self.at])))
    }

    fn string(&mut self) -> Result<String, Rejection> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            let Some(run) = rest.iter().position(|&byte| byte == b'"' || byte == b'\\' || byte < 0x20) else {
                self.at = self.text.len();
                return self.fault("unexpected end of the text inside a string");
            };
            text.push_str(&self.text[self.at..self.at + run]);
            self.at += run;
            match rest[run] {
                b'"' => {
                    self.at += 1;
                    return Ok(text);
                }
                b'\\' => text.push(self.escape()?),
                _ => return self.fault("a control character inside a string must be escaped"),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Rejection> {
        let start = self.at;
        let kind = self.text.as_bytes().get(self.at + 1).copied();
        self.at += 2;
        let plain = match kind {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(start),
            _ => {
                self.at = start;
                return self.fault("unknown escape");
            }
        };
        Ok(plain)
    }

    fn unicode_escape(&mut self, start: usize) -> Result<char, Rejection> {
        let lone = Rejection { at: start, reason: Reason::Text("lone surrogate in an escape") };
        let first = self.hex(start)?;
        if !(0xD800..0xE000).contains(&first) {
            return char::from_u32(first).ok_or(lone);
        }
        if first >= 0xDC00 || !self.text[self.at..].starts_with("\\u") {
            return Err(lone);
        }
        self.at += 2;
        let second = self.hex(start)?;
        if !(0xDC00..0xE000).contains(&second) {
            return Err(lone);
        }
        char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)).ok_or(lone)
    }

    fn hex(&mut self, start: usize) -> Result<u32, Rejection> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4);
        let code = digits
            .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            .and_then(|digits| u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        match code {
            Some(code) => {
                self.at += 4;
                Ok(code)
            }
            None => {
                Err(Rejection { at: start, reason: Reason::Text("an escape needs four hexadecimal digits") })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fault(text: &str) -> (String, usize, usize) {
        let error = parse(text.as_bytes()).unwrap_err();
        (error.to_string(), error.line(), error.column())
    }

    #[test]
    fn faults_have_reason_line_and_column() {
        assert_eq!(fault("{\n \"a\": 1,\n \"a\": 2}"), ("duplicate member name 'a'".into(), 3, 2));
        assert_eq!(fault("[\"\\ud800\"]"), ("lone surrogate in an escape".into(), 1, 3));
        assert_eq!(fault("{} x"), ("unexpected content after the value".into(), 1, 4));
        assert_eq!(fault("[01]").0, "a number has no leading zeros");
        assert_eq!(fault("").0, "unexpected end of the text");
        assert_eq!(parse(b"\"\xff\"").unwrap_err().to_string(), "invalid UTF-8");
        assert_eq!(parse("\"é\u{1}\"".as_bytes()).unwrap_err().column(), 4, "columns count bytes");
        let many: String = (0..40).map(|i| format!("\"n{}\":1,", i % 39)).collect();
        assert!(
            fault(&format!("{{{}}}", &many[..many.len() - 1])).0.contains("'n0'"),
            "found in large objects too"
        );
    }

    #[test]
    fn nesting_ends_at_32() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(parse(nested(32).as_bytes()).is_ok());
        assert_eq!(fault(&nested(33)).0, "nested deeper than 32 levels");
        assert_eq!(fault(&"[".repeat(1_000_000)).2, 33);
    }

    #[test]
    fn numbers_and_marks_survive() {
        let text = r#"{"a":1.50,"b":-0,"c":1e400,"d":12345678901234567890123456789}"#;
        assert_eq!(parse(format!("\u{feff}{text}").as_bytes()).unwrap().to_text(), text);
        for (number, integer) in [
            ("3", true),
            ("3.0", true),
            ("30e-1", true),
            ("3.5", false),
            ("35e-1", false),
            ("0.0e-9", true),
            ("1e999999999999999999999", false),
        ] {
            let Json::Number(number) = parse(number.as_bytes()).unwrap() else { unreachable!() };
            assert_eq!(number.is_integer(), integer, "{number:?}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_an_independent_parser(text in "[\\[\\]{}:,\"\\\\u0-9a-e.+ tfn-]{0,24}") {
            let ours = parse(text.as_bytes());
            let theirs = serde_json::from_str::<serde_json::Value>(&text);
            match (&ours, &theirs) {
                (Ok(ours), Ok(theirs)) => prop_assert_eq!(ours.to_text().parse::<serde_json::Value>().unwrap(), theirs.clone()),
                (Ok(_), Err(error)) => prop_assert!(error.to_string().contains("out of range"), "{}", error),
                (Err(error), Ok(_)) => prop_assert!(error.to_string().contains("duplicate"), "{}", error),
                (Err(_), Err(_)) => {}
            }
        }

        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = parse(&bytes);
        }
    }
}
