//! What goes wrong: on opening, for an operator; in a storage method, as one of the port's kinds.

use std::fmt;

use openapi_core::storage::{Duplicate, StorageError, StorageErrorKind};

use crate::config::PostgresConfig;

/// Why a database cannot be used. The text says what to do; it never holds a password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Nothing answers there.
    #[error("cannot reach {place}: {source}; check that the server runs and that host and port are right")]
    Unreachable {
        /// The server.
        place: String,
        /// What the driver said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Something answers, but not in time.
    #[error("{place} does not answer in time; check its load and the network in between")]
    Timeout {
        /// The server.
        place: String,
    },
    /// The user or the password is not right.
    #[error("{place} refuses the user or the password: {detail}; check both, and the server's pg_hba.conf")]
    Refused {
        /// The server.
        place: String,
        /// What the server said.
        detail: String,
    },
    /// The database is not there.
    #[error(
        "there is no database '{database}' at {place}; create it, for example with `createdb {database}`"
    )]
    NoDatabase {
        /// The server.
        place: String,
        /// The database.
        database: String,
    },
    /// The server is older than what this release works with.
    #[error("{place} is PostgreSQL {found}; this release needs 13 or later")]
    TooOld {
        /// The server.
        place: String,
        /// Its version.
        found: String,
    },
    /// The database does not hold all characters.
    #[error("the database of {place} has the encoding {found}; create one with ENCODING 'UTF8'")]
    Encoding {
        /// The server.
        place: String,
        /// The encoding.
        found: String,
    },
    /// The server takes no writes.
    #[error("{place} is read-only, perhaps a standby; name the primary server")]
    ReadOnly {
        /// The server.
        place: String,
    },
    /// An extension cannot be had.
    #[error(
        "{place} lacks the extension {name}: {detail}; install PostgreSQL's contrib package on the server, and run \
         `CREATE EXTENSION {name}` in the database as its owner or a superuser"
    )]
    Extension {
        /// The server.
        place: String,
        /// The extension.
        name: &'static str,
        /// What the server said.
        detail: String,
    },
    /// The user may not do what is needed.
    #[error(
        "the user may not do what the store needs at {place}: {detail}; grant it CREATE on the database, or let its \
         owner start the service once"
    )]
    NotAllowed {
        /// The server.
        place: String,
        /// What the server said.
        detail: String,
    },
    /// The schema belongs to something else.
    #[error(
        "the schema '{schema}' of {place} holds tables of something else; name another one with the parameter `schema`"
    )]
    Foreign {
        /// The server.
        place: String,
        /// The PostgreSQL schema.
        schema: String,
    },
    /// The tables were made by a newer release.
    #[error(
        "the database at {place} has schema version {found}, and this release knows versions up to {known}; start the \
         release that wrote it, or a newer one"
    )]
    Newer {
        /// The server.
        place: String,
        /// The version in the database.
        found: i64,
        /// The newest version this release knows.
        known: i64,
    },
    /// It failed in another way.
    #[error("cannot open the database at {place}: {source}")]
    Other {
        /// The server.
        place: String,
        /// What the driver said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl OpenError {
    /// What the driver's error means for the database of `config`.
    pub(crate) fn of(config: &PostgresConfig, error: sqlx::Error) -> Self {
        let place = config.place();
        let code = code(&error).map(str::to_owned);
        let detail =
            || error.as_database_error().map_or_else(String::new, |error| error.message().to_owned());
        match (&error, code.as_deref()) {
            (_, Some("28P01" | "28000")) => OpenError::Refused { place, detail: detail() },
            (_, Some("3D000")) => OpenError::NoDatabase { place, database: config.database().to_owned() },
            (_, Some("42501")) => OpenError::NotAllowed { place, detail: detail() },
            (_, Some("25006")) => OpenError::ReadOnly { place },
            (_, Some("57014" | "55P03")) | (sqlx::Error::PoolTimedOut, _) => OpenError::Timeout { place },
            (_, Some("57P01" | "57P02" | "57P03" | "53300"))
            | (sqlx::Error::Io(_) | sqlx::Error::Tls(_), _) => {
                OpenError::Unreachable { place, source: error.into() }
            }
            _ => OpenError::Other { place, source: error.into() },
        }
    }
}

/// The SQLSTATE of an error that the server sent.
pub(crate) fn code(error: &sqlx::Error) -> Option<&str> {
    let error = error.as_database_error()?.try_downcast_ref::<sqlx::postgres::PgDatabaseError>()?;
    Some(error.code())
}

/// A failure inside a storage method, before it is told to the caller.
#[derive(Debug)]
pub(crate) enum Fault {
    /// An answer that the port foresees.
    Known(StorageErrorKind),
    /// What the driver said.
    Sqlx(sqlx::Error),
    /// The database did not answer in time.
    Late(&'static str),
    /// A row that cannot have been written by this crate, or a broken promise of this crate's own.
    Corrupt(String),
}

pub(crate) type Result<T, E = Fault> = std::result::Result<T, E>;

/// A fault that says that a stored row is not what it must be.
pub(crate) fn corrupt(what: impl fmt::Display) -> Fault {
    Fault::Corrupt(what.to_string())
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        Fault::Sqlx(error)
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
    /// Whether the connection it happened on is dead, or in a state that nobody knows.
    pub(crate) fn ends_connection(&self) -> bool {
        match self {
            Fault::Late(_) => true,
            Fault::Known(_) | Fault::Corrupt(_) => false,
            Fault::Sqlx(error) => match error {
                sqlx::Error::Database(_) => {
                    // The server is going down, and says so on its last breath.
                    matches!(code(error), Some("57P01" | "57P02" | "57P03" | "25006"))
                }
                sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. } | sqlx::Error::RowNotFound => false,
                _ => true,
            },
        }
    }

    /// Whether doing all of it again may help at once: another transaction was in the way.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Fault::Sqlx(error) if matches!(code(error), Some("40001" | "40P01")))
    }
}

impl Fault {
    /// What it means to the caller.
    pub(crate) fn kind(&self) -> StorageErrorKind {
        match self {
            Fault::Known(kind) => kind.clone(),
            Fault::Sqlx(error) => kind_of(error),
            Fault::Late(_) => StorageErrorKind::Unavailable,
            Fault::Corrupt(_) => StorageErrorKind::Internal,
        }
    }
}

impl From<Fault> for StorageError {
    fn from(fault: Fault) -> Self {
        let kind = fault.kind();
        match fault {
            Fault::Known(_) => kind.into(),
            Fault::Sqlx(error) => StorageError::new(kind, error),
            Fault::Late(what) => StorageError::new(kind, what),
            Fault::Corrupt(detail) => StorageError::new(kind, detail),
        }
    }
}

/// What the driver's error means to the caller: try later, or an operator must look.
fn kind_of(error: &sqlx::Error) -> StorageErrorKind {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed
        | sqlx::Error::BeginFailed => StorageErrorKind::Unavailable,
        sqlx::Error::Database(_) => match code(error) {
            // Connection exceptions, rollbacks by conflict, resources, interventions of an operator, system errors; a
            // lock not had in time; a server that became a standby; credentials that were changed meanwhile.
            Some(code)
                if ["08", "40", "53", "57", "58", "28"].contains(&code.get(..2).unwrap_or_default())
                    || matches!(code, "55P03" | "25006" | "25P03") =>
            {
                StorageErrorKind::Unavailable
            }
            _ => StorageErrorKind::Internal,
        },
        _ => StorageErrorKind::Internal,
    }
}
