//! The timer, for deadlines.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::Poll;

/// Waits. The library has no runtime, so the host provides this.
pub trait Timer: Send + Sync {
    /// A future that is ready after `millis` milliseconds.
    fn sleep(&self, millis: u64) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// A timer that never fires: deadlines are then not enforced.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTimer;

impl Timer for NoTimer {
    fn sleep(&self, _: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(std::future::pending())
    }
}

/// What `work` returns, or `None` when it takes longer than `millis`.
pub async fn timeout<T>(timer: &dyn Timer, millis: u64, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let mut deadline = timer.sleep(millis);
    std::future::poll_fn(|cx| {
        if let Poll::Ready(value) = work.as_mut().poll(cx) {
            return Poll::Ready(Some(value));
        }
        deadline.as_mut().poll(cx).map(|()| None)
    })
    .await
}
