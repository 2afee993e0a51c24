//! Settings and other small records of tenants, as JSON, each replaced as a whole.

use async_trait::async_trait;
use openapi_core::storage::{Effects, RecordKind, RecordStore, StorageError, StorageErrorKind, StoredRecord};
use openapi_core::values::AgentId;
use sqlx::PgConnection;
use storage_common::{in_transaction, records};

use crate::connect::{execute, fetch_version};
use crate::error::Result;
use crate::rows::{Statement, object_text, signed};
use crate::store::PostgresStorage;
use crate::{effects, tenant};

#[async_trait]
impl RecordStore for PostgresStorage {
    async fn record(&self, agent: &AgentId, kind: RecordKind) -> Result<Option<StoredRecord>, StorageError> {
        self.db.read_one(one(agent, kind)?, |r| records::stored_record(r)).await
    }

    async fn save_record(
        &self,
        agent: &AgentId,
        record: &StoredRecord,
        effects: &Effects,
    ) -> Result<(), StorageError> {
        in_transaction!(self.db.write(), save(agent, record, effects))
    }
}

/// The statement of one record.
pub(crate) fn one(agent: &AgentId, kind: RecordKind) -> Result<Statement> {
    Statement::new(
        "SELECT r.kind, r.version, r.body FROM agent a JOIN agent_record r ON r.agent = a.id \
         WHERE a.id = $1 AND a.status <> 2 AND r.kind = $2",
    )
    .bind(agent.as_str())?
    .bind(i64::from(kind.number()))
}

/// As [`RecordStore::save_agent_record`], in a transaction of its own.
async fn save(
    db: &mut PgConnection,
    agent: &AgentId,
    record: &StoredRecord,
    effects: &Effects,
) -> Result<()> {
    let tenant = tenant::lock(db, agent).await?;
    refuse_stale(db, agent, record.kind, record.version).await?;
    put(db, agent, record).await?;
    effects::apply(db, agent, effects, tenant.head).await
}

/// Refuses a version that does not follow the stored one. The tenant is locked.
pub(crate) async fn refuse_stale(
    db: &mut PgConnection,
    agent: &AgentId,
    kind: RecordKind,
    version: u64,
) -> Result<()> {
    let statement = Statement::new("SELECT version FROM agent_record WHERE agent = $1 AND kind = $2")
        .bind(agent.as_str())?
        .bind(i64::from(kind.number()))?;
    let stored = fetch_version(db, statement).await?.unwrap_or(0);
    if stored.checked_add(1) == Some(version) { Ok(()) } else { Err(StorageErrorKind::Stale.into()) }
}

const INSERT: &str = "INSERT INTO agent_record (agent, kind, version, body) VALUES ($1, $2, $3, $4)";

fn bind(sql: String, agent: &AgentId, record: &StoredRecord) -> Result<Statement> {
    Statement::new(sql)
        .bind(agent.as_str())?
        .bind(i64::from(record.kind.number()))?
        .bind(signed(record.version)?)?
        .bind(object_text(&record.body))
}

/// Stores a record, replacing the one before.
pub(crate) async fn put(db: &mut PgConnection, agent: &AgentId, record: &StoredRecord) -> Result<()> {
    let sql = format!(
        "{INSERT} ON CONFLICT (agent, kind) DO UPDATE SET version = excluded.version, body = excluded.body"
    );
    execute(db, bind(sql, agent, record)?).await.map(drop)
}

/// Stores a record; false when there is one of its kind.
pub(crate) async fn insert(db: &mut PgConnection, agent: &AgentId, record: &StoredRecord) -> Result<bool> {
    let sql = format!("{INSERT} ON CONFLICT DO NOTHING");
    Ok(execute(db, bind(sql, agent, record)?).await? == 1)
}
