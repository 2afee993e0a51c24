//! Settings and other small records of tenants, as JSON, each replaced as a whole.

use async_trait::async_trait;
use mongodb::bson::{Document, doc};
use openapi_core::storage::{Effects, RecordKind, RecordStore, StorageError, StorageErrorKind, StoredRecord};
use openapi_core::values::AgentId;
use storage_common::{in_transaction, records};

use crate::document::{FieldReader, Fields, integer, object_text, put as put_value};
use crate::error::Result;
use crate::migrate::collection;
use crate::store::MongoStorage;
use crate::transaction::{DocumentReader, Transaction, Update};
use crate::{effects, tenant};

/// The `_id` of a record, by the number of its kind.
pub(crate) fn record_key(agent: &AgentId, kind: u64) -> Result<Document> {
    Ok(doc! { "agent": agent.as_str(), "kind": integer(kind)? })
}

fn key_of(agent: &AgentId, kind: RecordKind) -> Result<Document> {
    record_key(agent, u64::from(kind.number()))
}

/// The document of a record.
pub(crate) fn document(agent: &AgentId, record: &StoredRecord) -> Result<Document> {
    let mut document = doc! { "_id": key_of(agent, record.kind)?, "version": integer(record.version)? };
    put_value(&mut document, "body", object_text(&record.body));
    Ok(document)
}

/// Refuses a version that does not follow the stored one. The tenant is locked.
pub(crate) async fn refuse_stale(
    tx: &mut Transaction,
    agent: &AgentId,
    kind: RecordKind,
    version: u64,
) -> Result<()> {
    let id = doc! { "_id": key_of(agent, kind)? };
    let found = tx.reads().one(collection::AGENT_RECORDS, id, Some(doc! { "version": 1 })).await?;
    let stored = found.map_or(Ok(0), |found| Fields(&found).count("version"))?;
    if stored.checked_add(1) == Some(version) { Ok(()) } else { Err(StorageErrorKind::Stale.into()) }
}

/// Stores a record, replacing the one before.
pub(crate) async fn put(tx: &mut Transaction, agent: &AgentId, record: &StoredRecord) -> Result<()> {
    let update = Update::upsert(doc! { "_id": key_of(agent, record.kind)? }, document(agent, record)?);
    tx.update(collection::AGENT_RECORDS, &[update]).await.map(drop)
}

/// As [`RecordStore::save_agent_record`], inside a transaction.
async fn save(tx: &mut Transaction, agent: &AgentId, record: &StoredRecord, effects: &Effects) -> Result<()> {
    let state = tenant::lock(tx, agent).await?.ok_or(StorageErrorKind::Missing)?;
    refuse_stale(tx, agent, record.kind, record.version).await?;
    put(tx, agent, record).await?;
    effects::apply(tx, agent, effects, state.head).await
}

#[async_trait]
impl RecordStore for MongoStorage {
    async fn record(&self, agent: &AgentId, kind: RecordKind) -> Result<Option<StoredRecord>, StorageError> {
        let one = async {
            let mut reads = DocumentReader::new(&self.handle);
            let id = doc! { "_id": key_of(agent, kind)? };
            // Without a stored record the tenant need not be read.
            let Some(found) = reads.one(collection::AGENT_RECORDS, id, None).await? else { return Ok(None) };
            let living = tenant::find(&mut reads, agent).await?;
            living.map(|_| records::stored_record(&mut Fields(&found))).transpose()
        };
        Ok(self.handle.read(one).await?)
    }

    async fn save_record(
        &self,
        agent: &AgentId,
        record: &StoredRecord,
        effects: &Effects,
    ) -> Result<(), StorageError> {
        in_transaction!(self.writer.write(agent), save(agent, record, effects))
    }
}
