//! Reads typed values out of the settings and collects all errors.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

use super::layers::{Origin, SourceError};
use super::registry::llm_key;
use super::{Config, ConfigError, values};

/// Reads values and collects errors instead of stopping at the first one.
pub struct Reader<'a> {
    config: &'a Config,
    errors: Vec<SourceError>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(config: &'a Config) -> Self {
        Reader { config, errors: Vec::new() }
    }

    pub(super) fn error(&mut self, key: &str, message: &str) {
        let value = self.config.value(key);
        let origin = match &value.origin {
            Origin::Default => String::new(),
            origin => format!(" ({origin})"),
        };
        self.errors.push((value.origin.clone(), format!("{key}: {message}{origin}")));
    }

    /// The names of the LLM endpoints that any source mentions, each with the first of its keys that has a value.
    pub(super) fn llm_names(&self) -> BTreeMap<String, String> {
        let mut names = BTreeMap::new();
        for value in self.config.values().iter().filter(|value| value.origin != Origin::Default) {
            if let Some((name, _)) = llm_key(&value.key) {
                names.entry(name.to_owned()).or_insert_with(|| value.key.clone());
            }
        }
        names
    }

    /// Whether a source has a value for a setting.
    pub(super) fn is_set(&self, key: &str) -> bool {
        self.config.value(key).origin != Origin::Default
    }

    pub(super) fn many<T>(&mut self, key: &str, read: impl Fn(&str) -> Result<T, String>) -> Vec<T> {
        let texts = &self.config.value(key).texts;
        let mut all = Vec::with_capacity(texts.len());
        for text in texts {
            match read(text) {
                Ok(value) => all.push(value),
                Err(message) => self.error(key, &message),
            }
        }
        all
    }

    pub(super) fn optional<T>(&mut self, key: &str, read: impl Fn(&str) -> Result<T, String>) -> Option<T> {
        self.many(key, read).pop()
    }

    /// The value of a setting that has a default; `otherwise` after an error, in which case `finish` fails.
    pub(super) fn one<T>(&mut self, key: &str, otherwise: T, read: impl Fn(&str) -> Result<T, String>) -> T {
        self.optional(key, read).unwrap_or(otherwise)
    }

    pub(super) fn number<T: FromStr>(&mut self, key: &str, otherwise: T) -> T {
        self.one(key, otherwise, |text| {
            text.parse().map_err(|_| format!("'{text}' is not a whole number in range"))
        })
    }

    pub(super) fn positive(&mut self, key: &str, otherwise: Duration) -> Duration {
        self.one(key, otherwise, |text| match values::duration(text)? {
            Duration::ZERO => Err("must be longer than 0s".to_owned()),
            duration => Ok(duration),
        })
    }

    pub(super) fn count(&mut self, key: &str, least: u64, most: u64) -> u64 {
        self.one(key, least, |text| match text.parse::<u64>() {
            Ok(count) if (least..=most).contains(&count) => Ok(count),
            Ok(_) => Err(format!("'{text}' is outside {least} to {most}")),
            Err(_) => Err(format!("'{text}' is not a whole number")),
        })
    }

    pub(super) fn bytes(&mut self, key: &str, otherwise: u64, least: u64, most: u64) -> u64 {
        self.one(key, otherwise, |text| {
            let size = values::size(text)?;
            if (least..=most).contains(&size) {
                return Ok(size);
            }
            Err(format!("'{text}' is outside {} to {}", bytesize::ByteSize(least), bytesize::ByteSize(most)))
        })
    }

    /// A size of something in memory.
    pub(super) fn length(&mut self, key: &str, least: u64, most: u64) -> usize {
        usize::try_from(self.bytes(key, least, least, most)).unwrap_or(usize::MAX)
    }

    /// A duration in milliseconds that is longer than 0.
    pub(super) fn millis(&mut self, key: &str) -> u64 {
        to_millis(self.positive(key, Duration::from_secs(1)))
    }

    pub(super) fn finish<T>(self, value: T) -> Result<T, ConfigError> {
        if self.errors.is_empty() { Ok(value) } else { Err(ConfigError::new(self.errors)) }
    }
}

/// A duration in whole milliseconds.
pub(super) fn to_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
