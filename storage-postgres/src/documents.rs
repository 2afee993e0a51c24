//! Retained documents of extractions: their records, as JSON. Their bytes count like those of files, and their contents are
//! due for deletion like those of files.

use std::collections::BTreeSet;

use async_trait::async_trait;
use openapi_core::ports::BlobKey;
use openapi_core::storage::{
    DocumentStore, DocumentWrite, QuotaExcess, QuotaUnit, StorageError, StorageErrorKind, StoredDocument,
};
use openapi_core::values::{AgentId, FileId, Timestamp};
use sqlx::PgConnection;
use storage_common::in_transaction;

use crate::connect::{execute, fetch, fetch_one};
use crate::error::{Error, Result, corrupt};
use crate::rows::{RowReader, Statement, json_text, signed};
use crate::store::PostgresStorage;
use crate::{content, tenant};

#[async_trait]
impl DocumentStore for PostgresStorage {
    async fn insert_document(&self, agent: &AgentId, write: &DocumentWrite) -> Result<(), StorageError> {
        in_transaction!(self.db.write(), create(agent, write))
    }

    async fn discard_document(
        &self,
        agent: &AgentId,
        document: FileId,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        in_transaction!(self.db.write(), discard(agent, *document, *now))
    }

    async fn document(
        &self,
        agent: &AgentId,
        document: FileId,
    ) -> Result<Option<StoredDocument>, StorageError> {
        let statement = Statement::new(
            "SELECT d.body FROM agent a JOIN document d ON d.agent = a.id \
             WHERE a.id = $1 AND a.status <> 2 AND d.id = $2",
        )
        .bind(agent.as_str())?
        .bind(document.as_bytes().as_slice())?;
        self.db.read_one(statement, |r| r.json()).await
    }

    async fn documents(
        &self,
        agent: &AgentId,
        after: Option<FileId>,
        at_most: u32,
    ) -> Result<Vec<StoredDocument>, StorageError> {
        self.db.read_all(list(agent, after, at_most)?, |r| r.json()).await
    }
}

/// The statement of a list, along the primary key: a range and not an equality, as in `transfer::read`.
pub(crate) fn list(agent: &AgentId, after: Option<FileId>, at_most: u32) -> Result<Statement> {
    // No id is as low as the empty one.
    let after = after.as_ref().map_or(&[] as &[u8], |after| after.as_bytes());
    Statement::new(
        "SELECT d.body FROM document d WHERE (d.agent, d.id) > ($1, $2) AND d.agent <= $1 \
         AND EXISTS (SELECT 1 FROM agent a WHERE a.id = $1 AND a.status <> 2) ORDER BY d.agent, d.id LIMIT $3",
    )
    .bind(agent.as_str())?
    .bind(after)?
    .bind(i64::from(at_most))
}

/// As [`DocumentStore::insert_document`], in a transaction of its own.
async fn create(db: &mut PgConnection, agent: &AgentId, write: &DocumentWrite) -> Result<()> {
    tenant::lock(db, agent).await?;
    refuse_excess(db, agent, write, 0).await?;
    add(db, agent, &write.document).await
}

/// Refuses a document that exceeds the quota; `freed` bytes will be discarded. The tenant is locked.
pub(crate) async fn refuse_excess(
    db: &mut PgConnection,
    agent: &AgentId,
    write: &DocumentWrite,
    freed: u64,
) -> Result<()> {
    let Some(limit) = write.max_bytes else { return Ok(()) };
    let stored = content::stored_bytes(db, agent).await?.saturating_sub(freed);
    let actual = stored.saturating_add(write.document.stored_size);
    if actual > limit {
        let excess = QuotaExcess { unit: QuotaUnit::Bytes, limit, actual };
        return Err(StorageErrorKind::QuotaExceeded(excess).into());
    }
    Ok(())
}

