//! Small records of agents, as JSON under the number of their kind.

use async_trait::async_trait;
use openapi_core::storage::{Effects, RecordKind, RecordStore, StorageError, StorageErrorKind, StoredRecord};
use openapi_core::values::AgentId;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::contacts::Columns;
use crate::error::{Result, corrupt};
use crate::store::SqliteStorage;
use crate::{effects, tenant};

/// Records of an agent after a kind, by kind.
pub(crate) const AFTER: &str =
    "SELECT kind, version, body FROM agent_record WHERE agent = ?1 AND kind > ?2 ORDER BY kind LIMIT ?3";

/// Reads a row of [`AFTER`].
pub(crate) fn read(row: &Row<'_>) -> Result<StoredRecord> {
    let mut columns = Columns::of(row);
    let number = columns.integer()?;
    let kind = u8::try_from(number).ok().and_then(RecordKind::of_number);
    let kind = kind.ok_or_else(|| corrupt(format_args!("{number} is no kind of record")))?;
    Ok(StoredRecord { kind, version: columns.count()?, body: columns.object()? })
}

/// Fails unless `version` follows the stored version.
pub(super) fn refuse_stale(db: &Connection, agent: i64, kind: RecordKind, version: u64) -> Result<()> {
    let stored: Option<i64> = db
        .prepare_cached("SELECT version FROM agent_record WHERE agent = ?1 AND kind = ?2")?
        .query_row(params![agent, kind.number()], |row| row.get(0))
        .optional()?;
    super::refuse_stale(stored, version)
}

/// Replaces the record of its kind.
pub(super) fn put(db: &Connection, agent: i64, record: &StoredRecord) -> Result<()> {
    db.prepare_cached(
        "INSERT INTO agent_record (agent, kind, version, body) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT (agent, kind) DO UPDATE SET version = excluded.version, body = excluded.body",
    )?
    .execute(params![
        agent,
        record.kind.number(),
        i64::try_from(record.version).map_err(corrupt)?,
        record.body.as_str()
    ])?;
    Ok(())
}

/// Stores a record of a kind that the agent has none of.
pub(crate) fn put_new(db: &Connection, agent: i64, record: &StoredRecord) -> Result<()> {
    let known = db
        .prepare_cached("SELECT 1 FROM agent_record WHERE agent = ?1 AND kind = ?2")?
        .exists(params![agent, record.kind.number()])?;
    if known {
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
        self.readers.read_blocking(|db| {
            let mut statement = db.prepare_cached(
                "SELECT r.kind, r.version, r.body FROM agent a CROSS JOIN agent_record r ON r.agent = a.n \
                 WHERE a.id = ?1 AND a.status <> 2 AND r.kind = ?2",
            )?;
            let mut rows = statement.query(params![agent.as_str(), kind.number()])?;
            rows.next()?.map(read).transpose()
        })
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
