//! Retained documents of extractions: their records, as JSON. Their bytes count like those of files, and their contents
//! are due for deletion like those of files.

use async_trait::async_trait;
use openapi_core::storage::{
    DocumentStore, DocumentWrite, QuotaExcess, QuotaUnit, StorageError, StorageErrorKind, StoredDocument,
};
use openapi_core::values::{AgentId, FileId, Timestamp};
use rusqlite::{Connection, params};

use crate::error::Result;
use crate::rows::{self, json_text, signed};
use crate::store::SqliteStorage;
use crate::{files, tenant};

/// Every document of an agent: the record, its counted size and its id.
pub(crate) const EVERY_OF_AGENT: &str = "SELECT body, stored_size, id FROM document WHERE agent = ?1";

/// Stores a new document.
pub(crate) fn put_new(db: &Connection, agent: i64, document: &StoredDocument) -> Result<()> {
    let bytes = signed(document.stored_size)?;
    db.prepare_cached("INSERT INTO document (agent, id, stored_size, body) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![agent, document.id.as_bytes(), bytes, json_text(document)?])?;
    files::add_bytes(db, agent, bytes)
}

/// Refuses a document that exceeds the quota.
pub(crate) fn refuse_excess(db: &Connection, agent: i64, write: &DocumentWrite) -> Result<()> {
    let Some(limit) = write.max_bytes else { return Ok(()) };
    let actual = files::bytes(db, agent)?.saturating_add(write.document.stored_size);
    if actual > limit {
        let excess = QuotaExcess { unit: QuotaUnit::Bytes, limit, actual };
        return Err(StorageErrorKind::QuotaExceeded(excess).into());
    }
    Ok(())
}

/// Stores a document and the time when its content is due.
///
/// # Errors
/// [`StorageErrorKind::AlreadyExists`] for the id of a document or a file: their contents share the keys.
pub(crate) fn insert(
    db: &Connection,
    agent_id: &AgentId,
    agent: i64,
    document: &StoredDocument,
) -> Result<()> {
    for sql in [
        "SELECT 1 FROM document WHERE agent = ?1 AND id = ?2",
        "SELECT 1 FROM file WHERE agent = ?1 AND id = ?2",
    ] {
        if rows::exists(db, sql, params![agent, document.id.as_bytes()])? {
            return Err(StorageErrorKind::AlreadyExists.into());
        }
    }
    put_new(db, agent, document)?;
    files::make_due(db, agent_id, document.id, document.expires_at)
}

/// As [`DocumentStore::insert_document`], inside the writer's transaction.
fn insert_alone(db: &Connection, agent_id: &AgentId, write: &DocumentWrite) -> Result<()> {
    let agent = tenant::living(db, agent_id)?.ok_or(StorageErrorKind::Missing)?.number;
    refuse_excess(db, agent, write)?;
    insert(db, agent_id, agent, &write.document)
}

/// Removes the record of a document; returns whether there was one. Its bytes no longer count.
pub(crate) fn remove(db: &Connection, agent: i64, document: FileId) -> Result<bool> {
    let sql = "DELETE FROM document WHERE agent = ?1 AND id = ?2 RETURNING stored_size";
    let bytes = rows::first(db, sql, params![agent, document.as_bytes()], |r| r.integer())?;
    bytes.map(|bytes| files::add_bytes(db, agent, -bytes)).transpose()?;
    Ok(bytes.is_some())
}

/// As [`DocumentStore::discard_document`], inside the writer's transaction.
pub(crate) fn discard(db: &Connection, agent_id: &AgentId, document: FileId, now: Timestamp) -> Result<()> {
    let Some(agent) = tenant::living(db, agent_id)? else { return Ok(()) };
    if remove(db, agent.number, document)? {
        files::make_due(db, agent_id, document, now)?;
    }
    Ok(())
}

/// Retains the content of a document, which is then no longer due.
///
/// # Errors
/// [`StorageErrorKind::Stale`] when the document is absent.
pub(crate) fn keep(db: &Connection, agent_id: &AgentId, agent: i64, document: FileId) -> Result<()> {
    let sql = "SELECT 1 FROM document WHERE agent = ?1 AND id = ?2";
    if !rows::exists(db, sql, params![agent, document.as_bytes()])? {
        return Err(StorageErrorKind::Stale.into());
    }
    db.prepare_cached("DELETE FROM blob_purge WHERE agent = ?1 AND file = ?2")?
        .execute(params![agent_id.as_str(), document.as_bytes()])?;
    Ok(())
}

/// Removes up to `at_most` documents of a deleted agent and returns how many; their contents are due at once.
pub(crate) fn purge(db: &Connection, agent_id: &AgentId, agent: i64, at_most: u32) -> Result<u64> {
    let sql = "SELECT id FROM document WHERE agent = ?1 LIMIT ?2";
    let found = rows::all(db, sql, params![agent, at_most], |r| Ok(FileId::from_bytes(r.bytes()?)))?;
    for document in &found {
        remove(db, agent, *document)?;
        files::make_due(db, agent_id, *document, Timestamp::from_millis(0))?;
    }
    Ok(found.len() as u64)
}

fn list(
    db: &Connection,
    agent: &AgentId,
    after: Option<FileId>,
    at_most: u32,
) -> Result<Vec<StoredDocument>> {
    let sql = "SELECT d.body FROM agent a CROSS JOIN document d ON d.agent = a.n \
               WHERE a.id = ?1 AND a.status <> 2 AND d.id > ?2 ORDER BY d.id LIMIT ?3";
    // No id is as low as the empty one.
    let after = after.as_ref().map_or(&[] as &[u8], |after| after.as_bytes());
    rows::all(db, sql, params![agent.as_str(), after, at_most], |r| r.json())
}

#[async_trait]
impl DocumentStore for SqliteStorage {
    async fn insert_document(&self, agent: &AgentId, write: &DocumentWrite) -> Result<(), StorageError> {
        let (agent, write) = (agent.clone(), write.clone());
        self.writer.write(move |db| insert_alone(db, &agent, &write)).await
    }

    async fn discard_document(
        &self,
        agent: &AgentId,
        document: FileId,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        let agent = agent.clone();
        self.writer.write(move |db| discard(db, &agent, document, now)).await
    }

    async fn document(
        &self,
        agent: &AgentId,
        document: FileId,
    ) -> Result<Option<StoredDocument>, StorageError> {
        let sql = "SELECT d.body FROM agent a CROSS JOIN document d ON d.agent = a.n \
                   WHERE a.id = ?1 AND a.status <> 2 AND d.id = ?2";
        let values = params![agent.as_str(), document.as_bytes()];
        self.readers.read_blocking(|db| rows::first(db, sql, values, |r| r.json()))
    }

    async fn documents(
        &self,
        agent: &AgentId,
        after: Option<FileId>,
        at_most: u32,
    ) -> Result<Vec<StoredDocument>, StorageError> {
        let agent = agent.clone();
        self.readers.read(move |db, _| list(db, &agent, after, at_most)).await
    }
}
