//! Stored responses of idempotent requests.

use async_trait::async_trait;
use mongodb::bson::{Document, RawDocument, doc};
use openapi_core::storage::{IdempotencyKey, IdempotencyRecord, IdempotencyStore, StorageError};
use openapi_core::values::{AgentId, ContactId, Timestamp};
use storage_common::records;

use crate::document::{FieldReader, Fields, binary, key as key_of, keyed, put, time};
use crate::error::Result;
use crate::migrate::{collection, index};
use crate::store::MongoStorage;
use crate::tenant;
use crate::transaction::{DocumentReader, Find, Transaction, Update};

/// Whether a response is stored that has not expired by `now`.
pub(crate) async fn is_stored(
    tx: &mut Transaction,
    agent: &AgentId,
    key: &IdempotencyKey,
    now: Timestamp,
) -> Result<bool> {
    let filter = doc! { "_id": key_of(agent, &key.0), "expiresAt": { "$gt": time(now) } };
    Ok(tx.reads().one(collection::REPLAYS, filter, Some(doc! { "_id": 1 })).await?.is_some())
}

/// The ones of some keys that have a response, each with its expiry.
pub(crate) async fn stored(
    reads: &mut DocumentReader<'_>,
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

/// Stores responses and replaces expired ones.
pub(crate) async fn insert<'r>(
    tx: &mut Transaction,
    agent: &AgentId,
    replays: impl IntoIterator<Item = &'r IdempotencyRecord>,
) -> Result<()> {
    let updates = replays.into_iter().map(|replay| {
        let mut document = doc! {
            "fingerprint": binary(&replay.fingerprint),
            "status": i32::from(replay.status),
            "expiresAt": time(replay.expires_at),
            "body": &*replay.body,
        };
        put(&mut document, "location", replay.location.clone());
        put(&mut document, "resource", replay.resource.map(|id| binary(id.as_bytes())));
        Update::upsert(doc! { "_id": key_of(agent, &replay.key.0) }, document)
    });
    tx.update(collection::REPLAYS, &updates.collect::<Vec<_>>()).await.map(drop)
}

/// Removes the responses that contain a contact.
pub(crate) async fn remove_of(tx: &mut Transaction, agent: &AgentId, contact: ContactId) -> Result<()> {
    let filter = doc! { "_id.agent": agent.as_str(), "resource": binary(contact.as_bytes()) };
    tx.delete(collection::REPLAYS, filter).await.map(drop)
}

pub(crate) fn read(key: &IdempotencyKey, document: &RawDocument) -> Result<IdempotencyRecord> {
    records::replay(*key, &mut Fields(document))
}

/// The find for a sweep.
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
            let mut reads = DocumentReader::new(&self.handle);
            let filter = doc! { "_id": key_of(agent, &key.0), "expiresAt": { "$gt": time(now) } };
            // Most keys are new; then the tenant need not be read.
            let Some(found) = reads.one(collection::REPLAYS, filter, None).await? else { return Ok(None) };
            let living = tenant::find(&mut reads, agent).await?;
            living.map(|_| read(key, &found)).transpose()
        };
        Ok(self.handle.read(read).await?)
    }

    async fn sweep_idempotency_records(&self, now: Timestamp, at_most: u32) -> Result<u64, StorageError> {
        if at_most == 0 {
            return Ok(0);
        }
        let sweep = async {
            let found =
                DocumentReader::new(&self.handle).find(collection::REPLAYS, expired(now, at_most)).await?;
            if found.is_empty() {
                return Ok(0);
            }
            let ids = crate::document::ids(&found)?;
            // A new response may have replaced one in between.
            let filter = doc! { "_id": { "$in": ids }, "expiresAt": { "$lte": time(now) } };
            Ok(self.handle.collection(collection::REPLAYS).delete_many(filter).await?.deleted_count)
        };
        Ok(self.handle.list(sweep).await?)
    }
}
