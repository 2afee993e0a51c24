//! Graceful shutdown: a flag for listeners and connections, and the number of open connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

use super::flag::Flag;

/// Shared by all listeners and connections.
#[derive(Debug, Default)]
pub struct Drain {
    begun: Flag,
    open: AtomicUsize,
    closed: Notify,
}

impl Drain {
    /// Starts draining; idempotent.
    pub fn begin(&self) {
        self.begun.raise();
    }

    /// Whether the server drains.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.begun.is_raised()
    }

    /// Waits until the server drains.
    pub async fn begun(&self) {
        self.begun.raised().await;
    }

    /// Counts a connection until the guard is dropped.
    pub fn open(self: &Arc<Self>) -> Open {
        self.open.fetch_add(1, Ordering::SeqCst);
        Open(Arc::clone(self))
    }

    /// Waits until all connections have ended, for `timeout` at most, and returns how many are still open.
    pub async fn ended(&self, timeout: Duration) -> usize {
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
        let _ = tokio::time::timeout(timeout, all_closed).await;
        self.open.load(Ordering::SeqCst)
    }
}

/// An open connection.
#[derive(Debug)]
pub struct Open(Arc<Drain>);

impl Drop for Open {
    fn drop(&mut self) {
        if self.0.open.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.closed.notify_waiters();
        }
    }
}
