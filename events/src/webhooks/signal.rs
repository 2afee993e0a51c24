//! What requests tell the runner of the same process, and the limit of test messages.

use std::collections::HashMap;

use futures_util::task::AtomicWaker;
use openapi_core::values::{AgentId, PlatformId, Timestamp};
use parking_lot::Mutex;

/// Endpoints that were changed in this process, for its runner. Other processes find the changes by looking.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    changed: Mutex<Vec<(AgentId, PlatformId)>>,
    waker: AtomicWaker,
}

/// The most changes that are noted. Beyond, the runner finds them by looking, like those of other processes.
const MAX_NOTED: usize = 10_000;

impl Signal {
    pub(crate) fn changed(&self, agent: &AgentId, id: PlatformId) {
        let mut changed = self.changed.lock();
        if changed.len() < MAX_NOTED {
            changed.push((agent.clone(), id));
        }
        drop(changed);
        self.waker.wake();
    }

    pub(crate) fn take(&self) -> Vec<(AgentId, PlatformId)> {
        std::mem::take(&mut self.changed.lock())
    }

    pub(crate) fn is_waiting(&self) -> bool {
        !self.changed.lock().is_empty()
    }

    /// Wakes this task at the next change.
    pub(crate) fn register(&self, waker: &std::task::Waker) {
        self.waker.register(waker);
    }
}

/// Test messages of an endpoint in a minute.
pub(crate) const TESTS_A_MINUTE: usize = 10;
const MINUTE: i64 = 60_000;

/// When test messages were sent, by endpoint.
#[derive(Debug, Default)]
pub(crate) struct TestLimits(Mutex<HashMap<PlatformId, Vec<Timestamp>>>);

impl TestLimits {
    /// Counts a test message; else how many seconds to wait.
    pub(crate) fn admit(&self, endpoint: PlatformId, now: Timestamp) -> Result<(), u64> {
        let mut sent = self.0.lock();
        let is_recent = |at: &Timestamp| (0..MINUTE).contains(&now.millis_since(*at));
        sent.retain(|_, times| times.iter().any(is_recent));
        let times = sent.entry(endpoint).or_default();
        times.retain(is_recent);
        match times.first() {
            Some(first) if times.len() >= TESTS_A_MINUTE => {
                let wait = MINUTE - now.millis_since(*first);
                Err(u64::try_from(wait).unwrap_or_default().div_ceil(1_000).max(1))
            }
            _ => {
                times.push(now);
                Ok(())
            }
        }
    }
}
