//! What one task may spend.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// The longest timeout that a deadline is computed from; the clock need not represent more.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// What one task may spend: requests, retries included, and time. Parallel requests of a task share it.
#[derive(Debug)]
pub struct Budget {
    max_requests: u32,
    remaining: AtomicU32,
    deadline: Instant,
}

impl Budget {
    /// A budget of so many requests, whose deadline is `timeout` from now.
    #[must_use]
    pub fn new(max_requests: u32, timeout: Duration) -> Self {
        let deadline = Instant::now() + timeout.min(MAX_TIMEOUT);
        Budget { max_requests, remaining: AtomicU32::new(max_requests), deadline }
    }

    /// When the task must be done.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// The requests sent so far.
    #[must_use]
    pub fn used(&self) -> u32 {
        self.max_requests - self.remaining.load(Ordering::Relaxed)
    }

    /// Takes one request; false if none is left.
    pub(crate) fn take(&self) -> bool {
        let taken =
            self.remaining.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        taken.is_ok()
    }
}
