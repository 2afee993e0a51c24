//! Work that goes on without its caller.

use std::future::Future;
use std::pin::Pin;

/// A piece of work that waits and goes on by itself.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Runs work to its end, independently of its caller: the answer to a visitor, whose connection may be lost. The
/// library has no runtime of its own, so that a host lends it this.
pub trait Spawner: Send + Sync {
    /// Starts `task`. A host that is shutting down may drop it instead, or later on: what it does is then taken up by
    /// another process.
    fn spawn(&self, task: Task);
}
