//! One retry loop for transactions that conflict and for connections that died.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::error::{Retry, Retryable};

/// How often failed work is repeated, and how long each pause is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The most attempts that may end in a conflict.
    pub max_conflicts: u32,
    /// The most attempts that may end in a race for a key.
    pub max_races: u32,
    /// The most attempts that may find a dead connection.
    pub max_reconnects: u32,
    /// The pause after a dead connection.
    pub reconnect_pause: Duration,
    /// The pause after the first conflict. Each further one is twice as long.
    pub first_pause: Duration,
    /// The longest pause.
    pub max_pause: Duration,
    /// No attempt begins later than this after the first one.
    pub time_limit: Option<Duration>,
    /// Seeds the jitter that keeps two servers from meeting again; without it, pauses are not shortened.
    pub jitter: Option<u64>,
}

impl RetryPolicy {
    /// The pause after a number of conflicts, counted from 0.
    #[must_use]
    pub fn pause(&self, conflicts: u32) -> Duration {
        let pause = self.first_pause.saturating_mul(1 << conflicts.min(16)).min(self.max_pause);
        match self.jitter {
            None => pause,
            Some(seed) => {
                let fraction =
                    (mix(seed.wrapping_add(u64::from(conflicts + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
                        >> 40) as f64;
                pause.mul_f64(0.25 + 0.75 * fraction / f64::from(1_u32 << 24))
            }
        }
    }
}

/// The output function of the generator SplitMix64.
pub(crate) const fn mix(state: u64) -> u64 {
    let mut word = state;
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Repeats `attempt` until it succeeds, fails for good, or the policy is exhausted; then returns its last outcome.
///
/// # Errors
/// The error of the last attempt.
pub async fn retry_on_conflict<T, E, F, A>(policy: RetryPolicy, mut attempt: F) -> Result<T, E>
where
    E: Retryable,
    F: FnMut() -> A,
    A: Future<Output = Result<T, E>>,
{
    retry_with(policy, (), |()| {
        let attempt = attempt();
        async move { ((), attempt.await) }
    })
    .await
}

/// As [`retry_on_conflict`], for attempts that hand a value, such as a session, from one to the next.
///
/// # Errors
/// The error of the last attempt.
pub async fn retry_with<S, T, E, F, A>(policy: RetryPolicy, mut state: S, mut attempt: F) -> Result<T, E>
where
    E: Retryable,
    F: FnMut(S) -> A,
    A: Future<Output = (S, Result<T, E>)>,
{
    let limit = policy.time_limit.map(|limit| Instant::now() + limit);
    let (mut conflicts, mut races, mut reconnects) = (0, 0, 0);
    loop {
        let (next, outcome) = attempt(state).await;
        let Err(error) = outcome else { return outcome };
        state = next;
        match error.retry() {
            Retry::Never => return Err(error),
            Retry::Reconnect => {
                reconnects += 1;
                if reconnects > policy.max_reconnects {
                    return Err(error);
                }
                tracing::debug!(?error, reconnects, "retrying on another connection");
                if !policy.reconnect_pause.is_zero() {
                    sleep(policy.reconnect_pause).await;
                }
            }
            kind @ (Retry::Conflict | Retry::Race) => {
                conflicts += 1;
                races += u32::from(kind == Retry::Race);
                if conflicts >= policy.max_conflicts || races > policy.max_races {
                    return Err(error);
                }
                tracing::debug!(?error, conflicts, "retrying transaction after write conflict");
                sleep(policy.pause(conflicts - 1)).await;
            }
        }
        if limit.is_some_and(|limit| Instant::now() >= limit) {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[derive(Debug, PartialEq)]
    struct Planted(Retry);

    impl Retryable for Planted {
        fn retry(&self) -> Retry {
            self.0
        }
    }

    const POLICY: RetryPolicy = RetryPolicy {
        max_conflicts: 4,
        max_races: 1,
        max_reconnects: 2,
        reconnect_pause: Duration::ZERO,
        first_pause: Duration::from_micros(1),
        max_pause: Duration::from_micros(4),
        time_limit: None,
        jitter: Some(7),
    };

    /// How many attempts there are when each of the first ones fails in this way.
    fn attempts(policy: RetryPolicy, failures: &[Retry]) -> (u32, Result<u32, Planted>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let count = Cell::new(0);
        let outcome = runtime.block_on(retry_on_conflict(policy, || {
            let attempt = count.replace(count.get() + 1);
            let failure = failures.get(attempt as usize).copied();
            async move { failure.map_or(Ok(attempt), |retry| Err(Planted(retry))) }
        }));
        (count.get(), outcome)
    }

    #[test]
    fn only_what_may_help_is_repeated_and_not_for_ever() {
        use Retry::{Conflict, Never, Race, Reconnect};
        assert_eq!(attempts(POLICY, &[]), (1, Ok(0)));
        assert_eq!(attempts(POLICY, &[Never]), (1, Err(Planted(Never))));
        assert_eq!(attempts(POLICY, &[Conflict; 3]), (4, Ok(3)));
        assert_eq!(attempts(POLICY, &[Conflict; 9]), (4, Err(Planted(Conflict))));
        assert_eq!(attempts(POLICY, &[Reconnect; 2]), (3, Ok(2)));
        assert_eq!(attempts(POLICY, &[Reconnect; 9]), (3, Err(Planted(Reconnect))));
        assert_eq!(attempts(POLICY, &[Conflict, Reconnect, Conflict]), (4, Ok(3)));
        assert_eq!(attempts(POLICY, &[Race]), (2, Ok(1)));
        assert_eq!(attempts(POLICY, &[Race; 9]), (2, Err(Planted(Race))));
        let late = RetryPolicy { time_limit: Some(Duration::ZERO), ..POLICY };
        assert_eq!(attempts(late, &[Conflict; 9]).0, 1);
    }

    proptest::proptest! {
        #[test]
        fn pauses_grow_within_their_bounds(seed: u64, conflicts in 0_u32..100) {
            let policy = RetryPolicy { jitter: Some(seed), ..POLICY };
            let full = RetryPolicy { jitter: None, ..POLICY }.pause(conflicts);
            proptest::prop_assert!(full <= POLICY.max_pause);
            let pause = policy.pause(conflicts);
            proptest::prop_assert!(pause <= full && pause >= full.mul_f64(0.24));
        }
    }
}
