//! Whether the store accepts writes.

use async_trait::async_trait;
use mongodb::bson::doc;
use openapi_core::storage::{HealthProbe, StorageError};

use crate::migrate::collection;
use crate::store::MongoStorage;

#[async_trait]
impl HealthProbe for MongoStorage {
    async fn probe(&self) -> Result<(), StorageError> {
        // A majority must have the write on disk, because a primary that has lost the others still answers reads.
        let probe = async {
            let probes = self.handle.collection(collection::MIGRATIONS);
            let change = doc! { "$inc": { "probes": 1_i64 } };
            probes.update_one(doc! { "_id": "probe" }, change).upsert(true).await?;
            Ok(())
        };
        Ok(self.handle.read(probe).await?)
    }
}
