//! Opening the store.

use std::sync::Arc;

use rusqlite::OpenFlags;

use openapi_core::storage::ChangeNotifier;

use crate::backfill;
use crate::config::SqliteConfig;
use crate::connect;
use crate::contacts::cache::Cache;
use crate::error::OpenError;
use crate::migrate::{self, Migration};
use crate::ownership::Ownership;
use crate::readers::Readers;
use crate::store::SqliteStorage;
use crate::writer::Writer;

impl SqliteStorage {
    /// Takes the ownership of the file and opens it with [`SqliteStorage::open_owned`].
    ///
    /// # Errors
    /// [`OpenError::Owned`] while another process owns the file; otherwise as [`SqliteStorage::open_owned`].
    pub fn open(config: SqliteConfig) -> Result<Self, OpenError> {
        let ownership = Ownership::take(&config.path, "")?;
        Self::open_owned(config, ownership)
    }

    /// Opens the file that this process owns, creates it if it does not exist, and migrates it to this release's schema.
    /// Dropping the store releases the ownership. With an ownership for reading, writes fail with
    /// [`Unavailable`](openapi_core::storage::StorageErrorKind::Unavailable).
    ///
    /// Blocks for some milliseconds; after a crash longer, until SQLite has read the log (up to 64 MiB), and once after an
    /// upgrade to a release with other search and sort keys, until those of all contacts are computed.
    ///
    /// # Errors
    /// [`OpenError`] says what is wrong with the file or its folder and what to do.
    pub fn open_owned(mut config: SqliteConfig, ownership: Ownership) -> Result<Self, OpenError> {
        config.is_read_only = ownership.is_read_only();
        let mut db = connect::writer(&config)?;
        if !config.is_read_only {
            backfill::bring_up_to_date(&mut db).map_err(|error| OpenError::of_work(&config.path, error))?;
        }
        let readers = Readers::start(&config)?;
        let cache = Arc::new(Cache::new(u64::from(config.contact_cache_kib) << 10));
        let notifier = Arc::new(ChangeNotifier::default());
        let writer = Writer::start(db, Arc::clone(&cache), Arc::clone(&notifier), &config)?;
        Ok(SqliteStorage { writer, readers, cache, notifier, config, ownership })
    }

    /// The migrations that opening the file would apply; empty when it is up to date. Changes nothing.
    ///
    /// # Errors
    /// As [`SqliteStorage::open`], for a file that cannot be read, is something else or newer.
    pub fn pending_migrations(config: &SqliteConfig) -> Result<&'static [Migration], OpenError> {
        let path = &config.path;
        if !path.try_exists().map_err(|source| OpenError::File { path: path.clone(), source })? {
            return Ok(migrate::pending(0));
        }
        let of = |error| OpenError::of(path, error);
        let opened = connect::bare(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(of);
        let version = match opened.and_then(|db| migrate::version(&db, path)) {
            // The log of a file that cannot be written has no shared memory.
            Err(OpenError::ReadOnly { .. }) => migrate::version(&connect::immutable(config)?, path),
            version => version,
        };
        Ok(migrate::pending(version?))
    }
}
