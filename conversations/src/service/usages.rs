//! What this process knows about the usage of chats.

use std::collections::HashMap;

use openapi_core::values::{AgentId, Timestamp};
use parking_lot::Mutex;

/// The most pieces in which agents' changes wait for each other.
const QUEUES: usize = 64;

/// What this process knows of usage: the queues in which its changes wait for each other, one and the same for all
/// changes of an agent, and how much of the turns of their day agents have used.
pub(super) struct Usages {
    queues: Vec<async_lock::Mutex<()>>,
    /// Of one day.
    shares: Mutex<(i64, HashMap<AgentId, f64>)>,
}

impl Default for Usages {
    fn default() -> Self {
        let queues = (0..QUEUES).map(|_| async_lock::Mutex::new(())).collect();
        Usages { queues, shares: Mutex::default() }
    }
}

impl Usages {
    pub(super) fn queue_of(&self, agent: &AgentId) -> &async_lock::Mutex<()> {
        let queue = crc32fast::hash(agent.as_str().as_bytes()) as usize % QUEUES;
        &self.queues[queue]
    }

    /// How much of the turns of the day of `now` an agent has used, as far as this process knows: 0 to 1.
    pub(super) fn share_of_day(&self, agent: &AgentId, now: Timestamp) -> f64 {
        let shares = self.shares.lock();
        let (day, shares) = &*shares;
        shares.get(agent).filter(|_| *day == day_of(now)).copied().unwrap_or(0.0)
    }

    pub(super) fn note_share(&self, agent: &AgentId, now: Timestamp, share: f64) {
        let mut shares = self.shares.lock();
        let (day, shares) = &mut *shares;
        if std::mem::replace(day, day_of(now)) != *day {
            shares.clear();
        }
        shares.insert(agent.clone(), share);
    }
}

/// The day (UTC) of a time, in days since the epoch.
pub(super) const fn day_of(now: Timestamp) -> i64 {
    now.millis().div_euclid(86_400_000)
}
