//! What the writer has appended to event logs, for those who read them.

use std::cell::RefCell;

use openapi_core::events::EventType;
use openapi_core::storage::ChangeNotifier;
use openapi_core::values::AgentId;
use rusqlite::Connection;

use crate::error::Result;
use crate::rows;

thread_local! {
    /// What the transaction of this thread has appended.
    static APPENDED: RefCell<Appended> = const { RefCell::new(Appended { agents: Vec::new(), kinds: Vec::new() }) };
}

/// What a transaction has appended.
#[derive(Default)]
pub(crate) struct Appended {
    /// The numbers of the agents, each with that of its newest event.
    agents: Vec<(i64, u64)>,
    kinds: Vec<EventType>,
}

/// The transaction of this thread has appended to the log of an agent, up to this number.
pub(crate) fn note(agent: i64, newest: u64, kinds: impl Iterator<Item = EventType>) {
    APPENDED.with_borrow_mut(|appended| {
        appended.kinds.extend(kinds);
        match appended.agents.iter_mut().find(|(known, _)| *known == agent) {
            Some((_, head)) => *head = newest,
            None => appended.agents.push((agent, newest)),
        }
    });
}

/// The number of the newest event of an agent, if the transaction of this thread has appended to its log.
pub(crate) fn newest(agent: i64) -> Option<u64> {
    APPENDED.with_borrow(|appended| {
        appended.agents.iter().find(|(known, _)| *known == agent).map(|(_, newest)| *newest)
    })
}

/// What this thread has appended since the last call.
pub(crate) fn take() -> Appended {
    APPENDED.with_borrow_mut(std::mem::take)
}

/// Counts what was committed, and wakes the readers of the logs.
pub(crate) fn notify(db: &Connection, notifier: &ChangeNotifier, appended: Appended) -> Result<()> {
    let Appended { agents, kinds } = appended;
    notifier.count(kinds);
    if agents.is_empty() || !notifier.is_listened_to() {
        return Ok(());
    }
    for (agent, _) in &agents {
        let id: Option<AgentId> =
            rows::first(db, "SELECT id FROM agent WHERE n = ?1", [agent], |r| r.text())?;
        id.iter().for_each(|id| notifier.notify(id));
    }
    Ok(())
}
