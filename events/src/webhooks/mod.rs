//! Webhook endpoints: what a person does with them.

mod attempts;
mod body;
mod manage;
mod records;
mod replay;
mod requests;
mod secret;
mod signal;
mod view;

use std::sync::Arc;

use openapi_core::api::{Api, Settings};
use openapi_core::platform::{Platform, not_found};
use openapi_core::ports::Outbound;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::service::OpenApiService;
use openapi_core::storage::Storage;
use openapi_core::values::{AgentId, PlatformId};

pub use attempts::{AttemptList, AttemptView};
pub use body::{EndpointChange, NewEndpoint};
pub(crate) use manage::{id_of, remove_attempts};
pub use records::{EndpointRecord, EndpointStatus, StatusReason};
pub(crate) use records::{
    Versioned, attempt_record, endpoint_change, load_endpoint, load_state, state_change,
};
pub use replay::{Replayed, SkippedEvent};
pub use requests::{
    AttemptQuery, CreateEndpoint, DeleteEndpoint, EditEndpoint, EndpointTarget, ListAttempts, ListEndpoints,
    ReplayBody, ReplayEvents, RotateSecret, RotationBody, SendTest, TestBody,
};
pub use secret::{SecretView, TestResult};
pub(crate) use signal::{Signal, TestLimits};
pub use view::{DeletedEndpoint, Endpoint};

use crate::endpoints::GROUPS;

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

    /// The API of the platform with the endpoints of webhooks. The platform's names replace `settings.service_info`.
    #[must_use]
    pub fn api(&self, mut settings: Settings) -> Api {
        let service: Arc<dyn OpenApiService> = Arc::clone(&self.platform) as _;
        settings.service_info = self.platform.service_info().clone();
        let mut services = http::Extensions::new();
        services.insert(self.clone());
        Api::with_groups(settings, service, self.platform.authenticator(), GROUPS, services)
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
    ) -> Result<(PlatformId, Versioned<EndpointRecord>, Versioned<crate::delivery::DeliveryState>), ApiError>
    {
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
}
