//! Rate limits of networks, visitors and agents: exact sliding windows in bounded memory.
//!
//! A table has room for a fixed number of counters. Where it is full, the least used ones go. A counter at its limit
//! stays until its window has room again, so requests of others cannot free it. Where only such counters remain,
//! newcomers share one.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use parking_lot::Mutex;
use values::Timestamp;

/// So many in such a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its name in the answer: `second`, `minute`, `hour`, `day`.
    pub name: &'static str,
    /// Its length, in milliseconds.
    pub millis: i64,
    /// How many it admits; 0 is no limit.
    pub limit: u32,
}

impl Window {
    /// A window of so many seconds.
    #[must_use]
    pub const fn of_seconds(name: &'static str, seconds: i64, limit: u32) -> Self {
        Window { name, millis: seconds * 1_000, limit }
    }
}

/// The same windows with limits so many times as high.
#[must_use]
pub fn scaled(windows: &[Window], factor: u32) -> Vec<Window> {
    let scaled = |window: &Window| Window { limit: window.limit.saturating_mul(factor), ..*window };
    windows.iter().map(scaled).collect()
}

/// A window that is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full {
    /// Which.
    pub window: Window,
    /// Seconds, rounded up, until it has room.
    pub wait: u64,
}

/// Whether one more at `now` fits into every window after the counted instants, the newest last; of several
/// full windows the one with the longest wait.
///
/// # Errors
/// The window that is full.
pub fn fits(
    counted: impl DoubleEndedIterator<Item = i64> + Clone,
    windows: &[Window],
    now: i64,
) -> Result<(), Full> {
    let mut full: Option<Full> = None;
    for window in windows.iter().filter(|window| window.limit > 0) {
        // The last `limit` of them: when the oldest of these has left, there is room.
        let oldest = counted.clone().rev().nth(window.limit as usize - 1);
        let Some(oldest) = oldest.map(|at| at.min(now)).filter(|at| at + window.millis > now) else {
            continue;
        };
        let wait = u64::try_from(oldest + window.millis - now).unwrap_or(0).div_ceil(1_000).max(1);
        if full.is_none_or(|known| wait > known.wait) {
            full = Some(Full { window: *window, wait });
        }
    }
    full.map_or(Ok(()), Err)
}

/// How one key stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowUsage {
    /// How full the fullest window is, 0 to 1.
    pub share: f64,
}

/// The most counters of a table.
pub(crate) const MAX_COUNTERS: usize = 50_000;
/// The most instants that a table stores: 8 MB.
pub(crate) const MAX_INSTANTS: usize = 1_000_000;
/// A table that could free no more than this part of itself waits before it looks again.
const WORTHWHILE_PART: usize = 16;
/// How long it waits, in milliseconds.
const CROWDED_MILLIS: i64 = 1_000;
/// By how much the limit of the counter that newcomers share exceeds that of one key.
const SHARED_FACTOR: u32 = 8;

/// Counters by key, in bounded memory.
#[derive(Debug)]
pub(crate) struct Table<K> {
    counters: HashMap<K, VecDeque<i64>>,
    /// The instants of all counters.
    instants: usize,
    capacity: usize,
    max_instants: usize,
    /// When the table last found only counters at their limits.
    crowded_at: Option<i64>,
}

impl<K: Hash + Eq> Table<K> {
    pub(crate) fn new(capacity: usize, max_instants: usize) -> Self {
        Table { counters: HashMap::new(), instants: 0, capacity, max_instants, crowded_at: None }
    }

    pub(crate) fn contains(&self, key: &K) -> bool {
        self.counters.contains_key(key)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.counters.len() >= self.capacity || self.has_most_instants()
    }

    const fn has_most_instants(&self) -> bool {
        self.instants >= self.max_instants
    }

    /// How a key would stand with one more.
    pub(crate) fn with_one(&self, key: &K, windows: &[Window], now: i64) -> Result<WindowUsage, Full> {
        let none = VecDeque::new();
        let times = self.counters.get(key).unwrap_or(&none);
        fits(times.iter().copied(), windows, now)?;
        Ok(WindowUsage { share: share(times, 1, windows, now) })
    }

