//! What the runner tells the driver of an endpoint.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Waker;

use futures_util::task::AtomicWaker;

/// Notes for a driver.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    head: AtomicU64,
    is_draining: AtomicBool,
    is_changed: AtomicBool,
    waker: AtomicWaker,
}

impl Mailbox {
    /// The log of the agent has events up to this one.
    pub(super) fn set_head(&self, head: u64) {
        if self.head.fetch_max(head, Ordering::AcqRel) < head {
            self.waker.wake();
        }
    }

    pub(super) fn head(&self) -> u64 {
        self.head.load(Ordering::Acquire)
    }

    /// The process ends.
    pub(super) fn drain(&self) {
        self.is_draining.store(true, Ordering::Release);
        self.waker.wake();
    }

    pub(super) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Acquire)
    }

    /// A person has changed the endpoint.
    pub(super) fn change(&self) {
        self.is_changed.store(true, Ordering::Release);
        self.waker.wake();
    }

    /// Whether a person has changed the endpoint since this was asked.
    pub(super) fn take_change(&self) -> bool {
        self.is_changed.swap(false, Ordering::AcqRel)
    }

    /// Wakes this task at the next note.
    pub(super) fn register(&self, waker: &Waker) {
        self.waker.register(waker);
    }
}
