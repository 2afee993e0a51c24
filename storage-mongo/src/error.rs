//! What goes wrong: on opening, for an operator; in a storage method, as one of the port's kinds.

use std::fmt;

use mongodb::error::{Error, ErrorKind, TRANSIENT_TRANSACTION_ERROR, UNKNOWN_TRANSACTION_COMMIT_RESULT};
use openapi_core::storage::{Duplicate, StorageError, StorageErrorKind};

/// Why a deployment cannot be used. The text says what to do, and never holds a password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The connection string cannot be understood.
    #[error("the URL of the MongoDB store is not valid: {0}")]
    Url(String),
    /// No member answers.
    #[error(
        "cannot reach MongoDB at {hosts}: {reason}; check that it runs, and that this machine may connect to it"
    )]
    Unreachable {
        /// The hosts that were tried.
        hosts: String,
        /// What the driver said.
        reason: String,
    },
    /// The user or the password are refused.
    #[error(
        "MongoDB at {hosts} refuses the user of the URL: {reason}; check name, password and `authSource`"
    )]
    Refused {
        /// The hosts that were tried.
        hosts: String,
        /// What the driver said.
        reason: String,
    },
    /// The user may not do what the store needs.
    #[error(
        "the user of the URL may not use the database '{database}': {reason}; give it the role `readWrite` there"
    )]
    Forbidden {
        /// The database.
        database: String,
        /// What the server said.
        reason: String,
    },
    /// A single server, which knows no transactions.
    #[error(
        "MongoDB at {hosts} is a single server, which has no transactions; start it with `--replSet rs0` and run \
         `rs.initiate()` once, or name a replica set or a sharded cluster"
    )]
    NoReplicaSet {
        /// The hosts that were tried.
        hosts: String,
    },
    /// A release without what the store needs.
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
        /// One of them.
        collection: String,
    },
    /// The database was written by a newer release.
    #[error(
        "the database '{database}' has schema version {found}, and this release knows versions up to {known}; start \
         the release that wrote it, or a newer one"
    )]
    Newer {
        /// The database.
        database: String,
        /// The version in the database.
        found: i64,
        /// The newest version this release knows.
        known: i64,
    },
    /// Another server is migrating and does not come to an end.
    #[error(
        "another server has been migrating the database '{database}' for {waited} s; wait until it has finished and \
         start again"
    )]
    Migrating {
        /// The database.
        database: String,
        /// How long this one has waited, in seconds.
        waited: u64,
    },
    /// MongoDB failed in another way.
    #[error("cannot open the database '{database}': {reason}")]
    Mongo {
        /// The database.
        database: String,
        /// What the driver said.
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

fn server_code(error: &Error) -> Option<i32> {
    match &*error.kind {
        ErrorKind::Command(command) => Some(command.code),
        ErrorKind::Write(mongodb::error::WriteFailure::WriteError(write)) => Some(write.code),
        _ => None,
    }
}

impl OpenError {
    /// What the driver's error means for the operator.
    pub(crate) fn of(hosts: &str, database: &str, error: &Error) -> Self {
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

/// A failure inside a storage method, before it is told to the caller.
#[derive(Debug)]
pub(crate) enum Fault {
    /// An answer that the port foresees.
    Known(StorageErrorKind),
    /// What the driver said.
    Mongo(Box<Error>),
    /// Another server stored the same key meanwhile: what was looked at has to be looked at anew.
    Raced,
    /// It took too long.
    Late(&'static str),
    /// A document that cannot have been written by this crate, or a broken promise of this crate's own.
    Corrupt(String),
}

pub(crate) type Result<T, E = Fault> = std::result::Result<T, E>;

/// A fault that says that a stored document is not what it must be.
pub(crate) fn corrupt(what: impl fmt::Display) -> Fault {
    Fault::Corrupt(what.to_string())
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        match server_code(&error) {
            Some(code::DUPLICATE_KEY) => Fault::Raced,
            _ => Fault::Mongo(Box::new(error)),
        }
    }
}

impl From<StorageErrorKind> for Fault {
    fn from(kind: StorageErrorKind) -> Self {
        Fault::Known(kind)
    }
}

impl From<Duplicate> for Fault {
    fn from(duplicate: Duplicate) -> Self {
        Fault::Known(StorageErrorKind::Duplicate(duplicate))
    }
}

impl Fault {
    /// The fault of an entry of `writeErrors`.
    pub(crate) fn of_write(code: i32, message: &str) -> Fault {
        match code {
            code::DUPLICATE_KEY => Fault::Raced,
            _ => Fault::Corrupt(format!("a write was refused with code {code}: {message}")),
        }
    }

    /// Whether the whole transaction can be done anew, because nothing of it is stored.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Fault::Mongo(error) => error.contains_label(TRANSIENT_TRANSACTION_ERROR),
            Fault::Raced => true,
            Fault::Known(_) | Fault::Late(_) | Fault::Corrupt(_) => false,
        }
    }

    /// Whether it lies in what was written, and not in the database being there.
    pub(crate) fn is_internal(&self) -> bool {
        match self {
            // The server answered, and not that it is on its way down: it refuses something.
            Fault::Mongo(error) => {
                matches!(&*error.kind, ErrorKind::Command(_)) && error.labels().is_empty()
                    || kind_of(error) == StorageErrorKind::Internal
            }
            Fault::Corrupt(_) => true,
            Fault::Known(_) | Fault::Raced | Fault::Late(_) => false,
        }
    }

    /// Whether a commit may have been done or not, so that it can be asked for again.
    pub(crate) fn leaves_commit_unknown(&self) -> bool {
        matches!(self, Fault::Mongo(error) if error.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT))
    }

    /// The same fault for another write of the same transaction.
    pub(crate) fn again(&self) -> Fault {
        match self {
            Fault::Known(kind) => Fault::Known(kind.clone()),
            Fault::Mongo(error) => Fault::Mongo(error.clone()),
            Fault::Raced => Fault::Raced,
            Fault::Late(what) => Fault::Late(what),
            Fault::Corrupt(what) => Fault::Corrupt(what.clone()),
        }
    }
}

impl From<Fault> for StorageError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Known(kind) => kind.into(),
            Fault::Mongo(error) => StorageError::new(kind_of(&error), *error),
            Fault::Raced => StorageError::new(
                StorageErrorKind::Unavailable,
                "another server kept storing the same key at the same time",
            ),
            Fault::Late(what) => StorageError::new(StorageErrorKind::Unavailable, what),
            Fault::Corrupt(detail) => StorageError::new(StorageErrorKind::Internal, detail),
        }
    }
}

/// What the driver's error means to the caller: try later, or an operator must look.
fn kind_of(error: &Error) -> StorageErrorKind {
    match &*error.kind {
        ErrorKind::InvalidArgument { .. }
        | ErrorKind::Bson(_)
        | ErrorKind::InvalidResponse { .. }
        | ErrorKind::IncompatibleServer { .. }
        | ErrorKind::Internal { .. } => StorageErrorKind::Internal,
        // Whatever the server says passes or is put right there: a fail-over, a deadline, a full disk, a role taken away.
        _ => StorageErrorKind::Unavailable,
    }
}
