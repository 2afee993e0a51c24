//! Whether writes run in the caller's task or on a blocking thread.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A longer write has waited for the disk. A shorter one may only have lost its core to other threads.
const SLOW_WRITE: Duration = Duration::from_millis(25);

/// The batches that threads write after a slow write, before one runs in the caller's task again.
const OFFLOADED_BATCHES: u32 = 64;

/// Predicts from the last writes whether the disk makes writers wait. The writers of a folder share it.
#[derive(Debug, Default)]
pub(super) struct AdaptiveOffload(AtomicU32);

impl AdaptiveOffload {
    /// Whether a thread is to write the next batch.
    pub(super) fn needs_thread(&self) -> bool {
        let counted = |left: u32| left.checked_sub(1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, counted).is_ok()
    }

    /// Offloads every batch from now on.
    #[cfg(test)]
    pub(super) fn slow_down(&self) {
        self.0.store(u32::MAX, Ordering::Relaxed);
    }

    /// Runs a write and records whether it was slow.
    #[expect(clippy::disallowed_methods, reason = "measures a duration, not the time of day")]
    pub(super) fn watch<T>(&self, write: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let outcome = write();
        if begun.elapsed() > SLOW_WRITE {
            self.0.store(OFFLOADED_BATCHES, Ordering::Relaxed);
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_disk_is_left_to_threads() {
        let offload = AdaptiveOffload::default();
        assert!(!offload.needs_thread());
        offload.watch(|| ());
        assert!(!offload.needs_thread());
        offload.watch(|| std::thread::sleep(2 * SLOW_WRITE));
        assert!((0..OFFLOADED_BATCHES).all(|_| offload.needs_thread()));
        assert!(!offload.needs_thread());
    }
}
