//! API keys: the record as JSON, and columns that are looked up or change on their own.

use std::net::IpAddr;

use async_trait::async_trait;
use openapi_core::access::{ApiKey, KeyLookup, KeySelector, StoredKey};
use openapi_core::storage::{Effects, KeyStore, ServerKeyUses, StorageError, StorageErrorKind};
use openapi_core::values::{AgentId, KeyId, Timestamp};
use sqlx::PgConnection;
use storage_common::{in_transaction, key_columns, records};

use crate::connect::{execute, fetch_one};
use crate::error::Result;
use crate::rows::{RowReader, Statement, json_text, signed};
use crate::store::PostgresStorage;
use crate::{effects, tenant};

fn address_text(address: Option<IpAddr>) -> Option<String> {
    address.map(|address| address.to_string())
}

#[async_trait]
impl KeyStore for PostgresStorage {
    async fn look_up_key(&self, api_key: &ApiKey) -> Result<Option<KeyLookup>, StorageError> {
        let statement = Statement::new(concat!(
            "SELECT a.status, ",
            key_columns!(),
            " FROM api_key k JOIN agent a ON a.id = k.agent WHERE k.api_key = $1"
        ))
        .bind(api_key.as_str())?;
        let grant = |r: &mut RowReader<'_>| {
            let agent_status = r.code()?;
            Ok(KeyLookup { stored: records::key(r)?, agent_status })
        };
        self.db.read_one(statement, grant).await
    }

    async fn find_key(&self, selector: &KeySelector) -> Result<Option<StoredKey>, StorageError> {
        let find = |column: &str| {
            Statement::new(format!(
                "SELECT {} FROM api_key k JOIN agent a ON a.id = k.agent WHERE k.{column} = $1 AND a.status <> 2",
                key_columns!()
            ))
        };
        let statement = match selector {
            KeySelector::Id(id) => find("id").bind(id.as_bytes().as_slice())?,
            KeySelector::ApiKey(api_key) => find("api_key").bind(api_key.as_str())?,
        };
        self.db.read_one(statement, |r| records::key(r)).await
    }

    async fn keys(&self, agent: &AgentId) -> Result<Vec<StoredKey>, StorageError> {
        let statement = Statement::new(concat!(
            "SELECT ",
            key_columns!(),
            " FROM agent a JOIN api_key k ON k.agent = a.id",
            " WHERE a.id = $1 AND a.status <> 2 ORDER BY k.created_at, k.id"
        ))
        .bind(agent.as_str())?;
        self.db.read_all(statement, |r| records::key(r)).await
    }

    async fn insert_key(
        &self,
        agent: &AgentId,
        key: &StoredKey,
        effects: &Effects,
    ) -> Result<(), StorageError> {
        in_transaction!(self.db.write(), create(agent, key, effects))
    }

    async fn update_key(
        &self,
        agent: &AgentId,
        expected_version: u64,
        key: &StoredKey,
        effects: &Effects,
    ) -> Result<(), StorageError> {
        in_transaction!(self.db.write(), update(agent, *expected_version, key, effects))
    }

    async fn server_key_uses(&self) -> Result<ServerKeyUses, StorageError> {
        let mut uses = ServerKeyUses::default();
        let files = Statement::unprepared("SELECT server_key, count(*) FROM file GROUP BY server_key");
        for (key, count) in self.db.read_all(files, |r| Ok((r.optional_string()?, r.count()?))).await? {
            match key {
                Some(key) => drop(uses.files.insert(key, count)),
                None => uses.unsealed_files = count,
            }
        }
        let entries = Statement::unprepared(
            "SELECT server_key, count(*) FROM audit WHERE server_key IS NOT NULL GROUP BY server_key",
        );
        let entries = self.db.read_all(entries, |r| Ok((r.str()?.to_owned(), r.count()?))).await?;
        uses.audit_entries.extend(entries);
        Ok(uses)
    }

    async fn record_key_use(
        &self,
        agent: &AgentId,
        key: KeyId,
        at: Timestamp,
        address: Option<IpAddr>,
    ) -> Result<(), StorageError> {
        in_transaction!(self.db.write(), record_use(agent, *key, *at, *address))
    }
}

/// Stores a key; false when one of its names is taken.
pub(crate) async fn insert(db: &mut PgConnection, agent: &AgentId, stored: &StoredKey) -> Result<bool> {
    let key = &stored.key;
    // Both names are unique over all tenants, so this may wait for a write of another one.
    let statement = Statement::new(
        "INSERT INTO api_key (agent, id, created_at, api_key, version, last_used_at, last_used_address, body) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING",
    )
    .bind(agent.as_str())?
    .bind(key.id.as_bytes().as_slice())?
    .bind(key.created_at.millis())?
    .bind(key.api_key.as_str())?
    .bind(signed(stored.version)?)?
    .bind(key.last_used_at.map(Timestamp::millis))?
    .bind(address_text(key.last_used_address))?
    .bind(json_text(stored)?)?;
    Ok(execute(db, statement).await? == 1)
}

async fn create(db: &mut PgConnection, agent: &AgentId, stored: &StoredKey, effects: &Effects) -> Result<()> {
    let tenant = tenant::lock(db, agent).await?;
    if !insert(db, agent, stored).await? {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    effects::apply(db, agent, effects, tenant.head).await
}

async fn update(
    db: &mut PgConnection,
    agent: &AgentId,
    expected_version: u64,
    stored: &StoredKey,
    effects: &Effects,
) -> Result<()> {
    let tenant = tenant::lock(db, agent).await?;
    let key = &stored.key;
    let version = Statement::new("SELECT version FROM api_key WHERE agent = $1 AND id = $2")
        .bind(agent.as_str())?
        .bind(key.id.as_bytes().as_slice())?;
    let row = fetch_one(db, version).await?.ok_or(StorageErrorKind::Missing)?;
    if RowReader::new(&row).count()? != expected_version {
        return Err(StorageErrorKind::Stale.into());
    }
    let statement = Statement::new(
        "UPDATE api_key SET created_at = $3, api_key = $4, version = $5, body = $6 WHERE agent = $1 AND id = $2",
    )
    .bind(agent.as_str())?
    .bind(key.id.as_bytes().as_slice())?
    .bind(key.created_at.millis())?
    .bind(key.api_key.as_str())?
    .bind(signed(stored.version)?)?
    .bind(json_text(stored)?)?;
    execute(db, statement).await?;
    effects::apply(db, agent, effects, tenant.head).await
}

/// One statement, without the tenant's lock: no other write changes these columns, and the time never goes back.
async fn record_use(
    db: &mut PgConnection,
    agent: &AgentId,
    key: KeyId,
    at: Timestamp,
    address: Option<IpAddr>,
) -> Result<()> {
    let statement = Statement::new(
        "UPDATE api_key k SET last_used_at = $3, last_used_address = $4 FROM agent a \
         WHERE a.id = $1 AND a.status <> 2 AND k.agent = a.id AND k.id = $2 \
         AND (k.last_used_at IS NULL OR k.last_used_at <= $3)",
    )
    .bind(agent.as_str())?
    .bind(key.as_bytes().as_slice())?
    .bind(at.millis())?
    .bind(address_text(address))?;
    execute(db, statement).await?;
    Ok(())
}
