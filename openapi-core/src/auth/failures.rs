//! Failed authentications in the audit log, folded so that nobody without a key can make the log grow without bound.
//!
//! The first failure of an address in a minute has an entry at once. Its repeats share one entry with their count, which
//! follows when the minute is over. In a minute, a bounded number of addresses has entries; the failures of further ones
//! are one total. A crash loses the counts of the running minute.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};

use parking_lot::Mutex;

use crate::access::Actor;
use crate::values::{AgentId, Timestamp};

const MINUTE_MILLIS: i64 = 60_000;

/// The most addresses with entries of their own in a minute: once for failures with an unknown key, once for those with a
/// key of an agent, so that strangers cannot use up the entries of tenants.
pub(super) const MAX_ADDRESSES: usize = 60;

/// A failed authentication, or several of one address.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Failure {
    pub(super) agent: Option<AgentId>,
    pub(super) actor: Actor,
    /// None for the total of further addresses.
    pub(super) address: Option<IpAddr>,
    pub(super) code: &'static str,
    pub(super) request_id: Option<String>,
    pub(super) count: u64,
    /// When the first and the last of them happened.
    pub(super) since: Timestamp,
    pub(super) until: Timestamp,
}

impl Failure {
    fn add(&mut self, other: &Failure) {
        self.count += other.count;
        self.since = self.since.min(other.since);
        self.until = self.until.max(other.until);
    }
}

type Key = (Option<AgentId>, IpAddr, &'static str);

#[derive(Default)]
struct Minute {
    number: i64,
    /// The addresses with an entry, with their repeats.
    known: HashMap<Key, Option<Failure>>,
    /// How many of them have failed with a key of an agent.
    of_agents: usize,
    /// The failures of further addresses.
    further: Option<Failure>,
}

impl Minute {
    fn close(&mut self) -> Vec<Failure> {
        let Minute { known, further, .. } = std::mem::take(self);
        known.into_values().flatten().chain(further).collect()
    }
}

/// The failures of the running minute.
#[derive(Default)]
pub(super) struct FailureLog(Mutex<Minute>);

impl FailureLog {
    /// Counts a failure and returns the failures that get an entry now: those of the minute before, if it is over, and the
    /// new one, if it is the first of its address.
    pub(super) fn count(&self, failure: Failure) -> Vec<Failure> {
        let mut minute = self.0.lock();
        let number = failure.until.millis().div_euclid(MINUTE_MILLIS);
        let mut due = Vec::new();
        if minute.number != number {
            due = minute.close();
            minute.number = number;
        }
        let Some(address) = failure.address else { return due };
        let key = (failure.agent.clone(), subscriber(address), failure.code);
        if let Some(repeats) = minute.known.get_mut(&key) {
            match repeats {
                Some(repeats) => repeats.add(&failure),
                None => *repeats = Some(Failure { request_id: None, ..failure }),
            }
            return due;
        }
        let is_of_agent = failure.agent.is_some();
        let taken = if is_of_agent { minute.of_agents } else { minute.known.len() - minute.of_agents };
        if taken < MAX_ADDRESSES {
            minute.known.insert(key, None);
            minute.of_agents += usize::from(is_of_agent);
            due.push(failure);
        } else if let Some(further) = &mut minute.further {
            further.add(&failure);
        } else {
            minute.further = Some(Failure {
                agent: None,
                actor: Actor::Anonymous("further addresses".to_owned()),
                address: None,
                code: "",
                request_id: None,
                ..failure
            });
        }
        due
    }

    /// The failures of a minute that is over by `now`; without a time, those of the running minute as well.
    pub(super) fn take(&self, now: Option<Timestamp>) -> Vec<Failure> {
        let mut minute = self.0.lock();
        let is_running = now.is_some_and(|now| minute.number == now.millis().div_euclid(MINUTE_MILLIS));
        if is_running { Vec::new() } else { minute.close() }
    }
}

/// The network that one subscriber has: an IPv4 address, or a /64.
fn subscriber(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from(u128::from(address) & !u128::from(u64::MAX))),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(address: u128, agent: Option<&str>, millis: i64) -> Failure {
        let at = Timestamp::from_millis(millis);
        Failure {
            agent: agent.map(|agent| agent.parse().unwrap()),
            actor: Actor::Anonymous("unknown key".to_owned()),
            address: Some(Ipv6Addr::from(address << 64).into()),
            code: "INVALID_CREDENTIALS",
            request_id: Some("request".to_owned()),
            count: 1,
            since: at,
            until: at,
        }
    }

    #[test]
    fn repeats_share_an_entry_when_their_minute_is_over() {
        let log = FailureLog::default();
        assert_eq!(log.count(failure(1, None, 0)), [failure(1, None, 0)], "the first one is noted at once");
        for millis in 1..=500 {
            assert_eq!(log.count(failure(1, None, millis)), [], "{millis}");
        }
        assert_eq!(log.take(Some(Timestamp::from_millis(59_999))), [], "the minute is running");
        let [first, second] = &*log.count(failure(1, None, 60_000)) else { panic!("two entries") };
        assert_eq!((first.count, first.since.millis(), first.until.millis()), (500, 1, 500));
        assert_eq!(*second, failure(1, None, 60_000), "a new minute begins");
        assert_eq!(log.take(Some(Timestamp::from_millis(120_000))), [], "it had no repeats");
    }

    #[test]
    fn rotating_networks_leave_a_bounded_number_of_entries() {
        let log = FailureLog::default();
        let mut noted = 0;
        for network in 0..100_000_u64 {
            noted += log.count(failure(network.into(), None, 5)).len();
        }
        assert_eq!(noted, MAX_ADDRESSES);
        assert!(log.0.lock().known.len() <= 2 * MAX_ADDRESSES, "nothing grows with the addresses");
        assert_eq!(log.count(failure(1 << 40, Some("a"), 6)).len(), 1, "tenants have entries of their own");
        let [total] = &*log.take(None) else { panic!("one total") };
        assert_eq!((total.count, total.address), (100_000 - MAX_ADDRESSES as u64, None));
    }
}
