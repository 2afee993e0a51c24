//! What a write stores besides its change. Everything here runs in a transaction that has locked the tenant.

use openapi_core::storage::{Effects, StorageErrorKind};
use openapi_core::values::{AgentId, Timestamp};
use sqlx::PgConnection;

use crate::error::Result;
use crate::{audit, replays};

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
pub(crate) async fn apply(db: &mut PgConnection, agent: &AgentId, effects: &Effects) -> Result<()> {
    apply_all(db, &[(agent, effects)]).await
}

/// Stores the effects of writes with different idempotency keys: each kind of effect in one statement.
pub(crate) async fn apply_all(db: &mut PgConnection, all: &[(&AgentId, &Effects)]) -> Result<()> {
    let replays = all.iter().filter_map(|(agent, effects)| Some((*agent, effects.replay.as_ref()?)));
    replays::insert_all(db, replays).await?;
    audit::append_all(db, all.iter().flat_map(|(_, effects)| &effects.audit)).await.map(drop)
}
