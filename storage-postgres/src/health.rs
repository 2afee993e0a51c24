//! Whether the store answers.

use async_trait::async_trait;
use openapi_core::storage::{HealthProbe, StorageError, StorageErrorKind};

use crate::PostgresStorage;
use crate::rows::{Columns, Statement};

#[async_trait]
impl HealthProbe for PostgresStorage {
    async fn probe(&self) -> Result<(), StorageError> {
        let statement = Statement::new(
            "SELECT current_setting('transaction_read_only') = 'on', (SELECT count(*) FROM (SELECT 1 FROM agent LIMIT 1) a)",
        );
        let row = self.db.read_one(statement).await?;
        match row.map(|row| Columns::of(&row).truth()).transpose()? {
            Some(false) => Ok(()),
            _ => Err(StorageError::new(StorageErrorKind::Unavailable, "the database takes no writes")),
        }
    }
}
