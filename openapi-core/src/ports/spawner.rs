//! The port that runs tasks independently of their caller.

use std::future::Future;
use std::pin::Pin;

/// A task that runs independently of its caller.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Runs work to its end, independently of its caller: the answer to a visitor, whose connection may be lost. The
/// library has no runtime, so the host provides this.
pub trait Spawner: Send + Sync {
    /// Starts `task`. A host that is shutting down may drop it instead, or later: another
    /// process then takes over its work.
    fn spawn(&self, task: Task);
}
