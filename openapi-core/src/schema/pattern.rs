//! Regular expressions, matched in time linear in the text.
//!
//! `regex-automata` is what the crate `regex` is made of. It is used here because `regex` asks the system how many
//! processors there are (it reads files of `/proc` and `/sys`), which a library does not do unasked: how many threads
//! match one pattern at a time without waiting for each other's memory is fixed here instead.

use std::fmt;

use regex_automata::meta::{self, BuildError};

/// Threads that match one pattern at a time with memory of their own; more of them share it.
const THREADS: usize = 8;

/// The most that a pattern may take, in bytes: once for its program and once for what matching remembers.
const MAX_BYTES: usize = 256 * 1024;

/// A compiled pattern: linear time, anchored only as written, bounded in size.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    regex: meta::Regex,
}

/// Text that is no pattern, or one that takes too much.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidPattern(String);

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// What is wrong with it, over several lines if it shows a position.
    pub fn new(text: &str) -> Result<Self, InvalidPattern> {
        let limits = meta::Config::new()
            .nfa_size_limit(Some(MAX_BYTES))
            .hybrid_cache_capacity(MAX_BYTES)
            .pool_capacity(THREADS);
        let regex = meta::Builder::new().configure(limits).build(text).map_err(|error| said(&error))?;
        Ok(Pattern { text: text.to_owned(), regex })
    }

    /// Whether any part of the text matches.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// The pattern as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn said(error: &BuildError) -> InvalidPattern {
    InvalidPattern(match (error.size_limit(), error.syntax_error()) {
        (Some(limit), _) => format!("the compiled pattern exceeds {limit} bytes"),
        (None, Some(error)) => error.to_string(),
        (None, None) => error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_any_part() {
        let pattern = Pattern::new("^[A-Z]{2}\\d$|ü").unwrap();
        assert_eq!(
            ["AB1", "xAB1", "Grün", ""].map(|text| pattern.is_match(text)),
            [true, false, true, false]
        );
        assert_eq!(pattern.to_string(), pattern.as_str());
        assert!(Pattern::new("").unwrap().is_match(""));
    }

    #[test]
    fn what_is_wrong_is_reported() {
        let said = |text: &str| Pattern::new(text).unwrap_err().to_string();
        assert!(said("(").contains("unclosed group"), "{}", said("("));
        assert!(said("(?=a)").contains("look-around"), "{}", said("(?=a)"));
        assert_eq!(said("(a{1000}){1000}"), "the compiled pattern exceeds 262144 bytes");
    }
}
