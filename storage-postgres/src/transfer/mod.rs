//! Moving records: reading them in the order of their keys, and storing them as they were.

mod put;
pub(crate) mod read;

use async_trait::async_trait;
use openapi_core::agents::Agent;
use openapi_core::storage::StorageError;
use openapi_core::values::AgentId;
use storage_common::transfer::{TransferKey, TransferKind, TransferRow, TransferStore};

use crate::error::Result;
use crate::{PostgresStorage, agents};

#[async_trait]
impl TransferStore for PostgresStorage {
    async fn agents_after(&self, after: Option<&AgentId>, at_most: u32) -> Result<Vec<Agent>, StorageError> {
        let rows = self.db.read(read::agents_after(after, at_most)?).await?;
        Ok(rows.iter().map(agents::read).collect::<Result<_>>()?)
    }

    async fn records(
        &self,
        agent: &AgentId,
        kind: TransferKind,
        after: Option<&TransferKey>,
        at_most: u32,
    ) -> Result<Vec<TransferRow>, StorageError> {
        let rows = self.db.read(read::after(agent, kind, after, at_most)?).await?;
        Ok(rows.iter().map(|row| read::record(agent, kind, row)).collect::<Result<_>>()?)
    }

    async fn last_record(
        &self,
        agent: &AgentId,
        kind: TransferKind,
    ) -> Result<Option<TransferKey>, StorageError> {
        let row = self.db.read_one(read::last(agent, kind)?).await?;
        Ok(row.map(|row| read::key(kind, &row)).transpose()?)
    }

    async fn put_agent(&self, agent: &Agent) -> Result<(), StorageError> {
        self.db.write(agent.clone(), |db, agent| Box::pin(put::agent(db, agent))).await
    }

    async fn put_records(&self, agent: &AgentId, records: &[TransferRow]) -> Result<(), StorageError> {
        self.db
            .write_long((agent.clone(), records.to_vec()), |db, (agent, records)| {
                Box::pin(put::records(db, agent, records))
            })
            .await
    }
}
