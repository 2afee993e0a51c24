//! The connection pool of a listener: limits connections in total and per network, and makes room by closing idle ones.
//!
//! Each listener has its own pool, so connections to one cannot use up another. In a full pool a newcomer replaces the
//! connection that has been idle longest, first one that never had valid credentials. A part of the API's pool is
//! reserved for networks that used valid credentials recently.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use openapi_core::limits::{Network, network_levels};
use parking_lot::Mutex;

use super::connection_state::ConnectionState;
use crate::ports::monotonic;
use crate::proxies::TrustedProxies;

/// Evicted connections that may still be closing while others have replaced them.
pub const MAX_CLOSING: usize = 128;

/// How long a network stays known after its last connection with valid credentials.
const KNOWN_FOR: Duration = Duration::from_secs(3_600);

/// Networks that are remembered as known.
const MAX_KNOWN: usize = 10_000;

/// The limits of a pool.
#[derive(Clone, Copy, Debug)]
pub struct PoolLimits {
    /// Concurrent connections.
    pub total: usize,
    /// How many of them are reserved for networks that used valid credentials recently, and for trusted proxies.
    pub reserved: usize,
    /// Concurrent connections of an IPv4 address or an IPv6 /64; twice as many of a /56, four times of a /48. 0 disables
    /// the limit.
    pub per_address: usize,
}

/// The connection pool of a listener.
#[derive(Debug)]
pub struct ConnectionLimiter {
    limits: PoolLimits,
    /// A connection of a trusted proxy carries many clients: it counts towards the total only.
    proxies: TrustedProxies,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    total: usize,
    /// Evicted connections that still hold a socket.
    closing: usize,
    /// The connections of the widest networks that are counted.
    sites: HashMap<Network, Vec<Entry>>,
    /// Networks that used valid credentials, with the end of their last connection.
    known: HashMap<Network, Instant>,
}

#[derive(Debug)]
struct Entry {
    address: IpAddr,
    state: Arc<ConnectionState>,
}

/// The limit that a connection exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitExceeded {
    /// The limit of the pool.
    Total,
    /// The limit of the address or of a network around it.
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
    /// An empty pool.
    #[must_use]
    pub fn new(limits: PoolLimits, proxies: TrustedProxies) -> Self {
        ConnectionLimiter { limits, proxies, open: Mutex::default() }
    }

    /// Admits a connection from `address` until the permit is dropped, and returns how many idle ones it replaced.
    ///
    /// # Errors
    /// The limit that the connection would exceed, if no idle connection can make room.
    pub fn acquire(
        self: &Arc<Self>,
        address: IpAddr,
        state: &Arc<ConnectionState>,
    ) -> Result<(Permit, usize), LimitExceeded> {
        let is_proxy = self.proxies.contains(address);
        let mut open = self.open.lock();
        let mut evicted = 0;
        if !is_proxy && self.limits.per_address > 0 {
            evicted += open.make_room_in_networks(address, self.limits.per_address)?;
        }
        let is_known = is_proxy || open.is_known(address);
        let total = self.limits.total.saturating_sub(if is_known { 0 } else { self.limits.reserved });
        if open.total >= total {
            // One search of all connections makes room for several.
            let freed = open.evict(self.limits.total / MAX_CLOSING);
            if freed == 0 || open.total >= total {
                return Err(LimitExceeded::Total);
            }
            evicted += freed;
        }
        open.total += 1;
        open.sites.entry(site(address)).or_default().push(Entry { address, state: Arc::clone(state) });
        drop(open);
        let permit = Permit { limiter: Arc::clone(self), address, state: Arc::clone(state) };
        Ok((permit, evicted))
    }
}

impl Open {
    /// Makes room for one more connection in each network of an address, and returns how many were evicted.
    fn make_room_in_networks(&mut self, address: IpAddr, per_address: usize) -> Result<usize, LimitExceeded> {
        let site = site(address);
        let mut evicted = 0;
        for network in network_levels(address) {
            let within = |entry: &Entry| network.contains(entry.address);
            let count = self.sites.get(&site).map_or(0, |site| site.iter().filter(|it| within(it)).count());
            if count >= per_address.saturating_mul(network.factor() as usize) {
                let freed = self.evict_of(site, within);
                if freed == 0 {
                    return Err(LimitExceeded::Address);
                }
                evicted += freed;
            }
        }
        Ok(evicted)
    }

