//! Rate limit windows, as JSON: what the server has leased of a key's limits, so that the hour survives a restart.

use async_trait::async_trait;
use openapi_core::storage::{RateLimitStore, RateLimitWindow, StorageError, StorageErrorKind};
use openapi_core::values::{AgentId, KeyId};
use rusqlite::{Connection, params};
use storage_common::records;

use crate::error::Result;
use crate::rows::{self, json_text, signed};
use crate::store::SqliteStorage;
use crate::tenant;

/// Stores a new window.
pub(crate) fn put_new(db: &Connection, agent: i64, key: KeyId, window: &RateLimitWindow) -> Result<()> {
    let shares = json_text(&window.shares)?;
    let version = signed(window.version)?;
    db.prepare_cached("INSERT INTO rate_window (agent, key, version, shares) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![agent, key.as_bytes(), version, shares])?;
    Ok(())
}

#[async_trait]
impl RateLimitStore for SqliteStorage {
    async fn rate_limit_window(
        &self,
        agent: &AgentId,
        key: KeyId,
    ) -> Result<Option<RateLimitWindow>, StorageError> {
        let sql = "SELECT w.version, w.shares FROM agent a CROSS JOIN rate_window w ON w.agent = a.n \
                   WHERE a.id = ?1 AND a.status <> 2 AND w.key = ?2";
        let values = params![agent.as_str(), key.as_bytes()];
        self.readers.read_blocking(|db| rows::first(db, sql, values, |r| records::rate_limit_window(r)))
    }

    async fn save_rate_limit_window(
        &self,
        agent: &AgentId,
        key: KeyId,
        window: &RateLimitWindow,
    ) -> Result<(), StorageError> {
        let shares = json_text(&window.shares)?;
        let version = signed(window.version)?;
        let agent = agent.clone();
        self.writer
            .write(move |db| {
                let Some(living) = tenant::living(db, &agent)? else { return Ok(()) };
                let statement = if version == 1 {
                    "INSERT INTO rate_window (agent, key, version, shares) VALUES (?1, ?2, ?3, ?4) \
                     ON CONFLICT DO NOTHING"
                } else {
                    "UPDATE rate_window SET version = ?3, shares = ?4 \
                     WHERE agent = ?1 AND key = ?2 AND version = ?3 - 1"
                };
                let changed = db.prepare_cached(statement)?.execute(params![
                    living.number,
                    key.as_bytes(),
                    version,
                    shares
                ])?;
                if changed == 0 { Err(StorageErrorKind::Stale.into()) } else { Ok(()) }
            })
            .await
    }
}
