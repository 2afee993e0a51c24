//! Agents, which are the tenants of the store.

use async_trait::async_trait;
use mongodb::bson::{RawDocument, doc};
use openapi_core::agents::Agent;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{AgentStore, Effects, StorageError, StorageErrorKind};
use openapi_core::values::AgentId;
use storage_common::{in_transaction, records};

use crate::document::{Fields, code, time};
use crate::error::Result;
use crate::migrate::{collection, index};
use crate::store::MongoStorage;
use crate::tenant::{self, DELETED, Ends};
use crate::transaction::{DocumentReader, Find, Transaction, Update};
use crate::{contact_schemas, effects, purge};

pub(crate) fn read(document: &RawDocument) -> Result<Agent> {
    records::agent(&mut Fields(document))
}

/// The agents that are not deleted, by creation time.
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
        effects: &Effects,
    ) -> Result<(), StorageError> {
        in_transaction!(self.writer.write(&agent.id), create(agent, schema, effects))
    }

    async fn agent(&self, id: &AgentId) -> Result<Option<Agent>, StorageError> {
        let one = async {
            let found = DocumentReader::new(&self.handle)
                .one(collection::AGENTS, doc! { "_id": id.as_str() }, None)
                .await?;
            found.map(|agent| read(&agent)).transpose()
        };
        Ok(self.handle.read(one).await?)
    }

    async fn agents(&self) -> Result<Vec<Agent>, StorageError> {
        let list = async {
            let found = DocumentReader::new(&self.handle).find(collection::AGENTS, every()).await?;
            found.iter().map(|agent| read(agent)).collect()
        };
        Ok(self.handle.list(list).await?)
    }

    async fn update_agent(&self, agent: &Agent, effects: &Effects) -> Result<(), StorageError> {
        in_transaction!(self.writer.write(&agent.id), update(agent, effects))
    }

    async fn purge_agent(&self, id: &AgentId, at_most: u32) -> Result<u64, StorageError> {
        in_transaction!(self.writer.write_long(id), purge::agent(id, *at_most))
    }
}

async fn create(
    tx: &mut Transaction,
    agent: &Agent,
    schema: &ContactSchema,
    effects: &Effects,
) -> Result<()> {
    if is_known(&mut tx.reads(), &agent.id).await? {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    insert(tx, agent, schema.version).await?;
    contact_schemas::insert(tx, &agent.id, schema).await?;
    effects::apply(tx, &agent.id, effects, Ends::default()).await
}

/// Whether the id is or was that of a tenant.
pub(crate) async fn is_known(reads: &mut DocumentReader<'_>, id: &AgentId) -> Result<bool> {
    let known = doc! { "_id": id.as_str() };
    Ok(reads.one(collection::AGENTS, known, Some(doc! { "_id": 1 })).await?.is_some())
}

/// Stores a tenant whose id is free.
pub(crate) async fn insert(tx: &mut Transaction, agent: &Agent, schema_version: u64) -> Result<()> {
    let document = doc! {
        "_id": agent.id.as_str(),
        "name": agent.name.as_str(),
        "status": code(agent.status),
        "createdAt": time(agent.created_at),
        "updatedAt": time(agent.updated_at),
    };
    tx.insert(collection::AGENTS, &[document]).await?;
    tenant::create(tx, &agent.id, agent.status, schema_version).await
}

async fn update(tx: &mut Transaction, agent: &Agent, effects: &Effects) -> Result<()> {
    let state = tenant::lock(tx, &agent.id).await?.ok_or(StorageErrorKind::Missing)?;
    let status = code(agent.status);
    let change = doc! { "$set": {
        "name": agent.name.as_str(),
        "status": status,
        "updatedAt": time(agent.updated_at),
    } };
    tx.update(collection::AGENTS, &[Update::one(doc! { "_id": agent.id.as_str() }, change)]).await?;
    tenant::change(tx, &agent.id, doc! { "$set": { "status": status } }).await?;
    effects::apply(tx, &agent.id, effects, state.ends).await
}
