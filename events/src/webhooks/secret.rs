//! Secrets and test messages.

use bytes::Bytes;
use openapi_core::access::Caller;
use openapi_core::audit::AuditAction;
use openapi_core::events::EventType;
use openapi_core::json::{Object, json_object};
use openapi_core::platform::concurrent_update;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::service::Unvalidated;
use openapi_core::storage::Effects;
use openapi_core::storage::retry::retry_on_conflict;
use openapi_core::validation::{ValidationIssue, Violations};
use openapi_core::values::{AgentId, PlatformId, Timestamp};
use serde_json::json;

use super::body::{conflict, read_number, read_text};
use super::records::{EndpointRecord, endpoint_change, state_change};
use super::requests::{EndpointTarget, RotateSecret, SendTest};
use super::service::Webhooks;
use super::signal::TESTS_A_MINUTE;
use crate::message::{Message, Outcome};
use crate::secrets::{MAX_GRACE_SECONDS, Secret};

/// How long the former secret signs too, if nothing is said.
const GRACE_SECONDS: u32 = 86_400;

/// The secrets of an endpoint. Their `Debug` form does not contain them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretView {
    secret: Option<Secret>,
    previous: Option<Secret>,
    previous_until: Option<Timestamp>,
}

json_object! { SecretView as "WebhookSecret" = |it| {
    "secret": Option<String> {
        "description": "What signs messages: `whsec_` and base64; `null` if the server key that it is made from is gone."
    } = it.secret(),
    "previous": Option<String> { "description": "The former secret, while it signs too." } = it.previous(),
    "previousUntil": Option<Timestamp> { "description": "When the former secret ceases to sign." } = it.previous_until,
} }

impl SecretView {
    fn of(
        keys: &Webhooks,
        record: &EndpointRecord,
        (agent, id): (&AgentId, PlatformId),
        now: Timestamp,
    ) -> Self {
        let live = record.secrets.live(&keys.platform.ports().server_keys, agent, id, now);
        let mut live = live.unwrap_or_default().into_iter();
        let (secret, previous) = (live.next(), live.next());
        let previous_until = record.secrets.previous_until(now).filter(|_| previous.is_some());
        SecretView { secret, previous, previous_until }
    }

    /// The text of the secret. Show it to nobody but the receiver.
    #[must_use]
    pub fn secret(&self) -> Option<String> {
        self.secret.as_ref().map(Secret::expose)
    }

    /// The text of the former secret, while it signs too.
    #[must_use]
    pub fn previous(&self) -> Option<String> {
        self.previous.as_ref().map(Secret::expose)
    }

    /// When the former secret ceases to sign.
    #[must_use]
    pub fn previous_until(&self) -> Option<Timestamp> {
        self.previous_until
    }
}

/// How a test message was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestResult {
    /// The status of the response.
    pub status: Option<u16>,
    /// How long it took.
    pub millis: u32,
    /// What failed without a response.
    pub error: Option<&'static str>,
    /// The begin of the text of a failure.
    pub body: Option<String>,
}

json_object! { TestResult as "WebhookTestResult" = |it| {
    "status": Option<u16> { "description": "The status of the response; `null` without one." } = it.status,
    "milliseconds": u32 = it.millis,
    "error": Option<&'static str> {
        "description": "What failed without a response: `refused`, `dns`, `connect`, `tls`, `timeout`, `response`, `redirects`, `request` or `unavailable`."
    } = it.error,
    "body": Option<String> { "description": "Up to 1 KiB of the text of a failure." } = it.body,
} }

impl Webhooks {
    /// The secrets of an endpoint; noted in the audit log.
    ///
    /// # Errors
    /// 404 ENDPOINT_NOT_FOUND.
    pub async fn secret(
        &self,
        caller: &Caller,
        target: &EndpointTarget,
        faults: Violations,
    ) -> Result<SecretView, ApiError> {
        let agent = &caller.agent_id;
        let (id, endpoint, _) = self.find(agent, target).await?;
        Unvalidated::new(Some(()), faults).check()?;
        let now = self.platform.now();
        let audit = self.audit(caller, AuditAction::WebhookReveal, id, &Object::new(), now);
        self.storage().append_audit(&audit).await?;
        Ok(SecretView::of(self, &endpoint.value, (agent, id), now))
    }