/// Stores a document and the time when its content is due. The tenant is locked.
///
/// # Errors
/// [`StorageErrorKind::AlreadyExists`] for the id of a document or a file: their contents share the keys.
pub(crate) async fn add(db: &mut PgConnection, agent: &AgentId, document: &StoredDocument) -> Result<()> {
    let of_file = Statement::new("SELECT 1 FROM file WHERE agent = $1 AND id = $2")
        .bind(agent.as_str())?
        .bind(document.id.as_bytes().as_slice())?;
    if fetch_one(db, of_file).await?.is_some() || !insert(db, agent, document).await? {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    content::add_bytes(db, agent, signed(document.stored_size)?).await?;
    content::make_due(db, agent, document.id, document.expires_at).await
}

/// Stores the record of a document; false when its id is taken. [`content::add_bytes`] counts its bytes.
pub(crate) async fn insert(
    db: &mut PgConnection,
    agent: &AgentId,
    document: &StoredDocument,
) -> Result<bool> {
    let statement = Statement::new(
        "INSERT INTO document (agent, id, stored_size, body) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
    )
    .bind(agent.as_str())?
    .bind(document.id.as_bytes().as_slice())?
    .bind(signed(document.stored_size)?)?
    .bind(json_text(document)?)?;
    Ok(execute(db, statement).await? == 1)
}

/// As [`DocumentStore::discard_document`], in a transaction of its own.
async fn discard(db: &mut PgConnection, agent: &AgentId, document: FileId, now: Timestamp) -> Result<()> {
    match tenant::lock(db, agent).await {
        Err(Error::Known(StorageErrorKind::Missing)) => return Ok(()),
        held => held.map(drop)?,
    }
    remove(db, agent, document, now).await
}

/// The sizes of the stored ones among some documents.
pub(crate) async fn sizes(
    db: &mut PgConnection,
    agent: &AgentId,
    documents: &BTreeSet<FileId>,
) -> Result<Vec<(FileId, u64)>> {
    if documents.is_empty() {
        return Ok(Vec::new());
    }
    let statement = Statement::new(
        "SELECT d.id, d.stored_size FROM unnest($1::text[], $2::bytea[]) AS u (agent, id) \
         JOIN document d ON d.agent = u.agent AND d.id = u.id",
    )
    .bind(vec![agent.as_str(); documents.len()])?
    .bind(documents.iter().map(|document| document.as_bytes().as_slice()).collect::<Vec<_>>())?;
    let rows = fetch(db, statement).await?;
    let size = |r: &mut RowReader<'_>| Ok((FileId::from_bytes(r.bytes()?), r.count()?));
    rows.iter().map(|row| size(&mut RowReader::new(row))).collect()
}

/// Removes the record of a document, if there is one; its content is due. The tenant is locked.
pub(crate) async fn remove(
    db: &mut PgConnection,
    agent: &AgentId,
    document: FileId,
    now: Timestamp,
) -> Result<()> {
    let statement = Statement::new("DELETE FROM document WHERE agent = $1 AND id = $2 RETURNING stored_size")
        .bind(agent.as_str())?
        .bind(document.as_bytes().as_slice())?;
    let Some(row) = fetch_one(db, statement).await? else { return Ok(()) };
    content::add_bytes(db, agent, -RowReader::new(&row).integer()?).await?;
    content::make_due(db, agent, document, now).await
}

/// Retains the contents of documents, which are then no longer due. The tenant is locked.
///
/// # Errors
/// [`StorageErrorKind::Stale`] when one is absent.
pub(crate) async fn retain(db: &mut PgConnection, agent: &AgentId, documents: &[FileId]) -> Result<()> {
    for document in documents {
        let statement = Statement::new("SELECT 1 FROM document WHERE agent = $1 AND id = $2")
            .bind(agent.as_str())?
            .bind(document.as_bytes().as_slice())?;
        if fetch_one(db, statement).await?.is_none() {
            return Err(StorageErrorKind::Stale.into());
        }
        let statement = Statement::new("DELETE FROM blob_purge WHERE agent = $1 AND file = $2")
            .bind(agent.as_str())?
            .bind(document.as_bytes().as_slice())?;
        execute(db, statement).await?;
    }
    Ok(())
}

/// Removes the records of documents whose contents are deleted; their bytes no longer count. The tenants are locked.
pub(crate) async fn forget(db: &mut PgConnection, keys: &[BlobKey]) -> Result<()> {
    let (agents, documents) = content::split(keys);
    let statement = Statement::new(
        "WITH gone AS (DELETE FROM document d USING unnest($1::text[], $2::bytea[]) AS k (agent, id) \
         WHERE d.agent = k.agent AND d.id = k.id RETURNING d.agent, d.stored_size), \
         counted AS (SELECT agent, sum(stored_size)::bigint AS bytes FROM gone GROUP BY agent) \
         UPDATE file_total t SET bytes = t.bytes - c.bytes FROM counted c WHERE t.agent = c.agent",
    )
    .bind(agents)?
    .bind(documents)?;
    execute(db, statement).await?;
    Ok(())
}

/// Removes up to `at_most` documents of a deleted agent and returns how many; their contents are due at once.
pub(crate) async fn purge(db: &mut PgConnection, agent: &AgentId, at_most: u64) -> Result<u64> {
    let statement = Statement::unprepared(
        "WITH gone AS (DELETE FROM document WHERE (agent, id) IN \
         (SELECT agent, id FROM document WHERE (agent, id) > ($1, '') AND agent <= $1 ORDER BY agent, id LIMIT $2) \
         RETURNING agent, id), \
         due AS (INSERT INTO blob_purge (agent, file, due_at) SELECT $1, id, 0 FROM gone \
         ON CONFLICT (agent, file) DO UPDATE SET due_at = 0) SELECT count(*) FROM gone",
    )
    .bind(agent.as_str())?
    .bind(signed(at_most)?)?;
    let row = fetch_one(db, statement).await?.ok_or_else(|| corrupt("a count has no row"))?;
    RowReader::new(&row).count()
}
