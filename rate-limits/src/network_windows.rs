//! Rate limits of networks: the windows of an address apply to its /64, and with growing limits to its /56 and /48.

use std::hash::Hash;
use std::net::IpAddr;

use parking_lot::Mutex;

use crate::networks::{Network, network_levels};
use crate::windows::{Full, MAX_COUNTERS, MAX_INSTANTS, Table, Window, WindowUsage, longest, scaled};
use values::Timestamp;

/// The factors of [`Network::factor`], each twice the one before.
const FACTORS: usize = 4;
/// The most regions whose newcomers have a counter of their own.
const MAX_REGIONS: usize = 4_096;

/// What a counter counts: a class of requests from a network.
type Key<C> = (C, Network);

/// Counts of requests by class and network, in bounded memory.
///
/// Where a table is full of counters at their limits, newcomers share one counter for each /32 (IPv4: /16) of eight
/// times the limit. Beyond 4,096 full ones of these, all other newcomers share one.
#[derive(Debug)]
pub struct NetworkWindows<C> {
    /// The windows of each class, by the factor of their limits.
    classes: Vec<(C, [Vec<Window>; FACTORS])>,
    tables: Mutex<Tables<C>>,
}

#[derive(Debug)]
struct Tables<C> {
    own: Table<Key<C>>,
    /// Of newcomers without a counter of their own.
    regions: Table<Key<C>>,
    /// Of newcomers whose region has no counter either, one for each class.
    everyone: Table<Key<C>>,
}

impl<C: Copy + Eq + Hash> NetworkWindows<C> {
    /// The windows of an address in each class. A class without windows, or with limits of 0 only, is not limited.
    #[must_use]
    pub fn new(classes: impl IntoIterator<Item = (C, Vec<Window>)>) -> Self {
        NetworkWindows::with_room(classes, MAX_COUNTERS, MAX_REGIONS)
    }

    fn with_room(classes: impl IntoIterator<Item = (C, Vec<Window>)>, own: usize, regions: usize) -> Self {
        let by_factor = |windows: Vec<Window>| [1, 2, 4, 8].map(|factor| scaled(&windows, factor));
        let classes = classes.into_iter().map(|(class, windows)| (class, by_factor(windows))).collect();
        let tables = Tables {
            own: Table::new(own, MAX_INSTANTS),
            regions: Table::new(regions, MAX_INSTANTS),
            everyone: Table::new(usize::MAX, usize::MAX),
        };
        NetworkWindows { classes, tables: Mutex::new(tables) }
    }

    /// The windows of a class and network.
    fn windows(&self, (class, network): &Key<C>) -> &[Window] {
        let known = self.classes.iter().find(|(known, _)| known == class);
        known.map_or(&[], |(_, by_factor)| &by_factor[network.factor().ilog2() as usize])
    }

    fn is_limited(&self, class: C, address: IpAddr) -> bool {
        longest(self.windows(&(class, Network::of(address)))).is_some()
    }

    /// How an address would stand with one more request, without counting it.
    ///
    /// # Errors
    /// The window that is full, of the address or of a network around it.
    pub fn peek(&self, address: IpAddr, class: C, now: Timestamp) -> Result<WindowUsage, Full> {
        let (tables, now) = (self.tables.lock(), now.millis());
        let keys = network_levels(address).map(|network| (class, network));
        let mut usage = self.with_one(&tables.own, keys.clone(), now)?;
        let is_crowded = tables.own.is_full() && keys.into_iter().any(|key| !tables.own.contains(&key));
        if is_crowded {
            let region = (class, Network::region(address));
            let has_counter = tables.regions.contains(&region) || !tables.regions.is_full();
            let of_region = match has_counter {
                true => self.with_one(&tables.regions, [region], now)?,
                false => self.with_one(&tables.everyone, [(class, Network::EVERYONE)], now)?,
            };
            usage = usage.max(of_region);
        }
        Ok(WindowUsage { share: usage })
    }

