//! Stored responses of idempotent requests.

use async_trait::async_trait;
use openapi_core::storage::{IdempotencyKey, IdempotencyRecord, IdempotencyStore, StorageError};
use openapi_core::values::{AgentId, ContactId, Timestamp};
use rusqlite::{Connection, params};
use storage_common::{records, replay_columns};

use crate::error::Result;
use crate::rows;
use crate::store::SqliteStorage;

/// Whether a response is stored that has not expired by `now`.
pub(crate) fn is_stored(db: &Connection, agent: i64, key: &IdempotencyKey, now: Timestamp) -> Result<bool> {
    let sql = "SELECT 1 FROM replay WHERE agent = ?1 AND key = ?2 AND expires_at > ?3";
    rows::exists(db, sql, params![agent, key.0, now.millis()])
}

/// Stores a response, and replaces an expired one.
pub(crate) fn put(db: &Connection, agent: i64, replay: &IdempotencyRecord) -> Result<()> {
    db.prepare_cached(
        "INSERT OR REPLACE INTO replay (agent, key, fingerprint, status, location, resource, expires_at, body) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        agent,
        replay.key.0,
        replay.fingerprint,
        replay.status,
        replay.location,
        replay.resource.as_ref().map(ContactId::as_bytes),
        replay.expires_at.millis(),
        &*replay.body
    ])?;
    Ok(())
}

/// Removes the responses that contain a contact.
pub(crate) fn remove_of(db: &Connection, agent: i64, contact: ContactId) -> Result<()> {
    db.prepare_cached("DELETE FROM replay WHERE agent = ?1 AND resource = ?2")?
        .execute(params![agent, contact.as_bytes()])?;
    Ok(())
}

#[async_trait]
impl IdempotencyStore for SqliteStorage {
    async fn replay(
        &self,
        agent: &AgentId,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Result<Option<IdempotencyRecord>, StorageError> {
        let sql = concat!(
            "SELECT ",
            replay_columns!(),
            " FROM agent a CROSS JOIN replay r ON r.agent = a.n",
            " WHERE a.id = ?1 AND a.status <> 2 AND r.key = ?2 AND r.expires_at > ?3"
        );
        let values = params![agent.as_str(), key.0, now.millis()];
        self.readers.read_blocking(|db| rows::first(db, sql, values, |r| records::replay(*key, r)))
    }

    async fn sweep_idempotency_records(&self, now: Timestamp, at_most: u32) -> Result<u64, StorageError> {
        // The sweep runs often and mostly finds nothing; then it needs no transaction.
        let sql = "SELECT 1 FROM replay WHERE expires_at <= ?1";
        if !self.readers.read_blocking(|db| rows::exists(db, sql, [now.millis()]))? {
            return Ok(0);
        }
        self.writer
            .write(move |db| {
                let removed = db
                    .prepare_cached(
                        "DELETE FROM replay WHERE rowid IN \
                         (SELECT rowid FROM replay WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)",
                    )?
                    .execute(params![now.millis(), at_most])?;
                Ok(removed as u64)
            })
            .await
    }
}
