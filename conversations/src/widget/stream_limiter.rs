//! Limits on open streams: for each address, for each agent and in total.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use openapi_core::values::AgentId;
use parking_lot::Mutex;

/// How many streams may be open at once; 0 is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamLimits {
    /// For each address (8).
    pub per_address: u32,
    /// For each agent (64).
    pub per_agent: u32,
    /// In the process (1,024).
    pub per_process: u32,
}

impl Default for StreamLimits {
    fn default() -> Self {
        StreamLimits { per_address: 8, per_agent: 64, per_process: 1_024 }
    }
}

/// Which limit is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamLimitExceeded {
    Address(u32),
    Agent(u32),
    Process,
}

/// The open streams.
#[derive(Clone, Default)]
pub(crate) struct StreamLimiter {
    limits: StreamLimits,
    counts: Arc<Mutex<Counts>>,
}

#[derive(Default)]
struct Counts {
    all: u32,
    agents: HashMap<AgentId, u32>,
    addresses: HashMap<IpAddr, u32>,
}

/// The slot of an open stream, which it frees on drop.
pub(crate) struct OpenStream {
    counts: Arc<Mutex<Counts>>,
    agent: AgentId,
    address: IpAddr,
    share: f64,
}

impl OpenStream {
    /// The used share of its address's or its agent's limit, whichever was higher when it began.
    pub(crate) const fn share(&self) -> f64 {
        self.share
    }
}

impl StreamLimiter {
    pub(crate) fn new(limits: StreamLimits) -> Self {
        StreamLimiter { limits, counts: Arc::default() }
    }

    /// Whether the process has a slot for one more stream.
    pub(crate) fn has_room(&self) -> bool {
        let most = self.limits.per_process;
        most == 0 || self.counts.lock().all < most
    }

    pub(crate) fn open(&self, agent: &AgentId, address: IpAddr) -> Result<OpenStream, StreamLimitExceeded> {
        let is_full = |count: u32, most: u32| most > 0 && count >= most;
        let mut counts = self.counts.lock();
        let of_address = counts.addresses.get(&address).copied().unwrap_or(0);
        let of_agent = counts.agents.get(agent).copied().unwrap_or(0);
        if is_full(of_address, self.limits.per_address) {
            return Err(StreamLimitExceeded::Address(self.limits.per_address));
        }
        if is_full(of_agent, self.limits.per_agent) {
            return Err(StreamLimitExceeded::Agent(self.limits.per_agent));
        }
        if is_full(counts.all, self.limits.per_process) {
            return Err(StreamLimitExceeded::Process);
        }
        let share =
            |count: u32, most: u32| if most > 0 { f64::from(count + 1) / f64::from(most) } else { 0.0 };
        let share = share(of_address, self.limits.per_address).max(share(of_agent, self.limits.per_agent));
        counts.all += 1;
        *counts.agents.entry(agent.clone()).or_default() += 1;
        *counts.addresses.entry(address).or_default() += 1;
        Ok(OpenStream { counts: Arc::clone(&self.counts), agent: agent.clone(), address, share })
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut counts = self.counts.lock();
        counts.all = counts.all.saturating_sub(1);
        less(&mut counts.agents, &self.agent);
        less(&mut counts.addresses, &self.address);
    }
}

fn less<K: std::hash::Hash + Eq>(counts: &mut HashMap<K, u32>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count = count.saturating_sub(1);
        if *count == 0 {
            counts.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_holds_and_what_ends_makes_room() {
        let streams = StreamLimiter::new(StreamLimits { per_address: 2, per_agent: 3, per_process: 4 });
        let (a, b): (AgentId, AgentId) = ("a".parse().expect("an id"), "b".parse().expect("an id"));
        let [one, two, three] =
            ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map(|it| it.parse::<IpAddr>().expect("an address"));
        let first = streams.open(&a, one).expect("room");
        let second = streams.open(&a, one).expect("room");
        assert_eq!((first.share(), second.share()), (0.5, 1.0));
        assert_eq!(streams.open(&a, one).err(), Some(StreamLimitExceeded::Address(2)));
        let third = streams.open(&a, two).expect("room");
        assert_eq!(streams.open(&a, two).err(), Some(StreamLimitExceeded::Agent(3)));
        let fourth = streams.open(&b, two).expect("room");
        assert_eq!(streams.open(&b, three).err(), Some(StreamLimitExceeded::Process));
        assert!(!streams.has_room());
        drop((first, second, third, fourth));
        assert!(streams.has_room());
        let counts = streams.counts.lock();
        assert!(counts.agents.is_empty() && counts.addresses.is_empty() && counts.all == 0);
    }
}
