//! The audit log.

use async_trait::async_trait;
use openapi_core::audit::AuditEntry;
use openapi_core::storage::{AuditQuery, AuditStore, StorageError};
use openapi_core::values::{AgentId, ContactId};
use rusqlite::types::Value;
use rusqlite::{Connection, params};
use storage_common::{audit_columns, records};

use crate::error::Result;
use crate::rows::{self, json_text, object_text};
use crate::store::SqliteStorage;

/// Adds an entry.
pub(crate) fn append(db: &Connection, entry: &AuditEntry) -> Result<()> {
    db.prepare_cached(concat!(
        "INSERT OR REPLACE INTO audit (",
        audit_columns!(),
        ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
    ))?
    .execute(params![
        entry.at.millis(),
        entry.id.as_bytes(),
        entry.agent_id.as_ref().map(AgentId::as_str),
        entry.resource,
        entry.contact_id.as_ref().map(ContactId::as_bytes),
        entry.action.as_str(),
        json_text(&entry.actor)?,
        entry.address.map(|address| address.to_string()),
        entry.request_id,
        object_text(&entry.details)
    ])?;
    Ok(())
}

/// Empties the payloads of the entries about a contact and about what belongs to it.
pub(crate) fn empty_payloads(db: &Connection, agent: &AgentId, contact: ContactId) -> Result<()> {
    db.prepare_cached(
        "UPDATE audit SET details = NULL WHERE agent = ?1 AND resource = ?2 AND details IS NOT NULL",
    )?
    .execute(params![agent.as_str(), contact.to_string()])?;
    db.prepare_cached(
        "UPDATE audit SET details = NULL WHERE agent = ?1 AND contact = ?2 AND details IS NOT NULL",
    )?
    .execute(params![agent.as_str(), contact.as_bytes()])?;
    Ok(())
}

/// Empties up to `at_most` payloads of an agent and returns how many.
pub(crate) fn empty_some_payloads(db: &Connection, agent: &AgentId, at_most: u32) -> Result<u64> {
    let emptied = db
        .prepare_cached(
            "UPDATE audit SET details = NULL WHERE (at, id) IN (SELECT at, id FROM audit \
             INDEXED BY audit_by_payload WHERE agent = ?1 AND details IS NOT NULL LIMIT ?2)",
        )?
        .execute(params![agent.as_str(), at_most])?;
    Ok(emptied as u64)
}

fn entries(db: &Connection, query: &AuditQuery) -> Result<Vec<AuditEntry>> {
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
    async fn append_audit(&self, entry: &AuditEntry) -> Result<(), StorageError> {
        let entry = entry.clone();
        self.writer.write(move |db| append(db, &entry)).await
    }

    async fn audit_entries(&self, query: &AuditQuery) -> Result<Vec<AuditEntry>, StorageError> {
        let query = query.clone();
        self.readers.read(move |db, _| entries(db, &query)).await
    }
}
