//! What a write stores besides its change. Everything here runs in a transaction that has locked the tenant.

use mongodb::bson::doc;
use openapi_core::audit::{ChainHead, ChainedEntry};
use openapi_core::storage::{Effects, StorageErrorKind};
use openapi_core::values::{AgentId, Timestamp};

use crate::error::Result;
use crate::transaction::Transaction;
use crate::{audit, replays, tenant};

/// Rejects a write whose response is stored and has not expired by `now`.
pub(crate) async fn refuse_replayed(
    tx: &mut Transaction,
    agent: &AgentId,
    effects: &Effects,
    now: Timestamp,
) -> Result<()> {
    match &effects.replay {
        Some(replay) if replays::is_stored(tx, agent, &replay.key, now).await? => {
            Err(StorageErrorKind::ReplayExists.into())
        }
        _ => Ok(()),
    }
}

/// Stores the effects of a write.
///
/// `head` is the end of the tenant's chain, which its lock has read.
pub(crate) async fn apply(
    tx: &mut Transaction,
    agent: &AgentId,
    effects: &Effects,
    head: ChainHead,
) -> Result<()> {
    let after = apply_all(tx, agent, &[effects], head).await?;
    if after == head {
        Ok(())
    } else {
        tenant::change(tx, agent, doc! { "$set": tenant::of_head(after)? }).await
    }
}

/// Stores the effects of writes of a tenant, in their order: each kind of effect in one command. Returns the end of the
/// chain, which the caller stores.
pub(crate) async fn apply_all(
    tx: &mut Transaction,
    agent: &AgentId,
    all: &[&Effects],
    mut head: ChainHead,
) -> Result<ChainHead> {
    replays::insert(tx, agent, all.iter().filter_map(|effects| effects.replay.as_ref())).await?;
    let entries = all.iter().flat_map(|effects| &effects.audit);
    let chained: Vec<ChainedEntry> = entries.map(|entry| head.append(entry)).collect();
    audit::insert(tx, &chained).await?;
    Ok(head)
}
