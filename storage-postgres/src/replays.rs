//! Stored responses of idempotent requests.

use async_trait::async_trait;
use openapi_core::storage::{IdempotencyKey, IdempotencyRecord, IdempotencyStore, StorageError};
use openapi_core::values::{AgentId, ContactId, Timestamp};
use sqlx::PgConnection;
use storage_common::{in_transaction, records, replay_columns};

use crate::connect::{execute, fetch_one};
use crate::error::{Result, corrupt};
use crate::rows::Statement;
use crate::store::PostgresStorage;

/// Whether a response is stored that has not expired by `now`.
pub(crate) async fn is_stored(
    db: &mut PgConnection,
    agent: &AgentId,
    key: &IdempotencyKey,
    now: Timestamp,
) -> Result<bool> {
    let statement = Statement::new("SELECT 1 FROM replay WHERE agent = $1 AND key = $2 AND expires_at > $3")
        .bind(agent.as_str())?
        .bind(key.0.as_slice())?
        .bind(now.millis())?;
    Ok(fetch_one(db, statement).await?.is_some())
}

/// Stores responses and replaces expired ones. No two have the same key.
pub(crate) async fn insert_all<'r>(
    db: &mut PgConnection,
    replays: impl IntoIterator<Item = (&'r AgentId, &'r IdempotencyRecord)>,
) -> Result<()> {
    let replays: Vec<(&AgentId, &IdempotencyRecord)> = replays.into_iter().collect();
    if replays.is_empty() {
        return Ok(());
    }
    let statuses = replays.iter().map(|(_, replay)| i16::try_from(replay.status).map_err(corrupt));
    let statement = Statement::new(
        "INSERT INTO replay (agent, key, fingerprint, status, resource, expires_at, location, body) \
         SELECT * FROM unnest($1::text[], $2::bytea[], $3::bytea[], $4::smallint[], $5::bytea[], $6::bigint[], \
         $7::text[], $8::text[]) ON CONFLICT (agent, key) DO UPDATE SET fingerprint = excluded.fingerprint, \
         status = excluded.status, resource = excluded.resource, expires_at = excluded.expires_at, \
         location = excluded.location, body = excluded.body",
    )
    .bind(replays.iter().map(|(agent, _)| agent.as_str()).collect::<Vec<_>>())?
    .bind(replays.iter().map(|(_, replay)| replay.key.0.as_slice()).collect::<Vec<_>>())?
    .bind(replays.iter().map(|(_, replay)| replay.fingerprint.as_slice()).collect::<Vec<_>>())?
    .bind(statuses.collect::<Result<Vec<_>>>()?)?
    .bind(
        replays
            .iter()
            .map(|(_, replay)| replay.resource.as_ref().map(|contact| contact.as_bytes().as_slice()))
            .collect::<Vec<_>>(),
    )?
    .bind(replays.iter().map(|(_, replay)| replay.expires_at.millis()).collect::<Vec<_>>())?
    .bind(replays.iter().map(|(_, replay)| replay.location.as_deref()).collect::<Vec<_>>())?
    .bind(replays.iter().map(|(_, replay)| &*replay.body).collect::<Vec<&str>>())?;
    execute(db, statement).await?;
    Ok(())
}

/// Removes the responses that contain a contact.
pub(crate) async fn remove_of(db: &mut PgConnection, agent: &AgentId, contact: ContactId) -> Result<()> {
    let statement = Statement::new("DELETE FROM replay WHERE agent = $1 AND resource = $2")
        .bind(agent.as_str())?
        .bind(contact.as_bytes().as_slice())?;
    execute(db, statement).await?;
    Ok(())
}

#[async_trait]
impl IdempotencyStore for PostgresStorage {
    async fn replay(
        &self,
        agent: &AgentId,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Result<Option<IdempotencyRecord>, StorageError> {
        let statement = Statement::new(concat!(
            "SELECT ",
            replay_columns!(),
            " FROM agent a JOIN replay r ON r.agent = a.id",
            " WHERE a.id = $1 AND a.status <> 2 AND r.key = $2 AND r.expires_at > $3",
        ))
        .bind(agent.as_str())?
        .bind(key.0.as_slice())?
        .bind(now.millis())?;
        self.db.read_one(statement, |r| records::replay(*key, r)).await
    }

    async fn sweep_idempotency_records(&self, now: Timestamp, at_most: u32) -> Result<u64, StorageError> {
        // The sweep runs often and mostly finds nothing; then it needs no transaction.
        let any = Statement::new("SELECT 1 FROM replay WHERE expires_at <= $1 LIMIT 1").bind(now.millis())?;
        if self.db.read(any).await?.is_empty() {
            return Ok(0);
        }
        in_transaction!(self.db.write(), sweep(*now, *at_most))
    }
}

/// Skips rows that a write or the sweep of another server has locked.
async fn sweep(db: &mut PgConnection, now: Timestamp, at_most: u32) -> Result<u64> {
    let statement = Statement::new(
        "WITH expired AS (SELECT agent, key FROM replay WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 \
         FOR UPDATE SKIP LOCKED) \
         DELETE FROM replay r USING expired e WHERE r.agent = e.agent AND r.key = e.key",
    )
    .bind(now.millis())?
    .bind(i64::from(at_most))?;
    execute(db, statement).await
}
