//! A flag that is raised once, and that any number of tasks can wait for.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// A flag that is raised at most once.
#[derive(Debug, Default)]
pub struct Flag {
    raised: AtomicBool,
    waiting: Notify,
}

impl Flag {
    /// Raises the flag; idempotent.
    pub fn raise(&self) {
        self.raised.store(true, Ordering::SeqCst);
        self.waiting.notify_waiters();
    }

    /// Whether the flag is raised.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.raised.load(Ordering::SeqCst)
    }

    /// Waits until the flag is raised.
    pub async fn raised(&self) {
        let mut notified = std::pin::pin!(self.waiting.notified());
        // Registered before the flag is read, so no notification is missed.
        notified.as_mut().enable();
        if !self.is_raised() {
            notified.await;
        }
    }
}
