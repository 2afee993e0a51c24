//! API keys. The record is kept as JSON; beside it stand the fields that are looked up or change on their own.

use std::net::IpAddr;

use async_trait::async_trait;
use mongodb::bson::{Document, RawDocument, doc};
use openapi_core::access::{ApiKey, KeyLookup, KeySelector, StoredKey};
use openapi_core::audit::AuditEntry;
use openapi_core::storage::{KeyStore, StorageError, StorageErrorKind};
use openapi_core::values::{AgentId, KeyId, Timestamp};

use crate::document::{Fields, Value, bytes, integer, json, put, time};
use crate::error::{Result, corrupt};
use crate::migrate::{collection, index};
use crate::transaction::{Find, Reads, Transaction, Update};
use crate::{MongoStorage, audit, ledger};

pub(crate) fn read(document: &RawDocument) -> Result<StoredKey> {
    let fields = Fields(document);
    let mut stored: StoredKey = fields.json("body")?;
    stored.key.last_used_at = fields.optional_time("lastUsedAt")?;
    let address = fields.optional("lastUsedAddress")?.map(Value::str).transpose()?;
    stored.key.last_used_address = address.map(|address| address.parse().map_err(corrupt)).transpose()?;
    Ok(stored)
}

/// What a change of the record replaces: all but the last use.
fn fields(agent: &AgentId, stored: &StoredKey) -> Result<Document> {
    Ok(doc! {
        "agent": agent.as_str(),
        "apiKey": stored.key.api_key.as_str(),
        "createdAt": time(stored.key.created_at),
        "version": integer(stored.version)?,
        "body": json(stored)?,
    })
}

fn key_id(key: &KeyId) -> Document {
    doc! { "_id": bytes(key.as_bytes()) }
}

/// The keys of an agent by age.
pub(crate) fn of_agent(agent: &AgentId) -> Find {
    Find {
        filter: doc! { "agent": agent.as_str() },
        sort: Some(doc! { "createdAt": 1, "_id": 1 }),
        hint: Some(index::KEYS_BY_AGENT),
        ..Find::default()
    }
}

#[async_trait]
impl KeyStore for MongoStorage {
    async fn look_up_key(&self, api_key: &ApiKey) -> Result<Option<KeyLookup>, StorageError> {
        let read = async {
            let mut reads = Reads::alone(&self.handle);
            let filter = doc! { "apiKey": api_key.as_str() };
            let Some(found) = reads.one(collection::API_KEYS, filter, None).await? else { return Ok(None) };
            let agent: AgentId = Fields(&found).text("agent")?;
            let filter = doc! { "_id": ledger::ledger_key(&agent) };
            let ledger = reads.one(collection::CONTACTS, filter, Some(doc! { "status": 1 })).await?;
            let Some(ledger) = ledger else { return Ok(None) };
            let agent_status = ledger::status(Fields(&ledger).integer("status")?)?;
            Ok(Some(KeyLookup { stored: read(&found)?, agent_status }))
        };
        Ok(self.handle.read(read).await?)
    }

    async fn find_key(&self, selector: &KeySelector) -> Result<Option<StoredKey>, StorageError> {
        let read = async {
            let mut reads = Reads::alone(&self.handle);
            let filter = match selector {
                KeySelector::Id(id) => key_id(id),
                KeySelector::ApiKey(api_key) => doc! { "apiKey": api_key.as_str() },
            };
            let Some(found) = reads.one(collection::API_KEYS, filter, None).await? else { return Ok(None) };
            let agent: AgentId = Fields(&found).text("agent")?;
            let living = ledger::living(&mut reads, &agent).await?;
            living.map(|_| read(&found)).transpose()
        };
        Ok(self.handle.read(read).await?)
    }

    async fn keys(&self, agent: &AgentId) -> Result<Vec<StoredKey>, StorageError> {
        let list = async {
            let mut reads = Reads::alone(&self.handle);
            if ledger::living(&mut reads, agent).await?.is_none() {
                return Ok(Vec::new());
            }
            let found = reads.find(collection::API_KEYS, of_agent(agent)).await?;
            found.iter().map(|key| read(key)).collect()
        };
        Ok(self.handle.list(list).await?)
    }

