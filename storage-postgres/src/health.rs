//! Whether the store accepts writes.

use async_trait::async_trait;
use openapi_core::storage::{HealthProbe, StorageError, StorageErrorKind};

use crate::rows::Statement;
use crate::store::PostgresStorage;

#[async_trait]
impl HealthProbe for PostgresStorage {
    async fn probe(&self) -> Result<(), StorageError> {
        let statement = Statement::new(
            "SELECT current_setting('transaction_read_only') = 'on', (SELECT count(*) FROM (SELECT 1 FROM agent LIMIT 1) a)",
        );
        match self.db.read_one(statement, |r| r.bool()).await? {
            Some(false) => Ok(()),
            _ => Err(StorageError::new(StorageErrorKind::Unavailable, "the database takes no writes")),
        }
    }
}
