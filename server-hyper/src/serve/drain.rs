//! The orderly end: a flag that every listener and connection looks at, and a count of what is still open.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

/// Shared by everything that has to come to an end.
#[derive(Debug, Default)]
pub struct Drain {
    draining: AtomicBool,
    begun: Notify,
    open: AtomicUsize,
    closed: Notify,
}

impl Drain {
    /// Begins the end; nothing happens the second time.
    pub fn begin(&self) {
        self.draining.store(true, Ordering::SeqCst);
        self.begun.notify_waiters();
    }

    /// Whether the end has begun.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }

    /// Waits until the end begins.
    pub async fn begun(&self) {
        let mut notified = std::pin::pin!(self.begun.notified());
        // Enrolled before the flag is read, so that a beginning in between is not missed.
        notified.as_mut().enable();
        if !self.is_draining() {
            notified.await;
        }
    }

    /// Notes that something is open, until the guard is dropped.
    pub fn open(self: &std::sync::Arc<Self>) -> Open {
        self.open.fetch_add(1, Ordering::SeqCst);
        Open(std::sync::Arc::clone(self))
    }

    /// Waits until nothing is open any more, at most `patience`, and returns how much still is.
    pub async fn ended(&self, patience: Duration) -> usize {
        let all_closed = async {
            loop {
                let mut notified = std::pin::pin!(self.closed.notified());
                notified.as_mut().enable();
                if self.open.load(Ordering::SeqCst) == 0 {
                    return;
                }
                notified.await;
            }
        };
        let _ = tokio::time::timeout(patience, all_closed).await;
        self.open.load(Ordering::SeqCst)
    }
}

/// Something that is open.
#[derive(Debug)]
pub struct Open(std::sync::Arc<Drain>);

impl Drop for Open {
    fn drop(&mut self) {
        if self.0.open.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.closed.notify_waiters();
        }
    }
}
