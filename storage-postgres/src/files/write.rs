//! Changing files. Everything here runs in a transaction that has locked the tenant.

use openapi_core::files::ContactFile;
use openapi_core::ports::BlobKey;
use openapi_core::storage::{Effects, FileDeletion, FileTombstone, FileWrite, StorageErrorKind};
use openapi_core::values::{AgentId, ContactId, Timestamp};
use sqlx::PgConnection;

use super::read;
use crate::connect::{execute, fetch_one};
use crate::error::{Result, corrupt};
use crate::rows::{RowReader, Statement, json_text, signed};
use crate::{contacts, content, documents, effects, tenant};

/// As [`openapi_core::storage::FileStore::insert_file`].
pub(super) async fn create(db: &mut PgConnection, agent: &AgentId, write: &FileWrite) -> Result<()> {
    let tenant = tenant::lock(db, agent).await?;
    let file = &write.file;
    contacts::refuse_stale(db, agent, file.contact_id, write.contact_version).await?;
    effects::refuse_replayed(db, agent, &write.effects, write.at).await?;
    let usage = fetch_one(db, read::usage(agent, file.contact_id)?).await?;
    let usage = read::used(&mut RowReader::new(&usage.ok_or_else(|| corrupt("a locked tenant is absent"))?))?;
    write.quota.admit(usage, file.file_size).map_err(StorageErrorKind::QuotaExceeded)?;
    if !insert(db, agent, file, write.name_key.as_str()).await? {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    content::add_bytes(db, agent, signed(file.file_size)?).await?;
    effects::apply(db, agent, &write.effects, tenant.head).await
}

/// Stores the record of a file; false when its id is taken. [`content::add_bytes`] counts its bytes.
pub(crate) async fn insert(
    db: &mut PgConnection,
    agent: &AgentId,
    file: &ContactFile,
    name_key: &str,
) -> Result<bool> {
    let statement = Statement::new(
        "INSERT INTO file (agent, id, contact, name, name_key, size, content_type, sha256, source, uploaded_by, \
         created_at, updated_at, server_key) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) \
         ON CONFLICT DO NOTHING",
    )
    .bind(agent.as_str())?
    .bind(file.id.as_bytes().as_slice())?
    .bind(file.contact_id.as_bytes().as_slice())?
    .bind(file.file_name.as_str())?
    .bind(name_key)?
    .bind(signed(file.file_size)?)?
    .bind(file.content_type.media_type())?
    .bind(file.sha256.0.as_slice())?
    .bind(file.source.as_str())?
    .bind(json_text(&file.uploaded_by)?)?
    .bind(file.created_at.millis())?
    .bind(file.updated_at.millis())?
    .bind(file.server_key.as_deref())?;
    Ok(execute(db, statement).await? == 1)
}

/// As [`openapi_core::storage::FileStore::delete_file`].
pub(super) async fn delete(db: &mut PgConnection, agent: &AgentId, deletion: &FileDeletion) -> Result<()> {
    let tenant = tenant::lock(db, agent).await?;
    let tombstone = &deletion.tombstone;
    let found = Statement::new(
        "SELECT size FROM file WHERE agent = $1 AND id = $2 AND contact = $3 AND deleted_at IS NULL",
    )
    .bind(agent.as_str())?
    .bind(tombstone.file.as_bytes().as_slice())?
    .bind(deletion.contact.as_bytes().as_slice())?;
    let row = fetch_one(db, found).await?.ok_or(StorageErrorKind::Missing)?;
    let bytes = RowReader::new(&row).integer()?;
    contacts::refuse_stale(db, agent, deletion.contact, deletion.contact_version).await?;
    bury(db, agent, tombstone).await?;
    content::add_bytes(db, agent, -bytes).await?;
    content::make_due(db, agent, tombstone.file, deletion.purge_at).await?;
    effects::apply(db, agent, &deletion.effects, tenant.head).await
}

/// As [`openapi_core::storage::FileStore::mark_sealed`].
pub(super) async fn mark_sealed(db: &mut PgConnection, key: &BlobKey, server_key: &str) -> Result<()> {
    let statement = Statement::new("UPDATE file SET server_key = $3 WHERE agent = $1 AND id = $2")
        .bind(key.agent.as_str())?
        .bind(key.file.as_bytes().as_slice())?
        .bind(server_key)?;
    execute(db, statement).await?;
    Ok(())
}

/// Replaces a file by its tombstone.
pub(crate) async fn bury(db: &mut PgConnection, agent: &AgentId, tombstone: &FileTombstone) -> Result<()> {
    let statement = Statement::new(
        "UPDATE file SET deleted_at = $3, deleted_by = $4, reason = $5 WHERE agent = $1 AND id = $2",
    )
    .bind(agent.as_str())?
    .bind(tombstone.file.as_bytes().as_slice())?
    .bind(tombstone.at.millis())?
    .bind(json_text(&tombstone.by)?)?
    .bind(tombstone.reason.as_ref().map(|reason| reason.as_str()))?;
    execute(db, statement).await?;
    Ok(())
}

/// Removes the files of a contact, deleted ones included; their contents are due now.
pub(crate) async fn erase_of(
    db: &mut PgConnection,
    agent: &AgentId,
    contact: ContactId,
    now: Timestamp,
) -> Result<()> {
    let statement = Statement::new(
        "WITH gone AS (DELETE FROM file WHERE agent = $1 AND contact = $2 RETURNING id, size, deleted_at), \
         due AS (INSERT INTO blob_purge (agent, file, due_at) SELECT $1, id, $3 FROM gone \
         ON CONFLICT (agent, file) DO UPDATE SET due_at = excluded.due_at) \
         SELECT coalesce(sum(size) FILTER (WHERE deleted_at IS NULL), 0)::bigint FROM gone",
    )
    .bind(agent.as_str())?
    .bind(contact.as_bytes().as_slice())?
    .bind(now.millis())?;
    let row = fetch_one(db, statement).await?.ok_or_else(|| corrupt("a sum has no row"))?;
    match RowReader::new(&row).integer()? {
        0 => Ok(()),
        bytes => content::add_bytes(db, agent, -bytes).await,
    }
}

/// Removes up to `at_most` files of a deleted agent and returns how many; their contents are due at once.
pub(crate) async fn purge(db: &mut PgConnection, agent: &AgentId, at_most: u64) -> Result<u64> {
    let statement = Statement::unprepared(
        "WITH gone AS (DELETE FROM file WHERE (agent, id) IN \
         (SELECT agent, id FROM file WHERE (agent, id) > ($1, '') AND agent <= $1 ORDER BY agent, id LIMIT $2) \
         RETURNING agent, id), \
         due AS (INSERT INTO blob_purge (agent, file, due_at) SELECT $1, id, 0 FROM gone \
         ON CONFLICT (agent, file) DO UPDATE SET due_at = 0) SELECT count(*) FROM gone",
    )
    .bind(agent.as_str())?
    .bind(signed(at_most)?)?;
    let row = fetch_one(db, statement).await?.ok_or_else(|| corrupt("a count has no row"))?;
    RowReader::new(&row).count()
}

/// As [`openapi_core::storage::FileStore::expedite_purges`].
pub(super) async fn hasten(
    db: &mut PgConnection,
    agent: &AgentId,
    now: Timestamp,
    effects: &Effects,
) -> Result<u64> {
    let tenant = tenant::lock_any(db, Some(agent)).await?;
    let statement = Statement::new("UPDATE blob_purge SET due_at = $2 WHERE agent = $1 AND due_at > $2")
        .bind(agent.as_str())?
        .bind(now.millis())?;
    let hastened = execute(db, statement).await?;
    effects::apply(db, agent, effects, tenant.head).await?;
    Ok(hastened)
}

/// As [`openapi_core::storage::FileStore::remove_blob_records`]. The only write of several tenants: it locks them in the order of
/// their ids.
pub(super) async fn forget(db: &mut PgConnection, keys: &[BlobKey]) -> Result<()> {
    let (agents, files) = content::split(keys);
    let held = Statement::new("SELECT 1 FROM agent WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE")
        .bind(agents.clone())?;
    execute(db, held).await?;
    for sql in [
        "DELETE FROM blob_purge p USING unnest($1::text[], $2::bytea[]) AS k (agent, file) \
         WHERE p.agent = k.agent AND p.file = k.file",
        "DELETE FROM file f USING unnest($1::text[], $2::bytea[]) AS k (agent, file) \
         WHERE f.agent = k.agent AND f.id = k.file AND f.deleted_at IS NOT NULL",
    ] {
        execute(db, Statement::new(sql).bind(agents.clone())?.bind(files.clone())?).await?;
    }
    documents::forget(db, keys).await
}
