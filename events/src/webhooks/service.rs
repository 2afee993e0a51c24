//! The service that the requests of endpoints are methods of, and what these share.

use std::sync::Arc;

use openapi_core::access::Caller;
use openapi_core::audit::{AuditAction, SealedEntry};
use openapi_core::json::Object;
use openapi_core::platform::{Platform, not_found};
use openapi_core::ports::{Outbound, OutboundError, OutboundSchemes};
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::storage::retry::RetryOn;
use openapi_core::storage::{Effects, RecordChange, RecordsWrite, Storage, StorageErrorKind};
use openapi_core::values::{AgentId, PlatformId, Timestamp};

use super::records::{EndpointRecord, Versioned, load_endpoint, load_state};
use super::requests::EndpointTarget;
use super::signal::{Signal, TestLimits};
use crate::delivery::DeliveryState;

/// The operator's settings of webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebhookSettings {
    /// The most endpoints of an agent.
    pub max_endpoints: u32,
    /// Requests that a server sends at the same time.
    pub concurrency: u32,
}

impl WebhookSettings {
    /// The most endpoints that an operator can allow an agent.
    pub const MAX_ENDPOINTS: u32 = 1_000;
}

impl Default for WebhookSettings {
    fn default() -> Self {
        WebhookSettings { max_endpoints: 20, concurrency: 256 }
    }
}

/// The webhook endpoints of the agents of a platform. Clones are the same; [`Webhooks::over`] is the same over another
/// platform.
#[derive(Clone)]
pub struct Webhooks {
    pub(crate) platform: Arc<Platform>,
    pub(crate) outbound: Arc<dyn Outbound>,
    pub(crate) settings: WebhookSettings,
    pub(crate) signal: Arc<Signal>,
    pub(crate) tests: Arc<TestLimits>,
}

impl Webhooks {
    /// Endpoints of the agents of a platform, to which `outbound` sends.
    #[must_use]
    pub fn new(platform: Arc<Platform>, outbound: Arc<dyn Outbound>, settings: WebhookSettings) -> Self {
        Webhooks { platform, outbound, settings, signal: Arc::default(), tests: Arc::default() }
    }

    /// The same over another platform, such as one with other server keys.
    #[must_use]
    pub fn over(&self, platform: Arc<Platform>) -> Self {
        Webhooks { platform, ..self.clone() }
    }

    /// The platform.
    #[must_use]
    pub fn platform(&self) -> &Arc<Platform> {
        &self.platform
    }

    pub(crate) fn storage(&self) -> &dyn Storage {
        &**self.platform.storage()
    }

    /// The endpoint that a path names, with its progress.
    pub(crate) async fn find(
        &self,
        agent: &AgentId,
        target: &EndpointTarget,
    ) -> Result<(PlatformId, Versioned<EndpointRecord>, Versioned<DeliveryState>), ApiError> {
        let sent = target.as_str();
        let absent = |is_malformed| not_found(ErrorCode::EndpointNotFound, "Endpoint", sent, is_malformed);
        let id: PlatformId = sent.parse().map_err(|_| absent(true))?;
        let (endpoint, state) =
            (load_endpoint(self.storage(), agent, id).await?, load_state(self.storage(), agent, id).await?);
        endpoint.zip(state).map(|(endpoint, state)| (id, endpoint, state)).ok_or_else(|| absent(false))
    }

    /// The number of the newest event of an agent.
    pub(crate) async fn head(&self, agent: &AgentId) -> Result<u64, ApiError> {
        let heads = self.storage().log_heads(std::slice::from_ref(agent)).await?;
        Ok(heads.first().copied().unwrap_or_default())
    }

    /// Saves changes of an endpoint; `None` when another writer was faster.
    pub(super) async fn save(
        &self,
        agent: &AgentId,
        id: PlatformId,
        changes: Vec<RecordChange>,
        effects: Effects,
    ) -> Result<Option<()>, ApiError> {
        let saved = self.storage().save_records(Some(agent), &RecordsWrite { changes, effects }).await;
        let saved = saved.retry_on(&[StorageErrorKind::Stale])?;
        if saved.is_some() {
            self.signal.changed(agent, id);
        }
        Ok(saved)
    }

    pub(super) fn audit(
        &self,
        caller: &Caller,
        action: AuditAction,
        id: PlatformId,
        details: &Object,
        now: Timestamp,
    ) -> SealedEntry {
        self.platform.caller_audit(caller, action, id.to_string(), None, details, now)
    }

    /// Fails where nothing is ever sent.
    pub(super) fn refuse_unavailable(&self) -> Result<(), ApiError> {
        let sends = || self.outbound.check("https://example.com/", OutboundSchemes::Https);
        if self.platform.event_retention().is_none() || sends() == Err(OutboundError::Unavailable) {
            return Err(ApiError::new(ErrorCode::EventsUnavailable, "This service sends no events"));
        }
        Ok(())
    }
}
