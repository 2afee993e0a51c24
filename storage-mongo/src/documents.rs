//! Retained documents of extractions: their records, as JSON. Their bytes count like those of files, and their contents are
//! due for deletion like those of files.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use mongodb::bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};
use openapi_core::storage::{
    DocumentStore, DocumentWrite, QuotaExcess, QuotaUnit, StorageError, StorageErrorKind, StoredDocument,
};
use openapi_core::values::{AgentId, FileId, Timestamp};
use storage_common::in_transaction;

use crate::document::{FieldReader, Fields, ids, integer, json, key, keyed, of_agent};
use crate::error::{Result, corrupt};
use crate::migrate::{collection, index};
use crate::store::MongoStorage;
use crate::transaction::{DocumentReader, Find, Transaction};
use crate::{content, tenant};

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

/// The find for a list.
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

/// As [`DocumentStore::insert_document`], inside a transaction.
async fn create(tx: &mut Transaction, agent: &AgentId, write: &DocumentWrite) -> Result<()> {
    let state = tenant::lock(tx, agent).await?.ok_or(StorageErrorKind::Missing)?;
    refuse_excess(state.bytes, write)?;
    add(tx, agent, &write.document).await
}

/// Refuses a document that exceeds the quota with the bytes that the tenant stores.
pub(crate) fn refuse_excess(bytes: i64, write: &DocumentWrite) -> Result<()> {
    let Some(limit) = write.max_bytes else { return Ok(()) };
    let actual = u64::try_from(bytes).map_err(corrupt)?.saturating_add(write.document.stored_size);
    if actual > limit {
        let excess = QuotaExcess { unit: QuotaUnit::Bytes, limit, actual };
        return Err(StorageErrorKind::QuotaExceeded(excess).into());
    }
    Ok(())
}

/// Stores a document and the time when its content is due.
///
/// # Errors
/// [`StorageErrorKind::AlreadyExists`] for the id of a document or a file: their contents share the keys.
pub(crate) async fn add(tx: &mut Transaction, agent: &AgentId, document: &StoredDocument) -> Result<()> {
    for name in [collection::DOCUMENTS, collection::FILES] {
        let id = doc! { "_id": key(agent, document.id.as_bytes()) };
        if tx.reads().one(name, id, Some(doc! { "_id": 1 })).await?.is_some() {
            return Err(StorageErrorKind::AlreadyExists.into());
        }
    }
    tx.insert(collection::DOCUMENTS, &[stored(agent, document)?]).await?;
    content::add_bytes(tx, agent, integer(document.stored_size)?).await?;
    content::make_due(tx, agent, [document.id], document.expires_at).await
}

/// As [`DocumentStore::discard_document`], inside a transaction.
async fn discard(tx: &mut Transaction, agent: &AgentId, document: FileId, now: Timestamp) -> Result<()> {
    if tenant::lock(tx, agent).await?.is_none() {
        return Ok(());
    }
    if remove(tx, keyed(agent, vec![key(agent, document.as_bytes())])).await? > 0 {
        content::make_due(tx, agent, [document], now).await?;
    }
    Ok(())
}

/// Retains the contents of documents, which are then no longer due. The tenant is locked.
///
/// # Errors
/// [`StorageErrorKind::Stale`] when one is absent.
pub(crate) async fn retain(tx: &mut Transaction, agent: &AgentId, documents: &[FileId]) -> Result<()> {
    for document in documents {
        let id = doc! { "_id": key(agent, document.as_bytes()) };
        if tx.reads().one(collection::DOCUMENTS, id.clone(), Some(doc! { "_id": 1 })).await?.is_none() {
            return Err(StorageErrorKind::Stale.into());
        }
        tx.delete(collection::BLOB_PURGES, id).await?;
    }
    Ok(())
}

/// Removes the existing records of some documents; their contents are due. The tenant is locked.
pub(crate) async fn erase(
    tx: &mut Transaction,
    agent: &AgentId,
    documents: &[FileId],
    now: Timestamp,
) -> Result<()> {
    if documents.is_empty() {
        return Ok(());
    }
    let keys = documents.iter().map(|document| key(agent, document.as_bytes())).collect();
    let find =
        Find { filter: keyed(agent, keys), projection: Some(doc! { "storedSize": 1 }), ..Find::default() };
    let removed = remove_found(tx, find).await?;
    if removed.is_empty() { Ok(()) } else { content::make_due(tx, agent, removed, now).await }
}

/// The sizes of the stored ones among some documents.
pub(crate) async fn sizes(
    tx: &mut Transaction,
    agent: &AgentId,
    documents: &BTreeSet<FileId>,
) -> Result<Vec<(FileId, i64)>> {
    if documents.is_empty() {
        return Ok(Vec::new());
    }
    let keys = documents.iter().map(|document| key(agent, document.as_bytes())).collect();
    let find =
        Find { filter: keyed(agent, keys), projection: Some(doc! { "storedSize": 1 }), ..Find::default() };
    let found = tx.reads().find(collection::DOCUMENTS, find).await?;
    let size = |document: &RawDocumentBuf| {
        let mut fields = Fields(document);
        Ok((FileId::from_bytes(fields.id()?), fields.integer("storedSize")?))
    };
    found.iter().map(size).collect()
}

/// Removes the records of any tenant that match a filter, and returns how many. Their bytes no longer count.
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
    // In the order of the tenants, as every transaction of several tenants.
    let mut bytes: BTreeMap<AgentId, i64> = BTreeMap::new();
    for document in &found {
        let mut fields = Fields(document);
        *bytes.entry(fields.agent()?).or_default() += fields.integer("storedSize")?;
        removed.push(FileId::from_bytes(fields.id()?));
    }
    let agents: Vec<Bson> = bytes.keys().map(|agent| agent.as_str().into()).collect();
    for (agent, bytes) in bytes {
        content::add_bytes(tx, &agent, -bytes).await?;
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
        content::make_due(tx, agent, removed, Timestamp::from_millis(0)).await?;
    }
    Ok(count)
}

#[async_trait]
impl DocumentStore for MongoStorage {
    async fn insert_document(&self, agent: &AgentId, write: &DocumentWrite) -> Result<(), StorageError> {
        in_transaction!(self.writer.write(agent), create(agent, write))
    }

    async fn discard_document(
        &self,
        agent: &AgentId,
        document: FileId,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        in_transaction!(self.writer.write(agent), discard(agent, *document, *now))
    }

    async fn document(
        &self,
        agent: &AgentId,
        document: FileId,
    ) -> Result<Option<StoredDocument>, StorageError> {
        let one = async {
            let mut reads = DocumentReader::new(&self.handle);
            let id = doc! { "_id": key(agent, document.as_bytes()) };
            let Some(found) = reads.one(collection::DOCUMENTS, id, None).await? else { return Ok(None) };
            let living = tenant::find(&mut reads, agent).await?;
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
        // To the database 0 means no limit.
        if at_most == 0 {
            return Ok(Vec::new());
        }
        let list = async {
            let mut reads = DocumentReader::new(&self.handle);
            if tenant::find(&mut reads, agent).await?.is_none() {
                return Ok(Vec::new());
            }
            let found = reads.find(collection::DOCUMENTS, find(agent, after, at_most)).await?;
            found.iter().map(|document| read(document)).collect()
        };
        Ok(self.handle.list(list).await?)
    }
}
