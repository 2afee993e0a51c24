//! What the stream of a connection and its requests know of each other.

use std::sync::atomic::{AtomicBool, Ordering};

use super::framing::Ambiguity;

/// Shared by the stream below hyper and the service above it.
#[derive(Debug, Default)]
pub struct ConnectionState {
    /// Where the framing becomes ambiguous, as the stream sees it.
    pub ambiguity: Ambiguity,
    /// Whether a request is being worked on, as the service knows.
    busy: AtomicBool,
}

impl ConnectionState {
    /// Notes whether a request is being worked on. HTTP/1.1 answers one after another.
    pub fn set_busy(&self, busy: bool) {
        self.busy.store(busy, Ordering::Relaxed);
    }

    /// Whether a request is being worked on: then the connection does not rest, however silent it is.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed)
    }
}
