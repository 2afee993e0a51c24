//! The operator's settings of extractions.

use crate::extraction::DocumentLimits;

/// What an operator decides about extractions; the defaults are the contract's (9, 12.3).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExtractionSettings {
    /// How large a document may be, its bytes apart.
    pub limits: DocumentLimits,
    /// Extractions of one key that may run at once on one server (5).
    pub max_running_of_key: u32,
    /// How long an extraction may take, in milliseconds (120 s).
    pub deadline_millis: u64,
    /// Bytes of forms that one server holds at once (512 MiB), a quarter of them of one agent; what comes beyond is
    /// answered 503.
    pub max_held_bytes: u64,
    /// How long documents sent with `saveToStorage` are retained, in milliseconds (90 days).
    pub retention_millis: u64,
    /// How many queued extractions [`Platform::background`](crate::platform::Platform::background) runs at once; 0 leaves
    /// them to other servers. 1 by default.
    pub workers: u32,
    /// How many extractions of an agent may be queued or running on their own (10,000).
    pub max_unfinished_jobs: u64,
    /// How long a queued extraction may run, in milliseconds (10 minutes).
    pub job_timeout_millis: u64,
    /// How long a queued extraction stays with its result after its end, in milliseconds (7 days).
    pub result_retention_millis: u64,
}

impl Default for ExtractionSettings {
    fn default() -> Self {
        ExtractionSettings {
            limits: DocumentLimits::default(),
            max_running_of_key: 5,
            deadline_millis: 120_000,
            max_held_bytes: 512 * 1024 * 1024,
            retention_millis: 90 * 24 * 3_600_000,
            workers: 1,
            max_unfinished_jobs: 10_000,
            job_timeout_millis: 600_000,
            result_retention_millis: 7 * 24 * 3_600_000,
        }
    }
}
