//! The error of every storage method: a few kinds, each of which tells the caller what to do next.

use super::QuotaExcess;
use crate::reply::{ApiError, ErrorCode};
use crate::values::ContactId;

/// Why a storage method failed.
#[derive(Debug, thiserror::Error)]
#[error("{kind}")]
pub struct StorageError {
    /// What the caller does next.
    pub kind: StorageErrorKind,
    /// What the driver said; for logs, never for callers of the API.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// What a failure means to the caller of a storage method.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StorageErrorKind {
    /// The row to change, or its agent, is not there: answer that it is absent.
    #[error("the record does not exist")]
    Missing,
    /// Something read before has changed: read again and try again.
    #[error("the record has changed since it was read")]
    Stale,
    /// A value is used by another contact: answer so.
    #[error("a unique value is already used")]
    Duplicate(Duplicate),
    /// A unique value is used by another record: answer so.
    #[error("a unique value is already used by another record")]
    DuplicateRecord,
    /// An answer is stored under the idempotency key: give that one.
    #[error("an answer is already stored under the idempotency key")]
    ReplayExists,
    /// The id is taken: choose another one.
    #[error("the id already exists")]
    AlreadyExists,
    /// A file more would exceed what may be stored: answer so.
    #[error("more files would be stored than may be")]
    QuotaExceeded(QuotaExcess),
    /// The store does not answer now, or is out of space: try later.
    #[error("the data store is not available")]
    Unavailable,
    /// The store is damaged or holds what this version cannot read: an operator must look.
    #[error("the data store failed")]
    Internal,
}

/// A value that another contact of the agent already has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The field as the contract names it: `externalReferenceId`, `primaryEmail`, `customFields.member`.
    pub field: String,
    /// The contact that has the value.
    pub existing: ContactId,
    /// Whether that contact is archived.
    pub archived: bool,
}

impl StorageError {
    /// An error with the driver's own as its source.
    pub fn new(kind: StorageErrorKind, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        StorageError { kind, source: Some(source.into()) }
    }

    /// The same error for another caller whose work ended with it.
    #[must_use]
    pub fn again(&self) -> Self {
        let source = self.source.as_ref().map(|source| source.to_string().into());
        StorageError { kind: self.kind.clone(), source }
    }
}

impl From<StorageErrorKind> for StorageError {
    fn from(kind: StorageErrorKind) -> Self {
        StorageError { kind, source: None }
    }
}

impl From<Duplicate> for StorageError {
    fn from(duplicate: Duplicate) -> Self {
        StorageErrorKind::Duplicate(duplicate).into()
    }
}

impl From<StorageError> for ApiError {
    /// What is left when the platform has dealt with the kinds it can.
    fn from(error: StorageError) -> Self {
        match error.kind {
            StorageErrorKind::Unavailable => {
                tracing::warn!(error = ?error.source, "the data store is not available");
                ApiError::unavailable()
            }
            StorageErrorKind::Stale | StorageErrorKind::ReplayExists | StorageErrorKind::AlreadyExists => {
                ApiError::new(
                    ErrorCode::ConcurrentUpdate,
                    "The change lost a race against another one; try again",
                )
            }
            StorageErrorKind::Missing
            | StorageErrorKind::Duplicate(_)
            | StorageErrorKind::DuplicateRecord
            | StorageErrorKind::QuotaExceeded(_)
            | StorageErrorKind::Internal => {
                tracing::error!(kind = %error.kind, error = ?error.source, "the data store failed");
                ApiError::internal()
            }
        }
    }
}
