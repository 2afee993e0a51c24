//! Stored answers of idempotent requests.

use async_trait::async_trait;
use mongodb::bson::{Document, RawDocument, doc};
use openapi_core::storage::{IdempotencyKey, IdempotencyRecord, IdempotencyStore, StorageError};
use openapi_core::values::{AgentId, ContactId, Timestamp};

use crate::document::{Fields, bytes, key as key_of, keyed, put as put_field, time};
use crate::error::{Result, corrupt};
use crate::migrate::{collection, index};
use crate::transaction::{Find, Reads, Transaction, Update};
use crate::{MongoStorage, ledger};

/// Whether an answer is stored that did not expire by `now`.
pub(crate) async fn is_stored(
    tx: &mut Transaction,
    agent: &AgentId,
    key: &IdempotencyKey,
    now: Timestamp,
) -> Result<bool> {
    let filter = doc! { "_id": key_of(agent, &key.0), "expiresAt": { "$gt": time(now) } };
    Ok(tx.reads().one(collection::REPLAYS, filter, Some(doc! { "_id": 1 })).await?.is_some())
}

/// Of these keys, those under which an answer is stored, each with the time it expires.
pub(crate) async fn stored(
    reads: &mut Reads<'_>,
    agent: &AgentId,
    keys: &[IdempotencyKey],
) -> Result<Vec<(IdempotencyKey, Timestamp)>> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let keys: Vec<Document> = keys.iter().map(|key| key_of(agent, &key.0)).collect();
    let find = Find {
        filter: keyed(agent, keys),
        projection: Some(doc! { "expiresAt": 1 }),
        hint: Some(index::BY_KEY),
        ..Find::default()
    };
    let found = reads.find(collection::REPLAYS, find).await?;
    found
        .iter()
        .map(|replay| Ok((IdempotencyKey(Fields(replay).id()?), Fields(replay).time("expiresAt")?)))
        .collect()
}

/// Stores answers in place of expired ones.
pub(crate) async fn put<'r>(
    tx: &mut Transaction,
    agent: &AgentId,
    replays: impl IntoIterator<Item = &'r IdempotencyRecord>,
) -> Result<()> {
    let updates = replays.into_iter().map(|replay| {
        let mut document = doc! {
            "fingerprint": bytes(&replay.fingerprint),
            "status": i32::from(replay.status),
            "expiresAt": time(replay.expires_at),
            "body": &*replay.body,
        };
        put_field(&mut document, "location", replay.location.clone());
        put_field(&mut document, "resource", replay.resource.map(|id| bytes(id.as_bytes())));
        Update::upsert(doc! { "_id": key_of(agent, &replay.key.0) }, document)
    });
    tx.update(collection::REPLAYS, &updates.collect::<Vec<_>>()).await.map(drop)
}

/// Removes the answers that show a contact.
pub(crate) async fn remove_of(tx: &mut Transaction, agent: &AgentId, contact: ContactId) -> Result<()> {
    let filter = doc! { "_id.agent": agent.as_str(), "resource": bytes(contact.as_bytes()) };
    tx.delete(collection::REPLAYS, filter).await.map(drop)
}

pub(crate) fn read(key: &IdempotencyKey, document: &RawDocument) -> Result<IdempotencyRecord> {
    let fields = Fields(document);
    Ok(IdempotencyRecord {
        key: *key,
        fingerprint: fields.bytes("fingerprint")?,
        status: u16::try_from(fields.integer("status")?).map_err(corrupt)?,
        location: fields.optional_string("location")?,
        body: fields.str("body")?.into(),
        resource: fields.optional_bytes("resource")?.map(ContactId::from_bytes),
        expires_at: fields.time("expiresAt")?,
    })
}

/// What a sweep looks for.
pub(crate) fn expired(now: Timestamp, at_most: u32) -> Find {
    Find {
        filter: doc! { "expiresAt": { "$lte": time(now) } },
        projection: Some(doc! { "_id": 1 }),
        sort: Some(doc! { "expiresAt": 1 }),
        limit: at_most,
        hint: Some(index::REPLAYS_BY_EXPIRY),
        ..Find::default()
    }
}

#[async_trait]
impl IdempotencyStore for MongoStorage {
    async fn replay(
        &self,
        agent: &AgentId,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Result<Option<IdempotencyRecord>, StorageError> {
        let read = async {
            let mut reads = Reads::alone(&self.handle);
            let filter = doc! { "_id": key_of(agent, &key.0), "expiresAt": { "$gt": time(now) } };
            // Most requests bring a new key: then the agent need not be asked about.
            let Some(found) = reads.one(collection::REPLAYS, filter, None).await? else { return Ok(None) };
            let living = ledger::living(&mut reads, agent).await?;
            living.map(|_| read(key, &found)).transpose()
        };
        Ok(self.handle.read(read).await?)
    }

    async fn sweep_idempotency_records(&self, now: Timestamp, at_most: u32) -> Result<u64, StorageError> {
        if at_most == 0 {
            return Ok(0);
        }
        let sweep = async {
            let found = Reads::alone(&self.handle).find(collection::REPLAYS, expired(now, at_most)).await?;
            if found.is_empty() {
                return Ok(0);
            }
            let ids = crate::document::ids(&found)?;
            // Another one may have been stored in its place meanwhile.
            let filter = doc! { "_id": { "$in": ids }, "expiresAt": { "$lte": time(now) } };
            Ok(self.handle.collection(collection::REPLAYS).delete_many(filter).await?.deleted_count)
        };
        Ok(self.handle.list(sweep).await?)
    }
}
