//! Small records of agents, as JSON under the number of their kind.

use async_trait::async_trait;
use openapi_core::storage::{Effects, RecordKind, RecordStore, StorageError, StorageErrorKind, StoredRecord};
use openapi_core::values::AgentId;
use rusqlite::{Connection, params};
use storage_common::records;

use crate::error::Result;
use crate::rows::{self, signed};
use crate::store::SqliteStorage;
use crate::{effects, tenant};

/// Fails unless `version` follows the stored version.
pub(super) fn refuse_stale(db: &Connection, agent: i64, kind: RecordKind, version: u64) -> Result<()> {
    let sql = "SELECT version FROM agent_record WHERE agent = ?1 AND kind = ?2";
    super::refuse_stale(rows::number(db, sql, params![agent, kind.number()])?, version)
}

/// Replaces the record of its kind.
pub(super) fn put(db: &Connection, agent: i64, record: &StoredRecord) -> Result<()> {
    db.prepare_cached(
        "INSERT INTO agent_record (agent, kind, version, body) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT (agent, kind) DO UPDATE SET version = excluded.version, body = excluded.body",
    )?
    .execute(params![agent, record.kind.number(), signed(record.version)?, record.body.as_str()])?;
    Ok(())
}

/// Stores a record of a kind that the agent has none of.
pub(crate) fn put_new(db: &Connection, agent: i64, record: &StoredRecord) -> Result<()> {
    let sql = "SELECT 1 FROM agent_record WHERE agent = ?1 AND kind = ?2";
    if rows::exists(db, sql, params![agent, record.kind.number()])? {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    put(db, agent, record)
}

/// As [`RecordStore::save_agent_record`], inside the writer's transaction.
fn save(db: &Connection, agent_id: &AgentId, record: &StoredRecord, effects: &Effects) -> Result<()> {
    let agent = tenant::living(db, agent_id)?.ok_or(StorageErrorKind::Missing)?.number;
    refuse_stale(db, agent, record.kind, record.version)?;
    put(db, agent, record)?;
    effects::apply(db, agent, effects)
}

#[async_trait]
impl RecordStore for SqliteStorage {
    async fn record(&self, agent: &AgentId, kind: RecordKind) -> Result<Option<StoredRecord>, StorageError> {
        let sql = "SELECT r.kind, r.version, r.body FROM agent a CROSS JOIN agent_record r ON r.agent = a.n \
                   WHERE a.id = ?1 AND a.status <> 2 AND r.kind = ?2";
        let values = params![agent.as_str(), kind.number()];
        self.readers.read_blocking(|db| rows::first(db, sql, values, |r| records::stored_record(r)))
    }

    async fn save_record(
        &self,
        agent: &AgentId,
        record: &StoredRecord,
        effects: &Effects,
    ) -> Result<(), StorageError> {
        let (agent, record, effects) = (agent.clone(), record.clone(), effects.clone());
        self.writer.write(move |db| save(db, &agent, &record, &effects)).await
    }
}
