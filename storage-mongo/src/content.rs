//! The contents of files and documents: how many bytes a tenant stores, and which contents are due for deletion.

use mongodb::bson::doc;
use openapi_core::values::{AgentId, FileId, Timestamp};

use crate::document::{key, time};
use crate::error::Result;
use crate::migrate::collection;
use crate::tenant;
use crate::transaction::{Transaction, Update};

/// Adds to the bytes of a tenant's files and documents.
pub(crate) async fn add_bytes(tx: &mut Transaction, agent: &AgentId, bytes: i64) -> Result<()> {
    tenant::change(tx, agent, doc! { "$inc": { "bytes": bytes } }).await
}

/// Sets when the contents of files and documents are due for deletion.
pub(crate) async fn make_due(
    tx: &mut Transaction,
    agent: &AgentId,
    files: impl IntoIterator<Item = FileId>,
    due_at: Timestamp,
) -> Result<()> {
    let update = |file: FileId| {
        let due = doc! { "$set": { "dueAt": time(due_at) } };
        Update::upsert(doc! { "_id": key(agent, file.as_bytes()) }, due)
    };
    let updates: Vec<Update> = files.into_iter().map(update).collect();
    tx.update(collection::BLOB_PURGES, &updates).await.map(drop)
}
