//! Removing contacts. Everything here runs in a transaction.

use mongodb::bson::doc;
use openapi_core::storage::{Effects, StorageErrorKind, Subject};
use openapi_core::values::{AgentId, ContactId, Timestamp};

use super::counters::Difference;
use super::stored::{self, every};
use crate::chat::conversations;
use crate::document::{key, of_agent};
use crate::error::Result;
use crate::migrate::collection;
use crate::shapes::log;
use crate::transaction::Transaction;
use crate::{audit, effects, files, forms, replays, shapes, tenant};

/// As [`openapi_core::storage::ContactStore::erase_contact`].
pub(super) async fn erase(
    tx: &mut Transaction,
    agent: &AgentId,
    id: ContactId,
    at: Timestamp,
    effects: &Effects,
) -> Result<()> {
    let state = tenant::lock(tx, agent).await?.ok_or(StorageErrorKind::Missing)?;
    let found = stored::find(&mut tx.reads(), agent, std::iter::once(id)).await?;
    let found = found.get(&id).ok_or(StorageErrorKind::Missing)?;
    let mut difference = Difference::default();
    difference.count(&found.derived, -1);
    tx.delete(collection::CONTACTS, doc! { "_id": key(agent, id.as_bytes()) }).await?;
    difference.apply(tx, agent, None).await?;
    replays::remove_of(tx, agent, id).await?;
    files::erase_of(tx, agent, id, at).await?;
    forms::erase_of(tx, agent, id).await?;
    conversations::erase_of(tx, agent, id, at).await?;
    shapes::erase_of(tx, agent, &[Subject::Contact(id)], at).await?;
    log::note_erasure(tx, agent, id, state.ends.events).await?;
    audit::empty_payloads(tx, agent, id).await?;
    effects::apply(tx, agent, effects, state.ends).await
}

/// Removes up to `at_most` contacts of a deleted tenant and returns how many. The counters of tags go with the last
/// contacts; the others are no longer read.
pub(crate) async fn purge(tx: &mut Transaction, agent: &AgentId, at_most: u32) -> Result<u64> {
    let removed = tx.delete_some(collection::CONTACTS, every(agent), at_most).await?;
    if removed < u64::from(at_most) {
        tx.delete(collection::TAGS, of_agent(agent)).await?;
    }
    Ok(removed)
}
