//! What a store has of an endpoint: a record that people change, a record of its progress, a record for each attempt
//! that is logged.

use openapi_core::json::{RawObject, schemas};
use openapi_core::storage::{
    RecordChange, RecordId, RecordKey, RecordKind, Storage, StorageError, StorageErrorKind, StoredRecord,
    Subject,
};
use openapi_core::values::{AgentId, PlatformId, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::delivery::{DeliveryState, LoggedAttempt, Mode};
use crate::secrets::EndpointSecrets;

/// Records that are read at a time.
const READ_AT_ONCE: u32 = 500;

/// How long an attempt is logged, in milliseconds: 30 days.
const ATTEMPT_RETENTION: i64 = 30 * 86_400_000;

/// Whether an endpoint gets events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EndpointStatus {
    /// It does.
    Enabled,
    /// It does not.
    Disabled,
}

/// Why an endpoint is disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StatusReason {
    /// A person has disabled it.
    Operator,
    /// It has responded with 410.
    Gone,
    /// It failed for too long, or an ordered one at one event too often.
    Failing,
    /// The server key that its secret is made from is gone.
    SecretLost,
}

schemas! {
    EndpointStatus: { "type": "string", "enum": ["enabled", "disabled"] },
    StatusReason: { "type": "string", "enum": ["operator", "gone", "failing", "secretLost"] },
    Mode: { "type": "string", "enum": ["parallel", "ordered"] },
}

/// What a person sets of an endpoint, and its secrets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndpointRecord {
    /// Where events are sent.
    pub url: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Names of types, `group.*` or `*`.
    pub types: Vec<String>,
    /// The order of events.
    pub mode: Mode,
    /// Whether it gets events.
    pub status: EndpointStatus,
    /// Why it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_reason: Option<StatusReason>,
    /// From what its secrets are made.
    pub secrets: EndpointSecrets,
    /// Which of the endpoints that the agent may have this is. No two have the same, so that a race cannot create one
    /// too many.
    pub slot: u32,
    /// When it was created.
    pub created_at: Timestamp,
    /// When a person or the service changed it last.
    pub updated_at: Timestamp,
}

impl EndpointRecord {
    /// Whether it gets events.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.status == EndpointStatus::Enabled
    }

    /// Disables it.
    pub fn disable(&mut self, reason: StatusReason, now: Timestamp) {
        (self.status, self.status_reason) = (EndpointStatus::Disabled, Some(reason));
        self.updated_at = now;
    }
}

/// A value with the version of its record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Versioned<T> {
    pub(crate) version: u64,
    pub(crate) value: T,
}

impl<T: DeserializeOwned> Versioned<T> {
    pub(crate) fn of(record: &StoredRecord) -> Result<Self, StorageError> {
        let value = serde_json::from_str(record.body.as_str())
            .map_err(|error| StorageError::new(StorageErrorKind::Internal, error))?;
        Ok(Versioned { version: record.version, value })
    }
}

fn body(value: &impl Serialize) -> Result<RawObject, StorageError> {
    let internal = |error| StorageError::new(StorageErrorKind::Internal, error);
    RawObject::from_text(serde_json::to_string(value).map_err(internal)?).map_err(internal)
}

async fn load<T: DeserializeOwned>(
    storage: &dyn Storage,
    agent: &AgentId,
    kind: RecordKind,
    id: PlatformId,
) -> Result<Option<Versioned<T>>, StorageError> {
    let record = storage.record(Some(agent), &RecordKey::new(kind, id)).await?;
    record.as_ref().map(Versioned::of).transpose()
}

/// The ids of the server keys that secrets of endpoints are made from, of all agents, one for each secret that signs now
/// or would if its endpoint were enabled; for the operator.
///
/// # Errors
/// When the store fails, and when it has a record that is no endpoint.
pub async fn secret_keys(storage: &dyn Storage, now: Timestamp) -> Result<Vec<String>, StorageError> {
    let mut keys = Vec::new();
    for (_, record) in all_of(storage, RecordKind::WebhookEndpoint).await? {
        let endpoint: Versioned<EndpointRecord> = Versioned::of(&record)?;
        keys.extend(endpoint.value.secrets.server_keys(now).map(str::to_owned));
    }
    Ok(keys)
}

/// All records of a kind, of all agents.
pub(crate) async fn all_of(
    storage: &dyn Storage,
    kind: RecordKind,
) -> Result<Vec<(Option<AgentId>, StoredRecord)>, StorageError> {
    let (mut found, mut after): (Vec<_>, Option<(Option<AgentId>, RecordId)>) = (Vec::new(), None);
    loop {
        let page = storage.all_records(kind, after.as_ref(), READ_AT_ONCE).await?;
        let is_last = page.len() < READ_AT_ONCE as usize;
        after = page.last().map(|(agent, record)| (agent.clone(), record.key.id.clone()));
        found.extend(page);
        if is_last {
            return Ok(found);
        }
    }
}

/// What people set of an endpoint.
pub(crate) async fn load_endpoint(
    storage: &dyn Storage,
    agent: &AgentId,
    id: PlatformId,
) -> Result<Option<Versioned<EndpointRecord>>, StorageError> {
    load(storage, agent, RecordKind::WebhookEndpoint, id).await
}

/// The progress of an endpoint.
pub(crate) async fn load_state(
    storage: &dyn Storage,
    agent: &AgentId,
    id: PlatformId,
) -> Result<Option<Versioned<DeliveryState>>, StorageError> {
    load(storage, agent, RecordKind::WebhookState, id).await
}

/// The save of an endpoint under this version.
pub(crate) fn endpoint_change(
    id: PlatformId,
    version: u64,
    endpoint: &EndpointRecord,
) -> Result<RecordChange, StorageError> {
    let slot = Sha256::digest(format!("webhook endpoint {}", endpoint.slot)).into();
    Ok(RecordChange::Save(StoredRecord {
        key: RecordKey::new(RecordKind::WebhookEndpoint, id),
        version,
        subject: None,
        unique: Some(slot),
        due_at: None,
        body: body(endpoint)?,
    }))
}

/// The save of an endpoint's progress under this version.
pub(crate) fn state_change(
    id: PlatformId,
    version: u64,
    state: &DeliveryState,
) -> Result<RecordChange, StorageError> {
    Ok(RecordChange::Save(StoredRecord {
        key: RecordKey::new(RecordKind::WebhookState, id),
        version,
        subject: None,
        unique: None,
        due_at: state.due_at(),
        body: body(state)?,
    }))
}

/// The key of an attempt: later numbers come first.
pub(crate) fn attempt_id(endpoint: PlatformId, number: u64) -> RecordId {
    let mut bytes = [0; 20];
    bytes[..12].copy_from_slice(endpoint.as_bytes());
    bytes[12..].copy_from_slice(&(u64::MAX - number).to_be_bytes());
    RecordId::from_bytes(&bytes).unwrap_or_default()
}

/// The record of an attempt. It goes with the contact that its event is about, because a receiver may have repeated
/// what it knows of the contact.
pub(crate) fn attempt_record(
    endpoint: PlatformId,
    attempt: &LoggedAttempt,
    subject: Option<Subject>,
) -> Result<RecordChange, StorageError> {
    Ok(RecordChange::Save(StoredRecord {
        key: RecordKey { kind: RecordKind::WebhookAttempt, id: attempt_id(endpoint, attempt.number) },
        version: 1,
        subject,
        unique: None,
        due_at: Some(attempt.at.plus_millis(ATTEMPT_RETENTION)),
        body: body(attempt)?,
    }))
}
