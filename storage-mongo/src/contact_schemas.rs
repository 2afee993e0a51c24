//! Contact schemas and their history, each version as JSON.

use async_trait::async_trait;
use mongodb::bson::{Document, doc};
use openapi_core::audit::AuditEntry;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{ContactSchemaStore, StorageError, StorageErrorKind};
use openapi_core::values::AgentId;

use crate::document::{Fields, integer, json, of_agent};
use crate::error::{Result, corrupt};
use crate::migrate::collection;
use crate::transaction::{Find, Reads, Transaction};
use crate::{MongoStorage, audit, contacts, ledger};

fn schema_key(agent: &AgentId, version: u64) -> Result<Document> {
    Ok(doc! { "agent": agent.as_str(), "version": integer(version)? })
}

/// Stores a version.
pub(crate) async fn put(tx: &mut Transaction, agent: &AgentId, schema: &ContactSchema) -> Result<()> {
    let document = doc! { "_id": schema_key(agent, schema.version)?, "body": json(schema)? };
    tx.insert(collection::CONTACT_SCHEMAS, &[document]).await
}

/// A version of the schema of an agent.
pub(crate) async fn at_version(
    reads: &mut Reads<'_>,
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
            let mut reads = Reads::alone(&self.handle);
            match ledger::living(&mut reads, agent).await? {
                // A version that the ledger names is stored, and stays until the agent is purged.
                Some(ledger) => at_version(&mut reads, agent, ledger.schema_version).await,
                None => Ok(None),
            }
        };
        Ok(self.handle.read(read).await?)
    }

    async fn contact_schema_history(&self, agent: &AgentId) -> Result<Vec<ContactSchema>, StorageError> {
        let read = async {
            let mut reads = Reads::alone(&self.handle);
            if ledger::living(&mut reads, agent).await?.is_none() {
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
        audit: &AuditEntry,
    ) -> Result<(), StorageError> {
        let input = (agent.clone(), schema.clone(), audit.clone());
        // Computing the keys of all contacts anew may need longer than other writes.
        self.writer
            .write_at_length(agent, input, |tx, (agent, schema, audit)| {
                Box::pin(replace(tx, agent, schema, audit))
            })
            .await
    }
}

async fn replace(
    tx: &mut Transaction,
    agent: &AgentId,
    schema: &ContactSchema,
    entry: &AuditEntry,
) -> Result<()> {
    let ledger = ledger::take(tx, agent).await?.ok_or(StorageErrorKind::Missing)?;
    if ledger.schema_version + 1 != schema.version {
        return Err(StorageErrorKind::Stale.into());
    }
    let before = at_version(&mut tx.reads(), agent, ledger.schema_version).await?;
    let before = before.ok_or_else(|| corrupt("the agent has no contact schema"))?;
    if before.keys_differ(schema) {
        contacts::rekey(tx, agent, schema).await?;
    }
    put(tx, agent, schema).await?;
    let version = integer(schema.version)?;
    ledger::change(tx, agent, doc! { "$set": { "schema": version } }).await?;
    audit::append(tx, [entry]).await
}
