//! What a write stores besides its change. Everything here runs inside the writer's transaction.

use openapi_core::storage::{Effects, StorageErrorKind};
use openapi_core::values::Timestamp;
use rusqlite::Connection;

use crate::error::Result;
use crate::shapes::log;
use crate::{audit_chain, replays};

/// Rejects a write whose response is stored and has not expired by `now`.
pub(crate) fn refuse_replayed(db: &Connection, agent: i64, effects: &Effects, now: Timestamp) -> Result<()> {
    match &effects.replay {
        Some(replay) if replays::is_stored(db, agent, &replay.key, now)? => {
            Err(StorageErrorKind::ReplayExists.into())
        }
        _ => Ok(()),
    }
}

/// Stores the effects of a write.
pub(crate) fn apply(db: &Connection, agent: i64, effects: &Effects) -> Result<()> {
    if let Some(replay) = &effects.replay {
        replays::put(db, agent, replay)?;
    }
    effects.audit.iter().try_for_each(|entry| audit_chain::append(db, entry))?;
    log::append(db, agent, &effects.events)
}
