//! The store: its parts, and how it is closed.

use std::fmt;
use std::sync::Arc;

use crate::config::SqliteConfig;
use crate::contacts::cache::Cache;
use crate::ownership::Ownership;
use crate::readers::Readers;
use crate::writer::Writer;

/// A store in one SQLite file. Share it in an `Arc`.
pub struct SqliteStorage {
    // In this order: writes end before reads, and the ownership is released last.
    pub(crate) writer: Writer,
    pub(crate) readers: Readers,
    pub(crate) cache: Arc<Cache>,
    pub(crate) config: SqliteConfig,
    pub(crate) ownership: Ownership,
}

impl SqliteStorage {
<<<<<<< HEAD
=======
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
    /// Blocks for some milliseconds; after a crash longer, until SQLite has read the log (up to 64 MiB).
    ///
    /// # Errors
    /// [`OpenError`] says what is wrong with the file or its folder and what to do.
    pub fn open_owned(mut config: SqliteConfig, ownership: Ownership) -> Result<Self, OpenError> {
        config.is_read_only = ownership.is_read_only();
        let db = connect::writer(&config)?;
        let readers = Readers::start(&config)?;
        let cache = Arc::new(Cache::new(u64::from(config.contact_cache_kib) << 10));
        let writer = Writer::start(db, Arc::clone(&cache), &config)?;
        Ok(SqliteStorage { writer, readers, cache, config, ownership })
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

>>>>>>> import
    /// The ownership of the file.
    #[must_use]
    pub fn ownership(&self) -> &Ownership {
        &self.ownership
    }

    /// The settings that it was opened with.
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
