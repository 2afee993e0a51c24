//! Agents, and what every write begins with: holding its agent.
//!
//! A write first locks its agent's row, and thereby waits for every other write of the agent, on whatever server. Each
//! statement behind that sees what the last write has left (`READ COMMITTED` takes a new snapshot for each statement),
//! and nothing changes between what a write has checked and what it stores. So one lock in place of many makes the races
//! of the port impossible, no unique index is ever waited for, and two writes cannot lock each other out: whoever needs
//! several agents locks them in the order of their ids. The price, that writes of one agent come one after another, is
//! paid already by its counters; the writer lets many of them share one transaction ([`crate::writer`]).
//!
//! `FOR NO KEY UPDATE` is the lock that an update of the row takes; reads do not wait for it.

use async_trait::async_trait;
use openapi_core::agents::{Agent, AgentStatus};
use openapi_core::audit::AuditEntry;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{AgentStore, StorageError, StorageErrorKind};
use openapi_core::values::AgentId;
use sqlx::PgConnection;
use sqlx::postgres::PgRow;

use crate::PostgresStorage;
use crate::connect::{execute, fetch_one};
use crate::error::{Result, corrupt};
use crate::rows::{Columns, Statement, signed};
use crate::{audit, contact_schemas, contacts, documents, files, forms};

/// Locks an agent until the transaction ends and returns the version of its contact schema in force.
///
/// # Errors
/// `Missing` for an agent that is absent or deleted.
pub(crate) async fn hold(db: &mut PgConnection, agent: &AgentId) -> Result<u64> {
    let statement =
        Statement::new("SELECT schema_version FROM agent WHERE id = $1 AND status <> 2 FOR NO KEY UPDATE")
            .bind(agent.as_str())?;
    let row = fetch_one(db, statement).await?.ok_or(StorageErrorKind::Missing)?;
    Columns::of(&row).count()
}

pub(crate) const fn status_number(status: AgentStatus) -> i16 {
    match status {
        AgentStatus::Active => 0,
        AgentStatus::Disabled => 1,
        AgentStatus::Deleted => 2,
    }
}

/// The status that a number stands for.
pub(crate) fn status(number: i16) -> Result<AgentStatus> {
    match number {
        0 => Ok(AgentStatus::Active),
        1 => Ok(AgentStatus::Disabled),
        2 => Ok(AgentStatus::Deleted),
        other => Err(corrupt(format_args!("{other} is no status of an agent"))),
    }
}

/// Reads `id, name, status, created_at, updated_at`.
pub(crate) fn read(row: &PgRow) -> Result<Agent> {
    let mut columns = Columns::of(row);
    Ok(Agent {
        id: columns.text()?,
        name: columns.text()?,
        status: status(columns.small()?)?,
        created_at: columns.time()?,
        updated_at: columns.time()?,
    })
}

#[async_trait]
impl AgentStore for PostgresStorage {
    async fn insert_agent(
        &self,
        agent: &Agent,
        schema: &ContactSchema,
        audit: &AuditEntry,
    ) -> Result<(), StorageError> {
        self.db
            .write((agent.clone(), schema.clone(), audit.clone()), |db, (agent, schema, audit)| {
                Box::pin(insert(db, agent, schema, audit))
            })
            .await
    }

    async fn agent(&self, id: &AgentId) -> Result<Option<Agent>, StorageError> {
        let statement =
            Statement::new("SELECT id, name, status, created_at, updated_at FROM agent WHERE id = $1")
                .bind(id.as_str())?;
        Ok(self.db.read_one(statement).await?.as_ref().map(read).transpose()?)
    }

    async fn agents(&self) -> Result<Vec<Agent>, StorageError> {
        let statement = Statement::new(
            "SELECT id, name, status, created_at, updated_at FROM agent WHERE status <> 2 ORDER BY created_at, id",
        );
        Ok(self.db.read(statement).await?.iter().map(read).collect::<Result<_>>()?)
    }

    async fn update_agent(&self, agent: &Agent, audit: &AuditEntry) -> Result<(), StorageError> {
        self.db
            .write((agent.clone(), audit.clone()), |db, (agent, audit)| Box::pin(update(db, agent, audit)))
            .await
    }

    async fn purge_agent(&self, id: &AgentId, at_most: u32) -> Result<u64, StorageError> {
        self.db.write((id.clone(), at_most), |db, (id, at_most)| Box::pin(purge(db, id, *at_most))).await
    }
}