    /// Evicts the connection of a site that is the first to go, if one can.
    fn evict_of(&mut self, site: Network, is_wanted: impl Fn(&Entry) -> bool) -> usize {
        if self.closing >= MAX_CLOSING {
            return 0;
        }
        let Some(entries) = self.sites.get(&site) else { return 0 };
        let first = entries.iter().filter(|entry| is_wanted(entry));
        let first = first
            .filter_map(|entry| Some((rank(&entry.state)?, Arc::clone(&entry.state))))
            .min_by_key(|it| it.0);
        let Some((_, state)) = first else { return 0 };
        self.release(site, &state);
        self.close(&state);
        1
    }

    /// Evicts up to so many idle connections, at least one, and returns how many.
    fn evict(&mut self, most: usize) -> usize {
        let most = most.max(1).min(MAX_CLOSING.saturating_sub(self.closing));
        if most == 0 {
            return 0;
        }
        let entries = self.sites.iter().flat_map(|(site, entries)| entries.iter().map(move |it| (site, it)));
        let mut idle: Vec<_> = entries
            .filter_map(|(site, entry)| Some((rank(&entry.state)?, *site, Arc::clone(&entry.state))))
            .collect();
        if idle.len() > most {
            idle.select_nth_unstable_by_key(most, |(rank, ..)| *rank);
            idle.truncate(most);
        }
        for (_, site, state) in &idle {
            self.release(*site, state);
            self.close(state);
        }
        idle.len()
    }

    fn close(&mut self, state: &ConnectionState) {
        self.closing += 1;
        state.eviction.raise();
    }

    /// Removes a connection from the pool; `false` if it was evicted before.
    fn release(&mut self, site: Network, state: &Arc<ConnectionState>) -> bool {
        let Some(entries) = self.sites.get_mut(&site) else { return false };
        let Some(at) = entries.iter().position(|entry| Arc::ptr_eq(&entry.state, state)) else {
            return false;
        };
        entries.swap_remove(at);
        if entries.is_empty() {
            self.sites.remove(&site);
        }
        self.total -= 1;
        true
    }

    /// Whether the network of an address has used valid credentials recently.
    fn is_known(&self, address: IpAddr) -> bool {
        let network = Network::of(address);
        let known = self.known.get(&network);
        known.is_some_and(|ended| monotonic().saturating_duration_since(*ended) < KNOWN_FOR)
            || self.sites.get(&site(address)).is_some_and(|entries| {
                let within = |entry: &&Entry| network.contains(entry.address);
                entries.iter().filter(within).any(|entry| entry.state.is_authenticated())
            })
    }

    fn remember(&mut self, network: Network) {
        let now = monotonic();
        if self.known.len() >= MAX_KNOWN && !self.known.contains_key(&network) {
            self.known.retain(|_, ended| now.saturating_duration_since(*ended) < KNOWN_FOR);
            let oldest = self.known.iter().min_by_key(|(_, ended)| **ended).map(|(network, _)| *network);
            if let Some(oldest) = oldest.filter(|_| self.known.len() >= MAX_KNOWN) {
                self.known.remove(&oldest);
            }
        }
        self.known.insert(network, now);
    }
}

/// The order in which idle connections are evicted; `None` while a request is in progress.
fn rank(state: &ConnectionState) -> Option<(bool, u64)> {
    state.idle_since().map(|since| (state.is_authenticated(), since))
}

/// The widest network that counts an address: an IPv4 address, an IPv6 /48.
fn site(address: IpAddr) -> Network {
    network_levels(address).last().unwrap_or(Network::of(address))
}

