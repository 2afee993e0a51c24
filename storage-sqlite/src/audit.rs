//! The audit log.

use async_trait::async_trait;
use openapi_core::audit::{ChainHead, ChainedEntry, SealedEntry};
use openapi_core::storage::{
    AuditQuery, AuditStore, ChainPosition, ChainQuery, StorageError, StorageErrorKind,
};
use openapi_core::values::{AgentId, ContactId, StoredText};
use rusqlite::types::Value;
use rusqlite::{Connection, params};
use storage_common::{audit_columns, records};

use crate::audit_chain::{append, chain_of, head};
use crate::error::Result;
use crate::rows::{self, signed};
use crate::store::SqliteStorage;
use crate::tenant;

/// Removes the entries of a chain up to `through` and adds the entry about it; returns how many were removed.
fn purge(db: &Connection, through: &ChainPosition, entry: &SealedEntry) -> Result<u64> {
    let (sequence, at, id) = through;
    let removed = db
        .prepare_cached("DELETE FROM audit WHERE agent IS ?1 AND (sequence, at, id) <= (?2, ?3, ?4)")?
        .execute(params![
            entry.agent_id.as_ref().map(AgentId::as_str),
            signed(*sequence)?,
            at.millis(),
            id.as_bytes()
        ])?;
    if removed > 0 {
        append(db, entry)?;
    }
    Ok(removed as u64)
}

/// Refuses an entry of an agent that never existed.
fn refuse_unknown(db: &Connection, agent: Option<&AgentId>) -> Result<()> {
    match agent {
        Some(agent) if tenant::number(db, agent)?.is_none() => Err(StorageErrorKind::Missing.into()),
        _ => Ok(()),
    }
}

/// Empties the payloads of the entries about a contact and about what belongs to it.
pub(crate) fn empty_payloads(db: &Connection, agent: &AgentId, contact: ContactId) -> Result<()> {
    db.prepare_cached(
        "UPDATE audit SET details = NULL, salt = NULL WHERE agent = ?1 AND resource = ?2 AND details IS NOT NULL",
    )?
    .execute(params![agent.as_str(), contact.to_string()])?;
    db.prepare_cached(
        "UPDATE audit SET details = NULL, salt = NULL WHERE agent = ?1 AND contact = ?2 AND details IS NOT NULL",
    )?
    .execute(params![agent.as_str(), contact.as_bytes()])?;
    Ok(())
}

/// Empties up to `at_most` payloads of an agent and returns how many.
pub(crate) fn empty_some_payloads(db: &Connection, agent: &AgentId, at_most: u32) -> Result<u64> {
    let emptied = db
        .prepare_cached(
            "UPDATE audit SET details = NULL, salt = NULL WHERE (at, id) IN (SELECT at, id FROM audit \
             INDEXED BY audit_by_payload WHERE agent = ?1 AND details IS NOT NULL LIMIT ?2)",
        )?
        .execute(params![agent.as_str(), at_most])?;
    Ok(emptied as u64)
}

fn entries(db: &Connection, query: &AuditQuery) -> Result<Vec<ChainedEntry>> {
    let (following, direction) = if query.newest_first { ("<", " DESC") } else { (">", "") };
    let mut conditions = Vec::new();
    let mut bound: Vec<(&str, Value)> = vec![(":limit", Value::from(query.limit))];
    if let Some(agent) = &query.agent {
        conditions.push("agent = :agent".to_owned());
        bound.push((":agent", Value::from(agent.as_str().to_owned())));
    }
    if let Some((at, id)) = &query.after {
        conditions.push(format!("(at, id) {following} (:at, :id)"));
        bound.push((":at", Value::from(at.millis())));
        bound.push((":id", Value::from(id.as_bytes().to_vec())));
    }
    let condition =
        if conditions.is_empty() { String::new() } else { format!("WHERE {}", conditions.join(" AND ")) };
    let sql = format!(
        "SELECT {} FROM audit {condition} ORDER BY at{direction}, id{direction} LIMIT :limit",
        audit_columns!()
    );
    let bound: Vec<(&str, &dyn rusqlite::ToSql)> =
        bound.iter().map(|(name, value)| (*name, value as &dyn rusqlite::ToSql)).collect();
    rows::all(db, &sql, bound.as_slice(), |r| records::audit_entry(r))
}

#[async_trait]
impl AuditStore for SqliteStorage {
    async fn append_audit(&self, entry: &SealedEntry) -> Result<(), StorageError> {
        let entry = entry.clone();
        self.writer
            .write(move |db| {
                refuse_unknown(db, entry.agent_id.as_ref())?;
                append(db, &entry)
            })
            .await
    }

    async fn audit_entries(&self, query: &AuditQuery) -> Result<Vec<ChainedEntry>, StorageError> {
        let query = query.clone();
        self.readers.read(move |db, _| entries(db, &query)).await
    }

    async fn audit_chain(&self, query: &ChainQuery) -> Result<Vec<ChainedEntry>, StorageError> {
        const SQL: &str = concat!(
            "SELECT ",
            audit_columns!(),
            " FROM audit INDEXED BY audit_by_sequence \
             WHERE agent IS ?1 AND (sequence, at, id) > (?2, ?3, ?4) ORDER BY sequence, at, id LIMIT ?5"
        );
        let query = query.clone();
        self.readers
            .read(move |db, _| {
                let (sequence, at, id) = match &query.after {
                    Some((sequence, at, id)) => (signed(*sequence)?, at.millis(), id.as_bytes().as_slice()),
                    None => (-1, 0, [].as_slice()),
                };
                let agent = query.chain.as_ref().map(AgentId::as_str);
                rows::all(db, SQL, params![agent, sequence, at, id, query.limit], |r| records::audit_entry(r))
            })
            .await
    }

    async fn audit_head(&self, chain: Option<&AgentId>) -> Result<ChainHead, StorageError> {
        self.readers.read_blocking(|db| head(db, chain_of(chain)))
    }

    async fn audit_heads(&self) -> Result<Vec<(Option<AgentId>, ChainHead)>, StorageError> {
        const SQL: &str = "SELECT agent, sequence, mac FROM audit_chain";
        let read = |r: &mut rows::RowReader<'_>| {
            let chain = Some(r.str()?).filter(|chain| !chain.is_empty()).map(StoredText::from_stored);
            Ok((chain, ChainHead { sequence: r.count()?, mac: r.bytes()? }))
        };
        self.readers.read(move |db, _| rows::all(db, SQL, (), read)).await
    }

    async fn purge_audit(&self, through: &ChainPosition, entry: &SealedEntry) -> Result<u64, StorageError> {
        let (through, entry) = (*through, entry.clone());
        self.writer
            .write(move |db| {
                refuse_unknown(db, entry.agent_id.as_ref())?;
                purge(db, &through, &entry)
            })
            .await
    }
}
