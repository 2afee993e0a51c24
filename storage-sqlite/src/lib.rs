//! The embedded default store of the Open API: one SQLite file, durable, without a server of its own.
//!
//! [`SqliteStorage`] implements every port of [`openapi_core::storage`].
//!
//! - **An acknowledged write is on disk.** The file is in WAL mode with `synchronous=FULL`. Writes that arrive at the
//!   same time share one sync (group commit), and each is told its own outcome only after the commit.
//! - **Lists do not slow down as an agent grows.** One composite index for each sort, exact totals from counters that are
//!   kept in the same transaction, and a search index over the text of each agent on its own.
//! - **Several processes** may use the file: a server and commands beside it. It must lie on a local disk. Single
//!   contacts are kept in memory as long as none of them changes them; a program of other make must not write to the
//!   file while one of these processes runs, because it would not tell.
//!
//! ```
//! use openapi_core::storage::HealthProbe as _;
//! use storage_sqlite::{SqliteConfig, SqliteStorage};
//!
//! # let folder = std::env::temp_dir().join(format!("storage-sqlite-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let config = SqliteConfig::new(folder.join("openapi.db"));
//! assert!(!SqliteStorage::pending_migrations(&config)?.is_empty(), "there is no file yet");
//! let store = SqliteStorage::open(config.clone())?;
//! pollster::block_on(store.probe())?;
//! assert!(SqliteStorage::pending_migrations(&config)?.is_empty());
//! # drop(store);
//! # std::fs::remove_dir_all(folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Threads
//! Opening a store is asking for its threads: one that writes, and
//! [`reader_threads`](SqliteConfig::reader_threads) that run reads which may take long. They need no async runtime, and
//! the store's futures run under any executor. Reads of a few microseconds (one contact, one key) run on the thread that
//! asks. Closing or dropping the store waits until everything accepted is written, and ends the threads.
//!
//! # Erasure
//! The file is in `secure_delete` mode: what is erased is overwritten with zeros, in the tables as in the search index.
//! Contacts in memory go with it; those that another process keeps, with the next contact that is asked of that one.

mod agents;
mod audit;
mod changes;
mod chat;
mod config;
mod connect;
mod contact_schemas;
mod contacts;
mod credits;
mod documents;
mod error;
mod files;
mod forms;
mod health;
mod keys;
mod lease;
mod maintain;
mod migrate;
mod rate_windows;
mod readers;
mod replays;
#[cfg(test)]
mod tests;
mod transfer;
mod writer;

// The tests' support names the crate as integration tests do.
#[cfg(test)]
extern crate self as storage_sqlite;

use std::fmt;
use std::sync::Arc;

pub use config::{InvalidUrl, SqliteConfig};
pub use error::OpenError;
pub use maintain::{Backup, Finding, FindingKind, Repair, Size};
pub use migrate::Migration;

use changes::Changes;
use connect::{FileLock, Sharing};
use contacts::kept::Kept;
use readers::Readers;
use rusqlite::OpenFlags;
use writer::Writer;

/// A store in one SQLite file. Share it behind an `Arc`.
pub struct SqliteStorage {
    // In this order: writes end before reads, and the lock goes last.
    writer: Writer,
    readers: Readers,
    /// Contacts in memory; none where they cannot be kept true.
    kept: Option<Arc<Kept>>,
    config: SqliteConfig,
    _lock: FileLock,
}

impl SqliteStorage {
    /// Opens the file, makes it if it is not there, and brings its schema to this release's version.
    ///
    /// Blocks for as long as that takes: some milliseconds, after a crash the time to read the log (up to 64 MiB).
    ///
    /// # Errors
    /// [`OpenError`] says what is wrong with the file or its folder and what to do.
    pub fn open(config: SqliteConfig) -> Result<Self, OpenError> {
        connect::make_folder(&config.path)?;
        let lock = connect::lock(&config.path, Sharing::Shared)?;
        let db = connect::writer(&config)?;
        let readers = Readers::start(&config)?;
        // Told of by every process, also by one that keeps none itself.
        let changes = Changes::open(&config.path)?;
        let bytes = u64::from(config.contact_cache_kib) << 10;
        let kept = changes.map(|changes| Arc::new(Kept::new(changes, bytes)));
        let writer = Writer::start(db, kept.clone(), &config)?;
        Ok(SqliteStorage { writer, readers, kept, config, _lock: lock })
    }

    /// The migrations that opening the file would apply, none when it is up to date. Changes nothing.
    ///
    /// # Errors
    /// As [`SqliteStorage::open`], for a file that cannot be read, is something else or newer.
    pub fn pending_migrations(config: &SqliteConfig) -> Result<&'static [Migration], OpenError> {
        let path = &config.path;
        if !path.try_exists().map_err(|source| OpenError::File { path: path.clone(), source })? {
            return Ok(migrate::pending(0));
        }
        let db = connect::bare(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
            .map_err(|error| OpenError::of(path, error))?;
        Ok(migrate::pending(migrate::version(&db, path)?))
    }

    /// The settings it was opened with.
    #[must_use]
    pub fn config(&self) -> &SqliteConfig {
        &self.config
    }
}

impl fmt::Debug for SqliteStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStorage").field("path", &self.config.path).finish_non_exhaustive()
    }
}
