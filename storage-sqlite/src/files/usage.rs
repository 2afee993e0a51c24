//! The contents of files and documents: how many bytes an agent stores, and which contents are due for deletion.

use openapi_core::values::{AgentId, FileId, Timestamp};
use rusqlite::{Connection, params};

use crate::error::Result;
use crate::rows;

/// Changes the counter of the bytes that an agent's files and documents take.
pub(crate) fn add_bytes(db: &Connection, agent: i64, bytes: i64) -> Result<()> {
    db.prepare_cached(
        "INSERT INTO file_total (agent, bytes) VALUES (?1, ?2) \
         ON CONFLICT (agent) DO UPDATE SET bytes = bytes + excluded.bytes",
    )?
    .execute([agent, bytes])?;
    Ok(())
}

/// Removes the counter of an agent without files and documents.
pub(crate) fn remove_counter(db: &Connection, agent: i64) -> Result<()> {
    db.prepare_cached("DELETE FROM file_total WHERE agent = ?1")?.execute([agent])?;
    Ok(())
}

/// Queues the content of a file for removal at `due_at`.
pub(crate) fn make_due(db: &Connection, agent: &AgentId, file: FileId, due_at: Timestamp) -> Result<()> {
    db.prepare_cached("INSERT OR REPLACE INTO blob_purge (agent, file, due_at) VALUES (?1, ?2, ?3)")?
        .execute(params![agent.as_str(), file.as_bytes(), due_at.millis()])?;
    Ok(())
}

/// The bytes of all files and documents of an agent.
pub(crate) fn bytes(db: &Connection, agent: i64) -> Result<u64> {
    Ok(rows::number(db, "SELECT bytes FROM file_total WHERE agent = ?1", [agent])?.unwrap_or(0))
}
