//! What a write stores besides its change. Everything here runs in a transaction that has locked the tenant.

use openapi_core::storage::{Effects, StorageErrorKind};
use openapi_core::values::{AgentId, Timestamp};

use crate::error::Result;
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
pub(crate) async fn apply(tx: &mut Transaction, agent: &AgentId, effects: &Effects) -> Result<()> {
    apply_all(tx, agent, &[effects]).await
}

/// Stores the effects of writes of a tenant, in their order: each kind of effect in one command.
pub(crate) async fn apply_all(tx: &mut Transaction, agent: &AgentId, all: &[&Effects]) -> Result<()> {
    replays::insert(tx, agent, all.iter().filter_map(|effects| effects.replay.as_ref())).await?;
    audit::append(tx, all.iter().flat_map(|effects| &effects.audit)).await
}
