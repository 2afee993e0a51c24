//! Contact schemas and their history, as JSON.

use async_trait::async_trait;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{ContactSchemaStore, Effects, StorageError, StorageErrorKind};
use openapi_core::values::AgentId;
use rusqlite::{Connection, params};

use crate::error::{Result, corrupt};
use crate::rows::{self, json_text, signed};
use crate::store::SqliteStorage;
use crate::{contacts, effects, tenant};

/// Stores a version.
pub(crate) fn put(db: &Connection, agent: i64, schema: &ContactSchema) -> Result<()> {
    let body = json_text(schema)?;
    db.prepare_cached("INSERT INTO contact_schema (agent, version, body) VALUES (?1, ?2, ?3)")?
        .execute(params![agent, signed(schema.version)?, body])?;
    Ok(())
}

/// The current schema of an agent that is not deleted.
pub(crate) fn current(db: &Connection, agent: &AgentId) -> Result<Option<ContactSchema>> {
    let sql = "SELECT s.body FROM agent a CROSS JOIN contact_schema s ON s.agent = a.n AND s.version = a.schema_version \
               WHERE a.id = ?1 AND a.status <> 2";
    rows::first(db, sql, [agent.as_str()], |r| r.json())
}

/// The current schema of an agent, deleted or not.
pub(crate) fn of_number(db: &Connection, agent: i64) -> Result<Option<ContactSchema>> {
    let sql = "SELECT s.body FROM agent a CROSS JOIN contact_schema s ON s.agent = a.n AND s.version = a.schema_version \
               WHERE a.n = ?1";
    rows::first(db, sql, [agent], |r| r.json())
}

#[async_trait]
impl ContactSchemaStore for SqliteStorage {
    async fn contact_schema(&self, agent: &AgentId) -> Result<Option<ContactSchema>, StorageError> {
        self.readers.read_blocking(|db| current(db, agent))
    }

    async fn contact_schema_history(&self, agent: &AgentId) -> Result<Vec<ContactSchema>, StorageError> {
        let agent = agent.clone();
        let sql = "SELECT s.body FROM agent a CROSS JOIN contact_schema s ON s.agent = a.n \
                   WHERE a.id = ?1 AND a.status <> 2 ORDER BY s.version";
        self.readers.read(move |db, _| rows::all(db, sql, [agent.as_str()], |r| r.json())).await
    }

    async fn replace_contact_schema(
        &self,
        agent: &AgentId,
        schema: &ContactSchema,
        effects: &Effects,
    ) -> Result<(), StorageError> {
        let (agent, schema, effects) = (agent.clone(), schema.clone(), effects.clone());
        self.writer.write(move |db| replace(db, &agent, &schema, &effects)).await
    }
}

fn replace(db: &Connection, agent_id: &AgentId, schema: &ContactSchema, effects: &Effects) -> Result<()> {
    let agent = tenant::living(db, agent_id)?.ok_or(StorageErrorKind::Missing)?;
    if agent.schema_version + 1 != schema.version {
        return Err(StorageErrorKind::Stale.into());
    }
    let before = current(db, agent_id)?.ok_or_else(|| corrupt("the agent has no contact schema"))?;
    if before.keys_differ(schema) {
        contacts::rekey(db, agent_id, agent.number, schema)?;
    }
    put(db, agent.number, schema)?;
    db.prepare_cached("UPDATE agent SET schema_version = ?2 WHERE n = ?1")?
        .execute(params![agent.number, signed(schema.version)?])?;
    effects::apply(db, agent.number, effects)
}
