//! Errors: on opening, for an operator; in a storage method, as one of the kinds of the port.

use std::fmt;

use openapi_core::storage::StorageErrorKind;
use storage_common::error::{Retry, Retryable, StoreError};

use crate::config::PostgresConfig;

/// Why a database cannot be used. The text says what to do; it never contains a password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The server is unreachable.
    #[error("cannot reach {server}: {source}; check that the server runs and that host and port are right")]
    Unreachable {
        /// The server.
        server: String,
        /// The driver's error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server does not respond in time.
    #[error("{server} does not respond in time; check its load and the network in between")]
    Timeout {
        /// The server.
        server: String,
    },
    /// The user or the password is wrong.
    #[error("{server} refuses the user or the password: {detail}; check both, and the server's pg_hba.conf")]
    Refused {
        /// The server.
        server: String,
        /// The server's message.
        detail: String,
    },
    /// The database does not exist.
    #[error(
        "there is no database '{database}' at {server}; create it, for example with `createdb {database}`"
    )]
    NoDatabase {
        /// The server.
        server: String,
        /// The database.
        database: String,
    },
    /// The server is older than this release supports.
    #[error("{server} is PostgreSQL {found}; this release needs 13 or later")]
    TooOld {
        /// The server.
        server: String,
        /// Its version.
        found: String,
    },
    /// The encoding of the database lacks characters.
    #[error("the database of {server} has the encoding {found}; create one with ENCODING 'UTF8'")]
    Encoding {
        /// The server.
        server: String,
        /// The encoding.
        found: String,
    },
    /// The server is read-only.
    #[error("{server} is read-only, perhaps a standby; name the primary server")]
    ReadOnly {
        /// The server.
        server: String,
    },
    /// An extension cannot be created.
    #[error(
        "{server} lacks the extension {name}: {detail}; install PostgreSQL's contrib package on the server, and run \
         `CREATE EXTENSION {name}` in the database as its owner or a superuser"
    )]
    Extension {
        /// The server.
        server: String,
        /// The extension.
        name: &'static str,
        /// The server's message.
        detail: String,
    },
    /// The user lacks a permission.
    #[error(
        "the user may not do what the store needs at {server}: {detail}; grant it CREATE on the database, or let its \
         owner start the service once"
    )]
    NotAllowed {
        /// The server.
        server: String,
        /// The server's message.
        detail: String,
    },
    /// The schema belongs to something else.
    #[error(
        "the schema '{schema}' of {server} holds tables of something else; name another one with the parameter `schema`"
    )]
    Foreign {
        /// The server.
        server: String,
        /// The PostgreSQL schema.
        schema: String,
    },
    /// The tables belong to a newer release.
    #[error(
        "the database at {server} has schema version {found}, and this release knows versions up to {known}; start the \
         release that wrote it, or a newer one"
    )]
    Newer {
        /// The server.
        server: String,
        /// The version in the database.
        found: i64,
        /// The newest version that this release supports.
        known: i64,
    },
    /// Any other error.
    #[error("cannot open the database at {server}: {source}")]
    Other {
        /// The server.
        server: String,
        /// The driver's error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl OpenError {
    /// Maps a driver's error to the reason why the database of `config` cannot be opened.
    pub(crate) fn of(config: &PostgresConfig, error: sqlx::Error) -> Self {
        let server = config.server();
        let code = code(&error).map(str::to_owned);
        let detail =
            || error.as_database_error().map_or_else(String::new, |error| error.message().to_owned());
        match (&error, code.as_deref()) {
            (_, Some("28P01" | "28000")) => OpenError::Refused { server, detail: detail() },
            (_, Some("3D000")) => OpenError::NoDatabase { server, database: config.database().to_owned() },
            (_, Some("42501")) => OpenError::NotAllowed { server, detail: detail() },
            (_, Some("25006")) => OpenError::ReadOnly { server },
            (_, Some("57014" | "55P03")) | (sqlx::Error::PoolTimedOut, _) => OpenError::Timeout { server },
            (_, Some("57P01" | "57P02" | "57P03" | "53300"))
            | (sqlx::Error::Io(_) | sqlx::Error::Tls(_), _) => {
                OpenError::Unreachable { server, source: error.into() }
            }
            _ => OpenError::Other { server, source: error.into() },
        }
    }

    /// The same of work in a migration.
    pub(crate) fn of_migration(config: &PostgresConfig, error: Error) -> Self {
        match error {
            Error::Driver(error) => OpenError::of(config, error),
            other => OpenError::Other { server: config.server(), source: format!("{other:?}").into() },
        }
    }
}

/// The SQLSTATE of an error that the server sent.
pub(crate) fn code(error: &sqlx::Error) -> Option<&str> {
    let error = error.as_database_error()?.try_downcast_ref::<sqlx::postgres::PgDatabaseError>()?;
    Some(error.code())
}

storage_common::store_error!(sqlx::Error);

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        Error::Driver(error)
    }
}

impl Error {
    /// Whether the connection on which it happened is dead or in an unknown state.
    pub(crate) fn ends_connection(&self) -> bool {
        match self {
            Error::Timeout(_) => true,
            Error::Known(_) | Error::Conflict | Error::Corrupt(_) => false,
            Error::Driver(error) => match error {
                // The server is shutting down or has become a standby.
                sqlx::Error::Database(_) => {
                    matches!(code(error), Some("57P01" | "57P02" | "57P03" | "25006"))
                }
                sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. } | sqlx::Error::RowNotFound => false,
                _ => true,
            },
        }
    }
}

impl Retryable for Error {
    fn retry(&self) -> Retry {
        match self {
            // Each attempt would wait again.
            Error::Timeout(_) | Error::Driver(sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed) => {
                Retry::Never
            }
            error if error.ends_connection() => Retry::Reconnect,
            Error::Driver(error) if matches!(code(error), Some("40001" | "40P01")) => Retry::Conflict,
            _ => Retry::Never,
        }
    }
}

impl StoreError for Error {
    fn corrupt(detail: impl fmt::Display) -> Self {
        corrupt(detail)
    }

    fn is_internal(&self) -> bool {
        self.kind() == StorageErrorKind::Internal
    }
}

/// What the driver's error means to the caller: `Unavailable` when a later attempt may succeed.
fn driver_kind(error: &sqlx::Error) -> StorageErrorKind {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed
        | sqlx::Error::BeginFailed => StorageErrorKind::Unavailable,
        sqlx::Error::Database(_) => match code(error) {
            // By class: connection exception, transaction rollback, insufficient resources, operator intervention,
            // system error, invalid authorization. By code: lock timeout, read-only transaction, idle timeout.
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
