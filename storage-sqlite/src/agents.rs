//! Agents: creating, changing and ending tenants.

use async_trait::async_trait;
use openapi_core::agents::Agent;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{AgentStore, Effects, StorageError, StorageErrorKind};
use openapi_core::values::AgentId;
use rusqlite::{Connection, params};
use storage_common::{agent_columns, records};

use crate::error::Result;
use crate::rows::{self, code, signed};
use crate::store::SqliteStorage;
use crate::{audit, chat, contact_schemas, contacts, documents, effects, files, forms, shapes};

#[async_trait]
impl AgentStore for SqliteStorage {
    async fn insert_agent(
        &self,
        agent: &Agent,
        schema: &ContactSchema,
        effects: &Effects,
    ) -> Result<(), StorageError> {
        let (agent, schema, effects) = (agent.clone(), schema.clone(), effects.clone());
        self.writer.write(move |db| insert(db, &agent, &schema, &effects)).await
    }

    async fn agent(&self, id: &AgentId) -> Result<Option<Agent>, StorageError> {
        const SQL: &str = concat!("SELECT ", agent_columns!(), " FROM agent WHERE id = ?1");
        self.readers.read_blocking(|db| rows::first(db, SQL, [id.as_str()], |r| records::agent(r)))
    }

    async fn agents(&self) -> Result<Vec<Agent>, StorageError> {
        const SQL: &str =
            concat!("SELECT ", agent_columns!(), " FROM agent WHERE status <> 2 ORDER BY created_at, id");
        self.readers.read(|db, _| rows::all(db, SQL, (), |r| records::agent(r))).await
    }

    async fn update_agent(&self, agent: &Agent, effects: &Effects) -> Result<(), StorageError> {
        let (agent, effects) = (agent.clone(), effects.clone());
        self.writer
            .write_of_agent(move |db| {
                let sql = "UPDATE agent SET name = ?2, status = ?3, updated_at = ?4 \
                           WHERE id = ?1 AND status <> 2 RETURNING n";
                let (name, status) = (agent.name.as_str(), code(agent.status));
                let values = params![agent.id.as_str(), name, status, agent.updated_at.millis()];
                let changed = rows::first(db, sql, values, |r| r.integer())?;
                effects::apply(db, changed.ok_or(StorageErrorKind::Missing)?, &effects)
            })
            .await
    }

    async fn purge_agent(&self, id: &AgentId, at_most: u32) -> Result<u64, StorageError> {
        let id = id.clone();
        self.writer.write_erasure(move |db| purge(db, &id, at_most)).await
    }
}

fn insert(db: &Connection, agent: &Agent, schema: &ContactSchema, effects: &Effects) -> Result<()> {
    if rows::exists(db, "SELECT 1 FROM agent WHERE id = ?1", [agent.id.as_str()])? {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    let number = put_new(db, agent, schema.version)?;
    contact_schemas::put(db, number, schema)?;
    effects::apply(db, number, effects)
}

/// Stores a new agent; returns the number that its rows begin with.
pub(crate) fn put_new(db: &Connection, agent: &Agent, schema_version: u64) -> Result<i64> {
    // Tombstones stay, so the highest number is never reused.
    let number = signed(rows::count(db, "SELECT coalesce(max(n), 0) + 1 FROM agent", ())?)?;
    db.prepare_cached(
        "INSERT INTO agent (id, n, status, schema_version, name, created_at, updated_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![
        agent.id.as_str(),
        number,
        code(agent.status),
        signed(schema_version)?,
        agent.name.as_str(),
        agent.created_at.millis(),
        agent.updated_at.millis()
    ])?;
    Ok(number)
}

/// Removes rows of a deleted agent, one kind after another, until `at_most` are removed.
fn purge(db: &Connection, id: &AgentId, at_most: u32) -> Result<u64> {
    let sql = "SELECT n FROM agent WHERE id = ?1 AND status = 2";
    let Some(number) = rows::first(db, sql, [id.as_str()], |r| r.integer())? else { return Ok(0) };
    let mut removed = contacts::purge(db, number, at_most)?;
    let left = |removed: u64| u32::try_from(u64::from(at_most).saturating_sub(removed)).unwrap_or(u32::MAX);
    if left(removed) > 0 {
        removed += files::purge(db, id, number, left(removed))?;
    }
    if left(removed) > 0 {
        removed += documents::purge(db, id, number, left(removed))?;
    }
    if left(removed) > 0 {
        files::remove_counter(db, number)?;
    }
    if left(removed) > 0 {
        removed += forms::purge(db, number, left(removed))?;
    }
    for sql in [
        "DELETE FROM api_key WHERE agent = ?1 AND (created_at, id) IN \
         (SELECT created_at, id FROM api_key WHERE agent = ?1 LIMIT ?2)",
        "DELETE FROM contact_schema WHERE agent = ?1 AND version IN \
         (SELECT version FROM contact_schema WHERE agent = ?1 LIMIT ?2)",
        "DELETE FROM replay WHERE rowid IN (SELECT rowid FROM replay WHERE agent = ?1 LIMIT ?2)",
        "DELETE FROM credit_account WHERE agent IN (SELECT agent FROM credit_account WHERE agent = ?1 LIMIT ?2)",
        "DELETE FROM credit_entry WHERE agent = ?1 AND (at, id) IN \
         (SELECT at, id FROM credit_entry WHERE agent = ?1 LIMIT ?2)",
    ]
    .into_iter()
    .chain(chat::PURGES)
    .chain(shapes::PURGES)
    {
        if left(removed) > 0 {
            removed += db.prepare_cached(sql)?.execute(params![number, left(removed)])? as u64;
        }
    }
    if left(removed) > 0 {
        shapes::log::purge_erased(db, number)?;
    }
    if left(removed) > 0 {
        removed += audit::empty_some_payloads(db, id, left(removed))?;
    }
    Ok(removed)
}
