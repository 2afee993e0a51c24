//! Errors: on opening, for an operator; in a storage method, as one of the kinds of the port.

use std::fmt;

use mongodb::error::{ErrorKind, TRANSIENT_TRANSACTION_ERROR, UNKNOWN_TRANSACTION_COMMIT_RESULT};
use openapi_core::storage::StorageErrorKind;
use storage_common::error::{Retry, Retryable, StoreError};

/// Why a deployment cannot be used. The text says what to do, and never contains a password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The connection string is invalid.
    #[error("the URL of the MongoDB store is not valid: {0}")]
    Url(String),
    /// No member responds.
    #[error(
        "cannot reach MongoDB at {hosts}: {reason}; check that it runs, and that this machine may connect to it"
    )]
    Unreachable {
        /// The hosts that were tried.
        hosts: String,
        /// The driver's error.
        reason: String,
    },
    /// The server rejects the user or the password.
    #[error(
        "MongoDB at {hosts} refuses the user of the URL: {reason}; check name, password and `authSource`"
    )]
    Refused {
        /// The hosts that were tried.
        hosts: String,
        /// The driver's error.
        reason: String,
    },
    /// The user lacks a permission.
    #[error(
        "the user of the URL may not use the database '{database}': {reason}; give it the role `readWrite` there"
    )]
    Forbidden {
        /// The database.
        database: String,
        /// The server's message.
        reason: String,
    },
    /// A standalone server, which has no transactions.
    #[error(
        "MongoDB at {hosts} is a single server, which has no transactions; start it with `--replSet rs0` and run \
         `rs.initiate()` once, or name a replica set or a sharded cluster"
    )]
    NoReplicaSet {
        /// The hosts that were tried.
        hosts: String,
    },
    /// The release lacks what the store needs.
    #[error("MongoDB at {hosts} is version {found}; the store needs 5.0 or later")]
    TooOld {
        /// The hosts that were tried.
        hosts: String,
        /// The version of the server.
        found: String,
    },
    /// The database belongs to something else.
    #[error(
        "the database '{database}' holds collections of something else, such as '{collection}'; name another one in \
         the URL"
    )]
    Foreign {
        /// The database.
        database: String,
        /// One of its collections.
        collection: String,
    },
    /// The database belongs to a newer release.
    #[error(
        "the database '{database}' has schema version {found}, and this release knows versions up to {known}; start \
         the release that wrote it, or a newer one"
    )]
    Newer {
        /// The database.
        database: String,
        /// The version in the database.
        found: i64,
        /// The newest version that this release supports.
        known: i64,
    },
    /// Another server is still migrating.
    #[error(
        "another server has been migrating the database '{database}' for {waited} s; wait until it has finished and \
         start again"
    )]
    Migrating {
        /// The database.
        database: String,
        /// How long this server has waited, in seconds.
        waited: u64,
    },
    /// Any other error.
    #[error("cannot open the database '{database}': {reason}")]
    Mongo {
        /// The database.
        database: String,
        /// The driver's error.
        reason: String,
    },
}

/// Codes of the server's errors.
mod code {
    pub(super) const UNAUTHORIZED: i32 = 13;
    pub(super) const AUTHENTICATION_FAILED: i32 = 18;
    pub(super) const ATLAS_ERROR: i32 = 8_000;
    pub(super) const DUPLICATE_KEY: i32 = 11_000;
}

fn server_code(error: &mongodb::error::Error) -> Option<i32> {
    match &*error.kind {
        ErrorKind::Command(command) => Some(command.code),
        ErrorKind::Write(mongodb::error::WriteFailure::WriteError(write)) => Some(write.code),
        _ => None,
    }
}

impl OpenError {
    /// Maps a driver's error to the reason why the deployment cannot be used.
    pub(crate) fn of(hosts: &str, database: &str, error: &mongodb::error::Error) -> Self {
        let reason = error.kind.to_string();
        let hosts = hosts.to_owned();
        let refused = |text: &str| text.contains("Authentication failed") || text.contains("SCRAM");
        match (&*error.kind, server_code(error)) {
            (ErrorKind::Authentication { .. }, _)
            | (_, Some(code::AUTHENTICATION_FAILED | code::ATLAS_ERROR)) => {
                OpenError::Refused { hosts, reason }
            }
            (_, Some(code::UNAUTHORIZED)) => OpenError::Forbidden { database: database.to_owned(), reason },
            (ErrorKind::ServerSelection { .. }, _) if refused(&reason) => {
                OpenError::Refused { hosts, reason }
            }
            (
                ErrorKind::ServerSelection { .. }
                | ErrorKind::Io(_)
                | ErrorKind::DnsResolve { .. }
                | ErrorKind::ConnectionPoolCleared { .. },
                _,
            ) => OpenError::Unreachable { hosts, reason },
            _ => OpenError::Mongo { database: database.to_owned(), reason },
        }
    }
}

storage_common::store_error!(Box<mongodb::error::Error>);

impl From<mongodb::error::Error> for Error {
    fn from(error: mongodb::error::Error) -> Self {
        match server_code(&error) {
            Some(code::DUPLICATE_KEY) => Error::Conflict,
            _ => Error::Driver(Box::new(error)),
        }
    }
}

impl Error {
    /// The error of an entry of `writeErrors`.
    pub(crate) fn of_write(code: i32, message: &str) -> Self {
        match code {
            code::DUPLICATE_KEY => Error::Conflict,
            _ => Error::Corrupt(format!("a write was refused with code {code}: {message}")),
        }
    }

    /// Whether the outcome of a commit is unknown, so that it is repeated.
    pub(crate) fn leaves_commit_unknown(&self) -> bool {
        matches!(self, Error::Driver(error) if error.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT))
    }
}

impl Retryable for Error {
    fn retry(&self) -> Retry {
        match self {
            Error::Conflict => Retry::Race,
            Error::Driver(error) if error.contains_label(TRANSIENT_TRANSACTION_ERROR) => Retry::Conflict,
            _ => Retry::Never,
        }
    }
}

impl StoreError for Error {
    fn corrupt(detail: impl fmt::Display) -> Self {
        corrupt(detail)
    }

    fn is_internal(&self) -> bool {
        match self {
            // The server refuses a command and is not shutting down.
            Error::Driver(error) if matches!(&*error.kind, ErrorKind::Command(_)) => {
                error.labels().is_empty()
            }
            Error::Conflict => false,
            error => error.kind() == StorageErrorKind::Internal,
        }
    }
}

/// What the driver's error means to the caller: `Unavailable` when a later attempt may succeed.
fn driver_kind(error: &mongodb::error::Error) -> StorageErrorKind {
    match &*error.kind {
        ErrorKind::InvalidArgument { .. }
        | ErrorKind::Bson(_)
        | ErrorKind::InvalidResponse { .. }
        | ErrorKind::IncompatibleServer { .. }
        | ErrorKind::Internal { .. } => StorageErrorKind::Internal,
        // The server's own errors pass or can be fixed there: a fail-over, a timeout, a full disk, a revoked role.
        _ => StorageErrorKind::Unavailable,
    }
}
