//! The error type of a store.
//!
//! [`store_error!`](crate::store_error) generates it in each store, because only the crate that defines a type may
//! convert a driver's error into it. Shared code sees it as a [`StoreError`].

use openapi_core::storage::{StorageError, StorageErrorKind};

/// What shared code needs to know of a store's error.
pub trait StoreError: std::fmt::Debug + From<StorageErrorKind> + Into<StorageError> + Send + 'static {
    /// A stored value that this release cannot have written, or a bug in the store.
    fn corrupt(detail: impl std::fmt::Display) -> Self;

    /// Whether the database refused a statement, rather than being unavailable. In a group commit, one of the writes
    /// may be the cause.
    fn is_internal(&self) -> bool;
}

/// An error that says whether the same work may succeed when it is repeated.
pub trait Retryable: std::fmt::Debug {
    /// Whether it may.
    fn retry(&self) -> Retry;
}

/// Whether repeating failed work may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// It does not.
    Never,
    /// The connection was dead; another one may work.
    Reconnect,
    /// Another transaction was in the way.
    Conflict,
    /// Another transaction stored the same key. The next attempt sees the key, so a long series has another cause.
    Race,
}

/// Defines `Error`, the error of a store, with its `Result` and `corrupt`, in the calling module.
///
/// The module provides `driver_kind(&Driver) -> StorageErrorKind`, which says what the driver's error means to the
/// caller of the store.
#[macro_export]
macro_rules! store_error {
    ($driver:ty) => {
        /// An error inside a storage method, before it is returned to the caller.
        #[derive(Debug)]
        #[allow(dead_code, reason = "a store without other writers has no conflicts and waits for no server")]
        pub(crate) enum Error {
            /// An outcome that the port defines.
            Known(::openapi_core::storage::StorageErrorKind),
            /// The driver's error.
            Driver($driver),
            /// Another transaction stored the same key concurrently.
            Conflict,
            /// The database did not respond in time.
            Timeout(&'static str),
            /// A stored value that this release cannot have written, or a bug in this crate.
            Corrupt(String),
        }

        pub(crate) type Result<T, E = Error> = ::std::result::Result<T, E>;

        /// The error for a stored value that this release cannot have written.
        pub(crate) fn corrupt(detail: impl ::std::fmt::Display) -> Error {
            Error::Corrupt(detail.to_string())
        }

        impl From<::openapi_core::storage::StorageErrorKind> for Error {
            fn from(kind: ::openapi_core::storage::StorageErrorKind) -> Self {
                Error::Known(kind)
            }
        }

        impl From<::openapi_core::storage::Duplicate> for Error {
            fn from(duplicate: ::openapi_core::storage::Duplicate) -> Self {
                Error::Known(::openapi_core::storage::StorageErrorKind::Duplicate(duplicate))
            }
        }

        impl Error {
            /// What it means to the caller of the store.
            pub(crate) fn kind(&self) -> ::openapi_core::storage::StorageErrorKind {
                use ::openapi_core::storage::StorageErrorKind::{Internal, Unavailable};
                match self {
                    Error::Known(kind) => kind.clone(),
                    Error::Driver(error) => driver_kind(error),
                    Error::Conflict | Error::Timeout(_) => Unavailable,
                    Error::Corrupt(_) => Internal,
                }
            }
        }

        impl From<Error> for ::openapi_core::storage::StorageError {
            fn from(error: Error) -> Self {
                let kind = error.kind();
                match error {
                    Error::Known(_) => kind.into(),
                    Error::Driver(error) => Self::new(kind, error),
                    Error::Conflict => Self::new(kind, "other transactions repeatedly stored the same key"),
                    Error::Timeout(what) => Self::new(kind, what),
                    Error::Corrupt(detail) => Self::new(kind, detail),
                }
            }
        }
    };
}
