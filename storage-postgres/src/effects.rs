//! What a write stores besides its change. Everything here runs in a transaction that has locked the tenant.

use std::collections::BTreeMap;

use openapi_core::audit::ChainHead;
use openapi_core::storage::{Effects, StorageErrorKind};
use openapi_core::values::{AgentId, Timestamp};
use sqlx::PgConnection;

use crate::error::Result;
use crate::shapes::log;
use crate::{audit, changes, replays};

/// Rejects a write whose response is stored and has not expired by `now`.
pub(crate) async fn refuse_replayed(
    db: &mut PgConnection,
    agent: &AgentId,
    effects: &Effects,
    now: Timestamp,
) -> Result<()> {
    match &effects.replay {
        Some(replay) if replays::is_stored(db, agent, &replay.key, now).await? => {
            Err(StorageErrorKind::ReplayExists.into())
        }
        _ => Ok(()),
    }
}

/// Stores the effects of a write.
///
/// `head` is the end of the tenant's chain, which its lock has read.
pub(crate) async fn apply(
    db: &mut PgConnection,
    agent: &AgentId,
    effects: &Effects,
    head: ChainHead,
) -> Result<()> {
    apply_all(db, &[(agent, effects)], BTreeMap::from([(agent.as_str(), head)])).await
}

/// Stores the effects of writes with different idempotency keys: the answers in one statement, audit entries and events in
/// another. `heads` are the ends of the chains of the tenants.
pub(crate) async fn apply_all(
    db: &mut PgConnection,
    all: &[(&AgentId, &Effects)],
    heads: BTreeMap<&str, ChainHead>,
) -> Result<()> {
    let replays = all.iter().filter_map(|(agent, effects)| Some((*agent, effects.replay.as_ref()?)));
    replays::insert_all(db, replays).await?;
    let events = all.iter().flat_map(|(agent, effects)| effects.events.iter().map(|event| (*agent, event)));
    let events = log::numbered(events);
    audit::append_all(db, all.iter().flat_map(|(_, effects)| &effects.audit), &events, heads).await?;
    changes::note(all.iter().copied());
    Ok(())
}
