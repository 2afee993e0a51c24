//! State that a connection, its stream, its requests and the connection limit share.

use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::flag::Flag;
use super::framing::HeadFaults;
use crate::ports::monotonic;

/// The instant that idle times are measured from.
static START: LazyLock<Instant> = LazyLock::new(monotonic);

/// The time since the first connection of this process.
fn since_start() -> Duration {
    monotonic().saturating_duration_since(*START)
}

/// The state of a connection.
#[derive(Debug)]
pub struct ConnectionState {
    /// The first request that must be rejected because of its head; the stream sets it.
    pub faults: HeadFaults,
    /// Requests in progress, each from its head to the end of its response.
    active: AtomicU32,
    /// Whether the client has yet to read what was written to the socket.
    is_blocked: AtomicBool,
    /// When the last request ended, or the connection began: milliseconds since [`START`].
    idle_since: AtomicU64,
    /// Whether a request had valid credentials.
    authenticated: AtomicBool,
    /// Whether the handshake is over and the connection takes requests.
    established: AtomicBool,
    /// Raised when the connection must make room for another one, or was idle for too long.
    pub eviction: Flag,
}

impl Default for ConnectionState {
    fn default() -> Self {
        ConnectionState {
            faults: HeadFaults::default(),
            active: AtomicU32::new(0),
            is_blocked: AtomicBool::new(false),
            idle_since: AtomicU64::new(millis(since_start())),
            authenticated: AtomicBool::new(false),
            established: AtomicBool::new(false),
            eviction: Flag::default(),
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl ConnectionState {
    /// Whether a request is in progress. If so, the connection is not idle, even without traffic.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.active.load(Ordering::Acquire) > 0
    }

    /// Records whether a write to the socket waits for the client.
    pub fn set_blocked(&self, is_blocked: bool) {
        self.is_blocked.store(is_blocked, Ordering::Relaxed);
    }

    /// The end of the last request, or the beginning of the connection, as a time that can be compared with those of other
    /// connections; `None` while a request is in progress or its response is being sent.
    #[must_use]
    pub fn idle_since(&self) -> Option<u64> {
        let is_idle = !self.is_active() && !self.is_blocked.load(Ordering::Relaxed);
        is_idle.then(|| self.idle_since.load(Ordering::Relaxed))
    }

    /// How long the connection has been idle; `None` while a request is in progress or its response is being sent.
    #[must_use]
    pub fn idle_time(&self) -> Option<Duration> {
        self.idle_since().map(|since| since_start().saturating_sub(Duration::from_millis(since)))
    }

    /// Records that a request had valid credentials.
    pub fn set_authenticated(&self) {
        self.authenticated.store(true, Ordering::Relaxed);
    }

    /// Whether a request had valid credentials.
    #[must_use]
    pub fn is_authenticated(&self) -> bool {
        self.authenticated.load(Ordering::Relaxed)
    }

    /// Records that the handshake is over.
    pub fn set_established(&self) {
        self.established.store(true, Ordering::Relaxed);
    }

    /// Whether the handshake is over.
    #[must_use]
    pub fn is_established(&self) -> bool {
        self.established.load(Ordering::Relaxed)
    }
}

/// A request in progress, until it is dropped.
#[derive(Debug)]
pub struct ActiveRequest(Arc<ConnectionState>);

impl ActiveRequest {
    /// Begins a request of a connection.
    #[must_use]
    pub fn begin(state: &Arc<ConnectionState>) -> Self {
        state.active.fetch_add(1, Ordering::AcqRel);
        ActiveRequest(Arc::clone(state))
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.idle_since.store(millis(since_start()), Ordering::Relaxed);
        self.0.active.fetch_sub(1, Ordering::AcqRel);
    }
}