    /// Counts one more request of an address, if it fits.
    ///
    /// # Errors
    /// The window that is full, of the address or of a network around it.
    pub fn admit(&self, address: IpAddr, class: C, now: Timestamp) -> Result<WindowUsage, Full> {
        if !self.is_limited(class, address) {
            return Ok(WindowUsage { share: 0.0 });
        }
        let (mut tables, now) = (self.tables.lock(), now.millis());
        let Tables { own, regions, everyone } = &mut *tables;
        let keys = network_levels(address).map(|network| (class, network));
        // First what needs no room, so requests that are rejected anyway take none.
        let mut usage = self.with_one(own, keys.clone(), now)?;
        let has_room =
            |table: &mut Table<Key<C>>, key: &Key<C>| table.has_room(key, now, |key| self.windows(key));
        let own_keys: Vec<Key<C>> = keys.clone().filter(|key| has_room(own, key)).collect();
        let mut shared = None;
        if own_keys.len() < keys.count() {
            let region = (class, Network::region(address));
            let (table, key) = match has_room(regions, &region) {
                true => (regions, region),
                false => (everyone, (class, Network::EVERYONE)),
            };
            usage = usage.max(self.with_one(table, [key], now)?);
            shared = Some((table, key));
        }
        for key in own_keys {
            own.count(key, self.windows(&key), now);
        }
        if let Some((table, key)) = shared {
            table.count(key, self.windows(&key), now);
        }
        Ok(WindowUsage { share: usage })
    }

