//! API keys: a JSON record, and the columns that are looked up or change on their own.

use std::net::IpAddr;

use async_trait::async_trait;
use openapi_core::access::{ApiKey, KeyLookup, KeySelector, StoredKey};
use openapi_core::storage::{Effects, KeyStore, StorageError, StorageErrorKind};
use openapi_core::values::{AgentId, KeyId, Timestamp};
use rusqlite::{Connection, OptionalExtension, ToSql, params};

use crate::contacts::Columns;
use crate::error::{Result, corrupt};
use crate::store::SqliteStorage;
use crate::{effects, tenant};

/// Reads `body, last_used_at, last_used_address`.
pub(crate) fn read(columns: &mut Columns<'_>) -> Result<StoredKey> {
    let mut stored: StoredKey = serde_json::from_str(columns.str()?).map_err(corrupt)?;
    stored.key.last_used_at = columns.optional_time()?;
    stored.key.last_used_address =
        columns.optional_str()?.map(|address| address.parse().map_err(corrupt)).transpose()?;
    Ok(stored)
}

fn text(key: &StoredKey) -> Result<String> {
    serde_json::to_string(key).map_err(corrupt)
}

fn address_text(address: Option<IpAddr>) -> Option<String> {
    address.map(|address| address.to_string())
}

#[async_trait]
impl KeyStore for SqliteStorage {
    async fn look_up_key(&self, api_key: &ApiKey) -> Result<Option<KeyLookup>, StorageError> {
        self.readers.read_blocking(|db| {
            let mut statement = db.prepare_cached(
                "SELECT a.status, k.body, k.last_used_at, k.last_used_address \
                 FROM api_key k CROSS JOIN agent a ON a.n = k.agent WHERE k.api_key = ?1",
            )?;
            let mut rows = statement.query([api_key.as_str()])?;
            let Some(row) = rows.next()? else { return Ok(None) };
            let mut columns = Columns::of(row);
            let agent_status = tenant::status(columns.integer()?)?;
            Ok(Some(KeyLookup { stored: read(&mut columns)?, agent_status }))
        })
    }

    async fn find_key(&self, selector: &KeySelector) -> Result<Option<StoredKey>, StorageError> {
        self.readers.read_blocking(|db| {
            let find = |condition: &str, value: &dyn ToSql| {
                let mut statement = db.prepare_cached(&format!(
                    "SELECT k.body, k.last_used_at, k.last_used_address \
                     FROM api_key k CROSS JOIN agent a ON a.n = k.agent WHERE k.{condition} = ?1 AND a.status <> 2"
                ))?;
                let mut rows = statement.query([value])?;
                rows.next()?.map(|row| read(&mut Columns::of(row))).transpose()
            };
            match selector {
                KeySelector::Id(id) => find("id", &id.as_bytes()),
                KeySelector::ApiKey(api_key) => find("api_key", &api_key.as_str()),
            }
        })
    }

    async fn keys(&self, agent: &AgentId) -> Result<Vec<StoredKey>, StorageError> {
        let agent = agent.clone();
        self.readers
            .read(move |db, _| {
                let mut statement = db.prepare_cached(
                    "SELECT k.body, k.last_used_at, k.last_used_address \
                     FROM agent a CROSS JOIN api_key k ON k.agent = a.n WHERE a.id = ?1 AND a.status <> 2 \
                     ORDER BY k.created_at, k.id",
                )?;
                let mut rows = statement.query([agent.as_str()])?;
                let mut keys = Vec::new();
                while let Some(row) = rows.next()? {
                    keys.push(read(&mut Columns::of(row))?);
                }
                Ok(keys)
            })
            .await
    }

    async fn insert_key(
        &self,
        agent: &AgentId,
        key: &StoredKey,
        effects: &Effects,
    ) -> Result<(), StorageError> {
        let (agent, key, effects) = (agent.clone(), key.clone(), effects.clone());
        self.writer.write(move |db| insert(db, &agent, &key, &effects)).await
    }

    async fn update_key(
        &self,
        agent: &AgentId,
        expected_version: u64,
        key: &StoredKey,
        effects: &Effects,
    ) -> Result<(), StorageError> {
        let (agent, key, effects) = (agent.clone(), key.clone(), effects.clone());
        self.writer.write(move |db| update(db, &agent, expected_version, &key, &effects)).await
    }

    async fn record_key_use(
        &self,
        agent: &AgentId,
        key: KeyId,
        at: Timestamp,
        address: Option<IpAddr>,
    ) -> Result<(), StorageError> {
        let agent = agent.clone();
        self.writer
            .write(move |db| {
                let Some(living) = tenant::living(db, &agent)? else { return Ok(()) };
                db.prepare_cached(
                    "UPDATE api_key SET last_used_at = ?3, last_used_address = ?4 \
                     WHERE id = ?2 AND agent = ?1 AND (last_used_at IS NULL OR last_used_at <= ?3)",
                )?
                .execute(params![
                    living.number,
                    key.as_bytes(),
                    at.millis(),
                    address_text(address)
                ])?;
                Ok(())
            })
            .await
    }
}

fn insert(db: &Connection, agent: &AgentId, stored: &StoredKey, effects: &Effects) -> Result<()> {
    let agent = tenant::living(db, agent)?.ok_or(StorageErrorKind::Missing)?;
    let key = &stored.key;
    let taken = db
        .prepare_cached(
            "SELECT 1 FROM api_key WHERE id = ?1 UNION ALL SELECT 1 FROM api_key WHERE api_key = ?2",
        )?
        .exists(params![key.id.as_bytes(), key.api_key.as_str()])?;
    if taken {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    put_new(db, agent.number, stored)?;
    effects::apply(db, agent.number, effects)
}

/// Stores a new key.
pub(crate) fn put_new(db: &Connection, agent: i64, stored: &StoredKey) -> Result<()> {
    let key = &stored.key;
    db.prepare_cached(
        "INSERT INTO api_key (agent, created_at, id, api_key, version, last_used_at, last_used_address, body) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        agent,
        key.created_at.millis(),
        key.id.as_bytes(),
        key.api_key.as_str(),
        i64::try_from(stored.version).map_err(corrupt)?,
        key.last_used_at.map(Timestamp::millis),
        address_text(key.last_used_address),
        text(stored)?
    ])?;
    Ok(())
}

fn update(
    db: &Connection,
    agent: &AgentId,
    expected_version: u64,
    stored: &StoredKey,
    effects: &Effects,
) -> Result<()> {
    let agent = tenant::living(db, agent)?.ok_or(StorageErrorKind::Missing)?;
    let key = &stored.key;
    let version: i64 = db
        .prepare_cached("SELECT version FROM api_key WHERE id = ?1 AND agent = ?2")?
        .query_row(params![key.id.as_bytes(), agent.number], |row| row.get(0))
        .optional()?
        .ok_or(StorageErrorKind::Missing)?;
    if u64::try_from(version).map_err(corrupt)? != expected_version {
        return Err(StorageErrorKind::Stale.into());
    }
    db.prepare_cached(
        "UPDATE api_key SET created_at = ?2, api_key = ?3, version = ?4, body = ?5 WHERE id = ?1",
    )?
    .execute(params![
        key.id.as_bytes(),
        key.created_at.millis(),
        key.api_key.as_str(),
        i64::try_from(stored.version).map_err(corrupt)?,
        text(stored)?
    ])?;
    effects::apply(db, agent.number, effects)
}