    async fn insert_key(
        &self,
        agent: &AgentId,
        key: &StoredKey,
        audit: &AuditEntry,
    ) -> Result<(), StorageError> {
        let input = (agent.clone(), key.clone(), audit.clone());
        self.writer
            .write(agent, input, |tx, (agent, key, audit)| Box::pin(insert(tx, agent, key, audit)))
            .await
    }

    async fn update_key(
        &self,
        agent: &AgentId,
        expected_version: u64,
        key: &StoredKey,
        audit: &AuditEntry,
    ) -> Result<(), StorageError> {
        let input = (agent.clone(), expected_version, key.clone(), audit.clone());
        self.writer
            .write(agent, input, |tx, (agent, expected, key, audit)| {
                Box::pin(update(tx, agent, *expected, key, audit))
            })
            .await
    }

    async fn record_key_use(
        &self,
        agent: &AgentId,
        key: KeyId,
        at: Timestamp,
        address: Option<IpAddr>,
    ) -> Result<(), StorageError> {
        // One document changes, and not in turn with the agent's other writes: servers note uses all the time.
        let record = async {
            if ledger::living(&mut Reads::alone(&self.handle), agent).await?.is_none() {
                return Ok(());
            }
            let filter = doc! {
                "_id": bytes(key.as_bytes()),
                "agent": agent.as_str(),
                "$or": [{ "lastUsedAt": null }, { "lastUsedAt": { "$lte": time(at) } }],
            };
            let address = address.map(|address| address.to_string());
            let change = doc! { "$set": { "lastUsedAt": time(at), "lastUsedAddress": address } };
            self.handle.collection(collection::API_KEYS).update_one(filter, change).await?;
            Ok(())
        };
        Ok(self.handle.read(record).await?)
    }
}

async fn insert(tx: &mut Transaction, agent: &AgentId, stored: &StoredKey, entry: &AuditEntry) -> Result<()> {
    ledger::take(tx, agent).await?.ok_or(StorageErrorKind::Missing)?;
    put_new(tx, agent, stored).await?;
    audit::append(tx, [entry]).await
}

/// Stores a key, unless one of its names is in use.
pub(crate) async fn put_new(tx: &mut Transaction, agent: &AgentId, stored: &StoredKey) -> Result<()> {
    let key = &stored.key;
    let taken = doc! { "$or": [key_id(&key.id), { "apiKey": key.api_key.as_str() }] };
    if tx.reads().one(collection::API_KEYS, taken, Some(doc! { "_id": 1 })).await?.is_some() {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    let mut document = key_id(&key.id);
    document.extend(fields(agent, stored)?);
    put(&mut document, "lastUsedAt", key.last_used_at.map(time));
    put(&mut document, "lastUsedAddress", key.last_used_address.map(|address| address.to_string()));
    tx.insert(collection::API_KEYS, &[document]).await
}

async fn update(
    tx: &mut Transaction,
    agent: &AgentId,
    expected_version: u64,
    stored: &StoredKey,
    entry: &AuditEntry,
) -> Result<()> {
    ledger::take(tx, agent).await?.ok_or(StorageErrorKind::Missing)?;
    let filter = doc! { "_id": bytes(stored.key.id.as_bytes()), "agent": agent.as_str() };
    let found = tx.reads().one(collection::API_KEYS, filter, Some(doc! { "version": 1 })).await?;
    let found = found.ok_or(StorageErrorKind::Missing)?;
    if Fields(&found).count("version")? != expected_version {
        return Err(StorageErrorKind::Stale.into());
    }
    let change = doc! { "$set": fields(agent, stored)? };
    tx.update(collection::API_KEYS, &[Update::one(key_id(&stored.key.id), change)]).await?;
    audit::append(tx, [entry]).await
}
