//! Rate limit windows, which servers share, as JSON.

use async_trait::async_trait;
use openapi_core::storage::{RateLimitStore, RateLimitWindow, StorageError, StorageErrorKind};
use openapi_core::values::{AgentId, KeyId};
use sqlx::PgConnection;
use storage_common::{in_transaction, records};

use crate::connect::{execute, fetch_one};
use crate::error::{Result, corrupt};
use crate::rows::{RowReader, Statement, json_text, signed};
use crate::store::PostgresStorage;

/// Stores the window of a key; false when it has one.
pub(crate) async fn insert(
    db: &mut PgConnection,
    agent: &AgentId,
    key: KeyId,
    window: &RateLimitWindow,
) -> Result<bool> {
    let statement = Statement::new(
        "INSERT INTO rate_window (agent, key, version, shares) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
    )
    .bind(agent.as_str())?
    .bind(key.as_bytes().as_slice())?
    .bind(signed(window.version)?)?
    .bind(json_text(&window.shares)?)?;
    Ok(execute(db, statement).await? == 1)
}

#[async_trait]
impl RateLimitStore for PostgresStorage {
    async fn rate_limit_window(
        &self,
        agent: &AgentId,
        key: KeyId,
    ) -> Result<Option<RateLimitWindow>, StorageError> {
        let statement = Statement::new(
            "SELECT w.version, w.shares FROM agent a JOIN rate_window w ON w.agent = a.id \
             WHERE a.id = $1 AND a.status <> 2 AND w.key = $2",
        )
        .bind(agent.as_str())?
        .bind(key.as_bytes().as_slice())?;
        self.db.read_one(statement, |r| records::rate_limit_window(r)).await
    }

    async fn save_rate_limit_window(
        &self,
        agent: &AgentId,
        key: KeyId,
        window: &RateLimitWindow,
    ) -> Result<(), StorageError> {
        let (version, shares) = (signed(window.version)?, json_text(&window.shares)?);
        in_transaction!(self.db.write(), save(agent, *key, *version, shares))
    }
}

/// One statement, without the tenant's lock: no other write changes the row.
async fn save(db: &mut PgConnection, agent: &AgentId, key: KeyId, version: i64, shares: &str) -> Result<()> {
    let sql = if version == 1 {
        "WITH living AS (SELECT id FROM agent WHERE id = $1 AND status <> 2), saved AS (\
         INSERT INTO rate_window (agent, key, version, shares) SELECT id, $2, $3, $4 FROM living \
         ON CONFLICT (agent, key) DO NOTHING RETURNING agent) \
         SELECT EXISTS (SELECT FROM living), EXISTS (SELECT FROM saved)"
    } else {
        "WITH living AS (SELECT id FROM agent WHERE id = $1 AND status <> 2), saved AS (\
         UPDATE rate_window w SET version = $3, shares = $4 FROM living a \
         WHERE w.agent = a.id AND w.key = $2 AND w.version = $3 - 1 RETURNING w.agent) \
         SELECT EXISTS (SELECT FROM living), EXISTS (SELECT FROM saved)"
    };
    let statement = Statement::new(sql)
        .bind(agent.as_str())?
        .bind(key.as_bytes().as_slice())?
        .bind(version)?
        .bind(shares)?;
    let row = fetch_one(db, statement).await?.ok_or_else(|| corrupt("a statement without a row"))?;
    let mut columns = RowReader::new(&row);
    let (is_active, is_saved) = (columns.bool()?, columns.bool()?);
    if is_active && !is_saved { Err(StorageErrorKind::Stale.into()) } else { Ok(()) }
}
