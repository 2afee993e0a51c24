//! The implementation of [`TransferStore`].

use async_trait::async_trait;
use openapi_core::agents::Agent;
use openapi_core::audit::ChainedEntry;
use openapi_core::storage::StorageError;
use openapi_core::values::AgentId;
use storage_common::transfer::tables;
use storage_common::transfer::{TransferKey, TransferKind, TransferRow, TransferStore};

use storage_common::{in_transaction, records};

use super::{put, read};
use crate::store::PostgresStorage;

#[async_trait]
impl TransferStore for PostgresStorage {
    async fn agents_after(&self, after: Option<&AgentId>, at_most: u32) -> Result<Vec<Agent>, StorageError> {
        self.db.read_all(read::agents_after(after, at_most)?, |r| records::agent(r)).await
    }

    async fn records(
        &self,
        agent: &AgentId,
        kind: TransferKind,
        after: Option<&TransferKey>,
        at_most: u32,
    ) -> Result<Vec<TransferRow>, StorageError> {
        self.db.read_all(read::after(agent, kind, after, at_most)?, |r| tables::record(agent, kind, r)).await
    }

    async fn last_record(
        &self,
        agent: &AgentId,
        kind: TransferKind,
    ) -> Result<Option<TransferKey>, StorageError> {
        self.db.read_one(read::last(agent, kind)?, |r| tables::key(kind, r)).await
    }

    async fn put_agent(&self, agent: &Agent) -> Result<(), StorageError> {
        in_transaction!(self.db.write(), put::agent(agent))
    }

    async fn put_records(&self, agent: &AgentId, records: &[TransferRow]) -> Result<(), StorageError> {
        in_transaction!(self.db.write_long(), put::records(agent, records))
    }

    async fn put_chain_without_agent(&self, entries: &[ChainedEntry]) -> Result<(), StorageError> {
        in_transaction!(self.db.write_long(), put::chain_without_agent(entries))
    }
}
