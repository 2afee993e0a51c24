//! How many connections there may be, in all and from one address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

use super::proxies::TrustedProxies;

/// The limiter for connections.
#[derive(Debug)]
pub struct ConnectionLimiter {
    total: usize,
    per_address: usize,
    /// Connections of trusted proxies carry many clients: they count for the total only.
    proxies: TrustedProxies,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    total: usize,
    addresses: HashMap<IpAddr, usize>,
}

/// Why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitExceeded {
    /// The server has as many connections as it may.
    Total,
    /// The address has as many connections as it may.
    Address,
}

impl LimitExceeded {
    /// The word in the metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            LimitExceeded::Total => "total",
            LimitExceeded::Address => "address",
        }
    }
}

impl ConnectionLimiter {
    /// So many limiter; 0 for one address means that only the total counts.
    #[must_use]
    pub fn new(total: usize, per_address: usize, proxies: TrustedProxies) -> Self {
        ConnectionLimiter { total, per_address, proxies, taken: Mutex::default() }
    }

    /// Takes a place for a connection from `address`, until it is dropped.
    ///
    /// # Errors
    /// When there is none.
    pub fn take(self: &Arc<Self>, address: IpAddr) -> Result<Permit, LimitExceeded> {
        let address = (self.per_address > 0 && !self.proxies.contains(address)).then(|| counted(address));
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.total >= self.total {
            return Err(LimitExceeded::Total);
        }
        if let Some(address) = address {
            let count = taken.addresses.entry(address).or_default();
            if *count >= self.per_address {
                return Err(LimitExceeded::Address);
            }
            *count += 1;
        }
        taken.total += 1;
        drop(taken);
        Ok(Permit { limiter: Arc::clone(self), address })
    }
}

/// One client usually holds a whole /64 of IPv6.
fn counted(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        address => address,
    }
}

/// A place that is taken.
#[derive(Debug)]
pub struct Permit {
    limiter: Arc<ConnectionLimiter>,
    address: Option<IpAddr>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut taken = self.limiter.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.total -= 1;
        if let Some(address) = self.address
            && let Some(count) = taken.addresses.get_mut(&address)
        {
            *count -= 1;
            if *count == 0 {
                taken.addresses.remove(&address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_all_and_by_address_and_come_back() {
        let proxies = TrustedProxies::new(vec!["10.0.0.0/8".parse().unwrap()]);
        let limiter = Arc::new(ConnectionLimiter::new(4, 2, proxies));
        let take = |address: &str| limiter.take(address.parse().unwrap());
        let first = take("192.0.2.1").unwrap();
        let second = take("::ffff:192.0.2.1").unwrap();
        assert_eq!(take("192.0.2.1").unwrap_err(), LimitExceeded::Address);
        drop(first);
        let held = [take("192.0.2.1").unwrap(), take("10.0.0.1").unwrap(), take("10.0.0.1").unwrap()];
        assert_eq!(take("10.0.0.1").unwrap_err(), LimitExceeded::Total);
        drop((second, held));
        assert!(limiter.taken.lock().unwrap().addresses.is_empty());
        let block = [take("2001:db8::1").unwrap(), take("2001:db8::2").unwrap()];
        assert_eq!(take("2001:db8::3").unwrap_err(), LimitExceeded::Address);
        assert!(take("2001:db8:0:1::1").is_ok());
        drop(block);
    }
}
