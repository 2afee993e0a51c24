//! The sliding log: the instant of each counted request of the last hour, and what other servers count. Exact for one
//! server: never more than the limit in any 60 s or 3,600 s, and no refusal after the announced wait.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use values::validation::{ValidationCode, ValidationIssue};
use values::{Invalid, Timestamp};

const SECOND: i64 = 1_000;
/// Milliseconds of a minute.
pub const MINUTE: i64 = 60_000;
/// Milliseconds of an hour.
pub const HOUR: i64 = 3_600_000;

/// The rate limits of a key (contract 7.2, 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RateLimits {
    /// Accepted requests in any 60 s, 1 to 1,000.
    pub per_minute: u32,
    /// Accepted requests in any 3,600 s, 1 to 10,000.
    pub per_hour: u32,
}

impl RateLimits {
    /// The highest limit a minute.
    pub const MAX_PER_MINUTE: u32 = 1_000;
    /// The highest limit an hour.
    pub const MAX_PER_HOUR: u32 = 10_000;

    /// Limits within the contract's bounds.
    ///
    /// # Errors
    /// When a limit lies outside its range or the limit a minute exceeds the limit an hour.
    pub fn new(per_minute: u32, per_hour: u32) -> Result<Self, Invalid> {
        let invalid = |words: String| Err(Invalid(ValidationIssue::new(ValidationCode::Maximum, words)));
        if !(1..=Self::MAX_PER_MINUTE).contains(&per_minute) {
            return invalid(format!(
                "the limit per minute is 1 to {}, not {per_minute}",
                Self::MAX_PER_MINUTE
            ));
        }
        if !(1..=Self::MAX_PER_HOUR).contains(&per_hour) {
            return invalid(format!("the limit per hour is 1 to {}, not {per_hour}", Self::MAX_PER_HOUR));
        }
        if per_minute > per_hour {
            return invalid(format!(
                "the limit per minute ({per_minute}) exceeds the limit per hour ({per_hour})"
            ));
        }
        Ok(RateLimits { per_minute, per_hour })
    }
}

impl Default for RateLimits {
    fn default() -> Self {
        RateLimits { per_minute: 60, per_hour: 1_000 }
    }
}

/// The counted requests of one key.
#[derive(Clone, Debug, Default)]
pub struct SlidingLog {
    /// What the offsets count from, in milliseconds since the epoch.
    base: i64,
    /// Instants of the last hour as offsets from `base`, oldest first. Four bytes each: a key of 1,000 requests an
    /// hour costs 4 KB.
    times: VecDeque<u32>,
    /// How many of the oldest lie outside the last minute.
    before_minute: usize,
    /// What other servers have admitted, or may have: instants and how many, by time. They may lie ahead.
    others: Vec<(i64, u32)>,
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
        let has_room = |first: usize, window: i64, limit: u32| self.used(first, window, now).0 < limit;
        let admitted =
            has_room(self.before_minute, MINUTE, limits.per_minute) && has_room(0, HOUR, limits.per_hour);
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
            let (used, others) = self.used(first, window, now);
            // When more is counted than the limit allows, room comes only after several have left.
            let leaves = self.instant_of(first, others, used.saturating_sub(limit));
            let leaves = leaves.map_or(now, |at| at + window);
            let wait = u64::try_from(leaves - now).unwrap_or(0).div_ceil(1_000);
            WindowState { limit, remaining: limit.saturating_sub(used), reset_seconds: wait }
        };
        Decision {
            admitted,
            minute: state(self.before_minute, MINUTE, limits.per_minute),
            hour: state(0, HOUR, limits.per_hour),
        }
    }

    /// How many requests a window holds, the own being those from `first` on, and those of others.
    fn used(&self, first: usize, window: i64, now: i64) -> (u32, &[(i64, u32)]) {
        let others = &self.others[self.others.partition_point(|(at, _)| at + window <= now)..];
        let own = u32::try_from(self.times.len() - first).unwrap_or(u32::MAX);
        (others.iter().fold(own, |sum, (_, count)| sum.saturating_add(*count)), others)
    }

    /// The instant of the counted request after the `passed` oldest ones, of the own from `first` on and of `others`.
    fn instant_of(&self, first: usize, others: &[(i64, u32)], passed: u32) -> Option<i64> {
        let mut own = self.times.range(first..).map(|offset| self.base + i64::from(*offset)).peekable();
        let mut others = others.iter().copied().peekable();
        let mut passed = passed;
        loop {
            let (at, count) = match (own.peek(), others.peek()) {
                (Some(at), Some((other, _))) if at <= other => (own.next()?, 1),
                (Some(_), None) => (own.next()?, 1),
                _ => others.next()?,
            };
            if count > passed {
                return Some(at);
            }
            passed -= count;
        }
    }

    /// Replaces what other servers have admitted, or may have.
    pub fn count_others(&mut self, mut others: Vec<(i64, u32)>) {
        others.retain(|(_, count)| *count > 0);
        others.sort_unstable();
        self.others = others;
    }

    /// Whether other servers are counted.
    #[must_use]
    pub fn has_others(&self) -> bool {
        !self.others.is_empty()
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

    /// Whether nothing of its own is counted at `now`.
    pub fn is_idle(&mut self, now: Timestamp) -> bool {
        self.expire(now.millis());
        self.times.is_empty()
    }

    /// What others are to know of it: counts by stretches, each at its end, of at most 1 s in the last minute and at
    /// most 60 s before.
    #[must_use]
    pub fn counted(&self, now: Timestamp) -> Vec<(Timestamp, u32)> {
        let mut counted: Vec<(Timestamp, u32)> = Vec::new();
        let minute_ago = now.millis() - MINUTE;
        for offset in &self.times {
            let time = self.base + i64::from(*offset);
            let end_of = |stretch: i64| time.div_euclid(stretch) * stretch + stretch - 1;
            // What has left the minute does not come back into it.
            let end = if time > minute_ago {
                end_of(SECOND).min(now.millis().max(time))
            } else {
                end_of(MINUTE).min(minute_ago)
            };
            match counted.last_mut() {
                Some((last, count)) if last.millis() >= end => *count += 1,
                _ => counted.push((Timestamp::from_millis(end), 1)),
            }
        }
        counted
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
        fn what_others_know_is_never_less(gaps in gaps()) {
            let limits = limits(5, 12);
            let mut log = SlidingLog::default();
            let mut now = 1_769_856_000_000;
            for gap in gaps {
                now += gap;
                let at = Timestamp::from_millis(now);
                let mut other = SlidingLog::default();
                other.count_others(log.counted(at).into_iter().map(|(at, count)| (at.millis(), count)).collect());
                for later in [0, 999, 1_000, 30_000, 59_999, 60_000, 3_599_999, 3_660_000] {
                    let later = Timestamp::from_millis(now + later);
                    let (own, known) = (log.clone().peek(later, limits), other.peek(later, limits));
                    prop_assert!(known.minute.remaining <= own.minute.remaining);
                    prop_assert!(known.hour.remaining <= own.hour.remaining);
                    prop_assert!(known.minute.reset_seconds <= own.minute.reset_seconds + 1);
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
