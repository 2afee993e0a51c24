//! Credits of agents and their ledgers, as JSON under the keys that they are found by.

use async_trait::async_trait;
use openapi_core::credits::{CreditAccount, CreditEntry};
use openapi_core::storage::{
    CreditStore, CreditWrite, DocumentWrite, LedgerQuery, StorageError, StorageErrorKind,
};
use openapi_core::values::AgentId;
use rusqlite::{Connection, params};

use crate::error::Result;
use crate::rows::{self, json_text, signed};
use crate::store::SqliteStorage;
use crate::{documents, effects, tenant};

/// The account of an agent and its version: at most one row.
pub(crate) const ACCOUNT_OF_AGENT: &str = "SELECT version, body FROM credit_account WHERE agent = ?1";

/// Whether the ledger has an entry of this time and id.
fn is_noted(db: &Connection, agent: i64, entry: &CreditEntry) -> Result<bool> {
    let sql = "SELECT 1 FROM credit_entry WHERE agent = ?1 AND at = ?2 AND id = ?3";
    rows::exists(db, sql, params![agent, entry.at.millis(), entry.id.as_bytes()])
}

/// Replaces an account.
pub(crate) fn put(db: &Connection, agent: i64, account: &CreditAccount) -> Result<()> {
    let version = signed(account.version)?;
    db.prepare_cached("INSERT OR REPLACE INTO credit_account (agent, version, body) VALUES (?1, ?2, ?3)")?
        .execute(params![agent, version, json_text(account)?])?;
    Ok(())
}

/// Stores the account of an agent that has none.
pub(crate) fn put_new(db: &Connection, agent: i64, account: &CreditAccount) -> Result<()> {
    if stored_version(db, agent)?.is_some() {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    put(db, agent, account)
}

/// Adds an entry to a ledger that has none of its time and id.
pub(crate) fn note(db: &Connection, agent: i64, entry: &CreditEntry) -> Result<()> {
    db.prepare_cached("INSERT INTO credit_entry (agent, at, id, body) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![agent, entry.at.millis(), entry.id.as_bytes(), json_text(entry)?])?;
    Ok(())
}

/// The same, where the ledger may have one.
///
/// # Errors
/// [`StorageErrorKind::AlreadyExists`] if it does.
pub(crate) fn note_new(db: &Connection, agent: i64, entry: &CreditEntry) -> Result<()> {
    if is_noted(db, agent, entry)? {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    note(db, agent, entry)
}

/// Fails unless the account follows the stored one.
pub(crate) fn refuse_stale(db: &Connection, agent: i64, account: &CreditAccount) -> Result<()> {
    match stored_version(db, agent)?.unwrap_or(0).checked_add(1) {
        Some(next) if next == account.version => Ok(()),
        _ => Err(StorageErrorKind::Stale.into()),
    }
}

fn stored_version(db: &Connection, agent: i64) -> Result<Option<u64>> {
    rows::number(db, ACCOUNT_OF_AGENT, [agent])
}

/// As [`CreditStore::save_credits`], inside the writer's transaction.
fn save(db: &Connection, agent_id: &AgentId, write: &CreditWrite) -> Result<()> {
    let agent = tenant::living(db, agent_id)?.ok_or(StorageErrorKind::Missing)?.number;
    effects::refuse_replayed(db, agent, &write.effects, write.at)?;
    if let Some(account) = &write.account {
        refuse_stale(db, agent, account)?;
    }
    if let Some(document) = &write.document {
        documents::refuse_excess(db, agent, document)?;
    }
    if let Some(entry) = &write.entry
        && is_noted(db, agent, entry)?
    {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    if let Some(DocumentWrite { document, .. }) = &write.document {
        documents::insert(db, agent_id, agent, document)?;
    }
    if let Some(account) = &write.account {
        put(db, agent, account)?;
    }
    if let Some(entry) = &write.entry {
        note(db, agent, entry)?;
    }
    effects::apply(db, agent, &write.effects)
}

fn entries(db: &Connection, query: &LedgerQuery) -> Result<Vec<CreditEntry>> {
    let following = if query.before.is_some() { " AND (e.at, e.id) < (?3, ?4)" } else { "" };
    let sql = format!(
        "SELECT e.body FROM agent a CROSS JOIN credit_entry e ON e.agent = a.n \
         WHERE a.id = ?1 AND a.status <> 2{following} ORDER BY e.at DESC, e.id DESC LIMIT ?2"
    );
    match &query.before {
        Some((at, id)) => {
            let values = params![query.agent.as_str(), query.limit, at.millis(), id.as_bytes()];
            rows::all(db, &sql, values, |r| r.json())
        }
        None => rows::all(db, &sql, params![query.agent.as_str(), query.limit], |r| r.json()),
    }
}

#[async_trait]
impl CreditStore for SqliteStorage {
    async fn credit_account(&self, agent: &AgentId) -> Result<Option<CreditAccount>, StorageError> {
        let sql = "SELECT c.body FROM agent a CROSS JOIN credit_account c ON c.agent = a.n \
                   WHERE a.id = ?1 AND a.status <> 2";
        self.readers.read_blocking(|db| rows::first(db, sql, [agent.as_str()], |r| r.json()))
    }

    async fn save_credits(&self, agent: &AgentId, write: &CreditWrite) -> Result<(), StorageError> {
        let (agent, write) = (agent.clone(), write.clone());
        self.writer.write(move |db| save(db, &agent, &write)).await
    }

    async fn credit_entries(&self, query: &LedgerQuery) -> Result<Vec<CreditEntry>, StorageError> {
        let query = query.clone();
        self.readers.read(move |db, _| entries(db, &query)).await
    }
}
