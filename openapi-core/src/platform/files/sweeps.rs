//! When the platform last searched for orphans.

use crate::values::Timestamp;
use parking_lot::Mutex;

/// How often orphans are looked for.
const ORPHANS_EVERY_MILLIS: i64 = 6 * 3_600_000;

/// When orphans were last looked for.
#[derive(Default)]
pub(in crate::platform) struct Sweeps(Mutex<Option<Timestamp>>);

impl Sweeps {
    /// Whether it is time again; if so, now counts as the last time.
    pub(super) fn is_time(&self, now: Timestamp) -> bool {
        let mut last = self.0.lock();
        let is_time = last.is_none_or(|last| now.millis_since(last) >= ORPHANS_EVERY_MILLIS);
        if is_time {
            *last = Some(now);
        }
        is_time
    }
}
