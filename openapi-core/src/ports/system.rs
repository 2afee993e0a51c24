//! The clock and the randomness of the machine (feature `system`).

use std::time::{SystemTime, UNIX_EPOCH};

use super::{Clock, IdGenerator};
use crate::values::Timestamp;
use parking_lot::Mutex;

/// The machine's wall clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(clippy::disallowed_methods, reason = "this is the port that reads the clock")]
        let now = SystemTime::now();
        let millis = match now.duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |millis| -millis),
        };
        Timestamp::from_millis(millis)
    }
}

/// Buffered random bytes, so that not every id costs a system call.
const POOL: usize = 1_024;

/// The operating system's randomness.
pub struct SystemIds(Mutex<Pool>);

struct Pool {
    bytes: [u8; POOL],
    used: usize,
}

impl Default for SystemIds {
    fn default() -> Self {
        SystemIds(Mutex::new(Pool { bytes: [0; POOL], used: POOL }))
    }
}

impl IdGenerator for SystemIds {
    /// # Panics
    /// If the operating system provides no randomness, because no id or secret may be made without it.
    fn fill(&self, bytes: &mut [u8]) {
        let mut pool = self.0.lock();
        for byte in bytes {
            if pool.used == POOL {
                if let Err(error) = getrandom::fill(&mut pool.bytes) {
                    panic!("the operating system gives no randomness: {error}");
                }
                pool.used = 0;
            }
            let at = pool.used;
            // A secret must not stay in the pool.
            *byte = std::mem::take(&mut pool.bytes[at]);
            pool.used += 1;
        }
    }
}