/// An admitted connection.
#[derive(Debug)]
pub struct Permit {
    limiter: Arc<ConnectionLimiter>,
    address: IpAddr,
    state: Arc<ConnectionState>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut open = self.limiter.open.lock();
        if !open.release(site(self.address), &self.state) {
            open.closing -= 1;
        }
        if self.state.is_authenticated() {
            open.remember(Network::of(self.address));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::connection_state::ActiveRequest;
    use proptest::prelude::*;

    /// A pool with trusted proxies in 10.0.0.0/8.
    fn pool(total: usize, reserved: usize, per_address: usize) -> Arc<ConnectionLimiter> {
        let proxies = TrustedProxies::new(vec!["10.0.0.0/8".parse().unwrap()]);
        Arc::new(ConnectionLimiter::new(PoolLimits { total, reserved, per_address }, proxies))
    }

    /// A connection with a request in progress.
    fn busy(
        limiter: &Arc<ConnectionLimiter>,
        address: &str,
    ) -> Result<(Permit, ActiveRequest), LimitExceeded> {
        let state = Arc::default();
        let (permit, _) = limiter.acquire(address.parse().unwrap(), &state)?;
        Ok((permit, ActiveRequest::begin(&state)))
    }

    fn idle(limiter: &Arc<ConnectionLimiter>, address: &str) -> Result<Permit, LimitExceeded> {
        limiter.acquire(address.parse().unwrap(), &Arc::default()).map(|(permit, _)| permit)
    }

    #[test]
    fn active_connections_are_limited_in_total_and_per_address_until_they_end() {
        let limiter = pool(4, 0, 2);
        let take = |address: &str| busy(&limiter, address);
        let first = take("192.0.2.1").unwrap();
        let second = take("::ffff:192.0.2.1").unwrap();
        assert_eq!(take("192.0.2.1").unwrap_err(), LimitExceeded::Address);
        drop(first);
        let held = [take("192.0.2.1").unwrap(), take("10.0.0.1").unwrap(), take("10.0.0.1").unwrap()];
        assert_eq!(take("10.0.0.1").unwrap_err(), LimitExceeded::Total);
        drop((second, held));
        let open = limiter.open.lock();
        assert!(open.sites.is_empty() && open.total == 0 && open.closing == 0);
    }

    #[test]
    fn networks_of_ipv6_are_counted_with_growing_limits() {
        let limiter = pool(1_000, 0, 4);
        let opened = |addresses: &dyn Fn(u16) -> String| {
            (0..200).filter_map(|number| busy(&limiter, &addresses(number)).ok()).collect::<Vec<_>>()
        };
        let of_64 = opened(&|host| format!("2001:db8:1:100::{host:x}"));
        assert_eq!(of_64.len(), 4);
        let of_56 = opened(&|net| format!("2001:db8:1:1{net:02x}::1"));
        assert_eq!(of_56.len(), 8 - 4);
        let of_48 = opened(&|net| format!("2001:db8:1:{net:x}00::1"));
        assert_eq!(of_48.len(), 16 - 8);
        assert!(busy(&limiter, "2001:db8:2::1").is_ok(), "another site");
        drop((of_64, of_56));
        assert!(busy(&limiter, "2001:db8:1:100::1").is_ok());
    }

    #[test]
    fn the_connection_that_is_idle_longest_makes_room() {
        let limiter = pool(3, 0, 0);
        let states: [Arc<ConnectionState>; 3] = Default::default();
        let permits: Vec<_> = states
            .iter()
            .map(|state| limiter.acquire("192.0.2.1".parse().unwrap(), state).unwrap())
            .collect();
        let evicted = || states.iter().map(|state| state.eviction.is_raised()).collect::<Vec<_>>();
        // The first one used a key, the second one has a request in progress, so the third one goes.
        states[0].set_authenticated();
        let running = ActiveRequest::begin(&states[1]);
        let newcomer = busy(&limiter, "192.0.2.2").unwrap();
        assert_eq!(evicted(), [false, false, true]);
        let another = busy(&limiter, "192.0.2.2").unwrap();
        assert_eq!(evicted(), [true, false, true]);
        assert_eq!(idle(&limiter, "192.0.2.2").unwrap_err(), LimitExceeded::Total);
        drop(running);
        assert!(idle(&limiter, "192.0.2.2").is_ok());
        drop((permits, newcomer, another));
        assert_eq!(limiter.open.lock().closing, 0);
    }

    #[test]
    fn an_address_at_its_limit_gives_up_its_own_idle_connection() {
        let limiter = pool(100, 0, 2);
        let other = Arc::<ConnectionState>::default();
        let _other = limiter.acquire("192.0.2.9".parse().unwrap(), &other).unwrap();
        let first = Arc::<ConnectionState>::default();
        let _first = limiter.acquire("192.0.2.1".parse().unwrap(), &first).unwrap();
        let _second = busy(&limiter, "192.0.2.1").unwrap();
        let _third = busy(&limiter, "192.0.2.1").unwrap();
        assert!(first.eviction.is_raised() && !other.eviction.is_raised());
        assert_eq!(busy(&limiter, "192.0.2.1").unwrap_err(), LimitExceeded::Address);
    }

    #[test]
    fn connections_that_do_not_close_make_room_for_a_bounded_number() {
        let limiter = pool(200, 0, 0);
        // Permits that are held stand for sockets that are still open.
        let held: Vec<_> = (0..500).filter_map(|_| idle(&limiter, "192.0.2.1").ok()).collect();
        assert_eq!(held.len(), 200 + MAX_CLOSING);
        drop(held);
        let open = limiter.open.lock();
        assert!(open.sites.is_empty() && open.total == 0 && open.closing == 0);
    }

    #[test]
    fn strangers_leave_the_reserve_to_networks_with_a_valid_key() {
        let limiter = pool(10, 3, 0);
        let customer = Arc::<ConnectionState>::default();
        let permit = limiter.acquire("2001:db8::1".parse().unwrap(), &customer).unwrap();
        customer.set_authenticated();
        drop(permit);
        let flood: Vec<_> = (0..20).filter_map(|_| busy(&limiter, "192.0.2.1").ok()).collect();
        assert_eq!(flood.len(), 7);
        let first = busy(&limiter, "2001:db8::2").expect("its network is known");
        let _second = busy(&limiter, "10.0.0.1").expect("a proxy is trusted");
        drop(first);
        assert_eq!(busy(&limiter, "2001:db8:0:1::1").unwrap_err(), LimitExceeded::Total);
        let open = Arc::<ConnectionState>::default();
        let _open = limiter.acquire("2001:db8::3".parse().unwrap(), &open).unwrap();
        open.set_authenticated();
        limiter.open.lock().known.clear();
        assert!(busy(&limiter, "2001:db8::2").is_ok(), "its connection is still open");
    }

    #[test]
    fn known_networks_are_bounded() {
        let limiter = pool(10, 3, 0);
        for number in 0..MAX_KNOWN + 10 {
            let network = Network::of(IpAddr::from((number as u32).to_be_bytes()));
            limiter.open.lock().remember(network);
        }
        assert_eq!(limiter.open.lock().known.len(), MAX_KNOWN);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Open { site: u8, net: u8, is_busy: bool },
        Close(prop::sample::Index),
        Finish(prop::sample::Index),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => (0..3_u8, 0..4_u8, any::<bool>())
                .prop_map(|(site, net, is_busy)| Step::Open { site, net, is_busy }),
            2 => any::<prop::sample::Index>().prop_map(Step::Close),
            1 => any::<prop::sample::Index>().prop_map(Step::Finish),
        ]
    }

