//! The implementation of [`TransferStore`].

use async_trait::async_trait;
use openapi_core::agents::Agent;
use openapi_core::audit::ChainedEntry;
use openapi_core::storage::StorageError;
use openapi_core::values::AgentId;
use storage_common::in_transaction;
use storage_common::transfer::{TransferKey, TransferKind, TransferRow, TransferStore};

use super::{put, read};
use crate::error::Result;
use crate::migrate::collection;
use crate::store::MongoStorage;
use crate::transaction::{DocumentReader, Work};
use crate::{agents, audit};

#[async_trait]
impl TransferStore for MongoStorage {
    async fn agents_after(&self, after: Option<&AgentId>, at_most: u32) -> Result<Vec<Agent>, StorageError> {
        // To the database 0 means no limit.
        if at_most == 0 {
            return Ok(Vec::new());
        }
        let list = async {
            let find = read::agents_after(after, at_most);
            let found = DocumentReader::new(&self.handle).find(collection::AGENTS, find).await?;
            found.iter().map(|agent| agents::read(agent)).collect()
        };
        Ok(self.handle.list(list).await?)
    }

    async fn records(
        &self,
        agent: &AgentId,
        kind: TransferKind,
        after: Option<&TransferKey>,
        at_most: u32,
    ) -> Result<Vec<TransferRow>, StorageError> {
        if at_most == 0 {
            return Ok(Vec::new());
        }
        let records = async {
            let mut reads = DocumentReader::new(&self.handle);
            if !agents::is_known(&mut reads, agent).await? {
                return Ok(Vec::new());
            }
            read::records(&mut reads, agent, kind, after, at_most).await
        };
        Ok(self.handle.list(records).await?)
    }

    async fn last_record(
        &self,
        agent: &AgentId,
        kind: TransferKind,
    ) -> Result<Option<TransferKey>, StorageError> {
        let last = async {
            let mut reads = DocumentReader::new(&self.handle);
            if !agents::is_known(&mut reads, agent).await? {
                return Ok(None);
            }
            read::last(&mut reads, agent, kind).await
        };
        Ok(self.handle.list(last).await?)
    }

    async fn put_agent(&self, agent: &Agent) -> Result<(), StorageError> {
        in_transaction!(self.writer.write(&agent.id), put::agent(agent))
    }

    async fn put_records(&self, agent: &AgentId, records: &[TransferRow]) -> Result<(), StorageError> {
        in_transaction!(self.writer.write_long(agent), put::records(agent, records))
    }

    async fn put_chain_without_agent(&self, entries: &[ChainedEntry]) -> Result<(), StorageError> {
        let entries = entries.to_vec();
        let work: Work<Vec<ChainedEntry>, ()> =
            |tx, entries| Box::pin(audit::put_chain_without_agent(tx, entries));
        Ok(self.handle.transact_long(&entries, work).await?)
    }
}
