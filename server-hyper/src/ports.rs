//! The ports of a real machine: its clock, its randomness, and the tokio runtime.

use std::pin::Pin;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub use openapi_core::ports::SystemClock;
use openapi_core::ports::{BlockingExecutor, IdGenerator, Spawner, Task, Timer, Work};
use rand::Rng;

/// Wall-clock time since 1970; a clock before 1970 counts as 1970.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "this is the port that core and the backends take the time from"
)]
pub fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Time that never runs backwards, for durations.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "this is the port that core and the backends take the time from"
)]
pub fn monotonic() -> Instant {
    Instant::now()
}

/// A cryptographic generator for each thread, seeded and reseeded from the operating system: a request draws its id
/// without a system call and without a lock that others wait for.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemRandom;

impl IdGenerator for SystemRandom {
    fn fill(&self, bytes: &mut [u8]) {
        rand::rng().fill_bytes(bytes);
    }
}

/// Timers of the tokio runtime.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioTimer;

impl Timer for TokioTimer {
    fn sleep(&self, millis: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(tokio::time::sleep(Duration::from_millis(millis)))
    }
}

/// The blocking threads of the tokio runtime; without a runtime, work runs in place.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioThreads;

impl BlockingExecutor for TokioThreads {
    fn run(&self, work: Work) {
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(work)),
            Err(_) => work(),
        }
    }
}

/// Tasks of the tokio runtime, for replies that outlive the connection that asked for them.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioSpawner;

impl Spawner for TokioSpawner {
    fn spawn(&self, task: Task) {
        // Without a runtime, no connection waits for the reply.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            drop(runtime.spawn(task));
        }
    }
}
