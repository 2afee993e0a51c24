//! Work for the processor that runs concurrently with its caller.

/// A piece of work: it neither waits for anything nor takes longer than some hundred microseconds.
pub type Work = Box<dyn FnOnce() + Send>;

/// Runs work of the processor concurrently with its caller, such as hashing one part of an upload while the next one
/// arrives. The library starts no threads, so a host with spare threads provides this.
///
/// # Contract
/// `run` returns without waiting for a thread to be free. It may run the work itself, hand it to a thread, or, when the
/// host is shutting down, drop it: its caller then gets an error.
pub trait BlockingExecutor: Send + Sync {
    /// Runs `work` once, now or soon.
    fn run(&self, work: Work);
}

/// Runs all work in the caller's task.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inline;

impl BlockingExecutor for Inline {
    fn run(&self, work: Work) {
        work();
    }
}
