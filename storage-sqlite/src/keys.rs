//! API keys: a JSON record, and the columns that are looked up or change on their own.

use std::net::IpAddr;

use async_trait::async_trait;
use openapi_core::access::{ApiKey, KeyLookup, KeySelector, StoredKey};
use openapi_core::storage::{Effects, KeyStore, ServerKeyUses, StorageError, StorageErrorKind};
use openapi_core::values::{AgentId, KeyId, Timestamp};
use rusqlite::{Connection, ToSql, params};
use storage_common::{key_columns, records};

use crate::error::Result;
use crate::readers::snapshot;
use crate::rows::{self, json_text, signed};
use crate::store::SqliteStorage;
use crate::{effects, tenant};

fn server_key_uses(db: &Connection) -> Result<ServerKeyUses> {
    let mut uses = ServerKeyUses::default();
    rows::each(db, "SELECT server_key, count(*) FROM file GROUP BY server_key", [], |r| {
        match (r.optional_string()?, r.count()?) {
            (Some(key), count) => drop(uses.files.insert(key, count)),
            (None, count) => uses.unsealed_files = count,
        }
        Ok(())
    })?;
    let sql = "SELECT server_key, count(*) FROM audit WHERE server_key IS NOT NULL GROUP BY server_key";
    rows::each(db, sql, [], |r| {
        uses.audit_entries.insert(r.str()?.to_owned(), r.count()?);
        Ok(())
    })?;
    Ok(uses)
}

fn address_text(address: Option<IpAddr>) -> Option<String> {
    address.map(|address| address.to_string())
}

#[async_trait]
impl KeyStore for SqliteStorage {
    async fn look_up_key(&self, api_key: &ApiKey) -> Result<Option<KeyLookup>, StorageError> {
        let sql = concat!(
            "SELECT a.status, ",
            key_columns!(),
            " FROM api_key k CROSS JOIN agent a ON a.n = k.agent WHERE k.api_key = ?1"
        );
        self.readers.read_blocking(|db| {
            rows::first(db, sql, [api_key.as_str()], |r| {
                let agent_status = r.code()?;
                Ok(KeyLookup { stored: records::key(r)?, agent_status })
            })
        })
    }

    async fn find_key(&self, selector: &KeySelector) -> Result<Option<StoredKey>, StorageError> {
        self.readers.read_blocking(|db| {
            let find = |condition: &str, value: &dyn ToSql| {
                let sql = format!(
                    "SELECT {} FROM api_key k CROSS JOIN agent a ON a.n = k.agent \
                     WHERE k.{condition} = ?1 AND a.status <> 2",
                    key_columns!()
                );
                rows::first(db, &sql, [value], |r| records::key(r))
            };
            match selector {
                KeySelector::Id(id) => find("id", &id.as_bytes()),
                KeySelector::ApiKey(api_key) => find("api_key", &api_key.as_str()),
            }
        })
    }

    async fn keys(&self, agent: &AgentId) -> Result<Vec<StoredKey>, StorageError> {
        let agent = agent.clone();
        let sql = concat!(
            "SELECT ",
            key_columns!(),
            " FROM agent a CROSS JOIN api_key k ON k.agent = a.n WHERE a.id = ?1 AND a.status <> 2",
            " ORDER BY k.created_at, k.id"
        );
        self.readers.read(move |db, _| rows::all(db, sql, [agent.as_str()], |r| records::key(r))).await
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

    async fn server_key_uses(&self) -> Result<ServerKeyUses, StorageError> {
        self.readers.read(|db, _| snapshot(db, server_key_uses)).await
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
    let sql = "SELECT 1 FROM api_key WHERE id = ?1 UNION ALL SELECT 1 FROM api_key WHERE api_key = ?2";
    if rows::exists(db, sql, params![key.id.as_bytes(), key.api_key.as_str()])? {
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
        signed(stored.version)?,
        key.last_used_at.map(Timestamp::millis),
        address_text(key.last_used_address),
        json_text(stored)?
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
    let sql = "SELECT version FROM api_key WHERE id = ?1 AND agent = ?2";
    let version = rows::number(db, sql, params![key.id.as_bytes(), agent.number])?;
    if version.ok_or(StorageErrorKind::Missing)? != expected_version {
        return Err(StorageErrorKind::Stale.into());
    }
    db.prepare_cached(
        "UPDATE api_key SET created_at = ?2, api_key = ?3, version = ?4, body = ?5 WHERE id = ?1",
    )?
    .execute(params![
        key.id.as_bytes(),
        key.created_at.millis(),
        key.api_key.as_str(),
        signed(stored.version)?,
        json_text(stored)?
    ])?;
    effects::apply(db, agent.number, effects)
}