    proptest! {
        #[test]
        fn no_sequence_exceeds_a_limit_or_leaks_a_permit(steps in prop::collection::vec(step(), 1..200)) {
            let limiter = pool(12, 0, 2);
            let mut held: Vec<(Permit, Option<ActiveRequest>)> = Vec::new();
            for step in steps {
                match step {
                    Step::Open { site, net, is_busy } => {
                        let state = Arc::default();
                        let address = format!("2001:db8:{site}:{net}00::1").parse().unwrap();
                        if let Ok((permit, _)) = limiter.acquire(address, &state) {
                            held.push((permit, is_busy.then(|| ActiveRequest::begin(&state))));
                        }
                    }
                    Step::Close(at) if !held.is_empty() => drop(held.swap_remove(at.index(held.len()))),
                    Step::Finish(at) if !held.is_empty() => {
                        let at = at.index(held.len());
                        held[at].1 = None;
                    }
                    Step::Close(_) | Step::Finish(_) => {}
                }
                let open = limiter.open.lock();
                let counted: usize = open.sites.values().map(Vec::len).sum();
                prop_assert!(open.total == counted && counted <= 12);
                prop_assert_eq!(open.total + open.closing, held.len());
                for entries in open.sites.values() {
                    prop_assert!(entries.len() <= 8);
                    for entry in entries {
                        prop_assert!(entries.iter().filter(|other| other.address == entry.address).count() <= 2);
                    }
                }
                let running = held.iter().filter(|(permit, active)| active.is_some() && permit.state.eviction.is_raised());
                prop_assert_eq!(running.count(), 0, "a running request was evicted");
            }
            drop(held);
            let open = limiter.open.lock();
            prop_assert!(open.sites.is_empty() && open.total == 0 && open.closing == 0);
        }
    }
}
