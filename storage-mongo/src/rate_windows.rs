//! Rate limit windows, which servers share, as JSON.

use async_trait::async_trait;
use mongodb::bson::{Document, RawDocumentBuf, doc};
use openapi_core::storage::{RateLimitStore, RateLimitWindow, StorageError, StorageErrorKind};
use openapi_core::values::{AgentId, KeyId};
use storage_common::records;

use crate::document::{Fields, integer, json, key as key_of};
use crate::error::{Error, Result, corrupt};
use crate::migrate::collection;
use crate::store::MongoStorage;
use crate::tenant;
use crate::transaction::DocumentReader;

/// The document of a key's window.
pub(crate) fn document(agent: &AgentId, key: KeyId, window: &RateLimitWindow) -> Result<Document> {
    Ok(doc! {
        "_id": key_of(agent, key.as_bytes()),
        "version": integer(window.version)?,
        "shares": json(&window.shares)?,
    })
}

#[async_trait]
impl RateLimitStore for MongoStorage {
    async fn rate_limit_window(
        &self,
        agent: &AgentId,
        key: KeyId,
    ) -> Result<Option<RateLimitWindow>, StorageError> {
        let read = async {
            let mut reads = DocumentReader::new(&self.handle);
            if tenant::find(&mut reads, agent).await?.is_none() {
                return Ok(None);
            }
            let filter = doc! { "_id": key_of(agent, key.as_bytes()) };
            let found = reads.one(collection::RATE_WINDOWS, filter, None).await?;
            found.map(|found| records::rate_limit_window(&mut Fields(&found))).transpose()
        };
        Ok(self.handle.read(read).await?)
    }

    async fn save_rate_limit_window(
        &self,
        agent: &AgentId,
        key: KeyId,
        window: &RateLimitWindow,
    ) -> Result<(), StorageError> {
        // One document changes, outside the tenant's queue: servers save often.
        let save = async {
            if tenant::find(&mut DocumentReader::new(&self.handle), agent).await?.is_none() {
                return Ok(());
            }
            let windows = self.handle.collection(collection::RATE_WINDOWS);
            let is_saved = if window.version == 1 {
                let first = RawDocumentBuf::try_from(&document(agent, key, window)?).map_err(corrupt)?;
                match windows.insert_one(first).await.map_err(Error::from) {
                    Err(Error::Conflict) => false,
                    outcome => outcome.map(|_| true)?,
                }
            } else {
                let version = integer(window.version)?;
                let change = doc! { "$set": { "version": version, "shares": json(&window.shares)? } };
                let before = doc! { "_id": key_of(agent, key.as_bytes()), "version": version - 1 };
                windows.update_one(before, change).await?.matched_count == 1
            };
            if !is_saved {
                return Err(StorageErrorKind::Stale.into());
            }
            Ok(())
        };
        Ok(self.handle.read(save).await?)
    }
}
