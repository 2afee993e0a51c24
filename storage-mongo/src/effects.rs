//! What a write stores besides its change. Everything here runs in a transaction that has locked the tenant.

use mongodb::bson::doc;
use openapi_core::audit::ChainedEntry;
use openapi_core::storage::{Effects, StorageErrorKind};
use openapi_core::values::{AgentId, Timestamp};

use crate::error::Result;
use crate::shapes::log;
use crate::tenant::{self, Ends};
use crate::transaction::Transaction;
use crate::{audit, replays};

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
/// `ends` are the ends of the tenant's logs, which its lock has read.
pub(crate) async fn apply(
    tx: &mut Transaction,
    agent: &AgentId,
    effects: &Effects,
    ends: Ends,
) -> Result<()> {
    let after = apply_all(tx, agent, &[effects], ends).await?;
    if after == ends {
        Ok(())
    } else {
        tenant::change(tx, agent, doc! { "$set": tenant::of_ends(after)? }).await
    }
}

/// Stores the effects of writes of a tenant, in their order: each kind of effect in one command. Returns the ends of
/// the logs, which the caller stores.
pub(crate) async fn apply_all(
    tx: &mut Transaction,
    agent: &AgentId,
    all: &[&Effects],
    mut ends: Ends,
) -> Result<Ends> {
    replays::insert(tx, agent, all.iter().filter_map(|effects| effects.replay.as_ref())).await?;
    let entries = all.iter().flat_map(|effects| &effects.audit);
    let chained: Vec<ChainedEntry> = entries.map(|entry| ends.chain.append(entry)).collect();
    audit::insert(tx, &chained).await?;
    let events = all.iter().flat_map(|effects| &effects.events);
    ends.events = log::append(tx, agent, ends.events, events).await?;
    Ok(ends)
}
