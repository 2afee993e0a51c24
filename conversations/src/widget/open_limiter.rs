//! Limits on what is open at once, streams and uploads: for each visitor, address and agent, and in total.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

use openapi_core::limits::OpenCounts;
use openapi_core::values::AgentId;
use parking_lot::Mutex;

use crate::VisitorId;

/// Beyond the limit of an agent a challenge is required. This many times the limit is the end.
pub(crate) const AGENT_CEILING: u32 = 4;

/// How many streams or uploads may be open at once; 0 is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenLimits {
    /// For each address; twice as many for an IPv6 /56, four times as many for a /48.
    pub per_address: u32,
    /// For each agent; up to four times as many for visitors who solve a challenge.
    pub per_agent: u32,
    /// In the process.
    pub per_process: u32,
}

/// Which limit is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenLimitExceeded {
    Visitor,
    Address(u32),
    Agent(u32),
    Process,
}

/// What is open.
#[derive(Clone)]
pub(crate) struct OpenLimiter {
    limits: OpenLimits,
    counts: Arc<Mutex<Counts>>,
}

#[derive(Default)]
struct Counts {
    all: u32,
    visitors: HashSet<VisitorId>,
    agents: HashMap<AgentId, u32>,
    addresses: OpenCounts,
}

/// The slot of something open, which it frees on drop.
pub(crate) struct OpenSlot {
    counts: Arc<Mutex<Counts>>,
    visitor: Option<VisitorId>,
    agent: AgentId,
    address: IpAddr,
    share: f64,
}

impl OpenSlot {
    /// The used share of its address's or its agent's limit, whichever was higher when it began; more than 1 beyond the
    /// limit of its agent.
    pub(crate) const fn share(&self) -> f64 {
        self.share
    }
}

impl OpenLimiter {
    pub(crate) fn new(limits: OpenLimits) -> Self {
        OpenLimiter { limits, counts: Arc::default() }
    }

    /// Whether the process has a slot for one more.
    pub(crate) fn has_room(&self) -> bool {
        let most = self.limits.per_process;
        most == 0 || self.counts.lock().all < most
    }

    /// Takes a slot. A visitor who is named may have one.
    pub(crate) fn open(
        &self,
        agent: &AgentId,
        address: IpAddr,
        visitor: Option<VisitorId>,
    ) -> Result<OpenSlot, OpenLimitExceeded> {
        let OpenLimits { per_address, per_agent, per_process } = self.limits;
        let mut counts = self.counts.lock();
        let of_address =
            counts.addresses.share_with(address, per_address).map_err(OpenLimitExceeded::Address)?;
        let of_agent = counts.agents.get(agent).copied().unwrap_or(0);
        if visitor.is_some_and(|visitor| counts.visitors.contains(&visitor)) {
            return Err(OpenLimitExceeded::Visitor);
        }
        let ceiling = per_agent.saturating_mul(AGENT_CEILING);
        if per_agent > 0 && of_agent >= ceiling {
            return Err(OpenLimitExceeded::Agent(ceiling));
        }
        if per_process > 0 && counts.all >= per_process {
            return Err(OpenLimitExceeded::Process);
        }
        let of_agent = if per_agent > 0 { f64::from(of_agent + 1) / f64::from(per_agent) } else { 0.0 };
        counts.all += 1;
        counts.visitors.extend(visitor);
        *counts.agents.entry(agent.clone()).or_default() += 1;
        counts.addresses.add(address);
        let (counts, agent, share) = (Arc::clone(&self.counts), agent.clone(), of_address.max(of_agent));
        Ok(OpenSlot { counts, visitor, agent, address, share })
    }
}

impl Drop for OpenSlot {
    fn drop(&mut self) {
        let mut counts = self.counts.lock();
        counts.all = counts.all.saturating_sub(1);
        if let Some(visitor) = &self.visitor {
            counts.visitors.remove(visitor);
        }
        if let Some(count) = counts.agents.get_mut(&self.agent) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                counts.agents.remove(&self.agent);
            }
        }
        counts.addresses.remove(self.address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_holds_and_what_ends_makes_room() {
        let limits = OpenLimits { per_address: 2, per_agent: 1, per_process: 5 };
        let open = OpenLimiter::new(limits);
        let (a, b): (AgentId, AgentId) = ("a".parse().expect("an id"), "b".parse().expect("an id"));
        let [one, two, three] =
            ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map(|it| it.parse::<IpAddr>().expect("an address"));
        let first = open.open(&a, one, None).expect("room");
        let second = open.open(&a, one, None).expect("room");
        assert_eq!((first.share(), second.share()), (1.0, 2.0), "beyond the limit of the agent");
        assert_eq!(open.open(&a, one, None).err(), Some(OpenLimitExceeded::Address(2)));
        let visitor = Some(VisitorId([1; 16]));
        let third = open.open(&a, two, visitor).expect("room");
        assert_eq!(open.open(&b, three, visitor).err(), Some(OpenLimitExceeded::Visitor));
        let fourth = open.open(&a, two, None).expect("room");
        assert_eq!(open.open(&a, three, None).err(), Some(OpenLimitExceeded::Agent(4)));
        let fifth = open.open(&b, three, None).expect("room");
        assert_eq!(open.open(&b, three, None).err(), Some(OpenLimitExceeded::Process));
        assert!(!open.has_room());
        drop((first, second, third, fourth, fifth));
        assert!(open.has_room());
        let counts = open.counts.lock();
        assert!(counts.agents.is_empty() && counts.addresses.is_empty() && counts.visitors.is_empty());
    }
}
