//! Rate limits of addresses and visitors: exact sliding windows in memory.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use crate::values::Timestamp;
use parking_lot::Mutex;

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

/// The most keys that are remembered; beyond, those seen longest ago are forgotten first.
const MAX_TRACKED: usize = 50_000;

/// Counts by key.
#[derive(Debug)]
pub struct Windows<K>(Mutex<HashMap<K, VecDeque<i64>>>);

impl<K> Default for Windows<K> {
    fn default() -> Self {
        Windows(Mutex::default())
    }
}

/// How one key stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowUsage {
    /// How full the fullest window is, 0 to 1.
    pub share: f64,
}

impl<K: Hash + Eq> Windows<K> {
    /// How a key would stand with one more, without counting it.
    ///
    /// # Errors
    /// The window that is full.
    pub fn peek(&self, key: &K, windows: &[Window], now: Timestamp) -> Result<WindowUsage, Full> {
        let now = now.millis();
        let seen = self.0.lock();
        let none = VecDeque::new();
        let times = seen.get(key).unwrap_or(&none);
        fits(times.iter().copied(), windows, now)?;
        Ok(standing(times, 1, windows, now))
    }

    /// Counts one more, if it fits.
    ///
    /// # Errors
    /// The window that is full.
    pub fn admit(&self, key: K, windows: &[Window], now: Timestamp) -> Result<WindowUsage, Full> {
        let longest = windows.iter().filter(|window| window.limit > 0).map(|window| window.millis).max();
        let Some(longest) = longest else { return Ok(WindowUsage { share: 0.0 }) };
        let now = now.millis();
        let mut seen = self.0.lock();
        if seen.len() >= MAX_TRACKED && !seen.contains_key(&key) {
            make_room(&mut seen, now - longest);
        }
        let times = seen.entry(key).or_default();
        // A clock that went back: what lies ahead counts as of now.
        times.iter_mut().rev().take_while(|time| **time > now).for_each(|time| *time = now);
        while times.front().is_some_and(|first| first + longest <= now) {
            times.pop_front();
        }
        fits(times.iter().copied(), windows, now)?;
        times.push_back(now);
        Ok(standing(times, 0, windows, now))
    }
}

/// How full the fullest window is with so many more.
fn standing(times: &VecDeque<i64>, more: usize, windows: &[Window], now: i64) -> WindowUsage {
    let share = windows.iter().filter(|window| window.limit > 0).map(|window| {
        let used = times.iter().rev().take_while(|at| **at + window.millis > now).count();
        (used + more) as f64 / f64::from(window.limit)
    });
    WindowUsage { share: share.fold(0.0, f64::max) }
}

fn make_room<K: Hash + Eq>(seen: &mut HashMap<K, VecDeque<i64>>, since: i64) {
    seen.retain(|_, times| times.back().is_some_and(|last| *last > since));
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

    #[test]
    fn memory_is_bounded() {
        let windows = Windows::default();
        for key in 0..120_000 {
            let _ = windows.admit(key, &WINDOWS, Timestamp::from_millis(key));
        }
        assert!(windows.0.lock().len() <= MAX_TRACKED);
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
