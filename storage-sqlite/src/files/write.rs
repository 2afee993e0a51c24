//! Changing files. Everything here runs inside the writer's transaction.

use openapi_core::files::ContactFile;
use openapi_core::ports::BlobKey;
use openapi_core::storage::{Effects, FileDeletion, FileTombstone, FileWrite, StorageErrorKind};
use openapi_core::values::{AgentId, ContactId, FileId, Timestamp};
use rusqlite::{Connection, params};

use super::read;
use super::usage::{add_bytes, make_due};
use crate::error::Result;
use crate::rows::{self, RowReader, json_text, signed};
use crate::{contacts, documents, effects, tenant};

/// As [`openapi_core::storage::FileStore::insert_file`].
pub(super) fn insert(db: &Connection, agent_id: &AgentId, write: &FileWrite) -> Result<()> {
    let agent = tenant::living(db, agent_id)?.ok_or(StorageErrorKind::Missing)?.number;
    let file = &write.file;
    contacts::refuse_stale(db, agent, file.contact_id, write.contact_version)?;
    effects::refuse_replayed(db, agent, &write.effects, write.at)?;
    let usage = read::usage(db, agent, file.contact_id)?;
    write.quota.admit(usage, file.file_size).map_err(StorageErrorKind::QuotaExceeded)?;
    let sql = "SELECT 1 FROM file WHERE agent = ?1 AND id = ?2";
    if rows::exists(db, sql, params![agent, file.id.as_bytes()])? {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    put_new(db, agent, file, &write.name_key)?;
    effects::apply(db, agent, &write.effects)
}

/// Stores a new file.
pub(crate) fn put_new(db: &Connection, agent: i64, file: &ContactFile, name_key: &str) -> Result<()> {
    let bytes = signed(file.file_size)?;
    db.prepare_cached(
        "INSERT INTO file (agent, id, contact, name, name_key, size, content_type, sha256, source, uploaded_by, \
         created_at, updated_at, server_key) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?
    .execute(params![
        agent,
        file.id.as_bytes(),
        file.contact_id.as_bytes(),
        file.file_name.as_str(),
        name_key,
        bytes,
        file.content_type.media_type(),
        file.sha256.0,
        file.source,
        json_text(&file.uploaded_by)?,
        file.created_at.millis(),
        file.updated_at.millis(),
        file.server_key
    ])?;
    add_bytes(db, agent, bytes)
}

/// Marks a file as deleted.
pub(crate) fn bury(db: &Connection, agent: i64, tombstone: &FileTombstone) -> Result<()> {
    let bytes: i64 = db
        .prepare_cached(
            "UPDATE file SET deleted_at = ?3, deleted_by = ?4, reason = ?5 WHERE agent = ?1 AND id = ?2 \
             RETURNING size",
        )?
        .query_row(
            params![
                agent,
                tombstone.file.as_bytes(),
                tombstone.at.millis(),
                json_text(&tombstone.by)?,
                tombstone.reason.as_ref().map(|reason| reason.as_str())
            ],
            |row| row.get(0),
        )?;
    add_bytes(db, agent, -bytes)
}

/// As [`openapi_core::storage::FileStore::delete_file`].
pub(super) fn delete(db: &Connection, agent_id: &AgentId, deletion: &FileDeletion) -> Result<()> {
    let agent = tenant::living(db, agent_id)?.ok_or(StorageErrorKind::Missing)?.number;
    let tombstone = &deletion.tombstone;
    let sql = "SELECT 1 FROM file WHERE agent = ?1 AND id = ?2 AND contact = ?3 AND deleted_at IS NULL";
    if !rows::exists(db, sql, params![agent, tombstone.file.as_bytes(), deletion.contact.as_bytes()])? {
        return Err(StorageErrorKind::Missing.into());
    }
    contacts::refuse_stale(db, agent, deletion.contact, deletion.contact_version)?;
    bury(db, agent, tombstone)?;
    make_due(db, agent_id, tombstone.file, deletion.purge_at)?;
    effects::apply(db, agent, &deletion.effects)
}

/// Removes the files of a contact, deleted ones included; their contents are due now.
pub(crate) fn erase_of(
    db: &Connection,
    agent_id: &AgentId,
    agent: i64,
    contact: ContactId,
    now: Timestamp,
) -> Result<()> {
    let sql = "SELECT n, id, size, deleted_at FROM file INDEXED BY file_by_contact WHERE agent = ?1 AND contact = ?2";
    for file in rows::all(db, sql, params![agent, contact.as_bytes()], Found::read)? {
        file.remove(db, agent_id, agent, now)?;
    }
    Ok(())
}

/// Removes up to `at_most` files of a deleted agent and returns how many; their contents are due at once.
pub(crate) fn purge(db: &Connection, agent_id: &AgentId, agent: i64, at_most: u32) -> Result<u64> {
    let sql = "SELECT n, id, size, deleted_at FROM file INDEXED BY file_by_id WHERE agent = ?1 LIMIT ?2";
    let found = rows::all(db, sql, params![agent, at_most], Found::read)?;
    for file in &found {
        file.remove(db, agent_id, agent, Timestamp::from_millis(0))?;
    }
    Ok(found.len() as u64)
}

/// The values of a stored file that its removal needs.
struct Found {
    n: i64,
    id: FileId,
    size: i64,
    is_deleted: bool,
}

impl Found {
    fn read(r: &mut RowReader<'_>) -> Result<Self> {
        Ok(Found {
            n: r.integer()?,
            id: FileId::from_bytes(r.bytes()?),
            size: r.integer()?,
            is_deleted: r.optional_time()?.is_some(),
        })
    }

    fn remove(&self, db: &Connection, agent_id: &AgentId, agent: i64, due_at: Timestamp) -> Result<()> {
        make_due(db, agent_id, self.id, due_at)?;
        if !self.is_deleted {
            add_bytes(db, agent, -self.size)?;
        }
        db.prepare_cached("DELETE FROM file WHERE n = ?1")?.execute([self.n])?;
        Ok(())
    }
}

/// As [`openapi_core::storage::FileStore::expedite_purges`].
pub(super) fn hasten(db: &Connection, agent: &AgentId, now: Timestamp, effects: &Effects) -> Result<u64> {
    let number = tenant::number(db, agent)?.ok_or(StorageErrorKind::Missing)?;
    let hastened = db
        .prepare_cached("UPDATE blob_purge SET due_at = ?2 WHERE agent = ?1 AND due_at > ?2")?
        .execute(params![agent.as_str(), now.millis()])?;
    effects::apply(db, number, effects)?;
    Ok(hastened as u64)
}

/// As [`openapi_core::storage::FileStore::mark_sealed`].
pub(super) fn mark_sealed(db: &Connection, key: &BlobKey, server_key: &str) -> Result<()> {
    let Some(agent) = tenant::number(db, &key.agent)? else { return Ok(()) };
    db.prepare_cached("UPDATE file SET server_key = ?3 WHERE agent = ?1 AND id = ?2")?.execute(params![
        agent,
        key.file.as_bytes(),
        server_key
    ])?;
    Ok(())
}

/// As [`openapi_core::storage::FileStore::remove_blob_records`].
pub(super) fn forget(db: &Connection, keys: &[BlobKey]) -> Result<()> {
    let mut purges = db.prepare_cached("DELETE FROM blob_purge WHERE agent = ?1 AND file = ?2")?;
    let mut files =
        db.prepare_cached("DELETE FROM file WHERE agent = ?1 AND id = ?2 AND deleted_at IS NOT NULL")?;
    for key in keys {
        purges.execute(params![key.agent.as_str(), key.file.as_bytes()])?;
        let Some(agent) = tenant::number(db, &key.agent)? else { continue };
        files.execute(params![agent, key.file.as_bytes()])?;
        documents::remove(db, agent, key.file)?;
    }
    Ok(())
}
