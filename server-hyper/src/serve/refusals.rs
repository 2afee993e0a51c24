//! The pace of refusals. A client that repeats refused calls without a pause, above all uploads, would take the network and
//! the processors from everybody else, however little each refusal costs. So a flood of them is answered with a delay.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until};

/// The time of one refused call: 1,000 a second are answered at once.
const CALL: Duration = Duration::from_millis(1);

/// The time of one refused upload, whose body may be on the way already.
const UPLOAD: Duration = Duration::from_millis(64);

/// The longest delay.
const MAX_DELAY: Duration = Duration::from_secs(1);

/// Delayed responses at a time. Others are sent at once, so that they hold few connections.
const MAX_DELAYED: usize = 256;

/// Paces the refusals of a listener.
#[derive(Debug)]
pub(super) struct Refusals {
    delayed: Semaphore,
    /// When the next one may be answered.
    next: Mutex<Instant>,
}

impl Refusals {
    /// No refusal yet.
    pub(super) fn new() -> Self {
        Refusals { delayed: Semaphore::new(MAX_DELAYED), next: Mutex::new(Instant::now()) }
    }

    /// Waits until a refusal may be answered, for a second at most.
    pub(super) async fn pace(&self, is_upload: bool) {
        let Ok(_delayed) = self.delayed.try_acquire() else { return };
        let now = Instant::now();
        let at = {
            let mut next = self.next.lock();
            let at = (*next).max(now);
            *next = (at + if is_upload { UPLOAD } else { CALL }).min(now + MAX_DELAY);
            at
        };
        if at > now {
            sleep_until(at).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// How long refusals take, each after the one before.
    async fn in_turn(refusals: &Refusals, count: u32, is_upload: bool) -> Duration {
        let begun = Instant::now();
        for _ in 0..count {
            refusals.pace(is_upload).await;
        }
        begun.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn single_refusals_are_answered_at_once_and_floods_at_their_pace() {
        let refusals = Refusals::new();
        assert_eq!(in_turn(&refusals, 1, false).await, Duration::ZERO);
        tokio::time::advance(UPLOAD).await;
        assert_eq!(in_turn(&refusals, 1, true).await, Duration::ZERO);
        tokio::time::advance(UPLOAD).await;
        let calls = in_turn(&refusals, 1_001, false).await;
        assert!((Duration::from_secs(1)..Duration::from_millis(1_100)).contains(&calls), "{calls:?}");
        tokio::time::advance(UPLOAD).await;
        let uploads = in_turn(&refusals, 101, true).await;
        assert!((100 * UPLOAD..101 * UPLOAD).contains(&uploads), "{uploads:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn none_waits_longer_than_a_second_and_few_wait() {
        let refusals = Arc::new(Refusals::new());
        let begun = Instant::now();
        let many = (0..5_000).map(|_| {
            let refusals = Arc::clone(&refusals);
            tokio::spawn(async move {
                refusals.pace(true).await;
                begun.elapsed()
            })
        });
        let mut waited = Vec::new();
        for one in many.collect::<Vec<_>>() {
            waited.push(one.await.unwrap());
        }
        let most = waited.iter().max().unwrap();
        assert!((MAX_DELAY..MAX_DELAY + Duration::from_millis(10)).contains(most), "{most:?}");
        let delayed = waited.iter().filter(|waited| **waited > Duration::ZERO).count();
        assert!((MAX_DELAYED - 1..=MAX_DELAYED).contains(&delayed), "{delayed}");
    }
}
