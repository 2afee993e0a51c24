//! The documents of knowledge, as JSON, with their passages.

use ::conversations::storage::{KnowledgeStore, KnowledgeWrite};
use ::conversations::{KnowledgeDocument, Passage};
use async_trait::async_trait;
use mongodb::bson::{Document, RawDocument, doc};
use openapi_core::json::RawObject;
use openapi_core::storage::{
    Effects, RecordChange, RecordKind, StorageError, StorageErrorKind, StoredRecord,
};
use openapi_core::values::{AgentId, KnowledgeId};

use super::blocks;
use crate::document::{FieldReader, Fields, json, key, keyed, of_agent};
use crate::error::Result;
use crate::migrate::{collection, index};
use crate::shapes::records;
use crate::store::MongoStorage;
use crate::transaction::{DocumentReader, Find, Transaction};
use crate::{effects, tenant};

/// The stored form of a document.
pub(crate) fn stored(agent: &AgentId, document: &KnowledgeDocument) -> Result<Document> {
    Ok(doc! { "_id": key(agent, document.id.as_bytes()), "body": json(document)? })
}

pub(crate) fn read(document: &RawDocument) -> Result<KnowledgeDocument> {
    Fields(document).json("body")
}

/// The find for all documents.
pub(crate) fn find(agent: &AgentId) -> Find {
    Find {
        filter: of_agent(agent),
        sort: Some(doc! { "_id": 1 }),
        hint: Some(index::BY_KEY),
        ..Find::default()
    }
}

/// A [`KnowledgeWrite`] in its stored form, prepared before the transaction, because the tenant's other writes wait for the
/// transaction.
struct Change {
    agent: AgentId,
    version: u64,
    remove: Vec<KnowledgeId>,
    /// A document with the blocks of its passages.
    add: Option<(KnowledgeDocument, Vec<Document>)>,
    effects: Effects,
}

impl Change {
    async fn of(agent: &AgentId, write: &KnowledgeWrite) -> Result<Self> {
        let add = match &write.add {
            Some((document, passages)) => {
                Some((document.clone(), blocks::pack_all(agent, document.id, passages).await?))
            }
            None => None,
        };
        Ok(Change {
            agent: agent.clone(),
            version: write.version,
            remove: write.remove.clone(),
            add,
            effects: write.effects.clone(),
        })
    }
}

/// As [`KnowledgeStore::change_knowledge`], inside a transaction.
async fn change(tx: &mut Transaction, change: &Change) -> Result<()> {
    let agent = &change.agent;
    let state = tenant::lock(tx, agent).await?.ok_or(StorageErrorKind::Missing)?;
    let record = StoredRecord::single(RecordKind::Knowledge, change.version, RawObject::default());
    records::refuse_stale(tx, Some(agent), &RecordChange::Save(record.clone())).await?;
    if let Some((document, _)) = &change.add
        && !change.remove.contains(&document.id)
    {
        let id = doc! { "_id": key(agent, document.id.as_bytes()) };
        if tx.reads().one(collection::KNOWLEDGE, id, Some(doc! { "_id": 1 })).await?.is_some() {
            return Err(StorageErrorKind::AlreadyExists.into());
        }
    }
    // In chunks, so that each command is small.
    for some in change.remove.chunks(100) {
        let keys = some.iter().map(|id| key(agent, id.as_bytes())).collect();
        tx.delete(collection::KNOWLEDGE, keyed(agent, keys)).await?;
        tx.delete(collection::PASSAGES, blocks::blocks_of(agent, some)).await?;
    }
    if let Some((document, blocks)) = &change.add {
        tx.insert(collection::KNOWLEDGE, &[stored(agent, document)?]).await?;
        tx.insert(collection::PASSAGES, blocks).await?;
    }
    records::put(tx, Some(agent), &record).await?;
    effects::apply(tx, agent, &change.effects, state.ends).await
}

#[async_trait]
impl KnowledgeStore for MongoStorage {
    async fn knowledge(&self, agent: &AgentId) -> Result<Vec<KnowledgeDocument>, StorageError> {
        let list = async {
            let mut reads = DocumentReader::new(&self.handle);
            if tenant::find(&mut reads, agent).await?.is_none() {
                return Ok(Vec::new());
            }
            let found = reads.find(collection::KNOWLEDGE, find(agent)).await?;
            found.iter().map(|document| read(document)).collect()
        };
        Ok(self.handle.list(list).await?)
    }

    async fn passages(
        &self,
        agent: &AgentId,
        after: Option<(KnowledgeId, u32)>,
        at_most: u32,
    ) -> Result<Vec<(KnowledgeId, Passage)>, StorageError> {
        let list = async {
            // Several finds may be needed; they share a snapshot.
            let mut session = self.handle.snapshot().await?;
            let mut reads = DocumentReader::in_session(&self.handle, &mut session);
            match tenant::find(&mut reads, agent).await? {
                Some(_) => blocks::passages(&mut reads, agent, after, at_most).await,
                None => Ok(Vec::new()),
            }
        };
        Ok(self.handle.list(list).await?)
    }

    async fn change_knowledge(&self, agent: &AgentId, write: &KnowledgeWrite) -> Result<(), StorageError> {
        let prepared = Change::of(agent, write).await?;
        self.writer.write_long(agent, prepared, |tx, prepared| Box::pin(change(tx, prepared))).await
    }
}