/// Stores an agent; whether its id was free.
pub(crate) async fn put_new(db: &mut PgConnection, agent: &Agent, schema_version: u64) -> Result<bool> {
    let statement = Statement::new(
        "INSERT INTO agent (id, status, schema_version, name, created_at, updated_at) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
    )
    .bind(agent.id.as_str())?
    .bind(status_number(agent.status))?
    .bind(signed(schema_version)?)?
    .bind(agent.name.as_str())?
    .bind(agent.created_at.millis())?
    .bind(agent.updated_at.millis())?;
    Ok(execute(db, statement).await? == 1)
}

async fn insert(
    db: &mut PgConnection,
    agent: &Agent,
    schema: &ContactSchema,
    entry: &AuditEntry,
) -> Result<()> {
    if !put_new(db, agent, schema.version).await? {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    contact_schemas::put(db, &agent.id, schema).await?;
    audit::append(db, entry).await
}

async fn update(db: &mut PgConnection, agent: &Agent, entry: &AuditEntry) -> Result<()> {
    let statement = Statement::new(
        "UPDATE agent SET name = $2, status = $3, updated_at = $4 WHERE id = $1 AND status <> 2",
    )
    .bind(agent.id.as_str())?
    .bind(agent.name.as_str())?
    .bind(status_number(agent.status))?
    .bind(agent.updated_at.millis())?;
    if execute(db, statement).await? == 0 {
        return Err(StorageErrorKind::Missing.into());
    }
    audit::append(db, entry).await
}

/// Removes rows of a deleted agent, one kind after another, until `at_most` are gone.
async fn purge(db: &mut PgConnection, id: &AgentId, at_most: u32) -> Result<u64> {
    let deleted = Statement::new("SELECT 1 FROM agent WHERE id = $1 AND status = 2 FOR NO KEY UPDATE")
        .bind(id.as_str())?;
    if fetch_one(db, deleted).await?.is_none() {
        return Ok(0);
    }
    let at_most = u64::from(at_most);
    let mut removed = contacts::purge(db, id, at_most).await?;
    if removed < at_most {
        removed += files::purge(db, id, at_most - removed).await?;
    }
    if removed < at_most {
        removed += documents::purge(db, id, at_most - removed).await?;
    }
    if removed < at_most {
        files::forget_bytes(db, id).await?;
    }
    if removed < at_most {
        removed += forms::purge(db, id, at_most - removed).await?;
    }
    for sql in [
        "DELETE FROM api_key WHERE agent = $1 AND id IN (SELECT id FROM api_key WHERE agent = $1 LIMIT $2)",
        "DELETE FROM contact_schema WHERE agent = $1 AND version IN \
         (SELECT version FROM contact_schema WHERE agent = $1 LIMIT $2)",
        "DELETE FROM replay WHERE agent = $1 AND key IN (SELECT key FROM replay WHERE agent = $1 LIMIT $2)",
        "DELETE FROM rate_window WHERE agent = $1 AND key IN \
         (SELECT key FROM rate_window WHERE agent = $1 LIMIT $2)",
        "DELETE FROM credit_account WHERE agent IN (SELECT agent FROM credit_account WHERE agent = $1 LIMIT $2)",
        "DELETE FROM credit_entry WHERE agent = $1 AND (at, id) IN \
         (SELECT at, id FROM credit_entry WHERE agent = $1 LIMIT $2)",
        "DELETE FROM message WHERE agent = $1 AND (conversation, seq) IN \
         (SELECT conversation, seq FROM message WHERE agent = $1 LIMIT $2)",
        "DELETE FROM conversation WHERE agent = $1 AND id IN \
         (SELECT id FROM conversation WHERE agent = $1 LIMIT $2)",
        "DELETE FROM passage WHERE agent = $1 AND (document, position) IN \
         (SELECT document, position FROM passage WHERE agent = $1 LIMIT $2)",
        "DELETE FROM knowledge WHERE agent = $1 AND id IN (SELECT id FROM knowledge WHERE agent = $1 LIMIT $2)",
        "DELETE FROM agent_record WHERE agent = $1 AND kind IN \
         (SELECT kind FROM agent_record WHERE agent = $1 LIMIT $2)",
        "UPDATE audit SET details = NULL WHERE agent = $1 AND (at, id) IN \
         (SELECT at, id FROM audit WHERE agent = $1 AND details IS NOT NULL LIMIT $2)",
    ] {
        if removed < at_most {
            let statement = Statement::new(sql).bind(id.as_str())?.bind(signed(at_most - removed)?)?;
            removed += execute(db, statement).await?;
        }
    }
    Ok(removed)
}