    /// The highest share of the keys with one more.
    fn with_one(
        &self,
        table: &Table<Key<C>>,
        keys: impl IntoIterator<Item = Key<C>>,
        now: i64,
    ) -> Result<f64, Full> {
        let (mut share, mut full) = (0.0_f64, None::<Full>);
        for key in keys {
            match table.with_one(&key, self.windows(&key), now) {
                Ok(usage) => share = share.max(usage.share),
                Err(other) if full.is_none_or(|full| full.wait < other.wait) => full = Some(other),
                Err(_) => {}
            }
        }
        full.map_or(Ok(share), Err)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use proptest::prelude::*;

    const LIMIT: u32 = 3;
    const MINUTE: i64 = 60_000;

    fn windows(own: usize, regions: usize) -> NetworkWindows<()> {
        NetworkWindows::with_room([((), vec![Window::of_seconds("minute", 60, LIMIT)])], own, regions)
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(1_769_856_000_000 + millis)
    }

    /// Addresses of few networks, so that each level fills: IPv4, and a handful of each level of IPv6.
    fn address() -> impl Strategy<Value = IpAddr> {
        prop_oneof![
            (0_u8..3, 0_u8..6).prop_map(|(net, host)| IpAddr::from([192, net, 2, host])),
            (0_u16..2, 0_u16..3, 0_u16..3, 0_u16..4, 0_u16..3).prop_map(
                |(region, site, block, net, host)| {
                    IpAddr::from([0x2001, 0xdb8 + region, site, block << 8 | net, 0, 0, 0, host])
                }
            ),
        ]
    }

    #[derive(Clone, Debug)]
    enum Step {
        Request(IpAddr),
        Pause(i64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            12 => address().prop_map(Step::Request),
            1 => (0..MINUTE / 2).prop_map(Step::Pause),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// With room for all, each request is decided as an oracle does that remembers every admitted request.
        #[test]
        fn decisions_equal_those_of_an_oracle(steps in prop::collection::vec(step(), 1..400)) {
            let windows = windows(1_000, 1_000);
            let mut admitted: Vec<(i64, IpAddr)> = Vec::new();
            let mut now = 0;
            for step in steps {
                let address = match step {
                    Step::Pause(millis) => { now += millis; continue; }
                    Step::Request(address) => address,
                };
                now += 1;
                let fits = network_levels(address).all(|network| {
                    let of_network = admitted.iter().filter(|(when, from)| {
                        when + MINUTE > now && network_levels(*from).any(|other| other == network)
                    });
                    of_network.count() < (LIMIT * network.factor()) as usize
                });
                prop_assert_eq!(windows.peek(address, (), at(now)).is_ok(), fits);
                let decision = windows.admit(address, (), at(now));
                prop_assert_eq!(decision.is_ok(), fits, "{} at {}", address, now);
                if let Err(full) = decision {
                    let wait = i64::try_from(full.wait).unwrap() * 1_000;
                    prop_assert!(wait <= MINUTE);
                } else {
                    admitted.push((now, address));
                }
            }
        }

        /// In tables that are far too small, no sequence of requests frees a full counter, no network exceeds what its
        /// own and the shared counters allow, and memory stays bounded.
        #[test]
        fn nothing_frees_a_full_counter(steps in prop::collection::vec(step(), 1..600)) {
            const ROOM: (usize, usize) = (24, 3);
            let windows = windows(ROOM.0, ROOM.1);
            let mut full_until: HashMap<IpAddr, i64> = HashMap::new();
            let mut now = 0;
            for step in steps {
                let address = match step {
                    Step::Pause(millis) => { now += millis; continue; }
                    Step::Request(address) => address,
                };
                now += 1;
                let decision = windows.admit(address, (), at(now));
                let until = full_until.get(&address).copied().unwrap_or(0);
                prop_assert!(decision.is_err() || until <= now, "{} was full until {}", address, until);
                if let Err(full) = decision
                    // The wait is rounded up to seconds.
                    && now + i64::try_from(full.wait).unwrap() * 1_000 - 1_000 > until
                    // A shared counter frees an address that gets its own.
                    && full.window.limit < LIMIT * 8
                {
                    full_until.insert(address, now + i64::try_from(full.wait).unwrap() * 1_000 - 1_000);
                }
                let tables = windows.tables.lock();
                // The levels of one request are checked together.
                prop_assert!(tables.own.len() <= ROOM.0 + 2);
                prop_assert!(tables.regions.len() <= ROOM.1);
            }
        }
    }

    #[test]
    fn newcomers_share_a_counter_for_their_region() {
        let windows = windows(10, 2);
        let admit = |address: [u8; 4], millis| windows.admit(address.into(), (), at(millis));
        for host in 0..10 {
            for _ in 0..LIMIT {
                assert!(admit([192, 0, 2, host], 0).is_ok());
            }
        }
        let passed = |net: [u8; 2], hosts: u8| {
            (0..hosts).filter(|host| admit([net[0], net[1], 0, *host], 1_000).is_ok()).count()
        };
        assert_eq!(passed([198, 51], 100), 24, "eight times the limit");
        assert_eq!(passed([198, 18], 100), 24, "another region");
        assert_eq!(passed([203, 0], 100), 24, "all others");
        assert_eq!(passed([203, 1], 100), 0, "have one");
        assert!((0..10).all(|host| admit([192, 0, 2, host], 2_000).is_err()), "nobody was freed");
        // Once the counters have room again, newcomers take theirs.
        assert_eq!(passed([198, 51], 1), 0);
        assert!(admit([198, 51, 0, 1], MINUTE).is_ok());
        assert!(admit([203, 1, 0, 1], MINUTE).is_ok());
    }

    #[test]
    fn many_networks_of_one_site_cost_few_counters() {
        let windows = windows(MAX_COUNTERS, MAX_REGIONS);
        let victim = IpAddr::from([192, 0, 2, 1]);
        for _ in 0..LIMIT {
            assert!(windows.admit(victim, (), at(0)).is_ok());
        }
        let admitted = (0..u16::MAX).filter(|network| {
            let address = IpAddr::from([0x2001, 0xdb8, 1, *network, 0, 0, 0, 1]);
            windows.admit(address, (), at(1)).is_ok()
        });
        assert_eq!(admitted.count(), 12, "four times the limit");
        assert!(windows.admit(victim, (), at(2)).is_err());
        assert!(windows.tables.lock().own.len() < 50);
    }
}
