//! The error of a command: its message for standard error, and the exit status.

use std::fmt;

use crate::config::ConfigError;

/// The error of a command. Its message says what to do.
#[derive(Debug)]
pub struct CliError {
    message: String,
    /// Whether the command line was wrong: exit status 2 instead of 1.
    is_usage: bool,
}

impl CliError {
    /// An error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        CliError { message: message.into(), is_usage: false }
    }

    /// An invalid command line.
    pub fn usage(message: impl Into<String>) -> Self {
        CliError { message: message.into(), is_usage: true }
    }

    /// An error with the message of an error and of its causes.
    pub fn caused_by(error: &dyn std::error::Error) -> Self {
        CliError::new(with_causes(error))
    }

    /// The exit status.
    #[must_use]
    pub fn status(&self) -> u8 {
        if self.is_usage { 2 } else { 1 }
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        CliError { message: error.to_string(), is_usage: error.is_usage }
    }
}

/// An error with its causes, where its own message does not repeat them already.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !message.contains(&text) {
            message.push_str(": ");
            message.push_str(&text);
        }
        source = cause.source();
    }
    message
}

/// Converts errors whose messages, with those of their causes, say enough.
macro_rules! from_error {
    ($($error:ty),*) => {$(
        impl From<$error> for $crate::error::CliError {
            fn from(error: $error) -> Self {
                $crate::error::CliError::caused_by(&error)
            }
        }
    )*};
}

pub(crate) use from_error;

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
    serde_json::Error,
    csv::Error,
    std::io::Error
);
