//! A circuit breaker.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// The number of failures that opens the circuit.
const MAX_FAILURES: usize = 5;
/// The window in which they count, in milliseconds.
const WINDOW_MS: i64 = 60_000;
/// How long the circuit stays open, in milliseconds.
const OPEN_MS: i64 = 30_000;

#[derive(Debug, Default)]
struct State {
    failures: VecDeque<i64>,
    opened_at: Option<i64>,
}

/// A circuit breaker: five failures within a minute open it for 30 s, in which callers should not try.
///
/// The caller passes the time, in milliseconds since any fixed instant, so tests need not wait. A clock that is set back
/// closes the circuit.
#[derive(Debug, Default)]
pub struct CircuitBreaker(Mutex<State>);

impl CircuitBreaker {
    /// Whether calls should fail at once.
    #[must_use]
    pub fn is_open(&self, now_ms: i64) -> bool {
        let mut state = self.0.lock();
        let is_over = |opened: i64| !(0..OPEN_MS).contains(&now_ms.saturating_sub(opened));
        if state.opened_at.is_some_and(is_over) {
            state.opened_at = None;
        }
        state.opened_at.is_some()
    }

    /// Counts a failure.
    pub fn record_failure(&self, now_ms: i64) {
        let mut state = self.0.lock();
        state.failures.push_back(now_ms);
        state.failures.retain(|at| (0..WINDOW_MS).contains(&now_ms.saturating_sub(*at)));
        if state.failures.len() >= MAX_FAILURES {
            state.failures.clear();
            state.opened_at = Some(now_ms);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_failures_in_a_minute_open_the_circuit_for_half_a_minute() {
        let breaker = CircuitBreaker::default();
        for second in [0, 20, 40, 59] {
            breaker.record_failure(second * 1_000);
        }
        // The first failure is a minute old.
        breaker.record_failure(60_000);
        assert!(!breaker.is_open(60_000));
        breaker.record_failure(61_000);
        assert!(breaker.is_open(61_000) && breaker.is_open(90_999));
        assert!(!breaker.is_open(91_000));
        // The count starts from zero.
        breaker.record_failure(91_000);
        assert!(!breaker.is_open(91_000));
        (0..4).for_each(|_| breaker.record_failure(91_000));
        assert!(breaker.is_open(91_000) && !breaker.is_open(1));
    }
}
