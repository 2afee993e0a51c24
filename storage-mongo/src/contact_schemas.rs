//! Contact schemas and their history, each version as JSON.

use async_trait::async_trait;
use mongodb::bson::{Document, doc};
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{ContactSchemaStore, Effects, StorageError, StorageErrorKind};
use openapi_core::values::AgentId;
use storage_common::in_transaction;

use crate::document::{FieldReader, Fields, integer, json, of_agent};
use crate::error::{Result, corrupt};
use crate::migrate::collection;
use crate::store::MongoStorage;
use crate::transaction::{DocumentReader, Find, Transaction};
use crate::{contacts, effects, tenant};

fn schema_key(agent: &AgentId, version: u64) -> Result<Document> {
    Ok(doc! { "agent": agent.as_str(), "version": integer(version)? })
}

/// Stores a version.
pub(crate) async fn insert(tx: &mut Transaction, agent: &AgentId, schema: &ContactSchema) -> Result<()> {
    let document = doc! { "_id": schema_key(agent, schema.version)?, "body": json(schema)? };
    tx.insert(collection::CONTACT_SCHEMAS, &[document]).await
}

/// A version of the schema of a tenant.
pub(crate) async fn at_version(
    reads: &mut DocumentReader<'_>,
    agent: &AgentId,
    version: u64,
) -> Result<Option<ContactSchema>> {
    let filter = doc! { "_id": schema_key(agent, version)? };
    let found = reads.one(collection::CONTACT_SCHEMAS, filter, None).await?;
    found.map(|found| Fields(&found).json("body")).transpose()
}

#[async_trait]
impl ContactSchemaStore for MongoStorage {
    async fn contact_schema(&self, agent: &AgentId) -> Result<Option<ContactSchema>, StorageError> {
        let read = async {
            let mut reads = DocumentReader::new(&self.handle);
            match tenant::find(&mut reads, agent).await? {
                // The version in the state is stored until the tenant is purged.
                Some(ledger) => at_version(&mut reads, agent, ledger.schema_version).await,
                None => Ok(None),
            }
        };
        Ok(self.handle.read(read).await?)
    }

    async fn contact_schema_history(&self, agent: &AgentId) -> Result<Vec<ContactSchema>, StorageError> {
        let read = async {
            let mut reads = DocumentReader::new(&self.handle);
            if tenant::find(&mut reads, agent).await?.is_none() {
                return Ok(Vec::new());
            }
            let find = Find { filter: of_agent(agent), sort: Some(doc! { "_id": 1 }), ..Find::default() };
            let found = reads.find(collection::CONTACT_SCHEMAS, find).await?;
            found.iter().map(|found| Fields(found).json("body")).collect()
        };
        Ok(self.handle.list(read).await?)
    }

    async fn replace_contact_schema(
        &self,
        agent: &AgentId,
        schema: &ContactSchema,
        effects: &Effects,
    ) -> Result<(), StorageError> {
        // Computing the keys of all contacts again may exceed the timeout of other writes.
        let chunk = self.handle.thresholds.reindex_chunk;
        in_transaction!(self.writer.write_long(agent), replace(agent, schema, effects, *chunk))
    }
}

async fn replace(
    tx: &mut Transaction,
    agent: &AgentId,
    schema: &ContactSchema,
    effects: &Effects,
    chunk: u32,
) -> Result<()> {
    let ledger = tenant::lock(tx, agent).await?.ok_or(StorageErrorKind::Missing)?;
    if ledger.schema_version + 1 != schema.version {
        return Err(StorageErrorKind::Stale.into());
    }
    let before = at_version(&mut tx.reads(), agent, ledger.schema_version).await?;
    let before = before.ok_or_else(|| corrupt("the agent has no contact schema"))?;
    if before.keys_differ(schema) {
        contacts::reindex(tx, agent, schema, chunk).await?;
    }
    insert(tx, agent, schema).await?;
    let version = integer(schema.version)?;
    tenant::change(tx, agent, doc! { "$set": { "schema": version } }).await?;
    effects::apply(tx, agent, effects, ledger.ends).await
}
