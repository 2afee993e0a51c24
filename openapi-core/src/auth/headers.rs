//! The headers of the rate limits (contract 8.2).

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::access::RateLimits;
use crate::limits::Decision;
use crate::values::Timestamp;

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const STATE: HeaderName = HeaderName::from_static("ratelimit");

/// The names, for the description.
pub(crate) const RATE_HEADER_NAMES: [&str; 5] =
    ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit-Policy", "RateLimit"];

/// `RateLimit-Policy` of a key: made once, not for each reply.
pub(crate) fn rate_policy(limits: RateLimits) -> Option<HeaderValue> {
    let text = format!("\"minute\";q={};w=60, \"hour\";q={};w=3600", limits.per_minute, limits.per_hour);
    HeaderValue::try_from(text).ok()
}

/// Writes the headers of one counted response.
pub(crate) fn rate_headers(
    decision: &Decision,
    now: Timestamp,
    policy: Option<HeaderValue>,
    headers: &mut HeaderMap,
) {
    let Decision { minute, hour, .. } = decision;
    let tighter = decision.tighter();
    let reset = u64::try_from(now.seconds()).unwrap_or(0) + tighter.reset_seconds;
    // The texts of four headers, in one piece of memory.
    let mut text = Vec::with_capacity(128);
    let mut ends = [0; 4];
    let mut decimals = itoa::Buffer::new();
    for (number, end) in [tighter.limit.into(), tighter.remaining.into(), reset].into_iter().zip(&mut ends) {
        text.extend_from_slice(decimals.format(number).as_bytes());
        *end = text.len();
    }
    for (name, number) in [
        ("\"minute\";r=", minute.remaining.into()),
        (";t=", minute.reset_seconds),
        (", \"hour\";r=", hour.remaining.into()),
        (";t=", hour.reset_seconds),
    ] {
        text.extend_from_slice(name.as_bytes());
        text.extend_from_slice(decimals.format(number).as_bytes());
    }
    ends[3] = text.len();
    let text = Bytes::from(text);
    let mut start = 0;
    for (name, end) in [LIMIT, REMAINING, RESET, STATE].into_iter().zip(ends) {
        if let Ok(value) = HeaderValue::from_maybe_shared(text.slice(start..end)) {
            headers.insert(name, value);
        }
        start = end;
    }
    if let Some(policy) = policy {
        headers.insert(POLICY, policy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::WindowState;

    #[test]
    fn the_contracts_example() {
        let decision = Decision {
            admitted: false,
            minute: WindowState { limit: 60, remaining: 0, reset_seconds: 18 },
            hour: WindowState { limit: 1_000, remaining: 812, reset_seconds: 1_204 },
        };
        let mut headers = HeaderMap::new();
        let policy = rate_policy(RateLimits { per_minute: 60, per_hour: 1_000 });
        rate_headers(&decision, Timestamp::from_millis(1_769_856_000_000), policy, &mut headers);
        let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).unwrap();
        assert_eq!((text(&LIMIT), text(&REMAINING), text(&RESET)), ("60", "0", "1769856018"));
        assert_eq!(text(&POLICY), "\"minute\";q=60;w=60, \"hour\";q=1000;w=3600");
        assert_eq!(text(&STATE), "\"minute\";r=0;t=18, \"hour\";r=812;t=1204");
    }
}
