//! Whether the store accepts writes.

use async_trait::async_trait;
use openapi_core::storage::{HealthProbe, StorageError};

use crate::store::SqliteStorage;

#[async_trait]
impl HealthProbe for SqliteStorage {
    async fn probe(&self) -> Result<(), StorageError> {
        self.readers.read_blocking(|db| {
            db.prepare_cached("SELECT 1 FROM agent LIMIT 1")?.exists(())?;
            Ok(())
        })?;
        self.writer.probe().await
    }
}
