//! Endpoints that fail again and again are left alone for a while.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use openapi_core::values::Timestamp;

/// Failures that make a pause.
const MOST_FAILURES: usize = 5;
/// Milliseconds within which they make one.
const WINDOW: i64 = 60_000;
/// Milliseconds of a pause.
const PAUSE: i64 = 30_000;

#[derive(Default)]
struct Failures {
    at: VecDeque<Timestamp>,
    paused_at: Option<Timestamp>,
}

/// The failures of an endpoint.
#[derive(Default)]
pub(super) struct Pauses(Mutex<Failures>);

impl Pauses {
    fn failures(&self) -> MutexGuard<'_, Failures> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the endpoint is to be left alone.
    pub(super) fn is_paused(&self, now: Timestamp) -> bool {
        let mut failures = self.failures();
        // Also when the clock was set back.
        let is_over = |begun: Timestamp| !(0..PAUSE).contains(&now.millis().saturating_sub(begun.millis()));
        if failures.paused_at.is_some_and(is_over) {
            failures.paused_at = None;
        }
        failures.paused_at.is_some()
    }

    /// Notes a failure.
    pub(super) fn failed(&self, now: Timestamp) {
        let mut failures = self.failures();
        failures.at.push_back(now);
        failures.at.retain(|at| (0..WINDOW).contains(&now.millis().saturating_sub(at.millis())));
        if failures.at.len() >= MOST_FAILURES {
            failures.at.clear();
            failures.paused_at = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_failures_in_a_minute_pause_for_half_a_minute() {
        let at = Timestamp::from_millis;
        let pauses = Pauses::default();
        for second in [0, 20, 40, 59] {
            pauses.failed(at(second * 1_000));
        }
        // The first is a minute ago.
        pauses.failed(at(60_000));
        assert!(!pauses.is_paused(at(60_000)));
        pauses.failed(at(61_000));
        assert!(pauses.is_paused(at(61_000)) && pauses.is_paused(at(90_999)));
        assert!(!pauses.is_paused(at(91_000)));
        // It begins anew.
        pauses.failed(at(91_000));
        assert!(!pauses.is_paused(at(91_000)));
        (0..4).for_each(|_| pauses.failed(at(91_000)));
        assert!(pauses.is_paused(at(91_000)) && !pauses.is_paused(at(1)));
    }
}
