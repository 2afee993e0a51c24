//! State that the stream of a connection and its requests share.

use std::sync::atomic::{AtomicBool, Ordering};

use super::framing::Ambiguity;

/// The state of a connection, shared by the stream below hyper and the service above it.
#[derive(Debug, Default)]
pub struct ConnectionState {
    /// The first request with ambiguous framing; the stream sets it.
    pub ambiguity: Ambiguity,
    /// Whether a request is in progress; the service sets it.
    busy: AtomicBool,
}

impl ConnectionState {
    /// Sets whether a request is in progress. HTTP/1.1 processes one at a time.
    pub fn set_busy(&self, busy: bool) {
        self.busy.store(busy, Ordering::Relaxed);
    }

    /// Whether a request is in progress. If so, the connection is not idle, even without traffic.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed)
    }
}
