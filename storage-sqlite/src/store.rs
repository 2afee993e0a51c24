//! The store: its parts, and how it is closed.

use std::fmt;
use std::sync::Arc;

use openapi_core::storage::ChangeNotifier;

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
    pub(crate) notifier: Arc<ChangeNotifier>,
    pub(crate) config: SqliteConfig,
    pub(crate) ownership: Ownership,
}

impl SqliteStorage {
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
