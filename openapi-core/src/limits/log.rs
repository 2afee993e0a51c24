//! The sliding log: the instant of each counted request of the last hour. Exact: never more than the limit in any
//! 60 s or 3,600 s, and no refusal after the announced wait.

use std::collections::VecDeque;

use crate::access::RateLimits;
use crate::storage::RateWindow;
use crate::values::Timestamp;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 3_600_000;

/// The counted requests of one key.
#[derive(Clone, Debug, Default)]
pub struct SlidingLog {
    /// What the offsets count from, in milliseconds since the epoch.
    base: i64,
    /// Instants of the last hour as offsets from `base`, oldest first. Four octets each: a key of 1,000 requests an
    /// hour costs 4 KB.
    times: VecDeque<u32>,
    /// How many of the oldest lie outside the last minute.
    before_minute: usize,
}

/// What a window says of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowState {
    /// The limit.
    pub limit: u32,
    /// Requests left, the present one counted as used.
    pub remaining: u32,
    /// Seconds, rounded up, until the oldest counted request leaves the window.
    pub reset_seconds: u64,
}

/// The answer to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether the request may go on.
    pub admitted: bool,
    /// The window of 60 s.
    pub minute: WindowState,
    /// The window of 3,600 s.
    pub hour: WindowState,
}

impl Decision {
    /// The tighter window: fewest remaining, on a tie the longer.
    #[must_use]
    pub fn tighter(&self) -> &WindowState {
        if self.minute.remaining < self.hour.remaining { &self.minute } else { &self.hour }
    }

    /// Of a refusal: the exhausted window with the longer wait, by name.
    #[must_use]
    pub fn exhausted(&self) -> (&'static str, &WindowState) {
        let minute = self.minute.remaining == 0;
        let hour = self.hour.remaining == 0;
        if minute && (!hour || self.minute.reset_seconds > self.hour.reset_seconds) {
            ("minute", &self.minute)
        } else {
            ("hour", &self.hour)
        }
    }
}

impl SlidingLog {
    /// Checks both windows and, if the request is admitted, counts it: one step.
    pub fn admit(&mut self, now: Timestamp, limits: RateLimits) -> Decision {
        let now = now.millis();
        self.expire(now);
        let in_hour = self.times.len();
        let in_minute = in_hour - self.before_minute;
        let admitted = in_minute < limits.per_minute as usize && in_hour < limits.per_hour as usize;
        if admitted {
            self.push(now);
        }
        self.decision(now, limits, admitted)
    }

    /// What the windows hold, without counting a request.
    pub fn peek(&mut self, now: Timestamp, limits: RateLimits) -> Decision {
        self.expire(now.millis());
        self.decision(now.millis(), limits, true)
    }

    fn decision(&self, now: i64, limits: RateLimits, admitted: bool) -> Decision {
        let state = |first: usize, window: i64, limit: u32| {
            let used = u32::try_from(self.times.len() - first).unwrap_or(u32::MAX);
            // When the limit was lowered below what is counted, room comes only after several have left.
            let leaving = first + used.saturating_sub(limit) as usize;
            let leaves =
                self.times.get(leaving).map_or(now, |offset| self.base + i64::from(*offset) + window);
            let wait = u64::try_from(leaves - now).unwrap_or(0).div_ceil(1_000);
            WindowState { limit, remaining: limit.saturating_sub(used), reset_seconds: wait }
        };
        Decision {
            admitted,
            minute: state(self.before_minute, MINUTE, limits.per_minute),
            hour: state(0, HOUR, limits.per_hour),
        }
    }

    fn push(&mut self, now: i64) {
        if self.times.is_empty() {
            self.base = now;
        } else if now - self.base > i64::from(u32::MAX) {
            // Everything counted lies within the last hour, so that the new base leaves all offsets in range.
            let shift = now - HOUR - self.base;
            for offset in &mut self.times {
                *offset = u32::try_from(i64::from(*offset) - shift).unwrap_or(0);
            }
            self.base += shift;
        }
        self.times.push_back(u32::try_from(now - self.base).unwrap_or(u32::MAX));
    }

    /// Forgets what left the windows. When the clock went back, what lies ahead of it counts as of now: rounded
    /// against the client, but never for longer than a window.
    fn expire(&mut self, now: i64) {
        if self.times.back().is_some_and(|last| self.base + i64::from(*last) > now) {
            if now < self.base {
                let count = self.times.len();
                self.base = now;
                self.times = std::iter::repeat_n(0, count).collect();
            } else {
                let latest = u32::try_from(now - self.base).unwrap_or(u32::MAX);
                for offset in &mut self.times {
                    *offset = (*offset).min(latest);
                }
            }
            self.before_minute = 0;
        }
        while self.times.front().is_some_and(|first| self.base + i64::from(*first) + HOUR <= now) {
            self.times.pop_front();
            self.before_minute = self.before_minute.saturating_sub(1);
        }
        while self
            .times
            .get(self.before_minute)
            .is_some_and(|time| self.base + i64::from(*time) + MINUTE <= now)
        {
            self.before_minute += 1;
        }
    }

    /// Whether nothing is counted at `now`.
    pub fn is_idle(&mut self, now: Timestamp) -> bool {
        self.expire(now.millis());
        self.times.is_empty()
    }

