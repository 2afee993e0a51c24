//! Rate windows: what of the limits survives a restart, as JSON.

use async_trait::async_trait;
use openapi_core::storage::{RateWindow, RateWindowStore, StorageError};
use openapi_core::values::{AgentId, KeyId};
use sqlx::PgConnection;

use crate::PostgresStorage;
use crate::connect::execute;
use crate::error::Result;
use crate::rows::{Columns, Statement, json_text};

#[async_trait]
impl RateWindowStore for PostgresStorage {
    async fn rate_window(&self, agent: &AgentId, key: KeyId) -> Result<Option<RateWindow>, StorageError> {
        let statement = Statement::new(
            "SELECT w.body FROM agent a JOIN rate_window w ON w.agent = a.id \
             WHERE a.id = $1 AND a.status <> 2 AND w.key = $2",
        )
        .bind(agent.as_str())?
        .bind(key.as_bytes().as_slice())?;
        let row = self.db.read_one(statement).await?;
        Ok(row.map(|row| Columns::of(&row).json()).transpose()?)
    }

    async fn save_rate_window(
        &self,
        agent: &AgentId,
        key: KeyId,
        window: &RateWindow,
    ) -> Result<(), StorageError> {
        self.db
            .write((agent.clone(), key, json_text(window)?), |db, (agent, key, body)| {
                Box::pin(save(db, agent, *key, body))
            })
            .await
    }
}

/// One statement that needs no lock of the agent: it touches what no other write does.
async fn save(db: &mut PgConnection, agent: &AgentId, key: KeyId, body: &str) -> Result<()> {
    let statement = Statement::new(
        "INSERT INTO rate_window (agent, key, body) SELECT a.id, $2, $3 FROM agent a \
         WHERE a.id = $1 AND a.status <> 2 ON CONFLICT (agent, key) DO UPDATE SET body = excluded.body",
    )
    .bind(agent.as_str())?
    .bind(key.as_bytes().as_slice())?
    .bind(body)?;
    execute(db, statement).await?;
    Ok(())
}
