//! Rate windows: what of the limits survives a restart, as JSON.

use async_trait::async_trait;
use mongodb::bson::doc;
use openapi_core::storage::{RateWindow, RateWindowStore, StorageError};
use openapi_core::values::{AgentId, KeyId};

use crate::document::{Fields, json, key as key_of};
use crate::migrate::collection;
use crate::transaction::Reads;
use crate::{MongoStorage, ledger};

#[async_trait]
impl RateWindowStore for MongoStorage {
    async fn rate_window(&self, agent: &AgentId, key: KeyId) -> Result<Option<RateWindow>, StorageError> {
        let read = async {
            let mut reads = Reads::alone(&self.handle);
            if ledger::living(&mut reads, agent).await?.is_none() {
                return Ok(None);
            }
            let filter = doc! { "_id": key_of(agent, key.as_bytes()) };
            let found = reads.one(collection::RATE_WINDOWS, filter, None).await?;
            found.map(|found| Fields(&found).json("body")).transpose()
        };
        Ok(self.handle.read(read).await?)
    }

    async fn save_rate_window(
        &self,
        agent: &AgentId,
        key: KeyId,
        window: &RateWindow,
    ) -> Result<(), StorageError> {
        // One document changes, and not in turn with the agent's other writes: servers save often.
        let save = async {
            if ledger::living(&mut Reads::alone(&self.handle), agent).await?.is_none() {
                return Ok(());
            }
            let change = doc! { "$set": { "body": json(window)? } };
            let windows = self.handle.collection(collection::RATE_WINDOWS);
            windows.update_one(doc! { "_id": key_of(agent, key.as_bytes()) }, change).upsert(true).await?;
            Ok(())
        };
        Ok(self.handle.read(save).await?)
    }
}
