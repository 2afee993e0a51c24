//! How events are written and retained.

use std::sync::Arc;

use async_trait::async_trait;

use crate::access::Caller;
use crate::auth::Authenticator;
use crate::ports::{Clock, Timer};
use crate::reply::{ApiBody, ApiError};
use crate::service::EventStreamQuery;
use crate::storage::Storage;
use crate::values::Timestamp;

/// What a stream of events reads.
#[derive(Clone)]
pub struct EventSource {
    /// The store with the logs.
    pub storage: Arc<dyn Storage>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The timer. Without one, a stream ends and learns of other servers' events only with the next event.
    pub timer: Arc<dyn Timer>,
    /// What knows whether a key still works.
    pub authenticator: Arc<Authenticator>,
}

/// Serves `GET /events/chatbots/<A>/stream`; the crate `events` has the implementation (`EventHub`).
#[async_trait]
pub trait EventStreams: Send + Sync {
    /// The events of the caller's agent as the text of server-sent events. The caller may read them, and the query has
    /// been validated.
    async fn open(
        &self,
        source: EventSource,
        caller: &Caller,
        query: EventStreamQuery,
    ) -> Result<ApiBody, ApiError>;
}

/// The pause between two sweeps of all logs.
const SWEEP_MILLIS: i64 = 3_600_000;

/// How events are written and retained.
pub(super) struct EventSettings {
    /// Whether changes have events.
    pub(super) is_on: bool,
    /// How long events are retained.
    pub(super) retention_millis: i64,
    /// What serves event streams.
    pub(super) streams: Option<Arc<dyn EventStreams>>,
    /// When the logs were swept last.
    swept_at: parking_lot::Mutex<Option<Timestamp>>,
}

impl Default for EventSettings {
    fn default() -> Self {
        EventSettings {
            is_on: true,
            retention_millis: 7 * 24 * 3_600_000,
            streams: None,
            swept_at: Default::default(),
        }
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
