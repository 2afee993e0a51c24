//! Stored answers of idempotent requests.

use async_trait::async_trait;
use openapi_core::storage::{IdempotencyKey, IdempotencyRecord, IdempotencyStore, StorageError};
use openapi_core::values::{AgentId, ContactId, Timestamp};
use sqlx::PgConnection;

use crate::PostgresStorage;
use crate::connect::{execute, fetch_one};
use crate::error::{Result, corrupt};
use crate::rows::{Columns, Statement};

/// The columns in the order in which [`read`] reads them.
macro_rules! columns {
    () => {
        "r.fingerprint, r.status, r.location, r.body, r.resource, r.expires_at"
    };
}
pub(crate) use columns;

pub(crate) fn read(key: IdempotencyKey, columns: &mut Columns<'_>) -> Result<IdempotencyRecord> {
    Ok(IdempotencyRecord {
        key,
        fingerprint: columns.bytes()?,
        status: u16::try_from(columns.small()?).map_err(corrupt)?,
        location: columns.optional_str()?.map(str::to_owned),
        body: columns.str()?.into(),
        resource: columns.optional_bytes()?.map(ContactId::from_bytes),
        expires_at: columns.time()?,
    })
}

/// Whether an answer is stored that did not expire by `now`.
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

/// Stores answers in place of expired ones. No two have one key.
pub(crate) async fn put_all<'r>(
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

/// Removes the answers that show a contact.
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
            columns!(),
            " FROM agent a JOIN replay r ON r.agent = a.id",
            " WHERE a.id = $1 AND a.status <> 2 AND r.key = $2 AND r.expires_at > $3",
        ))
        .bind(agent.as_str())?
        .bind(key.0.as_slice())?
        .bind(now.millis())?;
        let row = self.db.read_one(statement).await?;
        Ok(row.map(|row| read(*key, &mut Columns::of(&row))).transpose()?)
    }

    async fn sweep_idempotency_records(&self, now: Timestamp, at_most: u32) -> Result<u64, StorageError> {
        // The sweep runs often and mostly finds nothing: then no transaction is needed.
        let any = Statement::new("SELECT 1 FROM replay WHERE expires_at <= $1 LIMIT 1").bind(now.millis())?;
        if self.db.read_one(any).await?.is_none() {
            return Ok(0);
        }
        self.db.write((now, at_most), |db, (now, at_most)| Box::pin(sweep(db, *now, *at_most))).await
    }
}

/// Rows that a write holds, or another server sweeps, are left for the next time.
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
