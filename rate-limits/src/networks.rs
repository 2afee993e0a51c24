//! Networks: the blocks of addresses that limits count as one caller.
//!
//! A subscriber of IPv6 holds at least a /64, often a /56 or a /48, and may use every address in it. Each of these
//! levels has its own count, so rotating through addresses or networks gains a small factor at most.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A block of addresses: those with the same leading bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Network {
    first: IpAddr,
    length: u8,
}

impl Network {
    /// All addresses.
    pub(crate) const EVERYONE: Network = Network { first: IpAddr::V6(Ipv6Addr::UNSPECIFIED), length: 0 };

    /// The block of an address with the length for its family, which is at least 1. An IPv4 address may be mapped.
    fn new(address: IpAddr, v4: u8, v6: u8) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => {
                let bits = address.to_bits() >> (32 - v4) << (32 - v4);
                Network { first: Ipv4Addr::from_bits(bits).into(), length: v4 }
            }
            IpAddr::V6(address) => {
                let bits = address.to_bits() >> (128 - v6) << (128 - v6);
                Network { first: Ipv6Addr::from_bits(bits).into(), length: v6 }
            }
        }
    }

    /// What counts as one address: an IPv4 address; of IPv6 the /64, whose 2^64 addresses are free for its subscriber.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        Network::new(address, 32, 64)
    }

    /// A network that a subscriber keeps when the address changes, and too large to identify one: /24, IPv6 /48.
    #[must_use]
    pub fn site(address: IpAddr) -> Self {
        Network::new(address, 24, 48)
    }

    /// The network whose newcomers share a counter where there is no room for their own: /16, IPv6 /32.
    pub(crate) fn region(address: IpAddr) -> Self {
        Network::new(address, 16, 32)
    }

    /// Whether an address, which may be mapped, is one of it.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        address.to_canonical().is_ipv4() == self.first.is_ipv4()
            && Network::new(address, self.length.min(32), self.length).first == self.first
    }

    /// By how much its limit exceeds that of one address.
    #[must_use]
    pub const fn factor(&self) -> u32 {
        match (self.first, self.length) {
            (IpAddr::V4(_), 32) | (IpAddr::V6(_), 64) => 1,
            (IpAddr::V6(_), 56) => 2,
            (IpAddr::V6(_), 48) => 4,
            _ => 8,
        }
    }
}

/// An IPv4 address alone, other blocks with their length.
impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.first, self.length) {
            (IpAddr::V4(address), 32) => write!(f, "{address}"),
            (first, length) => write!(f, "{first}/{length}"),
        }
    }
}

/// The networks whose limits count an address, the narrowest first: an IPv4 address itself; of IPv6 the /64, the /56
/// and the /48. [`Network::factor`] is the factor of each one's limit.
pub fn network_levels(address: IpAddr) -> impl Iterator<Item = Network> + Clone {
    let levels: &[u8] = if address.to_canonical().is_ipv4() { &[64] } else { &[64, 56, 48] };
    levels.iter().map(move |v6| Network::new(address, 32, *v6))
}

/// How many things of each network are open at once, such as connections or streams. Its memory is bounded by the number
/// of open things.
#[derive(Debug, Default)]
pub struct OpenCounts(HashMap<Network, u32>);

impl OpenCounts {
    /// The share of the limit of an address that one more would use, the highest of its networks; 0 is no limit.
    ///
    /// # Errors
    /// The limit of the network that is full.
    pub fn share_with(&self, address: IpAddr, limit: u32) -> Result<f64, u32> {
        let mut share = 0.0_f64;
        for network in network_levels(address).filter(|_| limit > 0) {
            let limit = limit.saturating_mul(network.factor());
            let count = self.0.get(&network).copied().unwrap_or(0);
            if count >= limit {
                return Err(limit);
            }
            share = share.max(f64::from(count + 1) / f64::from(limit));
        }
        Ok(share)
    }

    /// Counts one more.
    pub fn add(&mut self, address: IpAddr) {
        for network in network_levels(address) {
            *self.0.entry(network).or_default() += 1;
        }
    }

    /// Counts one less.
    pub fn remove(&mut self, address: IpAddr) {
        for network in network_levels(address) {
            if let Some(count) = self.0.get_mut(&network) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    self.0.remove(&network);
                }
            }
        }
    }

    /// Whether nothing is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn networks_contain_their_addresses() {
        let contains = |of: &str, other: &str| {
            network_levels(address(of)).map(|it| it.contains(address(other))).collect::<Vec<_>>()
        };
        assert_eq!(contains("192.0.2.7", "::ffff:192.0.2.7"), [true]);
        assert_eq!(contains("192.0.2.7", "192.0.2.8"), [false]);
        assert_eq!(contains("192.0.2.7", "::192.0.2.7"), [false]);
        assert_eq!(contains("2001:db8:1:a234::9", "2001:db8:1:a234::1"), [true, true, true]);
        assert_eq!(contains("2001:db8:1:a234::9", "2001:db8:1:a2ff::1"), [false, true, true]);
        assert_eq!(contains("2001:db8:1:a234::9", "2001:db8:1:ffff::1"), [false, false, true]);
        assert_eq!(contains("2001:db8:1:a234::9", "2001:db8:2:a234::9"), [false, false, false]);
    }

    #[test]
    fn levels_and_their_factors() {
        let levels = |text: &str| {
            let levels = network_levels(address(text));
            levels.map(|it| (it.to_string(), it.factor())).collect::<Vec<_>>()
        };
        let one = |text: &str, factor| (text.to_owned(), factor);
        assert_eq!(levels("192.0.2.7"), [one("192.0.2.7", 1)]);
        assert_eq!(levels("::ffff:192.0.2.7"), [one("192.0.2.7", 1)]);
        assert_eq!(
            levels("2001:db8:1:a234::9"),
            [one("2001:db8:1:a234::/64", 1), one("2001:db8:1:a200::/56", 2), one("2001:db8:1::/48", 4)]
        );
        assert_eq!(Network::site(address("192.0.2.7")).to_string(), "192.0.2.0/24");
        assert_eq!(Network::region(address("192.0.2.7")).to_string(), "192.0.0.0/16");
        assert_eq!(Network::region(address("2001:db8:1::9")).to_string(), "2001:db8::/32");
    }

    #[test]
    fn a_site_opens_four_times_as_much_as_an_address() {
        let mut open = OpenCounts::default();
        let of = |network: u16| IpAddr::from([0x2001, 0xdb8, 1, network << 4, 0, 0, 0, 1]);
        let mut opened = Vec::new();
        for network in 0..100 {
            if open.share_with(of(network), 2).is_ok() {
                open.add(of(network));
                opened.push(of(network));
            }
        }
        assert_eq!(opened.len(), 8);
        assert_eq!(open.share_with(of(200), 2), Err(8));
        assert_eq!(open.share_with(address("2001:db8:2::1"), 2), Ok(0.5), "another site");
        assert_eq!(open.share_with(of(200), 0), Ok(0.0), "no limit");
        opened.into_iter().for_each(|address| open.remove(address));
        assert!(open.is_empty());
    }
}
