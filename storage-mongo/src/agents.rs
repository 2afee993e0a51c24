//! Agents.

use async_trait::async_trait;
use mongodb::bson::{Document, RawDocument, doc};
use openapi_core::agents::Agent;
use openapi_core::audit::AuditEntry;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{AgentStore, StorageError, StorageErrorKind};
use openapi_core::values::AgentId;

use crate::document::{Fields, ids, of_agent, time};
use crate::error::Result;
use crate::ledger::{self, DELETED, status, status_number};
use crate::migrate::{collection, index};
use crate::transaction::{Find, Reads, Transaction, Update};
use crate::{MongoStorage, audit, contact_schemas, contacts, documents, files, forms, knowledge};

pub(crate) fn read(document: &RawDocument) -> Result<Agent> {
    let fields = Fields(document);
    Ok(Agent {
        id: fields.text("_id")?,
        name: fields.text("name")?,
        status: status(fields.integer("status")?)?,
        created_at: fields.time("createdAt")?,
        updated_at: fields.time("updatedAt")?,
    })
}

/// The agents that are there, by age.
pub(crate) fn every() -> Find {
    Find {
        filter: doc! { "status": { "$ne": DELETED } },
        sort: Some(doc! { "createdAt": 1, "_id": 1 }),
        hint: Some(index::AGENTS_BY_AGE),
        ..Find::default()
    }
}

#[async_trait]
impl AgentStore for MongoStorage {
    async fn insert_agent(
        &self,
        agent: &Agent,
        schema: &ContactSchema,
        audit: &AuditEntry,
    ) -> Result<(), StorageError> {
        let input = (agent.clone(), schema.clone(), audit.clone());
        self.writer
            .write(&agent.id, input, |tx, (agent, schema, audit)| Box::pin(insert(tx, agent, schema, audit)))
            .await
    }

    async fn agent(&self, id: &AgentId) -> Result<Option<Agent>, StorageError> {
        let one = async {
            let found =
                Reads::alone(&self.handle).one(collection::AGENTS, doc! { "_id": id.as_str() }, None).await?;
            found.map(|agent| read(&agent)).transpose()
        };
        Ok(self.handle.read(one).await?)
    }

    async fn agents(&self) -> Result<Vec<Agent>, StorageError> {
        let list = async {
            let found = Reads::alone(&self.handle).find(collection::AGENTS, every()).await?;
            found.iter().map(|agent| read(agent)).collect()
        };
        Ok(self.handle.list(list).await?)
    }

    async fn update_agent(&self, agent: &Agent, audit: &AuditEntry) -> Result<(), StorageError> {
        let input = (agent.clone(), audit.clone());
        self.writer.write(&agent.id, input, |tx, (agent, audit)| Box::pin(update(tx, agent, audit))).await
    }

    async fn purge_agent(&self, id: &AgentId, at_most: u32) -> Result<u64, StorageError> {
        let input = (id.clone(), at_most);
        self.writer.write_at_length(id, input, |tx, (id, at_most)| Box::pin(purge(tx, id, *at_most))).await
    }
}

async fn insert(
    tx: &mut Transaction,
    agent: &Agent,
    schema: &ContactSchema,
    entry: &AuditEntry,
) -> Result<()> {
    if is_known(&mut tx.reads(), &agent.id).await? {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    put_new(tx, agent, schema.version).await?;
    contact_schemas::put(tx, &agent.id, schema).await?;
    audit::append(tx, [entry]).await
}

/// Whether there is or was an agent with the id.
pub(crate) async fn is_known(reads: &mut Reads<'_>, id: &AgentId) -> Result<bool> {
    let known = doc! { "_id": id.as_str() };
    Ok(reads.one(collection::AGENTS, known, Some(doc! { "_id": 1 })).await?.is_some())
}

/// Stores an agent whose id is free.
pub(crate) async fn put_new(tx: &mut Transaction, agent: &Agent, schema_version: u64) -> Result<()> {
    let document = doc! {
        "_id": agent.id.as_str(),
        "name": agent.name.as_str(),
        "status": status_number(agent.status),
        "createdAt": time(agent.created_at),
        "updatedAt": time(agent.updated_at),
    };
    tx.insert(collection::AGENTS, &[document]).await?;
    ledger::open(tx, &agent.id, agent.status, schema_version).await
}

async fn update(tx: &mut Transaction, agent: &Agent, entry: &AuditEntry) -> Result<()> {
    ledger::take(tx, &agent.id).await?.ok_or(StorageErrorKind::Missing)?;
    let status = status_number(agent.status);
    let change = doc! { "$set": {
        "name": agent.name.as_str(),
        "status": status,
        "updatedAt": time(agent.updated_at),
    } };
    tx.update(collection::AGENTS, &[Update::one(doc! { "_id": agent.id.as_str() }, change)]).await?;
    ledger::change(tx, &agent.id, doc! { "$set": { "status": status } }).await?;
    audit::append(tx, [entry]).await
}

/// Removes up to `at_most` documents that a filter lets through, and returns how many.
pub(crate) async fn remove_some(
    tx: &mut Transaction,
    collection: &str,
    filter: Document,
    at_most: u32,
) -> Result<u64> {
    let find = Find {
        filter: filter.clone(),
        projection: Some(doc! { "_id": 1 }),
        limit: at_most,
        ..Find::default()
    };
    let found = tx.reads().find(collection, find).await?;
    if found.is_empty() {
        return Ok(0);
    }
    // The filter stays, for what it tells a router of a sharded cluster.
    let some = doc! { "_id": { "$in": ids(&found)? } };
    tx.delete(collection, doc! { "$and": [filter, some] }).await
}

/// Removes documents of a deleted agent, one kind after another, until `at_most` are gone.
async fn purge(tx: &mut Transaction, agent: &AgentId, at_most: u32) -> Result<u64> {
    if at_most == 0 || !ledger::take_deleted(tx, agent).await? {
        return Ok(0);
    }
    let mut removed = contacts::purge(tx, agent, at_most).await?;
    let left = |removed: u64| u32::try_from(u64::from(at_most).saturating_sub(removed)).unwrap_or(u32::MAX);
    if left(removed) > 0 {
        removed += files::purge(tx, agent, left(removed)).await?;
    }
    if left(removed) > 0 {
        removed += documents::purge(tx, agent, left(removed)).await?;
    }
    if left(removed) > 0 {
        removed += forms::purge(tx, agent, left(removed)).await?;
    }
    if left(removed) > 0 {
        removed += knowledge::blocks::purge(tx, agent, left(removed)).await?;
    }
    for (collection, filter) in [
        (collection::API_KEYS, doc! { "agent": agent.as_str() }),
        (collection::CONTACT_SCHEMAS, of_agent(agent)),
        (collection::REPLAYS, of_agent(agent)),
        (collection::RATE_WINDOWS, of_agent(agent)),
        (collection::CREDIT_ACCOUNTS, of_agent(agent)),
        (collection::CREDIT_ENTRIES, of_agent(agent)),
        (collection::MESSAGES, of_agent(agent)),
        (collection::CONVERSATIONS, of_agent(agent)),
        (collection::KNOWLEDGE, of_agent(agent)),
        (collection::AGENT_RECORDS, of_agent(agent)),
    ] {
        if left(removed) > 0 {
            removed += remove_some(tx, collection, filter, left(removed)).await?;
        }
    }
    if left(removed) > 0 {
        removed += audit::empty_some_payloads(tx, agent, left(removed)).await?;
    }
    Ok(removed)
}
