//! API keys: the record as JSON, and fields that are looked up or change on their own.

use std::net::IpAddr;

use async_trait::async_trait;
use mongodb::bson::{Document, RawDocument, doc};
use openapi_core::access::{ApiKey, KeyLookup, KeySelector, StoredKey};
use openapi_core::storage::{Effects, KeyStore, ServerKeyUses, StorageError, StorageErrorKind};
use openapi_core::values::{AgentId, KeyId, Timestamp};
use storage_common::{in_transaction, records};

use crate::connect::Handle;
use crate::document::{FieldReader, Fields, binary, integer, json, put, time};
use crate::error::Result;
use crate::migrate::{collection, index};
use crate::store::MongoStorage;
use crate::transaction::{DocumentReader, Find, Transaction, Update};
use crate::{effects, tenant};

pub(crate) fn read(document: &RawDocument) -> Result<StoredKey> {
    records::key(&mut Fields(document))
}

/// The fields that a change of the record replaces: all but the last use.
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
    doc! { "_id": binary(key.as_bytes()) }
}

/// The keys of a tenant by creation time.
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
            let mut reads = DocumentReader::new(&self.handle);
            let filter = doc! { "apiKey": api_key.as_str() };
            let Some(found) = reads.one(collection::API_KEYS, filter, None).await? else { return Ok(None) };
            let agent: AgentId = Fields(&found).text("agent")?;
            let filter = doc! { "_id": tenant::state_key(&agent) };
            let state = reads.one(collection::CONTACTS, filter, Some(doc! { "status": 1 })).await?;
            let Some(state) = state else { return Ok(None) };
            let agent_status = Fields(&state).code("status")?;
            Ok(Some(KeyLookup { stored: read(&found)?, agent_status }))
        };
        Ok(self.handle.read(read).await?)
    }

    async fn find_key(&self, selector: &KeySelector) -> Result<Option<StoredKey>, StorageError> {
        let read = async {
            let mut reads = DocumentReader::new(&self.handle);
            let filter = match selector {
                KeySelector::Id(id) => key_id(id),
                KeySelector::ApiKey(api_key) => doc! { "apiKey": api_key.as_str() },
            };
            let Some(found) = reads.one(collection::API_KEYS, filter, None).await? else { return Ok(None) };
            let agent: AgentId = Fields(&found).text("agent")?;
            let living = tenant::find(&mut reads, &agent).await?;
            living.map(|_| read(&found)).transpose()
        };
        Ok(self.handle.read(read).await?)
    }

    async fn keys(&self, agent: &AgentId) -> Result<Vec<StoredKey>, StorageError> {
        let list = async {
            let mut reads = DocumentReader::new(&self.handle);
            if tenant::find(&mut reads, agent).await?.is_none() {
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
        effects: &Effects,
    ) -> Result<(), StorageError> {
        in_transaction!(self.writer.write(agent), create(agent, key, effects))
    }

    async fn update_key(
        &self,
        agent: &AgentId,
        expected_version: u64,
        key: &StoredKey,
        effects: &Effects,
    ) -> Result<(), StorageError> {
        in_transaction!(self.writer.write(agent), update(agent, *expected_version, key, effects))
    }

    async fn server_key_uses(&self) -> Result<ServerKeyUses, StorageError> {
        Ok(self.handle.list(server_key_uses(&self.handle)).await?)
    }

    async fn record_key_use(
        &self,
        agent: &AgentId,
        key: KeyId,
        at: Timestamp,
        address: Option<IpAddr>,
    ) -> Result<(), StorageError> {
        // One document changes, outside the tenant's queue: servers record uses often.
        let record = async {
            if tenant::find(&mut DocumentReader::new(&self.handle), agent).await?.is_none() {
                return Ok(());
            }
            let filter = doc! {
                "_id": binary(key.as_bytes()),
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

async fn create(tx: &mut Transaction, agent: &AgentId, stored: &StoredKey, effects: &Effects) -> Result<()> {
    let state = tenant::lock(tx, agent).await?.ok_or(StorageErrorKind::Missing)?;
    insert(tx, agent, stored).await?;
    effects::apply(tx, agent, effects, state.ends).await
}

async fn server_key_uses(handle: &Handle) -> Result<ServerKeyUses> {
    let mut reads = DocumentReader::new(handle);
    let mut uses = ServerKeyUses::default();
    let group = || vec![doc! { "$group": { "_id": "$serverKey", "n": { "$sum": 1_i64 } } }];
    for found in &reads.aggregate(collection::FILES, group(), None).await? {
        let mut fields = Fields(found);
        match (fields.optional_string("_id")?, fields.count("n")?) {
            (Some(key), count) => drop(uses.files.insert(key, count)),
            (None, count) => uses.unsealed_files = count,
        }
    }
    for found in &reads.aggregate(collection::AUDIT, group(), None).await? {
        let mut fields = Fields(found);
        if let Some(key) = fields.optional_string("_id")? {
            uses.audit_entries.insert(key, fields.count("n")?);
        }
    }
    Ok(uses)
}

/// Stores a key, unless one of its names is taken.
pub(crate) async fn insert(tx: &mut Transaction, agent: &AgentId, stored: &StoredKey) -> Result<()> {
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
    effects: &Effects,
) -> Result<()> {
    let state = tenant::lock(tx, agent).await?.ok_or(StorageErrorKind::Missing)?;
    let filter = doc! { "_id": binary(stored.key.id.as_bytes()), "agent": agent.as_str() };
    let found = tx.reads().one(collection::API_KEYS, filter, Some(doc! { "version": 1 })).await?;
    let found = found.ok_or(StorageErrorKind::Missing)?;
    if Fields(&found).count("version")? != expected_version {
        return Err(StorageErrorKind::Stale.into());
    }
    let change = doc! { "$set": fields(agent, stored)? };
    tx.update(collection::API_KEYS, &[Update::one(key_id(&stored.key.id), change)]).await?;
    effects::apply(tx, agent, effects, state.ends).await
}
