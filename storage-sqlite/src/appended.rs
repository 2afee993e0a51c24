//! The agents to whose event log the writer has appended, for those who read it.

use std::cell::RefCell;

use openapi_core::storage::ChangeNotifier;
use openapi_core::values::AgentId;
use rusqlite::Connection;

use crate::error::Result;
use crate::rows;

thread_local! {
    /// The numbers of the agents to whose log the transaction of this thread has appended.
    static APPENDED: RefCell<Vec<i64>> = const { RefCell::new(Vec::new()) };
}

/// The transaction of this thread has appended to the log of an agent.
pub(crate) fn note(agent: i64) {
    APPENDED.with_borrow_mut(|appended| {
        if !appended.contains(&agent) {
            appended.push(agent);
        }
    });
}

/// The agents to whose log this thread has appended since the last call.
pub(crate) fn take() -> Vec<i64> {
    APPENDED.with_borrow_mut(std::mem::take)
}

/// Wakes the readers of the logs of agents.
pub(crate) fn notify(db: &Connection, notifier: &ChangeNotifier, agents: &[i64]) -> Result<()> {
    if agents.is_empty() || !notifier.is_listened_to() {
        return Ok(());
    }
    for agent in agents {
        let id: Option<AgentId> =
            rows::first(db, "SELECT id FROM agent WHERE n = ?1", [agent], |r| r.text())?;
        id.iter().for_each(|id| notifier.notify(id));
    }
    Ok(())
}
