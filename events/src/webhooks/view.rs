//! An endpoint as requests see it.

use openapi_core::json::{Constant, json_object};
use openapi_core::values::{AgentId, PlatformId, Timestamp};

use super::records::{EndpointRecord, EndpointStatus, StatusReason, Versioned};
use crate::delivery::{DeliveryState, Mode};

/// An endpoint with its progress.
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint {
    /// The id.
    pub id: PlatformId,
    /// The agent.
    pub agent_id: AgentId,
    /// What a person set.
    pub record: EndpointRecord,
    /// How often it was saved.
    pub version: u64,
    /// Its progress.
    pub state: DeliveryState,
    /// The number of the newest event of the agent.
    pub head: u64,
    /// When this is shown.
    pub now: Timestamp,
}

impl Endpoint {
    pub(crate) fn new(
        (agent_id, id): (&AgentId, PlatformId),
        endpoint: Versioned<EndpointRecord>,
        state: DeliveryState,
        head: u64,
        now: Timestamp,
    ) -> Self {
        let (version, record) = (endpoint.version, endpoint.value);
        Endpoint { id, agent_id: agent_id.clone(), record, version, state, head, now }
    }

    /// The entity tag: it covers what a person sets, not the progress.
    #[must_use]
    pub fn etag(&self) -> String {
        etag(self.version, self.record.updated_at)
    }

    /// Events that were not looked at yet, with those that are to be sent again.
    #[must_use]
    pub fn pending(&self) -> u64 {
        let replayed: u64 =
            self.state.replays.iter().map(|replay| (replay.to + 1).saturating_sub(replay.next)).sum();
        self.head.saturating_sub(self.state.cursor) + self.state.open.len() as u64 + replayed
    }

    fn open_failures(&self) -> u64 {
        self.state.open.values().filter(|open| open.failures > 0).count() as u64
    }
}

/// The entity tag of an endpoint.
pub(super) fn etag(version: u64, updated_at: Timestamp) -> String {
    format!("\"{version:x}-{:x}\"", updated_at.millis())
}

json_object! { Endpoint as "WebhookEndpoint" { "description": "A URL that events of an agent are sent to." } = |it| {
    "id": PlatformId = it.id,
    "agentId": AgentId = it.agent_id,
    "url": String = it.record.url,
    "description": Option<String> = it.record.description,
    "types": Vec<String> { "description": "Names of types, `group.*` or `*`." } = it.record.types,
    "mode": Mode { "description": "`ordered`: one event at a time, none before the one before it is accepted." } = it.record.mode,
    "status": EndpointStatus = it.record.status,
    "statusReason": Option<StatusReason> { "description": "Why it is disabled." } = it.record.status_reason,
    "cursor": u64 { "minimum": 0, "description": "Every event up to this number is accepted, left out, or among `openFailures`." } = it.state.cursor,
    "pending": u64 { "minimum": 0, "description": "Events that are to be sent, with those of other types that were not looked at yet." } = it.pending(),
    "openFailures": u64 { "minimum": 0, "description": "Events that failed and are sent again." } = it.open_failures(),
    "failingSince": Option<Timestamp> { "description": "Since when every attempt fails." } = it.state.failing_since,
    "lastSuccessAt": Option<Timestamp> = it.state.succeeded_at,
    "lastFailureAt": Option<Timestamp> = it.state.failed_at,
    "secretExpiresAt": Option<Timestamp> { "description": "When the previous secret ceases to sign." } = it.record.secrets.previous_until(it.now),
    "createdAt": Timestamp = it.record.created_at,
    "updatedAt": Timestamp = it.record.updated_at,
} }

/// An endpoint that was deleted.
#[derive(Clone, Debug, PartialEq)]
pub struct DeletedEndpoint {
    /// The endpoint.
    pub id: PlatformId,
    /// When it was deleted.
    pub deleted_at: Timestamp,
}

json_object! { DeletedEndpoint as "DeletedWebhookEndpoint" = |it| {
    "id": PlatformId = it.id,
    "deleted": Constant<true> = Constant(true),
    "deletedAt": Timestamp = it.deleted_at,
} }
