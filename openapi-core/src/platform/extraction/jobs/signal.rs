//! Wakes the workers of this process when a job was queued, and tells them to stop.

use std::future::poll_fn;
use std::task::{Poll, Waker};

use parking_lot::Mutex;

#[derive(Default)]
struct State {
    generation: u64,
    is_stopped: bool,
    wakers: Vec<Waker>,
}

/// A signal to all who wait.
#[derive(Default)]
pub(in crate::platform) struct Signal(Mutex<State>);

impl Signal {
    fn change(&self, change: impl FnOnce(&mut State)) {
        let wakers = {
            let mut state = self.0.lock();
            change(&mut state);
            std::mem::take(&mut state.wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Wakes those who wait.
    pub(super) fn ring(&self) {
        self.change(|state| state.generation += 1);
    }

    /// Wakes those who wait, to stop.
    pub(super) fn stop(&self) {
        self.change(|state| state.is_stopped = true);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.0.lock().is_stopped
    }

    /// What a wait begins with: rings after this call end it.
    pub(super) fn generation(&self) -> u64 {
        self.0.lock().generation
    }

    /// Waits for a ring after the one of this generation, or for the stop.
    pub(super) async fn after(&self, generation: u64) {
        poll_fn(|cx| {
            let mut state = self.0.lock();
            if state.generation != generation || state.is_stopped {
                return Poll::Ready(());
            }
            if !state.wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
                state.wakers.push(cx.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }
}
