//! Credits of agents and their ledgers, as JSON under the keys that they are found by.

use async_trait::async_trait;
use openapi_core::credits::{CreditAccount, CreditEntry};
use openapi_core::storage::{
    CreditStore, CreditWrite, DocumentWrite, LedgerQuery, StorageError, StorageErrorKind,
};
use openapi_core::values::AgentId;
use sqlx::PgConnection;

use crate::PostgresStorage;
use crate::connect::{execute, fetch_one};
use crate::error::Result;
use crate::rows::{Columns, Statement, json_text, signed};
use crate::{agents, audit, documents, replays};

#[async_trait]
impl CreditStore for PostgresStorage {
    async fn credit_account(&self, agent: &AgentId) -> Result<Option<CreditAccount>, StorageError> {
        let row = self.db.read_one(account(agent)?).await?;
        Ok(row.map(|row| Columns::of(&row).json()).transpose()?)
    }

    async fn save_credits(&self, agent: &AgentId, write: &CreditWrite) -> Result<(), StorageError> {
        self.db
            .write((agent.clone(), write.clone()), |db, (agent, write)| Box::pin(save(db, agent, write)))
            .await
    }

    async fn credit_entries(&self, query: &LedgerQuery) -> Result<Vec<CreditEntry>, StorageError> {
        let rows = self.db.read(entries(query)?).await?;
        Ok(rows.iter().map(|row| Columns::of(row).json()).collect::<Result<_>>()?)
    }
}

fn account(agent: &AgentId) -> Result<Statement> {
    Statement::new(
        "SELECT c.body FROM agent a JOIN credit_account c ON c.agent = a.id WHERE a.id = $1 AND a.status <> 2",
    )
    .bind(agent.as_str())
}

/// The statement that reads a part of a ledger, along its primary key.
pub(crate) fn entries(query: &LedgerQuery) -> Result<Statement> {
    let mut statement = Statement::new("");
    let agent = statement.add(query.agent.as_str())?;
    let behind = match &query.before {
        Some((at, id)) => {
            let (at, id) = (statement.add(at.millis())?, statement.add(id.as_bytes().as_slice())?);
            format!(" AND (e.at, e.id) < ({at}, {id})")
        }
        None => String::new(),
    };
    statement.push(&format!(
        "SELECT e.body FROM credit_entry e WHERE e.agent = {agent}{behind} \
         AND EXISTS (SELECT 1 FROM agent a WHERE a.id = {agent} AND a.status <> 2) \
         ORDER BY e.at DESC, e.id DESC LIMIT {}",
        query.limit
    ));
    Ok(statement)
}

/// As [`CreditStore::save_credits`], in a transaction of its own.
async fn save(db: &mut PgConnection, agent: &AgentId, write: &CreditWrite) -> Result<()> {
    agents::hold(db, agent).await?;
    if let Some(replay) = &write.replay
        && replays::is_stored(db, agent, &replay.key, write.at).await?
    {
        return Err(StorageErrorKind::ReplayExists.into());
    }
    if let Some(account) = &write.account {
        let statement =
            Statement::new("SELECT version FROM credit_account WHERE agent = $1").bind(agent.as_str())?;
        let row = fetch_one(db, statement).await?;
        let stored = row.map(|row| Columns::of(&row).count()).transpose()?;
        if stored.unwrap_or(0).checked_add(1) != Some(account.version) {
            return Err(StorageErrorKind::Stale.into());
        }
    }
    if let Some(document) = &write.document {
        documents::refuse_excess(db, agent, document).await?;
    }
    // Behind an error the transaction is undone, the account with it.
    if let Some(account) = &write.account {
        put(db, agent, account).await?;
    }
    if let Some(entry) = &write.entry
        && !note(db, agent, entry).await?
    {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    if let Some(DocumentWrite { document, .. }) = &write.document {
        documents::insert(db, agent, document).await?;
    }
    replays::put_all(db, write.replay.iter().map(|replay| (agent, replay))).await?;
    audit::append_all(db, &write.audit).await.map(drop)
}

/// Stores an account in place of the one that is there.
async fn put(db: &mut PgConnection, agent: &AgentId, account: &CreditAccount) -> Result<()> {
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

/// Stores the account of an agent; whether it had none.
pub(crate) async fn put_new(db: &mut PgConnection, agent: &AgentId, account: &CreditAccount) -> Result<bool> {
    let statement = Statement::new(
        "INSERT INTO credit_account (agent, version, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
    )
    .bind(agent.as_str())?
    .bind(signed(account.version)?)?
    .bind(json_text(account)?)?;
    Ok(execute(db, statement).await? == 1)
}

/// Adds an entry to a ledger; whether its time and id were free.
pub(crate) async fn note(db: &mut PgConnection, agent: &AgentId, entry: &CreditEntry) -> Result<bool> {
    let statement = Statement::new(
        "INSERT INTO credit_entry (agent, at, id, body) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
    )
    .bind(agent.as_str())?
    .bind(entry.at.millis())?
    .bind(entry.id.as_bytes().as_slice())?
    .bind(json_text(entry)?)?;
    Ok(execute(db, statement).await? == 1)
}