    /// Gives an endpoint a new secret. The former one signs too for the grace.
    ///
    /// # Errors
    /// Those of the contract.
    pub async fn rotate(&self, caller: &Caller, request: RotateSecret) -> Result<SecretView, ApiError> {
        let request = &request;
        retry_on_conflict(concurrent_update, |_| async move {
            let agent = &caller.agent_id;
            let (id, endpoint, state) = self.find(agent, &request.target).await?;
            let grace = request
                .fields
                .check_with(|fields| read_number(fields, "graceSeconds", MAX_GRACE_SECONDS, GRACE_SECONDS))?;
            let now = self.platform.now();
            let mut record = endpoint.value;
            record.secrets = record.secrets.rotate(&self.platform.ports().server_keys, now, grace);
            record.updated_at = now;
            let audit = self.audit(caller, AuditAction::WebhookRotate, id, &Object::new(), now);
            let changes = vec![
                endpoint_change(id, endpoint.version + 1, &record)?,
                state_change(id, state.version + 1, &state.value)?,
            ];
            let saved = self.save(agent, id, changes, Effects::audited(audit)).await?;
            Ok(saved.map(|()| SecretView::of(self, &record, (agent, id), now)))
        })
        .await
    }

    /// Sends an example of an event, which moves nothing and is not logged.
    ///
    /// # Errors
    /// Those of the contract.
    pub async fn test(&self, caller: &Caller, request: SendTest) -> Result<TestResult, ApiError> {
        let agent = &caller.agent_id;
        let (id, endpoint, _) = self.find(agent, &request.target).await?;
        let kind = request.fields.check_with(|fields| {
            read_text(fields, "type", |name| {
                let known = EventType::ALL.iter().copied().find(|kind| kind.as_str() == name);
                known.ok_or_else(|| {
                    ValidationIssue::not_one_of(
                        &EventType::ALL.iter().map(|it| it.as_str()).collect::<Vec<_>>(),
                    )
                })
            })
        })?;
        let now = self.platform.now();
        let keys = &self.platform.ports().server_keys;
        let Ok(secrets) = endpoint.value.secrets.live(keys, agent, id, now) else {
            return Err(conflict("type", "needs a secret of the endpoint: rotate it").into());
        };
        self.refuse_unavailable()?;
        self.tests.admit(id, now).map_err(|seconds| {
            ApiError::new(
                ErrorCode::RateLimitExceeded,
                "The endpoint has had its test messages for this minute",
            )
            .with_detail("window", "minute")
            .with_detail("limit", TESTS_A_MINUTE as u64)
            .with_detail("retryAfterSeconds", seconds)
            .with_retry_after(seconds)
        })?;
        let event = test_event(
            &self.platform.ports().ids.platform_id(now),
            kind.unwrap_or(EventType::ContactCreated),
            agent,
            now,
        );
        let message = Message { id: event.0, at: now, body: event.1 };
        let mut request =
            message.request(&endpoint.value.url, self.platform.service_info().service_name(), &secrets);
        request.agent = Some(agent.clone());
        let sent = self.outbound.send(request).await;
        let ended = self.platform.now();
        let millis = u32::try_from(ended.millis_since(now)).unwrap_or_default();
        let outcome = Outcome::of(&sent, millis, ended);
        let body = Some(outcome.text).filter(|text| !text.is_empty());
        Ok(TestResult { status: outcome.status, millis, error: outcome.error, body })
    }
}

/// An example of an event of this type, marked as a test.
fn test_event(id: &PlatformId, kind: EventType, agent: &AgentId, now: Timestamp) -> (PlatformId, Bytes) {
    let event = json!({
        "id": id,
        "seq": 1,
        "cursor": format!("1.{id}"),
        "type": kind.as_str(),
        "timestamp": now,
        "agentId": agent,
        "actor": { "type": "system", "id": null },
        "data": kind.example(),
        "test": true,
    });
    (*id, Bytes::from(event.to_string()))
}
