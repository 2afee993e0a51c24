//! Errors: on opening, for an operator; in a storage method, as one of the kinds of the port.

use std::any::Any;
use std::fmt;
use std::path::PathBuf;

use openapi_core::storage::{StorageError, StorageErrorKind};
use openapi_core::values::Timestamp;
use rusqlite::ErrorCode;
use storage_common::error::StoreError;

/// Why a database file cannot be used. The text says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The folder cannot be created or read.
    #[error("cannot use the folder {}: {source}; give the service's user the right to write there, or name another file", .folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file cannot be created, read or written.
    #[error("cannot use the database file {}: {source}; check that the service's user may read and write it and its folder", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file or its folder cannot be written.
    #[error("the database file {} is read-only; give the service's user the right to write the file and its folder", .path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// A database that cannot be written needs to be: its log was not closed, or its schema is that of an older release.
    #[error("the database file {} cannot be read where it cannot be written: {reason}; copy it, with its {}-wal if there is one, to a folder that can be written, and name the copy", .path.display(), .path.display())]
    NeedsWriting {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: &'static str,
    },
    /// Another process owns the file.
    #[error("the database file {} is in use by {owner}; wait until it has ended, or stop it", .path.display())]
    Owned {
        /// The file, by its canonical name.
        path: PathBuf,
        /// The process.
        owner: Owner,
    },
    /// A process that does not respect ownership, such as the `sqlite3` shell, holds a lock of SQLite.
    #[error("the database file {} is locked by another program: {reason}", .path.display())]
    Locked {
        /// The file.
        path: PathBuf,
        /// What the other program is doing, and the remedy.
        reason: &'static str,
    },
    /// The file to be written already exists.
    #[error("{} exists already; remove it, or name another file", .path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The disk is full.
    #[error("there is no space left for the database file {}; free some and start again, nothing is lost", .path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The file belongs to something else, or is no database.
    #[error("the file {} is not a database of this service ({found}); name another file", .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        found: String,
    },
    /// The file is damaged.
    #[error("the database file {} is damaged: {detail}; restore a backup with `restore`, and keep the damaged file for recovery", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// The file belongs to a newer release.
    #[error("the database file {} has schema version {found}, and this release knows versions up to {known}; start the release that wrote it, or a newer one", .path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version in the file.
        found: i64,
        /// The newest version that this release supports.
        known: i64,
    },
    /// The threads of the store cannot be started.
    #[error("cannot start a thread for the database: {0}")]
    Thread(std::io::Error),
    /// Any other error.
    #[error("cannot open the database file {}: {source}", .path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// SQLite's error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The process that owns a database file, as far as known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Owner {
    /// The id of the process.
    pub pid: Option<u32>,
    /// The command of the process, in its own description.
    pub command: Option<String>,
    /// When it became the owner.
    pub since: Option<Timestamp>,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) => write!(f, "process {pid}")?,
            None => f.write_str("another process")?,
        }
        if let Some(command) = &self.command {
            write!(f, " ({command})")?;
        }
        if let Some(since) = &self.since {
            write!(f, " since {since}")?;
        }
        Ok(())
    }
}

/// Whether another connection holds a lock that this one needs.
pub(crate) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

impl OpenError {
    /// Maps an error of SQLite to the reason why the file at `path` cannot be used.
    pub(crate) fn of(path: &std::path::Path, error: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            _ if is_busy(&error) => OpenError::Locked {
                path,
                reason: "it holds a write transaction; stop it, or try again when it has finished",
            },
            Some(ErrorCode::DiskFull) => OpenError::Full { path },
            Some(ErrorCode::ReadOnly) => OpenError::ReadOnly { path },
            Some(ErrorCode::NotADatabase) => {
                OpenError::Foreign { path, found: "it is not a SQLite database".to_owned() }
            }
            Some(ErrorCode::DatabaseCorrupt) => OpenError::Damaged { path, detail: error.to_string() },
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::SystemIoFailure) => {
                OpenError::File { path, source: std::io::Error::other(error.to_string()) }
            }
            _ => OpenError::Sqlite { path, source: error.into() },
        }
    }

    /// The same of work in a migration.
    pub(crate) fn of_migration(path: &std::path::Path, error: Error) -> Self {
        match error {
            Error::Driver(error) => OpenError::of(path, error),
            other => OpenError::Damaged { path: path.to_owned(), detail: format!("{other:?}") },
        }
    }
}

impl OpenError {
    /// The reason why work on the file at `path` failed while it was opened.
    pub(crate) fn of_work(path: &std::path::Path, error: Error) -> Self {
        match error {
            Error::Driver(error) => OpenError::of(path, error),
            other => OpenError::Sqlite { path: path.to_owned(), source: StorageError::from(other).into() },
        }
    }
}

storage_common::store_error!(rusqlite::Error);

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Error::Driver(error)
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

impl Error {
    /// Whether the connection on which it happened must not be used again.
    pub(crate) fn spoils_connection(&self) -> bool {
        !matches!(self, Error::Known(_))
    }
}

/// What SQLite's error means to the caller: `Unavailable` when a later attempt may succeed.
fn driver_kind(error: &rusqlite::Error) -> StorageErrorKind {
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::DiskFull
            | ErrorCode::ReadOnly
            | ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::OperationInterrupted
            | ErrorCode::OutOfMemory,
        ) => StorageErrorKind::Unavailable,
        _ => StorageErrorKind::Internal,
    }
}

/// The message of a panic.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
