//! The store: a pool of connections, the writer, the loader of contacts, and what tells other servers of events.

use std::fmt;

use crate::announcements::Announcements;
use crate::config::PostgresConfig;
use crate::connect::Db;
use crate::contacts::ContactLoader;
use crate::writer::Writer;

/// A store in a PostgreSQL database. Share it in an `Arc`.
pub struct PostgresStorage {
    pub(crate) db: Db,
    pub(crate) writer: Writer,
    pub(crate) loader: ContactLoader,
    pub(crate) announcements: Announcements,
}

impl PostgresStorage {
    /// The settings that it was opened with.
    #[must_use]
    pub fn config(&self) -> &PostgresConfig {
        self.db.config()
    }

    /// Completes the accepted writes and closes the connections. Later calls fail with
    /// [`Unavailable`](openapi_core::storage::StorageErrorKind::Unavailable).
    pub async fn close(&self) {
        self.writer.close().await;
        self.announcements.close(&self.db).await;
        self.db.close().await;
    }
}

impl fmt::Debug for PostgresStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStorage").field("config", self.config()).finish_non_exhaustive()
    }
}
