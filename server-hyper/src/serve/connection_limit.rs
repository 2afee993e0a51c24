//! Limits concurrent connections, in total and per address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::proxies::TrustedProxies;

/// Limits concurrent connections.
#[derive(Debug)]
pub struct ConnectionLimiter {
    total: usize,
    per_address: usize,
    /// A connection of a trusted proxy carries many clients: it counts towards the total only.
    proxies: TrustedProxies,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    total: usize,
    addresses: HashMap<IpAddr, usize>,
}

/// The limit that a connection exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitExceeded {
    /// The limit of the server.
    Total,
    /// The limit of the address.
    Address,
}

impl LimitExceeded {
    /// The label in metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            LimitExceeded::Total => "total",
            LimitExceeded::Address => "address",
        }
    }
}

impl ConnectionLimiter {
    /// A limiter; `per_address` of 0 disables the limit per address.
    #[must_use]
    pub fn new(total: usize, per_address: usize, proxies: TrustedProxies) -> Self {
        ConnectionLimiter { total, per_address, proxies, open: Mutex::default() }
    }

    /// Admits a connection from `address` until the permit is dropped.
    ///
    /// # Errors
    /// The limit that the connection would exceed.
    pub fn acquire(self: &Arc<Self>, address: IpAddr) -> Result<Permit, LimitExceeded> {
        let address = (self.per_address > 0 && !self.proxies.contains(address)).then(|| counted(address));
        let mut open = self.open.lock();
        if open.total >= self.total {
            return Err(LimitExceeded::Total);
        }
        if let Some(address) = address {
            let count = open.addresses.entry(address).or_default();
            if *count >= self.per_address {
                return Err(LimitExceeded::Address);
            }
            *count += 1;
        }
        open.total += 1;
        drop(open);
        Ok(Permit { limiter: Arc::clone(self), address })
    }
}

/// The address that connections are counted by: an IPv6 client usually has a whole /64.
fn counted(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        address => address,
    }
}

/// An admitted connection.
#[derive(Debug)]
pub struct Permit {
    limiter: Arc<ConnectionLimiter>,
    address: Option<IpAddr>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut open = self.limiter.open.lock();
        open.total -= 1;
        if let Some(address) = self.address
            && let Some(count) = open.addresses.get_mut(&address)
        {
            *count -= 1;
            if *count == 0 {
                open.addresses.remove(&address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_limited_in_total_and_per_address_until_they_end() {
        let proxies = TrustedProxies::new(vec!["10.0.0.0/8".parse().unwrap()]);
        let limiter = Arc::new(ConnectionLimiter::new(4, 2, proxies));
        let take = |address: &str| limiter.acquire(address.parse().unwrap());
        let first = take("192.0.2.1").unwrap();
        let second = take("::ffff:192.0.2.1").unwrap();
        assert_eq!(take("192.0.2.1").unwrap_err(), LimitExceeded::Address);
        drop(first);
        let held = [take("192.0.2.1").unwrap(), take("10.0.0.1").unwrap(), take("10.0.0.1").unwrap()];
        assert_eq!(take("10.0.0.1").unwrap_err(), LimitExceeded::Total);
        drop((second, held));
        assert!(limiter.open.lock().addresses.is_empty());
        let block = [take("2001:db8::1").unwrap(), take("2001:db8::2").unwrap()];
        assert_eq!(take("2001:db8::3").unwrap_err(), LimitExceeded::Address);
        assert!(take("2001:db8:0:1::1").is_ok());
        drop(block);
    }
}
