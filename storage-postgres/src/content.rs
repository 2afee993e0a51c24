//! The contents of files and documents: how many bytes a tenant stores, and which contents are due for deletion.

use openapi_core::ports::BlobKey;
use openapi_core::values::{AgentId, FileId, Timestamp};
use sqlx::PgConnection;

use crate::connect::{execute, fetch_version};
use crate::error::Result;
use crate::rows::Statement;

/// Sets when the content of a file or a document is due for deletion.
pub(crate) async fn make_due(
    db: &mut PgConnection,
    agent: &AgentId,
    file: FileId,
    due_at: Timestamp,
) -> Result<()> {
    let statement = Statement::new(
        "INSERT INTO blob_purge (agent, file, due_at) VALUES ($1, $2, $3) \
         ON CONFLICT (agent, file) DO UPDATE SET due_at = excluded.due_at",
    )
    .bind(agent.as_str())?
    .bind(file.as_bytes().as_slice())?
    .bind(due_at.millis())?;
    execute(db, statement).await?;
    Ok(())
}

/// Adds to the bytes of a tenant's files and documents.
pub(crate) async fn add_bytes(db: &mut PgConnection, agent: &AgentId, bytes: i64) -> Result<()> {
    let statement = Statement::new(
        "INSERT INTO file_total (agent, bytes) VALUES ($1, $2) \
         ON CONFLICT (agent) DO UPDATE SET bytes = file_total.bytes + excluded.bytes",
    )
    .bind(agent.as_str())?
    .bind(bytes)?;
    execute(db, statement).await?;
    Ok(())
}

/// Removes the counter of a tenant that has no files and documents.
pub(crate) async fn remove_counter(db: &mut PgConnection, agent: &AgentId) -> Result<()> {
    let statement = Statement::new("DELETE FROM file_total WHERE agent = $1").bind(agent.as_str())?;
    execute(db, statement).await?;
    Ok(())
}

/// The bytes of all files and documents of a tenant.
pub(crate) async fn stored_bytes(db: &mut PgConnection, agent: &AgentId) -> Result<u64> {
    let statement = Statement::new("SELECT bytes FROM file_total WHERE agent = $1").bind(agent.as_str())?;
    Ok(fetch_version(db, statement).await?.unwrap_or(0))
}

/// Keys as two columns, tenants and files.
pub(crate) fn split(keys: &[BlobKey]) -> (Vec<&str>, Vec<&[u8]>) {
    keys.iter().map(|key| (key.agent.as_str(), key.file.as_bytes().as_slice())).unzip()
}
