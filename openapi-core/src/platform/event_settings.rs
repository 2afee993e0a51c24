//! How events are written and retained.

use crate::values::Timestamp;

/// The pause between two sweeps of all logs.
const SWEEP_MILLIS: i64 = 3_600_000;

/// How events are written and retained.
pub(super) struct EventSettings {
    /// Whether changes have events.
    pub(super) is_on: bool,
    /// How long events are retained.
    pub(super) retention_millis: i64,
    /// When the logs were swept last.
    swept_at: parking_lot::Mutex<Option<Timestamp>>,
}

impl Default for EventSettings {
    fn default() -> Self {
        EventSettings { is_on: true, retention_millis: 7 * 24 * 3_600_000, swept_at: Default::default() }
    }
}

impl EventSettings {
    /// Whether the logs are to be swept now.
    pub(super) fn is_sweep_due(&self, now: Timestamp) -> bool {
        let mut swept_at = self.swept_at.lock();
        let is_due = swept_at.is_none_or(|last| now.millis_since(last) >= SWEEP_MILLIS);
        if is_due {
            *swept_at = Some(now);
        }
        is_due
    }
}
