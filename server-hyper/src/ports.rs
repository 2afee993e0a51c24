//! The clock and the randomness of a real machine.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use openapi_core::ports::IdGenerator;
pub use openapi_core::ports::SystemClock;
use rand::Rng;

/// Wall-clock time since 1970; a clock before 1970 counts as 1970.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "this is the port that core and the backends take the time from"
)]
pub fn since_epoch() -> std::time::Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Time that never runs backwards, for durations.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "this is the port that core and the backends take the time from"
)]
pub fn monotonic() -> Instant {
    Instant::now()
}

/// A cryptographic generator for each thread, seeded and reseeded from the operating system: a request draws its id
/// without a system call and without a lock that others wait for.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemRandom;

impl IdGenerator for SystemRandom {
    fn fill(&self, bytes: &mut [u8]) {
        rand::rng().fill_bytes(bytes);
    }
}
