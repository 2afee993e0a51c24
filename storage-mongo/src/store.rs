//! The store: the database, the writer and the loader of contacts.

use std::fmt;

use crate::config::MongoConfig;
use crate::connect::Handle;
use crate::contacts::ContactLoader;
use crate::watch::Watch;
use crate::writer::Writer;

/// A store in one MongoDB database. Share it in an `Arc`.
pub struct MongoStorage {
    pub(crate) handle: Handle,
    pub(crate) writer: Writer,
    pub(crate) loader: ContactLoader,
    pub(crate) config: MongoConfig,
    pub(crate) watch: Watch,
}

impl MongoStorage {
    /// Completes the accepted writes and closes the connections. Later calls fail with
    /// [`Unavailable`](openapi_core::storage::StorageErrorKind::Unavailable).
    pub async fn close(&self) {
        self.watch.close().await;
        self.writer.close().await;
        self.handle.client.clone().shutdown().await;
    }

    /// The settings that it was opened with.
    #[must_use]
    pub fn config(&self) -> &MongoConfig {
        &self.config
    }
}

impl fmt::Debug for MongoStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MongoStorage").field("database", &self.handle.db.name()).finish_non_exhaustive()
    }
}
