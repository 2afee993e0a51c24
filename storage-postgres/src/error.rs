//! Errors: on opening, for an operator; in a storage method, as one of the kinds of the port.

use std::fmt;
use std::path::PathBuf;

use openapi_core::storage::{StorageError, StorageErrorKind};
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
    /// A file that TLS needs cannot be read.
    #[error("cannot read {}, which the parameter {parameter} of the store's URL names: {source}", .path.display())]
    File {
        /// The parameter.
        parameter: String,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The server's certificate is not accepted, or it has none.
    #[error("cannot connect to {server} with TLS: {detail}; {advice}")]
    Tls {
        /// The server.
        server: String,
        /// The driver's error.
        detail: String,
        /// What to do.
        advice: &'static str,
    },
    /// A pooler gives each transaction another session.
    #[error(
        "{server} is a pooler in transaction mode, such as PgBouncer ({detail}); add the parameter \
         pooler=transaction to the store's URL"
    )]
    Pooler {
        /// The server.
        server: String,
        /// The server's message.
        detail: String,
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
            (error, code) if code.is_some_and(|code| is_of_pooler(code, &error.to_string())) => {
                OpenError::Pooler { server, detail: detail() }
            }
            (error, None) if tls_advice(&error.to_string()).is_some() => {
                let detail = error.to_string();
                let advice = tls_advice(&detail).unwrap_or_default();
                OpenError::Tls { server, detail, advice }
            }
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

    /// Maps the error of work on a store that is being opened.
    pub(crate) fn of_work(config: &PostgresConfig, error: StorageError) -> Self {
        let server = config.server();
        match error.source.map(|source| source.downcast::<sqlx::Error>()) {
            Some(Ok(error)) => OpenError::of(config, *error),
            Some(Err(source)) => OpenError::Other { server, source },
            None => OpenError::Other { server, source: error.kind.into() },
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

/// Whether an error of the server shows that statements and settings of a session are missing in the next transaction:
/// a prepared statement that exists already or not at all, or a parameter that the pooler does not pass on.
fn is_of_pooler(code: &str, message: &str) -> bool {
    matches!(code, "42P05" | "26000") || code == "08P01" && message.contains("unsupported startup parameter")
}

/// What to do about an error of TLS; `None` for other errors.
fn tls_advice(message: &str) -> Option<&'static str> {
    let advice = match message {
        it if it.contains("does not support TLS") => {
            "turn TLS on at the server (`ssl = on`), or write sslmode=disable if nobody can read the network"
        }
        it if it.contains("CaUsedAsEndEntity") => {
            "the server's own certificate is marked as that of an authority: sign the server's certificate by the \
             authority, or create it with `-addext basicConstraints=critical,CA:FALSE`"
        }
        it if it.contains("UnknownIssuer") || it.contains("BadSignature") => {
            "name the certificate of the authority that signed the server's with sslrootcert=FILE"
        }
        it if it.contains("NotValidForName") || it.contains("not valid for name") => {
            "connect by a name that is in the certificate, or write sslmode=verify-ca to accept any name"
        }
        it if it.contains("xpired") || it.contains("NotValidYet") => {
            "renew the server's certificate, and compare the clocks of both machines"
        }
        it if it.contains("certificate") || it.contains("TLS") || it.contains("tls") => {
            "check sslmode, sslrootcert and the server's certificate"
        }
        _ => return None,
    };
    Some(advice)
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
            Some(code) if is_of_pooler(code, "") => {
                tracing::error!(
                    %error,
                    "the store is connected to a pooler in transaction mode: add pooler=transaction to the store's URL"
                );
                StorageErrorKind::Unavailable
            }
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