    /// Whether the key has a counter or there is room for one, after this has removed the least used.
    pub(crate) fn has_room<W: AsRef<[Window]>>(
        &mut self,
        key: &K,
        now: i64,
        windows_of: impl Fn(&K) -> W,
    ) -> bool {
        if !self.is_full() || self.contains(key) && !self.has_most_instants() {
            return true;
        }
        // Each search visits all counters, so one that found little is not repeated for every newcomer.
        if self.crowded_at.is_none_or(|at| !(0..CROWDED_MILLIS).contains(&(now - at))) {
            let before = self.counters.len();
            self.evict(now, windows_of);
            let freed = before - self.counters.len();
            self.crowded_at = (freed < self.capacity / WORTHWHILE_PART).then_some(now);
        }
        !self.is_full() || self.contains(key)
    }

    /// Removes the counters that count nothing, and of the others that are below their limits the least used, until a
    /// part of the table is free.
    fn evict<W: AsRef<[Window]>>(&mut self, now: i64, windows_of: impl Fn(&K) -> W) {
        self.counters.retain(|key, times| {
            let longest = longest(windows_of(key).as_ref()).unwrap_or(0);
            times.back().is_some_and(|last| last + longest > now)
        });
        self.instants = self.counters.values().map(VecDeque::len).sum();
        let spare = |most: usize| most - (most / WORTHWHILE_PART).max(1);
        let surplus = self.counters.len().saturating_sub(spare(self.capacity));
        let surplus_instants = self.instants.saturating_sub(spare(self.max_instants));
        if surplus == 0 && surplus_instants == 0 {
            return;
        }
        let usage = |key: &K, times: &VecDeque<i64>| {
            let windows = windows_of(key);
            fits(times.iter().copied(), windows.as_ref(), now).ok()?;
            Some(((share(times, 0, windows.as_ref(), now) * 1e6) as u64, times.back().copied()))
        };
        let open = self.counters.iter();
        let mut open: Vec<_> =
            open.filter_map(|(key, times)| Some((usage(key, times)?, times.len()))).collect();
        open.sort_unstable();
        let mut gone = (0, 0);
        let last = open.iter().take_while(|(_, instants)| {
            let is_needed = gone.0 < surplus || gone.1 < surplus_instants;
            gone = (gone.0 + 1, gone.1 + instants);
            is_needed
        });
        let Some((last, _)) = last.last().copied() else { return };
        self.counters.retain(|key, times| usage(key, times).is_none_or(|usage| usage > last));
        self.instants = self.counters.values().map(VecDeque::len).sum();
    }

    /// Counts one more, which fits.
    pub(crate) fn count(&mut self, key: K, windows: &[Window], now: i64) {
        let times = self.counters.entry(key).or_default();
        let before = times.len();
        // A clock that went back: what lies ahead counts as of now.
        times.iter_mut().rev().take_while(|time| **time > now).for_each(|time| *time = now);
        let longest = longest(windows).unwrap_or(0);
        while times.front().is_some_and(|first| first + longest <= now) {
            times.pop_front();
        }
        times.push_back(now);
        self.instants = self.instants + times.len() - before;
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.counters.len()
    }
}

/// The length of the longest window with a limit.
pub(crate) fn longest(windows: &[Window]) -> Option<i64> {
    windows.iter().filter(|window| window.limit > 0).map(|window| window.millis).max()
}

/// How full the fullest window is with so many more.
fn share(times: &VecDeque<i64>, more: usize, windows: &[Window], now: i64) -> f64 {
    let share = windows.iter().filter(|window| window.limit > 0).map(|window| {
        let used = times.iter().rev().take_while(|at| **at + window.millis > now).count();
        (used + more) as f64 / f64::from(window.limit)
    });
    share.fold(0.0, f64::max)
}

/// Counts by key. Newcomers without room share one counter of eight times the limit.
#[derive(Debug)]
pub struct Windows<K>(Mutex<(Table<K>, Shared)>);

/// The counter of newcomers without their own, in a table of its own, so that nothing evicts it.
type Shared = Table<()>;

impl<K: Hash + Eq> Default for Windows<K> {
    fn default() -> Self {
        Windows(Mutex::new((Table::new(MAX_COUNTERS, MAX_INSTANTS), Table::new(1, usize::MAX))))
    }
}

