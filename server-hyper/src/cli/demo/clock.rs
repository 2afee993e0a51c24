//! The time at which the demo's data was made.

use std::sync::atomic::{AtomicI64, Ordering};

use openapi_core::ports::Clock;
use openapi_core::values::Timestamp;

use crate::ports::SystemClock;

/// A clock that lags, so that the demo's data is as old as that of a service in use.
#[derive(Default)]
pub(super) struct DemoClock {
    millis_ago: AtomicI64,
}

impl DemoClock {
    /// Goes to a time before now.
    pub(super) fn set_minutes_ago(&self, minutes: i64) {
        self.millis_ago.store(minutes * 60_000, Ordering::Relaxed);
    }

    /// Lets time pass.
    pub(super) fn pass_seconds(&self, seconds: i64) {
        self.millis_ago.fetch_sub(seconds * 1_000, Ordering::Relaxed);
    }
}

impl Clock for DemoClock {
    fn now(&self) -> Timestamp {
        SystemClock.now().plus_millis(-self.millis_ago.load(Ordering::Relaxed).max(0))
    }
}
