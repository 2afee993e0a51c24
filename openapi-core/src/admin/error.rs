//! Why an operator's action failed.

use crate::ports::BlobError;
use crate::reply::{ApiError, ErrorCode};
use crate::storage::{StorageError, StorageErrorKind};
use crate::validation::Violations;

/// The failure of an operator's action. Its text says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdminError {
    /// There is no such thing.
    #[error("there is no {what} '{id}'")]
    NotFound {
        /// What was looked for: `agent`, `key`, `contact`.
        what: &'static str,
        /// The id as given.
        id: String,
    },
    /// The input breaks rules; all of them are listed.
    #[error("{}", list(.0))]
    Invalid(Violations),
    /// The action contradicts what is stored.
    #[error("{0}")]
    Conflict(String),
    /// The action is not possible with these arguments.
    #[error("{0}")]
    Refused(String),
    /// The store of file contents failed.
    #[error("{error}{}", .error.source.as_ref().map(|source| format!(": {source}")).unwrap_or_default())]
    Contents {
        /// The store's error.
        #[from]
        error: BlobError,
    },
    /// The store failed.
    #[error("{error}{}", .error.source.as_ref().map(|source| format!(": {source}")).unwrap_or_default())]
    Storage {
        /// The store's error.
        #[from]
        error: StorageError,
    },
}

fn list(violations: &Violations) -> String {
    let mut text: Vec<&str> =
        violations.listed().iter().map(|violation| violation.message.as_str()).collect();
    let rest = format!("and {} more", violations.total() - text.len());
    if violations.total() > text.len() {
        text.push(&rest);
    }
    text.join("; ")
}

/// An error of the API as the operator reads it.
impl From<&ApiError> for AdminError {
    fn from(error: &ApiError) -> Self {
        match error.code() {
            ErrorCode::ValidationError => {
                let mut violations = Violations::new();
                error.violations().iter().cloned().for_each(|violation| violations.push(violation));
                AdminError::Invalid(violations)
            }
            ErrorCode::ServiceUnavailable => {
                AdminError::Storage { error: StorageErrorKind::Unavailable.into() }
            }
            ErrorCode::InternalError => AdminError::Storage { error: StorageErrorKind::Internal.into() },
            _ => AdminError::Conflict(error.message().to_owned()),
        }
    }
}
