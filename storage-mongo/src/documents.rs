//! Documents that are kept of extractions: their records, as JSON. Their octets count among those of files, and their
//! contents are due like those of files.

use std::collections::BTreeMap;

use async_trait::async_trait;
use mongodb::bson::{Bson, Document, RawDocument, doc};
use openapi_core::storage::{
    DocumentStore, DocumentWrite, Excess, ExcessUnit, StorageError, StorageErrorKind, StoredDocument,
};
use openapi_core::values::{AgentId, FileId, Timestamp};

use crate::document::{Fields, ids, integer, json, key, of_agent};
use crate::error::{Result, corrupt};
use crate::migrate::{collection, index};
use crate::transaction::{Find, Reads, Transaction};
use crate::{MongoStorage, files, ledger};

/// The stored form of a document.
pub(crate) fn stored(agent: &AgentId, document: &StoredDocument) -> Result<Document> {
    Ok(doc! {
        "_id": key(agent, document.id.as_bytes()),
        "storedSize": integer(document.stored_size)?,
        "body": json(document)?,
    })
}

pub(crate) fn read(document: &RawDocument) -> Result<StoredDocument> {
    Fields(document).json("body")
}

/// What a list asks the database for.
pub(crate) fn find(agent: &AgentId, after: Option<FileId>, at_most: u32) -> Find {
    let mut filter = of_agent(agent);
    if let Some(after) = after {
        filter = doc! { "$and": [filter, { "_id": { "$gt": key(agent, after.as_bytes()) } }] };
    }
    Find {
        filter,
        sort: Some(doc! { "_id": 1 }),
        limit: at_most,
        hint: Some(index::BY_KEY),
        ..Find::default()
    }
}

/// Refuses a document for which there is no room beside the octets that the agent has.
pub(crate) fn refuse_excess(octets: i64, write: &DocumentWrite) -> Result<()> {
    let Some(limit) = write.max_octets else { return Ok(()) };
    let actual = u64::try_from(octets).map_err(corrupt)?.saturating_add(write.document.stored_size);
    if actual > limit {
        let excess = Excess { unit: ExcessUnit::Bytes, limit, actual };
        return Err(StorageErrorKind::QuotaExceeded(excess).into());
    }
    Ok(())
}

/// Stores a document with the time of its content.
pub(crate) async fn insert(tx: &mut Transaction, agent: &AgentId, document: &StoredDocument) -> Result<()> {
    // Files and documents share the place where their contents are.
    for name in [collection::DOCUMENTS, collection::FILES] {
        let id = doc! { "_id": key(agent, document.id.as_bytes()) };
        if tx.reads().one(name, id, Some(doc! { "_id": 1 })).await?.is_some() {
            return Err(StorageErrorKind::AlreadyExists.into());
        }
    }
    tx.insert(collection::DOCUMENTS, &[stored(agent, document)?]).await?;
    files::add_octets(tx, agent, integer(document.stored_size)?).await?;
    files::make_due(tx, agent, [document.id], document.expires_at).await
}

/// Removes the records that a filter lets through, whosever they are, and returns how many. Their octets count no more.
pub(crate) async fn remove(tx: &mut Transaction, filter: Document) -> Result<u64> {
    let find = Find { filter, projection: Some(doc! { "storedSize": 1 }), ..Find::default() };
    remove_found(tx, find).await.map(|removed| removed.len() as u64)
}

async fn remove_found(tx: &mut Transaction, find: Find) -> Result<Vec<FileId>> {
    let found = tx.reads().find(collection::DOCUMENTS, find).await?;
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let mut removed = Vec::with_capacity(found.len());
    // In the order of the agents, as whoever else needs several of them.
    let mut octets: BTreeMap<AgentId, i64> = BTreeMap::new();
    for document in &found {
        let fields = Fields(document);
        *octets.entry(fields.agent()?).or_default() += fields.integer("storedSize")?;
        removed.push(FileId::from_bytes(fields.id()?));
    }
    let agents: Vec<Bson> = octets.keys().map(|agent| agent.as_str().into()).collect();
    for (agent, octets) in octets {
        files::add_octets(tx, &agent, -octets).await?;
    }
    let filter = doc! { "_id": { "$in": ids(&found)? }, "_id.agent": { "$in": agents } };
    tx.delete(collection::DOCUMENTS, filter).await?;
    Ok(removed)
}

/// Removes up to `at_most` documents of a deleted agent and returns how many; their contents are due at once.
pub(crate) async fn purge(tx: &mut Transaction, agent: &AgentId, at_most: u32) -> Result<u64> {
    let find = Find { projection: Some(doc! { "storedSize": 1 }), ..find(agent, None, at_most) };
    let removed = remove_found(tx, find).await?;
    let count = removed.len() as u64;
    if count > 0 {
        files::make_due(tx, agent, removed, Timestamp::from_millis(0)).await?;
    }
    Ok(count)
}

#[async_trait]
impl DocumentStore for MongoStorage {
    async fn document(
        &self,
        agent: &AgentId,
        document: FileId,
    ) -> Result<Option<StoredDocument>, StorageError> {
        let one = async {
            let mut reads = Reads::alone(&self.handle);
            let id = doc! { "_id": key(agent, document.as_bytes()) };
            let Some(found) = reads.one(collection::DOCUMENTS, id, None).await? else { return Ok(None) };
            let living = ledger::living(&mut reads, agent).await?;
            living.map(|_| read(&found)).transpose()
        };
        Ok(self.handle.read(one).await?)
    }

    async fn documents(
        &self,
        agent: &AgentId,
        after: Option<FileId>,
        at_most: u32,
    ) -> Result<Vec<StoredDocument>, StorageError> {
        // No limit is what 0 means to the database.
        if at_most == 0 {
            return Ok(Vec::new());
        }
        let list = async {
            let mut reads = Reads::alone(&self.handle);
            if ledger::living(&mut reads, agent).await?.is_none() {
                return Ok(Vec::new());
            }
            let found = reads.find(collection::DOCUMENTS, find(agent, after, at_most)).await?;
            found.iter().map(|document| read(document)).collect()
        };
        Ok(self.handle.list(list).await?)
    }
}
