//! Event logs as they are read, and what wakes their readers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::events::EventType;
use crate::json::RawObject;
use crate::values::{AgentId, ContactId, PlatformId, Timestamp};

/// An event in the log of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogEntry {
    /// Its number: 1 for the first event of the agent, then without a gap.
    pub seq: u64,
    /// Its id.
    pub id: PlatformId,
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    pub kind: EventType,
    /// The contact that it is about; none once the contact was erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contact: Option<ContactId>,
    /// Actor and data ([`EventBody`](crate::events::EventBody)); none once the contact was erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<RawObject>,
}

/// A part of the log of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogPage {
    /// Its events, oldest first.
    pub entries: Vec<LogEntry>,
    /// The number of the oldest event that is stored; 0 without any.
    pub oldest: u64,
    /// The number of the newest event; 0 without any.
    pub head: u64,
}

/// Wakes those who wait for events of an agent. A store notifies it after each commit with events; while nobody waits,
/// that is one atomic load. It knows nothing of commits by other processes, so readers also look at the log from time
/// to time.
#[derive(Debug)]
pub struct ChangeNotifier {
    subscriptions: AtomicUsize,
    agents: Mutex<HashMap<AgentId, Changes>>,
    /// How many events this process has committed, in the order of [`EventType::ALL`].
    committed: [AtomicU64; EventType::ALL.len()],
}

impl Default for ChangeNotifier {
    fn default() -> Self {
        ChangeNotifier {
            subscriptions: AtomicUsize::default(),
            agents: Mutex::default(),
            committed: std::array::from_fn(|_| AtomicU64::default()),
        }
    }
}

/// The changes of one agent.
#[derive(Debug, Default)]
struct Changes {
    generation: u64,
    subscriptions: usize,
    wakers: Vec<Waker>,
}

impl ChangeNotifier {
    /// Whether anybody waits for events of any agent.
    #[must_use]
    pub fn is_listened_to(&self) -> bool {
        self.subscriptions.load(Ordering::SeqCst) > 0
    }

    /// Counts events that a commit of this process has appended.
    pub fn count(&self, kinds: impl IntoIterator<Item = EventType>) {
        let counters = kinds.into_iter().filter_map(|kind| self.committed.get(kind as usize));
        for counter in counters {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many events of each type this process has committed.
    pub fn counts(&self) -> impl Iterator<Item = (EventType, u64)> {
        let counts = self.committed.iter().map(|counter| counter.load(Ordering::Relaxed));
        EventType::ALL.iter().copied().zip(counts)
    }

    /// Wakes those who wait for events of an agent.
    pub fn notify(&self, agent: &AgentId) {
        if !self.is_listened_to() {
            return;
        }
        let wakers = {
            let mut agents = self.agents.lock();
            let Some(changes) = agents.get_mut(agent) else { return };
            changes.generation += 1;
            std::mem::take(&mut changes.wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// How many listen to the changes of an agent.
    #[must_use]
    pub fn listeners(&self, agent: &AgentId) -> usize {
        self.agents.lock().get(agent).map_or(0, |changes| changes.subscriptions)
    }

    /// Begins to listen. What is committed after this call ends the next [`Subscription::changed`].
    pub fn subscribe(&self, agent: &AgentId) -> Subscription<'_> {
        let mut agents = self.agents.lock();
        let changes = agents.entry(agent.clone()).or_default();
        changes.subscriptions += 1;
        self.subscriptions.fetch_add(1, Ordering::SeqCst);
        Subscription { notifier: self, agent: agent.clone(), seen: changes.generation }
    }

    /// The agents for whose events anybody waits.
    #[must_use]
    pub fn agents(&self) -> Vec<AgentId> {
        self.agents.lock().keys().cloned().collect()
    }
}

/// A listener to the changes of one agent.
#[derive(Debug)]
pub struct Subscription<'n> {
    notifier: &'n ChangeNotifier,
    agent: AgentId,
    seen: u64,
}

impl Subscription<'_> {
    /// Waits for a commit after the last call, or after the subscription.
    pub async fn changed(&mut self) {
        std::future::poll_fn(|context| self.poll_changed(context)).await;
    }

    fn poll_changed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut agents = self.notifier.agents.lock();
        let Some(changes) = agents.get_mut(&self.agent) else { return Poll::Ready(()) };
        if changes.generation != self.seen {
            self.seen = changes.generation;
            return Poll::Ready(());
        }
        if !changes.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
            changes.wakers.push(context.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for Subscription<'_> {
    fn drop(&mut self) {
        let mut agents = self.notifier.agents.lock();
        self.notifier.subscriptions.fetch_sub(1, Ordering::SeqCst);
        if let Some(changes) = agents.get_mut(&self.agent) {
            changes.subscriptions -= 1;
            if changes.subscriptions == 0 {
                agents.remove(&self.agent);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    fn is_ready(subscription: &mut Subscription<'_>) -> bool {
        let changed = pin!(subscription.changed());
        changed.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn a_change_wakes_those_who_listen_to_its_agent() {
        let notifier = ChangeNotifier::default();
        let [a, b]: [AgentId; 2] = ["a", "b"].map(|id| id.parse().unwrap());
        notifier.notify(&a);
        let (mut first, mut second, mut other) =
            (notifier.subscribe(&a), notifier.subscribe(&a), notifier.subscribe(&b));
        assert!(!is_ready(&mut first), "a change before the subscription does not count");
        notifier.notify(&a);
        notifier.notify(&a);
        assert!(is_ready(&mut first) && !is_ready(&mut first), "several changes end one wait");
        assert!(is_ready(&mut second) && !is_ready(&mut other));
        assert_eq!([&a, &b].map(|agent| notifier.listeners(agent)), [2, 1]);
        drop((first, second, other));
        assert!(notifier.agents.lock().is_empty(), "nothing is left of subscriptions that have ended");
        assert_eq!(notifier.subscriptions.load(Ordering::SeqCst), 0);
    }
}
