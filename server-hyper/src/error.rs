//! Why a command failed: words for standard error, and the exit status.

use std::fmt;

use crate::config::ConfigError;

/// The failure of a command. Its text says what to do.
#[derive(Debug)]
pub struct CliError {
    words: String,
    /// Whether the command line was wrong: exit status 2 instead of 1.
    is_usage: bool,
}

impl CliError {
    /// A failure in these words.
    pub fn new(words: impl Into<String>) -> Self {
        CliError { words: words.into(), is_usage: false }
    }

    /// A command line that cannot be meant.
    pub fn usage(words: impl Into<String>) -> Self {
        CliError { words: words.into(), is_usage: true }
    }

    /// The exit status.
    #[must_use]
    pub fn status(&self) -> u8 {
        if self.is_usage { 2 } else { 1 }
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        CliError { words: error.to_string(), is_usage: error.is_usage }
    }
}

/// Makes a failure of an error whose own words, with those of its causes, say enough.
macro_rules! from_error {
    ($($error:ty),*) => {$(
        impl From<$error> for CliError {
            fn from(error: $error) -> Self {
                let mut words = error.to_string();
                let mut source = std::error::Error::source(&error);
                while let Some(cause) = source {
                    let cause_words = cause.to_string();
                    if !words.contains(&cause_words) {
                        words.push_str(": ");
                        words.push_str(&cause_words);
                    }
                    source = cause.source();
                }
                CliError::new(words)
            }
        }
    )*};
}

from_error!(
    openapi_core::admin::AdminError,
    openapi_core::storage::StorageError,
    storage_common::transfer::CopyError,
    openapi_core::values::Invalid,
    openapi_core::platform::MaintainError,
    openapi_core::ports::BlobError,
    storage_blobs::InvalidBlobsUrl,
    storage_blobs::OpenError,
    storage_sqlite::OpenError,
    storage_postgres::OpenError,
    storage_mongo::OpenError,
    crate::server_keys::KeyError,
    crate::serve::tls::TlsError,
    serde_json::Error,
    csv::Error,
    std::io::Error
);
