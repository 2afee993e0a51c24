//! Credits of agents and their ledgers, as JSON under the keys that they are found by.

use async_trait::async_trait;
use openapi_core::credits::{CreditAccount, CreditEntry};
use openapi_core::storage::{
    CreditStore, CreditWrite, DocumentWrite, LedgerQuery, StorageError, StorageErrorKind,
};
use openapi_core::values::AgentId;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::contacts::Columns;
use crate::error::{Result, corrupt};
use crate::store::SqliteStorage;
use crate::{documents, effects, tenant};

/// Entries of an agent's ledger after a time and an id, oldest first.
pub(crate) const ENTRIES_AFTER: &str =
    "SELECT body FROM credit_entry WHERE agent = ?1 AND (at, id) > (?2, ?3) ORDER BY at, id LIMIT ?4";

/// The account of an agent: at most one row.
pub(crate) const ACCOUNT_OF_AGENT: &str = "SELECT version, body FROM credit_account WHERE agent = ?1";

/// Reads a row of [`ENTRIES_AFTER`].
pub(crate) fn entry(row: &Row<'_>) -> Result<CreditEntry> {
    Columns::of(row).json()
}

/// The account in a row of [`ACCOUNT_OF_AGENT`].
pub(crate) fn account(row: &Row<'_>) -> Result<CreditAccount> {
    Columns::from(row, 1).json()
}

/// Whether the ledger has an entry of this time and id.
fn is_noted(db: &Connection, agent: i64, entry: &CreditEntry) -> Result<bool> {
    Ok(db
        .prepare_cached("SELECT 1 FROM credit_entry WHERE agent = ?1 AND at = ?2 AND id = ?3")?
        .exists(params![agent, entry.at.millis(), entry.id.as_bytes()])?)
}

/// Replaces an account.
fn put(db: &Connection, agent: i64, account: &CreditAccount) -> Result<()> {
    let version = i64::try_from(account.version).map_err(corrupt)?;
    db.prepare_cached("INSERT OR REPLACE INTO credit_account (agent, version, body) VALUES (?1, ?2, ?3)")?
        .execute(params![agent, version, serde_json::to_string(account).map_err(corrupt)?])?;
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
    db.prepare_cached("INSERT INTO credit_entry (agent, at, id, body) VALUES (?1, ?2, ?3, ?4)")?.execute(
        params![
            agent,
            entry.at.millis(),
            entry.id.as_bytes(),
            serde_json::to_string(entry).map_err(corrupt)?
        ],
    )?;
    Ok(())
}

fn stored_version(db: &Connection, agent: i64) -> Result<Option<u64>> {
    let version: Option<i64> = db
        .prepare_cached("SELECT version FROM credit_account WHERE agent = ?1")?
        .query_row([agent], |row| row.get(0))
        .optional()?;
    version.map(|version| u64::try_from(version).map_err(corrupt)).transpose()
}

/// As [`CreditStore::save_credits`], inside the writer's transaction.
fn save(db: &Connection, agent_id: &AgentId, write: &CreditWrite) -> Result<()> {
    let agent = tenant::living(db, agent_id)?.ok_or(StorageErrorKind::Missing)?.number;
    effects::refuse_replayed(db, agent, &write.effects, write.at)?;
    if let Some(account) = &write.account
        && stored_version(db, agent)?.unwrap_or(0).checked_add(1) != Some(account.version)
    {
        return Err(StorageErrorKind::Stale.into());
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
    let mut statement = db.prepare_cached(&format!(
        "SELECT e.body FROM agent a CROSS JOIN credit_entry e ON e.agent = a.n \
         WHERE a.id = ?1 AND a.status <> 2{following} ORDER BY e.at DESC, e.id DESC LIMIT ?2"
    ))?;
    let mut rows = match &query.before {
        Some((at, id)) => {
            statement.query(params![query.agent.as_str(), query.limit, at.millis(), id.as_bytes()])?
        }
        None => statement.query(params![query.agent.as_str(), query.limit])?,
    };
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        entries.push(entry(row)?);
    }
    Ok(entries)
}

#[async_trait]
impl CreditStore for SqliteStorage {
    async fn credit_account(&self, agent: &AgentId) -> Result<Option<CreditAccount>, StorageError> {
        self.readers.read_blocking(|db| {
            let mut statement = db.prepare_cached(
                "SELECT c.version, c.body FROM agent a CROSS JOIN credit_account c ON c.agent = a.n \
                 WHERE a.id = ?1 AND a.status <> 2",
            )?;
            let mut rows = statement.query([agent.as_str()])?;
            rows.next()?.map(account).transpose()
        })
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
