//! The clock.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::values::Timestamp;

/// The wall clock.
///
/// # Contract
/// Wall-clock time in milliseconds. It may stand still; a step backwards must not panic anything.
pub trait Clock: Send + Sync {
    /// The current instant.
    fn now(&self) -> Timestamp;
}

/// A clock that stands still until a test moves it.
#[derive(Debug)]
pub struct FixedClock(AtomicI64);

impl FixedClock {
    /// A clock that shows `at`.
    #[must_use]
    pub fn at(at: Timestamp) -> Self {
        FixedClock(AtomicI64::new(at.millis()))
    }

    /// Moves the clock forward.
    pub fn advance_millis(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }

    /// Sets the clock.
    pub fn set(&self, at: Timestamp) {
        self.0.store(at.millis(), Ordering::SeqCst);
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}
