//! When a failed request is sent again.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

use crate::error::Error;

/// The backoff before the first retry; it doubles with each further one.
const INITIAL_BACKOFF: Duration = Duration::from_millis(500);
/// The longest backoff.
const MAX_BACKOFF: Duration = Duration::from_secs(20);
/// The share of a wait that jitter adds at most.
const MAX_JITTER: f64 = 0.25;

/// When a failed request is sent again: only after [`Error::Transient`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The maximum number of retries.
    pub max_retries: u32,
    /// The longest wait that an endpoint may ask for; a longer one fails at once.
    pub max_wait: Duration,
}

impl RetryPolicy {
    /// How long to wait before the next attempt; `None` if there should be none. `attempt` counts from 0.
    #[must_use]
    pub fn wait(&self, attempt: u32, error: &Error) -> Option<Duration> {
        let Error::Transient { retry_after, .. } = error else { return None };
        let wait = retry_after.unwrap_or_else(|| backoff(attempt));
        (attempt < self.max_retries && wait <= self.max_wait).then(|| jittered(wait))
    }
}

fn backoff(attempt: u32) -> Duration {
    INITIAL_BACKOFF.saturating_mul(1 << attempt.min(10)).min(MAX_BACKOFF)
}

/// A wait and a random share of it, so that clients that failed together do not return together.
fn jittered(wait: Duration) -> Duration {
    let random = (RandomState::new().hash_one(()) >> 11) as f64 / (1_u64 << 53) as f64;
    Duration::try_from_secs_f64(wait.as_secs_f64() * (1.0 + MAX_JITTER * random)).unwrap_or(Duration::MAX)
}

/// The wait that a response asks for: seconds, or a date relative to the response's own `Date`.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let then = jiff::fmt::rfc2822::parse(text).ok()?;
    let now = jiff::fmt::rfc2822::parse(headers.get(DATE)?.to_str().ok()?.trim()).ok()?;
    let wait = then.timestamp().duration_since(now.timestamp());
    Some(Duration::try_from(wait).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_to_wait_until_are_read() {
        let wait = |after: &str, date: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, after.parse().expect("a header"));
            if let Some(date) = date {
                headers.insert(DATE, date.parse().expect("a header"));
            }
            retry_after(&headers)
        };
        let now = Some("Wed, 21 Oct 2026 07:28:00 GMT");
        assert_eq!(wait("7", None), Some(Duration::from_secs(7)));
        assert_eq!(wait("0.5", None), Some(Duration::from_millis(500)));
        assert_eq!(wait("Wed, 21 Oct 2026 07:28:09 GMT", now), Some(Duration::from_secs(9)));
        assert_eq!(wait("Wed, 21 Oct 2026 07:27:00 GMT", now), Some(Duration::ZERO));
        for (after, date) in
            [("soon", now), ("-1", now), ("1e300", now), ("Wed, 21 Oct 2026 07:28:09 GMT", None)]
        {
            assert_eq!(wait(after, date), None, "{after}");
        }
    }

    proptest::proptest! {
        #[test]
        fn waits_are_as_asked_or_back_off_within_bounds(
            attempt in 0..40_u32, max_retries in 0..50_u32, asked in proptest::option::of(0..100_000_u64), max in 0..100_000_u64,
        ) {
            let policy = RetryPolicy { max_retries, max_wait: Duration::from_millis(max) };
            let retry_after = asked.map(Duration::from_millis);
            let wait = policy.wait(attempt, &Error::Transient { reason: String::new(), retry_after, may_be_charged: true });
            let least = retry_after.unwrap_or(Duration::from_millis(500 << attempt.min(6)).min(MAX_BACKOFF));
            let is_allowed = attempt < max_retries && least <= policy.max_wait;
            proptest::prop_assert_eq!(wait.is_some(), is_allowed);
            if let Some(wait) = wait {
                proptest::prop_assert!(least <= wait + Duration::from_nanos(1) && wait <= least.mul_f64(1.25) + Duration::from_nanos(1));
            }
            proptest::prop_assert_eq!(policy.wait(attempt, &Error::Permanent(String::new())), None);
            proptest::prop_assert_eq!(policy.wait(attempt, &Error::Timeout), None);
        }
    }

    #[test]
    fn a_wait_without_end_is_no_overflow() {
        let policy = RetryPolicy { max_retries: 1, max_wait: Duration::MAX };
        let error = Error::Transient {
            reason: String::new(),
            retry_after: Some(Duration::MAX),
            may_be_charged: true,
        };
        assert_eq!(policy.wait(0, &error), Some(Duration::MAX));
    }
}
