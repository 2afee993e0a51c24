//! Limits per address: for what comes without a working key (contract 8.3).

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};

use crate::api::AddressLimits;
use crate::values::Timestamp;

/// The kinds of traffic that are limited apart from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum AddressClass {
    /// Health and description.
    Health,
    /// Downloads by signed links.
    Download,
    /// Unknown routes, 405, OPTIONS, requests without credentials.
    Unrouted,
    /// Failed authentication, addresses outside an allowlist.
    FailedAuthentication,
}

/// The most addresses that are remembered. Beyond, those seen longest ago are forgotten first: memory stays bounded,
/// and a flood of addresses costs the limits some of their memory, not the service its own.
const MAX_TRACKED: usize = 50_000;

const MINUTE: i64 = 60_000;

#[derive(Debug, Default)]
pub(crate) struct AddressLimiter {
    limits: AddressLimits,
    seen: Mutex<HashMap<(IpAddr, AddressClass), VecDeque<i64>>>,
}

impl AddressLimiter {
    pub(crate) fn new(limits: AddressLimits) -> Self {
        AddressLimiter { limits, seen: Mutex::default() }
    }

    /// Counts a request.
    ///
    /// # Errors
    /// The seconds to wait when the address has used up its minute.
    pub(crate) fn admit(&self, address: IpAddr, class: AddressClass, now: Timestamp) -> Result<(), u64> {
        let limit = match class {
            AddressClass::Health => self.limits.health,
            AddressClass::Download => self.limits.download,
            AddressClass::Unrouted => self.limits.unrouted,
            AddressClass::FailedAuthentication => self.limits.failed_authentication,
        } as usize;
        if limit == 0 {
            return Ok(());
        }
        let now = now.millis();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (network(address), class);
        if seen.len() >= MAX_TRACKED && !seen.contains_key(&key) {
            make_room(&mut seen, now);
        }
        let times = seen.entry(key).or_default();
        // A clock that went back: what lies ahead counts as of now.
        times.iter_mut().rev().take_while(|time| **time > now).for_each(|time| *time = now);
        while times.front().is_some_and(|first| first + MINUTE <= now) {
            times.pop_front();
        }
        if times.len() >= limit {
            let leaves = times.front().map_or(now, |first| first + MINUTE);
            return Err(u64::try_from(leaves - now).unwrap_or(0).div_ceil(1_000).max(1));
        }
        times.push_back(now);
        Ok(())
    }
}

/// What counts as one address: an IPv4 address, mapped or not; of IPv6 the network of 64 bits that one subscriber has,
/// for whom its 2^64 addresses are free.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        v4 => v4,
    }
}

fn make_room(seen: &mut HashMap<(IpAddr, AddressClass), VecDeque<i64>>, now: i64) {
    seen.retain(|_, times| times.back().is_some_and(|last| last + MINUTE > now));
    if seen.len() < MAX_TRACKED {
        return;
    }
    let mut last: Vec<i64> = seen.values().filter_map(|times| times.back().copied()).collect();
    let middle = last.len() / 2;
    let (_, median, _) = last.select_nth_unstable(middle);
    let median = *median;
    seen.retain(|_, times| times.back().is_some_and(|last| *last > median));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(1_769_856_000_000 + seconds * 1_000)
    }

    #[test]
    fn each_class_and_address_has_its_own_minute() {
        let limiter = AddressLimiter::new(AddressLimits {
            failed_authentication: 2,
            unrouted: 1,
            health: 0,
            download: 0,
        });
        let one: IpAddr = "192.0.2.1".parse().unwrap();
        let mapped: IpAddr = "::ffff:192.0.2.1".parse().unwrap();
        assert!(limiter.admit(one, AddressClass::FailedAuthentication, at(0)).is_ok());
        assert!(limiter.admit(mapped, AddressClass::FailedAuthentication, at(20)).is_ok());
        assert_eq!(limiter.admit(one, AddressClass::FailedAuthentication, at(30)), Err(30));
        assert!(
            limiter.admit("192.0.2.2".parse().unwrap(), AddressClass::FailedAuthentication, at(30)).is_ok()
        );
        assert!(limiter.admit(one, AddressClass::Unrouted, at(30)).is_ok());
        assert!(limiter.admit(one, AddressClass::FailedAuthentication, at(60)).is_ok());
        assert!(
            (0..1_000).all(|_| limiter.admit(one, AddressClass::Health, at(0)).is_ok()),
            "0 switches off"
        );
        let v6 = |text: &str| text.parse::<IpAddr>().unwrap();
        assert!(limiter.admit(v6("2001:db8::1"), AddressClass::Unrouted, at(0)).is_ok());
        assert!(limiter.admit(v6("2001:db8::2"), AddressClass::Unrouted, at(0)).is_err());
        assert!(limiter.admit(v6("2001:db8:0:1::1"), AddressClass::Unrouted, at(0)).is_ok());
    }

    #[test]
    fn memory_is_bounded() {
        let limiter = AddressLimiter::new(AddressLimits::default());
        for n in 0..120_000_u32 {
            let _ = limiter.admit(IpAddr::V4(n.into()), AddressClass::Unrouted, at(i64::from(n) / 10_000));
        }
        assert!(limiter.seen.lock().unwrap().len() <= MAX_TRACKED);
    }
}
