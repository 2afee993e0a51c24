//! Rate windows: what of the limits survives a restart, as JSON.

use async_trait::async_trait;
use openapi_core::storage::{RateWindow, RateWindowStore, StorageError};
use openapi_core::values::{AgentId, KeyId};
use rusqlite::params;

use crate::error::corrupt;
use crate::{SqliteStorage, agents};

#[async_trait]
impl RateWindowStore for SqliteStorage {
    async fn rate_window(&self, agent: &AgentId, key: KeyId) -> Result<Option<RateWindow>, StorageError> {
        self.readers.now(|db| {
            let mut statement = db.prepare_cached(
                "SELECT w.body FROM agent a CROSS JOIN rate_window w ON w.agent = a.n \
                 WHERE a.id = ?1 AND a.status <> 2 AND w.key = ?2",
            )?;
            let mut rows = statement.query(params![agent.as_str(), key.as_bytes()])?;
            let Some(row) = rows.next()? else { return Ok(None) };
            let body = row.get_ref(0)?.as_str().map_err(corrupt)?;
            serde_json::from_str(body).map(Some).map_err(corrupt)
        })
    }

    async fn save_rate_window(
        &self,
        agent: &AgentId,
        key: KeyId,
        window: &RateWindow,
    ) -> Result<(), StorageError> {
        let body = serde_json::to_string(window).map_err(corrupt)?;
        let agent = agent.clone();
        self.writer
            .write(move |db| {
                let Some(living) = agents::living(db, &agent)? else { return Ok(()) };
                db.prepare_cached(
                    "INSERT OR REPLACE INTO rate_window (agent, key, body) VALUES (?1, ?2, ?3)",
                )?
                .execute(params![living.number, key.as_bytes(), body])?;
                Ok(())
            })
            .await
    }
}
