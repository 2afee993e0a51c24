//! Credits of tenants and their ledgers, as JSON.

use async_trait::async_trait;
use openapi_core::credits::{CreditAccount, CreditEntry};
use openapi_core::storage::{
    CreditStore, CreditWrite, DocumentWrite, LedgerQuery, StorageError, StorageErrorKind,
};
use openapi_core::values::AgentId;
use sqlx::PgConnection;
use storage_common::in_transaction;

use crate::connect::{execute, fetch_version};
use crate::error::Result;
use crate::rows::{Statement, json_text, signed};
use crate::store::PostgresStorage;
use crate::{documents, effects, tenant};

#[async_trait]
impl CreditStore for PostgresStorage {
    async fn credit_account(&self, agent: &AgentId) -> Result<Option<CreditAccount>, StorageError> {
        self.db.read_one(account(agent)?, |r| r.json()).await
    }

    async fn save_credits(&self, agent: &AgentId, write: &CreditWrite) -> Result<(), StorageError> {
        in_transaction!(self.db.write(), save(agent, write))
    }

    async fn credit_entries(&self, query: &LedgerQuery) -> Result<Vec<CreditEntry>, StorageError> {
        self.db.read_all(entries(query)?, |r| r.json()).await
    }
}

fn account(agent: &AgentId) -> Result<Statement> {
    Statement::new(
        "SELECT c.body FROM agent a JOIN credit_account c ON c.agent = a.id WHERE a.id = $1 AND a.status <> 2",
    )
    .bind(agent.as_str())
}

/// The statement that reads part of a ledger, along the primary key: a range and not an equality, as in
/// `transfer::read`.
pub(crate) fn entries(query: &LedgerQuery) -> Result<Statement> {
    let mut statement = Statement::new("");
    let agent = statement.add(query.agent.as_str())?;
    let before = query.before.as_ref();
    let at = statement.add(before.map_or(i64::MAX, |(at, _)| at.millis()))?;
    let id = statement.add(before.map_or(&[] as &[u8], |(_, id)| id.as_bytes()))?;
    statement.push(&format!(
        "SELECT e.body FROM credit_entry e WHERE (e.agent, e.at, e.id) < ({agent}, {at}, {id}) AND e.agent >= {agent} \
         AND EXISTS (SELECT 1 FROM agent a WHERE a.id = {agent} AND a.status <> 2) \
         ORDER BY e.agent DESC, e.at DESC, e.id DESC LIMIT {}",
        query.limit
    ));
    Ok(statement)
}

/// As [`CreditStore::save_credits`], in a transaction of its own.
async fn save(db: &mut PgConnection, agent: &AgentId, write: &CreditWrite) -> Result<()> {
    let tenant = tenant::lock(db, agent).await?;
    effects::refuse_replayed(db, agent, &write.effects, write.at).await?;
    if let Some(account) = &write.account {
        refuse_stale(db, agent, account).await?;
    }
    if let Some(document) = &write.document {
        documents::refuse_excess(db, agent, document, 0).await?;
    }
    // An error below rolls back the account as well.
    if let Some(account) = &write.account {
        put(db, agent, account).await?;
    }
    if let Some(entry) = &write.entry
        && !append(db, agent, entry).await?
    {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    if let Some(DocumentWrite { document, .. }) = &write.document {
        documents::add(db, agent, document).await?;
    }
    effects::apply(db, agent, &write.effects, tenant.head).await
}

/// Refuses an account that is not of the version after the stored one. The tenant is locked.
pub(crate) async fn refuse_stale(
    db: &mut PgConnection,
    agent: &AgentId,
    account: &CreditAccount,
) -> Result<()> {
    let statement =
        Statement::new("SELECT version FROM credit_account WHERE agent = $1").bind(agent.as_str())?;
    let stored = fetch_version(db, statement).await?.unwrap_or(0);
    if stored.checked_add(1) == Some(account.version) { Ok(()) } else { Err(StorageErrorKind::Stale.into()) }
}

/// Stores an account, replacing the one before.
pub(crate) async fn put(db: &mut PgConnection, agent: &AgentId, account: &CreditAccount) -> Result<()> {
    let statement = Statement::new(
        "INSERT INTO credit_account (agent, version, body) VALUES ($1, $2, $3) \
         ON CONFLICT (agent) DO UPDATE SET version = excluded.version, body = excluded.body",
    )
    .bind(agent.as_str())?
    .bind(signed(account.version)?)?
    .bind(json_text(account)?)?;
    execute(db, statement).await?;
    Ok(())
}

/// Stores the account of a tenant; false when it has one.
pub(crate) async fn insert(db: &mut PgConnection, agent: &AgentId, account: &CreditAccount) -> Result<bool> {
    let statement = Statement::new(
        "INSERT INTO credit_account (agent, version, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
    )
    .bind(agent.as_str())?
    .bind(signed(account.version)?)?
    .bind(json_text(account)?)?;
    Ok(execute(db, statement).await? == 1)
}

/// Adds an entry to a ledger; false when its time and id are taken.
pub(crate) async fn append(db: &mut PgConnection, agent: &AgentId, entry: &CreditEntry) -> Result<bool> {
    let statement = Statement::new(
        "INSERT INTO credit_entry (agent, at, id, body) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
    )
    .bind(agent.as_str())?
    .bind(entry.at.millis())?
    .bind(entry.id.as_bytes().as_slice())?
    .bind(json_text(entry)?)?;
    Ok(execute(db, statement).await? == 1)
}
