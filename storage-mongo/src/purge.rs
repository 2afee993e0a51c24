//! Removing the data of deleted tenants, in portions.

use mongodb::bson::doc;
use openapi_core::values::AgentId;

use crate::chat::knowledge;
use crate::document::of_agent;
use crate::error::Result;
use crate::migrate::collection;
use crate::transaction::Transaction;
use crate::{audit, contacts, documents, files, forms, tenant};

/// Removes up to `at_most` documents of a deleted tenant, collection by collection, and returns how many.
pub(crate) async fn agent(tx: &mut Transaction, agent: &AgentId, at_most: u32) -> Result<u64> {
    if at_most == 0 || !tenant::lock_deleted(tx, agent).await? {
        return Ok(0);
    }
    let mut removed = contacts::purge(tx, agent, at_most).await?;
    let left = |removed: u64| u32::try_from(u64::from(at_most).saturating_sub(removed)).unwrap_or(u32::MAX);
    if left(removed) > 0 {
        removed += files::purge(tx, agent, left(removed)).await?;
    }
    if left(removed) > 0 {
        removed += documents::purge(tx, agent, left(removed)).await?;
    }
    if left(removed) > 0 {
        removed += forms::purge(tx, agent, left(removed)).await?;
    }
    if left(removed) > 0 {
        removed += knowledge::blocks::purge(tx, agent, left(removed)).await?;
    }
    for (collection, filter) in [
        (collection::API_KEYS, doc! { "agent": agent.as_str() }),
        (collection::CONTACT_SCHEMAS, of_agent(agent)),
        (collection::REPLAYS, of_agent(agent)),
        (collection::CREDIT_ACCOUNTS, of_agent(agent)),
        (collection::CREDIT_ENTRIES, of_agent(agent)),
        (collection::MESSAGES, of_agent(agent)),
        (collection::CONVERSATIONS, of_agent(agent)),
        (collection::KNOWLEDGE, of_agent(agent)),
        (collection::RECORDS, of_agent(agent)),
        (collection::LOG, of_agent(agent)),
        (collection::JOBS, of_agent(agent)),
    ] {
        if left(removed) > 0 {
            removed += tx.delete_some(collection, filter, left(removed)).await?;
        }
    }
    if left(removed) > 0 {
        tx.delete(collection::LOG_ERASED, of_agent(agent)).await?;
        removed += audit::empty_some_payloads(tx, agent, left(removed)).await?;
    }
    Ok(removed)
}