    /// What outlives a restart: counts by stretches of at most 60 s, each at its end.
    #[must_use]
    pub fn counted(&self, now: Timestamp) -> Vec<(Timestamp, u32)> {
        let mut counted: Vec<(Timestamp, u32)> = Vec::new();
        for offset in &self.times {
            let time = self.base + i64::from(*offset);
            let end = (time.div_euclid(MINUTE) * MINUTE + MINUTE - 1).min(now.millis().max(time));
            match counted.last_mut() {
                Some((last, count)) if last.millis() >= end => *count += 1,
                _ => counted.push((Timestamp::from_millis(end), 1)),
            }
        }
        counted
    }

    /// The log that a saved window stands for. A lease that was not returned counts as used at `crash`, the latest
    /// moment at which it can have been.
    #[must_use]
    pub fn restored(window: &RateWindow, crash: Timestamp) -> Self {
        let mut log = SlidingLog::default();
        let leased = (crash, window.leased);
        let mut entries: Vec<(Timestamp, u32)> = window.counted.iter().copied().chain([leased]).collect();
        entries.sort();
        for (at, count) in entries {
            for _ in 0..count {
                log.push(at.millis());
            }
        }
        log
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn limits(per_minute: u32, per_hour: u32) -> RateLimits {
        RateLimits { per_minute, per_hour }
    }

    /// Arrivals with bursts, pauses up to beyond an hour, and stretches at the same instant.
    fn gaps() -> impl Strategy<Value = Vec<i64>> {
        let gap = prop_oneof![4 => Just(0), 4 => 0..50_i64, 3 => 0..5_000_i64, 2 => 50_000..70_000_i64, 1 => 0..4_000_000_i64];
        proptest::collection::vec(gap, 1..200)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn no_window_is_ever_over_and_the_announced_wait_suffices(gaps in gaps(), per_minute in 1..8_u32, extra in 0..20_u32) {
            let limits = limits(per_minute, per_minute + extra);
            let mut log = SlidingLog::default();
            let mut now = 1_769_856_000_000;
            let mut admitted: Vec<i64> = Vec::new();
            for gap in gaps {
                now += gap;
                let decision = log.admit(Timestamp::from_millis(now), limits);
                if decision.admitted {
                    admitted.push(now);
                } else {
                    let (_, window) = decision.exhausted();
                    prop_assert_eq!(window.remaining, 0);
                    prop_assert!(window.reset_seconds >= 1);
                    let later = Timestamp::from_millis(now + window.reset_seconds as i64 * 1_000);
                    prop_assert!(log.clone().admit(later, limits).admitted, "refused after Retry-After");
                }
                for (window, limit) in [(MINUTE, limits.per_minute), (HOUR, limits.per_hour)] {
                    let used = admitted.iter().filter(|at| now - **at < window).count();
                    prop_assert!(used <= limit as usize, "{} in {} ms", used, window);
                    let state = if window == MINUTE { decision.minute } else { decision.hour };
                    prop_assert_eq!(state.remaining as usize, limit as usize - used);
                }
            }
        }

        #[test]
        fn a_restart_never_gives_more(gaps in gaps(), cut in 0..200_usize, lease in 0..5_u32) {
            let limits = limits(5, 12);
            let mut log = SlidingLog::default();
            let mut now = 1_769_856_000_000;
            for (index, gap) in gaps.into_iter().enumerate() {
                now += gap;
                let at = Timestamp::from_millis(now);
                if index == cut {
                    let window = RateWindow { counted: log.counted(at), leased: lease };
                    let mut restored = SlidingLog::restored(&window, at);
                    let (before, after) = (log.peek(at, limits), restored.peek(at, limits));
                    prop_assert!(after.hour.remaining <= before.hour.remaining);
                    prop_assert!(after.minute.remaining <= before.minute.remaining);
                    log = restored;
                }
                log.admit(at, limits);
            }
        }

        #[test]
        fn a_clock_that_jumps_locks_nobody_out(jumps in proptest::collection::vec(-10_000_000..10_000_000_i64, 1..50)) {
            let limits = limits(2, 3);
            let mut log = SlidingLog::default();
            let mut now = 1_769_856_000_000;
            for jump in jumps {
                now += jump;
                let decision = log.admit(Timestamp::from_millis(now), limits);
                prop_assert!(decision.hour.reset_seconds <= 3_600 && decision.minute.reset_seconds <= 60);
            }
        }
    }

    #[test]
    fn the_tighter_window_is_shown_and_the_longer_on_a_tie() {
        let mut log = SlidingLog::default();
        let at = |seconds: i64| Timestamp::from_millis(1_769_856_000_000 + seconds * 1_000);
        let decision = log.admit(at(0), limits(2, 2));
        assert_eq!(decision.tighter().reset_seconds, 3_600, "tie");
        log.admit(at(10), limits(2, 2));
        let refused = log.admit(at(20), limits(2, 2));
        assert!(!refused.admitted);
        assert_eq!(
            refused.exhausted(),
            ("hour", &WindowState { limit: 2, remaining: 0, reset_seconds: 3_580 })
        );
        let refused = log.admit(at(70), limits(2, 2));
        assert_eq!((refused.minute.remaining, refused.exhausted().0), (2, "hour"));
    }

    #[test]
    fn long_use_keeps_offsets_in_range() {
        let mut log = SlidingLog::default();
        for hours in 0..3_000 {
            let decision = log.admit(Timestamp::from_millis(hours * HOUR / 2), limits(10, 10));
            assert!(decision.admitted && decision.hour.remaining >= 7, "hour {hours}");
        }
    }
}
