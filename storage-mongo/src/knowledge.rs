//! What agents answer from: documents and their passages, as JSON under the keys that they are walked by.

use std::collections::BTreeMap;

use async_trait::async_trait;
use mongodb::bson::{Bson, Document, RawDocument, doc};
use openapi_core::chat::{KnowledgeDocument, Passage};
use openapi_core::json::RawObject;
use openapi_core::storage::{
    AgentRecord, AgentRecordKind, KnowledgeStore, KnowledgeWrite, StorageError, StorageErrorKind,
};
use openapi_core::values::{AgentId, KnowledgeId};

use crate::document::{Fields, integer, json, key, keyed, of_agent};
use crate::error::Result;
use crate::migrate::{collection, index};
use crate::transaction::{Find, Reads, Transaction};
use crate::{MongoStorage, agent_records, audit, ledger};

/// How many passages are made into documents at a time. A document may have 50,000, of 5,000,000 characters together,
/// which is more than a message to the server may hold (16 MiB): they go in parts, within one transaction. A part is a
/// MiB or two, and would be cut further if it were larger ([`Transaction::insert`]). All of them take seconds, far from
/// where the server gives a transaction up (60 s), but more than other writes may take.
const AT_ONCE: usize = 1_000;

/// The `_id` of a passage.
pub(crate) fn passage_key(agent: &AgentId, document: &[u8; 12], position: u64) -> Result<Document> {
    let mut id = key(agent, document);
    id.insert("position", integer(position)?);
    Ok(id)
}

/// The stored form of a document.
pub(crate) fn stored(agent: &AgentId, document: &KnowledgeDocument) -> Result<Document> {
    Ok(doc! { "_id": key(agent, document.id.as_bytes()), "body": json(document)? })
}

/// The stored form of a passage.
pub(crate) fn stored_passage(agent: &AgentId, document: KnowledgeId, passage: &Passage) -> Result<Document> {
    let id = passage_key(agent, document.as_bytes(), u64::from(passage.position))?;
    Ok(doc! { "_id": id, "body": json(passage)? })
}

pub(crate) fn read(document: &RawDocument) -> Result<KnowledgeDocument> {
    Fields(document).json("body")
}

pub(crate) fn read_passage(document: &RawDocument) -> Result<(KnowledgeId, Passage)> {
    let fields = Fields(document);
    Ok((KnowledgeId::from_bytes(fields.id()?), fields.json("body")?))
}

/// What the list of documents asks the database for.
pub(crate) fn find(agent: &AgentId) -> Find {
    Find {
        filter: of_agent(agent),
        sort: Some(doc! { "_id": 1 }),
        hint: Some(index::BY_KEY),
        ..Find::default()
    }
}

/// What some passages ask the database for.
pub(crate) fn find_passages(
    agent: &AgentId,
    after: Option<(KnowledgeId, u32)>,
    at_most: u32,
) -> Result<Find> {
    let mut filter = of_agent(agent);
    if let Some((document, position)) = after {
        let after = passage_key(agent, document.as_bytes(), u64::from(position))?;
        filter = doc! { "$and": [filter, { "_id": { "$gt": after } }] };
    }
    Ok(Find { filter, limit: at_most, ..find(agent) })
}

/// The passages of documents, each a stretch of `_id`.
pub(crate) fn passages_of(agent: &AgentId, documents: &[KnowledgeId]) -> Document {
    let stretches: Vec<Document> = documents
        .iter()
        .map(|document| {
            let first = key(agent, document.as_bytes());
            let mut last = first.clone();
            last.insert("position", Bson::MaxKey);
            doc! { "_id": { "$gt": first, "$lt": last } }
        })
        .collect();
    doc! { "$or": stretches, "_id.agent": agent.as_str() }
}

/// As [`KnowledgeStore::change_knowledge`], inside a transaction.
async fn change(tx: &mut Transaction, agent: &AgentId, write: &KnowledgeWrite) -> Result<()> {
    ledger::take(tx, agent).await?.ok_or(StorageErrorKind::Missing)?;
    let kind = AgentRecordKind::Knowledge;
    agent_records::refuse_stale(tx, agent, kind, write.version).await?;
    if let Some((document, _)) = &write.add
        && !write.remove.contains(&document.id)
    {
        let id = doc! { "_id": key(agent, document.id.as_bytes()) };
        if tx.reads().one(collection::KNOWLEDGE, id, Some(doc! { "_id": 1 })).await?.is_some() {
            return Err(StorageErrorKind::AlreadyExists.into());
        }
    }
    // So many that one command stays small.
    for some in write.remove.chunks(100) {
        let keys = some.iter().map(|id| key(agent, id.as_bytes())).collect();
        tx.delete(collection::KNOWLEDGE, keyed(agent, keys)).await?;
        tx.delete(collection::PASSAGES, passages_of(agent, some)).await?;
    }
    if let Some((document, passages)) = &write.add {
        tx.insert(collection::KNOWLEDGE, &[stored(agent, document)?]).await?;
        // Of two at one place the later one stands.
        let placed: BTreeMap<u32, &Passage> = passages.iter().map(|it| (it.position, it)).collect();
        let placed: Vec<&Passage> = placed.into_values().collect();
        for some in placed.chunks(AT_ONCE) {
            let some = some.iter().map(|passage| stored_passage(agent, document.id, passage));
            tx.insert(collection::PASSAGES, &some.collect::<Result<Vec<_>>>()?).await?;
        }
    }
    let record = AgentRecord { kind, version: write.version, body: RawObject::default() };
    agent_records::put(tx, agent, &record).await?;
    audit::append(tx, [&write.audit]).await
}

#[async_trait]
impl KnowledgeStore for MongoStorage {
    async fn knowledge(&self, agent: &AgentId) -> Result<Vec<KnowledgeDocument>, StorageError> {
        let list = async {
            let mut reads = Reads::alone(&self.handle);
            if ledger::living(&mut reads, agent).await?.is_none() {
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
        // No limit is what 0 means to the database.
        if at_most == 0 {
            return Ok(Vec::new());
        }
        let list = async {
            let mut reads = Reads::alone(&self.handle);
            if ledger::living(&mut reads, agent).await?.is_none() {
                return Ok(Vec::new());
            }
            let found = reads.find(collection::PASSAGES, find_passages(agent, after, at_most)?).await?;
            found.iter().map(|passage| read_passage(passage)).collect()
        };
        Ok(self.handle.list(list).await?)
    }

    async fn change_knowledge(&self, agent: &AgentId, write: &KnowledgeWrite) -> Result<(), StorageError> {
        let input = (agent.clone(), write.clone());
        self.writer
            .write_at_length(agent, input, |tx, (agent, write)| Box::pin(change(tx, agent, write)))
            .await
    }
}