impl<K: Hash + Eq> Windows<K> {
    /// How a key would stand with one more, without counting it.
    ///
    /// # Errors
    /// The window that is full.
    pub fn peek(&self, key: K, windows: &[Window], now: Timestamp) -> Result<WindowUsage, Full> {
        let (table, shared) = &*self.0.lock();
        if table.is_full() && !table.contains(&key) {
            return shared.with_one(&(), &scaled(windows, SHARED_FACTOR), now.millis());
        }
        table.with_one(&key, windows, now.millis())
    }

    /// Counts one more, if it fits.
    ///
    /// # Errors
    /// The window that is full.
    pub fn admit(&self, key: K, windows: &[Window], now: Timestamp) -> Result<WindowUsage, Full> {
        self.admit_by(key, |_| windows, now)
    }

    /// Counts one more, if it fits, where each key has windows of its own.
    ///
    /// # Errors
    /// The window that is full.
    pub fn admit_by<W: AsRef<[Window]>>(
        &self,
        key: K,
        windows_of: impl Fn(&K) -> W,
        now: Timestamp,
    ) -> Result<WindowUsage, Full> {
        let own = windows_of(&key).as_ref().to_vec();
        if longest(&own).is_none() {
            return Ok(WindowUsage { share: 0.0 });
        }
        let (tables, now) = (&mut *self.0.lock(), now.millis());
        let (table, shared) = tables;
        if table.has_room(&key, now, windows_of) {
            let usage = table.with_one(&key, &own, now)?;
            table.count(key, &own, now);
            return Ok(usage);
        }
        let of_all = scaled(&own, SHARED_FACTOR);
        let usage = shared.with_one(&(), &of_all, now)?;
        shared.count((), &of_all, now);
        Ok(usage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WINDOWS: [Window; 3] = [
        Window::of_seconds("second", 10, 4),
        Window::of_seconds("minute", 60, 8),
        Window::of_seconds("hour", 3_600, 20),
    ];

    #[test]
    fn four_in_ten_seconds() {
        let windows = Windows::default();
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1_000);
        for second in 0..4 {
            assert!(windows.admit("v", &WINDOWS, at(second)).is_ok());
        }
        let full = windows.admit("v", &WINDOWS, at(4)).expect_err("full");
        assert_eq!((full.window.name, full.wait), ("second", 6));
        assert!(windows.admit("w", &WINDOWS, at(4)).is_ok(), "another key");
        assert!(windows.admit("v", &WINDOWS, at(10)).is_ok());
    }

    fn small(counters: usize) -> Windows<i64> {
        Windows(Mutex::new((Table::new(counters, 20 * counters), Table::new(1, usize::MAX))))
    }

    #[test]
    fn memory_is_bounded() {
        let windows = small(1_000);
        for key in 0..20_000 {
            let _ = windows.admit(key, &WINDOWS, Timestamp::from_millis(key));
            assert!(windows.0.lock().0.counters.len() <= 1_000);
        }
        assert_eq!(windows.0.lock().1.counters.len(), 0, "there was room for all");
    }

    #[test]
    fn instants_are_bounded_too() {
        let windows = small(1_000);
        let minute = [Window::of_seconds("minute", 60, 100)];
        for number in 0..60_000_i64 {
            // 800 keys, none of them a newcomer.
            let _ = windows.admit(number % 800, &minute, Timestamp::from_millis(number / 10));
        }
        let (table, _) = &*windows.0.lock();
        let instants: usize = table.counters.values().map(VecDeque::len).sum();
        assert_eq!(table.instants, instants, "they are counted right");
        assert!(instants <= 20_000, "{instants}");
    }

    proptest! {
        #[test]
        fn no_window_is_ever_over_and_the_wait_is_enough(gaps in prop::collection::vec(0_i64..9_000, 1..200)) {
            let windows = Windows::default();
            let (mut now, mut admitted) = (0_i64, Vec::<i64>::new());
            let mut promised: Option<i64> = None;
            for gap in gaps {
                now += gap;
                let outcome = windows.admit((), &WINDOWS, Timestamp::from_millis(now));
                match outcome {
                    Ok(_) => { admitted.push(now); promised = None; }
                    Err(full) => {
                        prop_assert!(promised.is_none_or(|at| now < at), "refused after the wait");
                        promised = Some(now + i64::try_from(full.wait).expect("small") * 1_000);
                    }
                }
                for window in WINDOWS {
                    let within = admitted.iter().filter(|at| **at + window.millis > now).count();
                    prop_assert!(within <= window.limit as usize);
                }
            }
        }
    }
}
