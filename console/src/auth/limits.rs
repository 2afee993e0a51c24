//! How often somebody may try: windows in bounded memory.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;

use openapi_core::limits::{NetworkWindows, Window};
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::values::Timestamp;
use parking_lot::Mutex;

/// The most counters of a kind. Newcomers share one while all are in use.
const MOST: usize = 20_000;
/// How often counters that are over are removed from full memory.
const SWEEP_MILLIS: i64 = 1_000;

/// A limit: so many in so many milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    pub(crate) most: u32,
    pub(crate) millis: i64,
}

#[derive(Clone, Copy, Debug)]
struct Counter {
    since: Timestamp,
    count: u32,
}

/// Counters by what they count.
#[derive(Debug)]
pub(crate) struct Windows<K> {
    rate: Rate,
    counters: Mutex<Counters<K>>,
}

#[derive(Debug)]
struct Counters<K> {
    by_key: HashMap<Option<K>, Counter>,
    /// When counters that are over were last removed.
    swept_at: Timestamp,
}

impl<K: Eq + Hash> Windows<K> {
    pub(crate) fn new(most: u32, millis: i64) -> Self {
        let counters = Counters { by_key: HashMap::new(), swept_at: Timestamp::from_millis(0) };
        Windows { rate: Rate { most, millis }, counters: Mutex::new(counters) }
    }

    /// Counts one, or tells in how many seconds there is room again.
    pub(crate) fn take(&self, key: K, now: Timestamp) -> Result<(), u64> {
        let Rate { most, millis } = self.rate;
        let is_over = |counter: &Counter| !(0..millis).contains(&now.millis_since(counter.since));
        let mut counters = self.counters.lock();
        let Counters { by_key, swept_at } = &mut *counters;
        let mut key = Some(key);
        if by_key.len() >= MOST && !by_key.contains_key(&key) {
            // Rarely, so that newcomers to full memory cost no walk each.
            if !(0..SWEEP_MILLIS).contains(&now.millis_since(*swept_at)) {
                by_key.retain(|_, counter| !is_over(counter));
                *swept_at = now;
            }
            if by_key.len() >= MOST {
                key = None;
            }
        }
        let counter = by_key.entry(key).or_insert(Counter { since: now, count: 0 });
        if is_over(counter) {
            *counter = Counter { since: now, count: 0 };
        }
        if counter.count >= most {
            let rest = millis - now.millis_since(counter.since);
            return Err(u64::try_from(rest).unwrap_or(0).div_ceil(1_000).max(1));
        }
        counter.count += 1;
        Ok(())
    }
}

/// A limit of addresses. As in the API an address counts with the networks around it, with growing limits, and nobody
/// with many addresses frees a full counter or fills that of others.
#[derive(Debug)]
pub(crate) struct AddressWindows(NetworkWindows<()>);

impl AddressWindows {
    fn new(limit: u32, millis: i64) -> Self {
        AddressWindows(NetworkWindows::new([((), vec![Window { name: "window", millis, limit }])]))
    }

    /// Counts one, or tells in how many seconds there is room again.
    pub(crate) fn take(&self, address: IpAddr, now: Timestamp) -> Result<(), u64> {
        self.0.admit(address, (), now).map(drop).map_err(|full| full.wait)
    }

    /// Whether there is room, without counting.
    pub(crate) fn check(&self, address: IpAddr, now: Timestamp) -> Result<(), u64> {
        self.0.peek(address, (), now).map(drop).map_err(|full| full.wait)
    }
}

const MINUTE: i64 = 60_000;

/// The limits of the console.
#[derive(Debug)]
pub(crate) struct Limits {
    /// Requests of an address.
    pub(crate) addresses: AddressWindows,
    /// Requests of an operator's session.
    pub(crate) sessions: Windows<Vec<u8>>,
    /// Failed authentications of an address, passkeys, links and sessions included.
    pub(crate) failures: AddressWindows,
    /// Requests of an address with service tokens that do not work. They have a limit of their own, so that a script
    /// whose token has ended keeps nobody from signing in.
    pub(crate) tokens: AddressWindows,
    /// Entries of the audit log about requests with a service token that does not work, by the token.
    pub(crate) noted_tokens: Windows<Vec<u8>>,
    /// Passwords that an address tries.
    pub(crate) passwords: AddressWindows,
    /// Passwords that are tried for an account, by browsers that it does not know or by one that it knows.
    pub(crate) accounts: Windows<[u8; 32]>,
    /// Codes that are tried after a password, by the challenge.
    pub(crate) codes: Windows<Vec<u8>>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            addresses: AddressWindows::new(1_200, MINUTE),
            sessions: Windows::new(600, MINUTE),
            failures: AddressWindows::new(20, MINUTE),
            tokens: AddressWindows::new(20, MINUTE),
            noted_tokens: Windows::new(1, MINUTE),
            passwords: AddressWindows::new(10, 10 * MINUTE),
            accounts: Windows::new(10, 60 * MINUTE),
            codes: Windows::new(5, super::challenge::CHALLENGE_MILLIS),
        }
    }
}

/// 429.
pub(crate) fn too_many(what: &'static str, seconds: u64) -> ApiError {
    ApiError::new(ErrorCode::RateLimitExceeded, what)
        .with_detail("retryAfterSeconds", u32::try_from(seconds).unwrap_or(u32::MAX))
        .with_retry_after(seconds)
}

/// The address that counts: one for all callers where a host application gives none.
pub(crate) fn counted_address(address: Option<IpAddr>) -> IpAddr {
    address.unwrap_or(IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_many_addresses_takes_nothing_from_others() {
        let limits = Limits::default();
        let now = Timestamp::from_millis(0);
        let of_site = |subnet: u32| {
            IpAddr::from((0x2001_0db8_0001_u128 << 80 | u128::from(subnet) << 64).to_be_bytes())
        };
        let admitted =
            (0..65_536).filter(|subnet| limits.failures.take(of_site(*subnet), now).is_ok()).count();
        assert!(admitted <= 20 * 8, "{admitted} failures of one /48");
        let others = ["198.51.100.7", "2001:db8:2::1"].map(|text| text.parse().unwrap());
        assert!(others.into_iter().all(|other| limits.failures.check(other, now).is_ok()));
        assert_eq!(limits.failures.check(of_site(0), now), Err(60));
    }

    #[test]
    fn a_window_admits_so_many_and_memory_is_bounded() {
        let windows: Windows<u32> = Windows::new(2, 1_000);
        let at = Timestamp::from_millis;
        assert_eq!(windows.take(1, at(0)), Ok(()));
        assert_eq!(windows.take(1, at(10)), Ok(()));
        assert_eq!(windows.take(1, at(20)), Err(1));
        assert_eq!(windows.take(2, at(20)), Ok(()));
        assert_eq!(windows.take(1, at(1_000)), Ok(()));
        for key in 0..2 * u32::try_from(MOST).unwrap() {
            let _ = windows.take(key + 10, at(1_000));
        }
        assert!(windows.counters.lock().by_key.len() <= MOST + 1);
        // Newcomers share a counter, which is full by now.
        assert!(windows.take(u32::MAX, at(1_001)).is_err());
    }
}
