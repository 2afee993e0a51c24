//! A promise by which one process reads the number of changes once in a while instead of for each contact.
//!
//! The number that the holder has read counts for [`LEASE`]. Another process that changes contacts first makes the number
//! odd, and then waits for [`WAIT`] before it commits: by then what the holder had read before no longer counts. So
//! nothing is older than the database in either process, and only those beside the holder wait. What the holder changes
//! itself ends what it has read.

use std::fs::{File, TryLockError};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a number that was read counts: so long that a busy server reads it for one request in thirty, and so short
/// that a large import beside the server is not held up much.
const LEASE: Duration = Duration::from_micros(500);

/// How long others wait with their commit. Both are measured by one machine's clock; what is over is for those who
/// distrust it.
const WAIT: Duration = Duration::from_millis(1);

/// After so many reads without the lease it is tried for again: the process that had it may have ended.
const READS_BETWEEN_TRIES: u32 = 1024;

/// The lease, which one process of those that share a database holds.
#[derive(Debug)]
pub(crate) struct Lease {
    /// Locked by its holder for as long as the process has the database open.
    file: File,
    held: AtomicBool,
    /// Reads while it is not held.
    reads: AtomicU32,
    /// What the ends of leases are counted from.
    begun: Instant,
    /// The number that was read last.
    number: AtomicU64,
    /// Until when it counts, in nanoseconds.
    until: AtomicU64,
    /// Whether a change of this process is under way. Held by whoever reads the number, and while the file is locked or
    /// tried.
    changing: Mutex<bool>,
}

impl Lease {
    /// The lease that a lock on `file` stands for, not yet held.
    pub(crate) fn new(file: File) -> Self {
        Lease {
            file,
            held: AtomicBool::new(false),
            reads: AtomicU32::new(0),
            begun: now(),
            number: AtomicU64::new(0),
            until: AtomicU64::new(0),
            changing: Mutex::new(false),
        }
    }

    fn changing(&self) -> MutexGuard<'_, bool> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(crate) fn is_held(&self) -> bool {
        self.held.load(Ordering::Acquire)
    }

    fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// The number, of the last reading if that counts, else by `read`.
    pub(crate) fn number(&self, read: impl Fn() -> Option<u64>) -> Option<u64> {
        let counts = |until: u64| self.elapsed() < Duration::from_nanos(until);
        let until = self.until.load(Ordering::Acquire);
        if until > 0 && counts(until) {
            // This number, or a later one that somebody has read meanwhile.
            return Some(self.number.load(Ordering::Acquire));
        }
        if !self.held.load(Ordering::Acquire) && !self.is_taken() {
            return read();
        }
        let changing = self.changing();
        if *changing {
            return None;
        }
        // Somebody else may have read it while this thread waited for its turn.
        if !counts(self.until.load(Ordering::Acquire)) {
            // From before the reading, so that the end is never too late.
            let until = self.elapsed() + LEASE;
            let number = read()?;
            self.number.store(number, Ordering::Release);
            self.until.store(u64::try_from(until.as_nanos()).unwrap_or(0), Ordering::Release);
        }
        Some(self.number.load(Ordering::Acquire))
    }

    /// Tries to take the lease, at the first read and now and then after it.
    fn is_taken(&self) -> bool {
        if !self.reads.fetch_add(1, Ordering::Relaxed).is_multiple_of(READS_BETWEEN_TRIES) {
            return false;
        }
        let _turn = self.changing();
        let taken = self.held.load(Ordering::Acquire) || self.file.try_lock().is_ok();
        self.held.store(taken, Ordering::Release);
        taken
    }

    /// A change by this process begins: what was read no longer counts, and nothing is read until [`Lease::change_ends`].
    pub(crate) fn change_begins(&self) {
        *self.changing() = true;
        self.until.store(0, Ordering::Release);
    }

    /// The change has ended, and the number says so.
    pub(crate) fn change_ends(&self) {
        *self.changing() = false;
    }

    /// Returns when what another process has read before no longer counts.
    pub(crate) fn wait_for_others(&self) -> io::Result<()> {
        {
            let _turn = self.changing();
            if self.held.load(Ordering::Acquire) {
                return Ok(());
            }
            match self.file.try_lock_shared() {
                // Whoever takes it from here on reads a number that is odd.
                Ok(()) => return self.file.unlock(),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        std::thread::sleep(WAIT);
        Ok(())
    }
}

#[expect(clippy::disallowed_methods, reason = "a span of this machine's time, of which no caller learns")]
fn now() -> Instant {
    Instant::now()
}
