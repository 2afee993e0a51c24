//! The endpoints about one endpoint: /events/endpoints/{endpointId}/…/chatbots/{agentId}

use openapi_core::access::{Action, Caller, Permission, Scope};
use openapi_core::json::JsonSchema;
use openapi_core::operation::{
    Access, Conditional, Context, EncodedResponse, EndpointMetadata, Method, Operation, Payload,
};
use openapi_core::reply::{ApiError, ErrorCode, Reply};
use openapi_core::service::Unvalidated;
use openapi_core::validation::Violations;
use serde::Serialize;
use serde_json::Value;

use super::webhooks;
use crate::webhooks::{
    AttemptList, AttemptView, DeleteEndpoint, DeletedEndpoint, EditEndpoint, Endpoint, EndpointTarget,
    ListAttempts, ReplayEvents, Replayed, RotateSecret, SecretView, SendTest, TestResult,
};

/// Shows an endpoint.
pub struct Get;

impl Operation for Get {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "getWebhookEndpoint",
        method: Method::Get,
        path: "/events/endpoints/{endpointId}/chatbots/{agentId}",
        tag: "Webhooks",
        summary: "Get an endpoint",
        description: "An endpoint with its progress. The entity tag covers what a person sets, not the progress.",
        access: Access::Key(Permission::new(Scope::Events, Action::Read)),
        errors: &[ErrorCode::EndpointNotFound],
        conditional: Conditional::Read,
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = (EndpointTarget, Violations);
    type Output = Endpoint;

    async fn run(cx: Context<'_, Caller>, input: Self::Input) -> Result<Reply<Endpoint>, ApiError> {
        let (target, faults) = input;
        let endpoint = webhooks(cx.services)?.get(cx.caller, &target).await?;
        Unvalidated::new(Some(()), faults).check()?;
        let etag = endpoint.etag();
        Ok(Reply::ok("Endpoint retrieved successfully", endpoint).with_etag(etag))
    }
}

/// Changes an endpoint.
pub struct Edit;

impl Operation for Edit {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "updateWebhookEndpoint",
        method: Method::Put,
        path: "/events/endpoints/{endpointId}/chatbots/{agentId}",
        tag: "Webhooks",
        summary: "Update an endpoint",
        description: "Changes what is named. `status` disables and enables: an enabled endpoint gets what it has missed, with `resume` `now` only what follows.",
        access: Access::Key(Permission::new(Scope::Events, Action::Update)),
        errors: &[ErrorCode::EndpointNotFound],
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = EditEndpoint;
    type Output = Endpoint;

    async fn run(cx: Context<'_, Caller>, input: Self::Input) -> Result<Reply<Endpoint>, ApiError> {
        let endpoint = webhooks(cx.services)?.edit(cx.caller, input).await?;
        let etag = endpoint.etag();
        Ok(Reply::ok("Endpoint updated successfully", endpoint).with_etag(etag))
    }
}

/// Deletes an endpoint.
pub struct Delete;

impl Operation for Delete {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "deleteWebhookEndpoint",
        method: Method::Delete,
        path: "/events/endpoints/{endpointId}/chatbots/{agentId}",
        tag: "Webhooks",
        summary: "Delete an endpoint",
        description: "Nothing more is sent, and the log of attempts is gone.",
        access: Access::Key(Permission::new(Scope::Events, Action::Delete)),
        errors: &[ErrorCode::EndpointNotFound, ErrorCode::ConcurrentUpdate],
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = DeleteEndpoint;
    type Output = DeletedEndpoint;

    async fn run(cx: Context<'_, Caller>, input: Self::Input) -> Result<Reply<DeletedEndpoint>, ApiError> {
        Ok(Reply::ok("Endpoint deleted successfully", webhooks(cx.services)?.delete(cx.caller, input).await?))
    }
}

/// Shows the secret of an endpoint.
pub struct ShowSecret;

impl Operation for ShowSecret {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "getWebhookSecret",
        method: Method::Get,
        path: "/events/endpoints/{endpointId}/secret/chatbots/{agentId}",
        tag: "Webhooks",
        summary: "Show the secret",
        description: "The secret that signs messages, and the former one while it signs too. Noted in the audit log.",
        access: Access::Key(Permission::new(Scope::Events, Action::Update)),
        errors: &[ErrorCode::EndpointNotFound],
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = (EndpointTarget, Violations);
    type Output = SecretView;

    async fn run(cx: Context<'_, Caller>, input: Self::Input) -> Result<Reply<SecretView>, ApiError> {
        let (target, faults) = input;
        let secret = webhooks(cx.services)?.secret(cx.caller, &target, faults).await?;
        Ok(Reply::ok("Secret retrieved successfully", secret))
    }
}

/// Gives an endpoint a new secret.
pub struct Rotate;

impl Operation for Rotate {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "rotateWebhookSecret",
        method: Method::Post,
        path: "/events/endpoints/{endpointId}/rotate/chatbots/{agentId}",
        tag: "Webhooks",
        summary: "Rotate the secret",
        description: "Makes a new secret. The former one signs too for `graceSeconds`.",
        access: Access::Key(Permission::new(Scope::Events, Action::Update)),
        errors: &[ErrorCode::EndpointNotFound, ErrorCode::ConcurrentUpdate],
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = RotateSecret;
    type Output = SecretView;

    async fn run(cx: Context<'_, Caller>, input: Self::Input) -> Result<Reply<SecretView>, ApiError> {
        Ok(Reply::ok("Secret rotated successfully", webhooks(cx.services)?.rotate(cx.caller, input).await?))
    }
}

/// Sends a test message.
pub struct Test;

impl Operation for Test {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "testWebhookEndpoint",
        method: Method::Post,
        path: "/events/endpoints/{endpointId}/test/chatbots/{agentId}",
        tag: "Webhooks",
        summary: "Send a test message",
        description: r#"Sends an example of an event with `"test": true` and an id of its own, at once and also to a disabled endpoint. It is not repeated, not logged, and moves no cursor. 10 a minute."#,
        access: Access::Key(Permission::new(Scope::Events, Action::Update)),
        errors: &[ErrorCode::EndpointNotFound, ErrorCode::EventsUnavailable],
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = SendTest;
    type Output = TestResult;

    async fn run(cx: Context<'_, Caller>, input: Self::Input) -> Result<Reply<TestResult>, ApiError> {
        Ok(Reply::ok("Test message sent", webhooks(cx.services)?.test(cx.caller, input).await?))
    }
}

/// Sends events again.
pub struct Replay;

impl Operation for Replay {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "replayWebhookEvents",
        method: Method::Post,
        path: "/events/endpoints/{endpointId}/replay/chatbots/{agentId}",
        tag: "Webhooks",
        summary: "Send events again",
        description: "Sends the events of the log after a cursor, since a time, or with these ids again, with their ids. An ordered endpoint gets everything from the first of them on again.",
        access: Access::Key(Permission::new(Scope::Events, Action::Update)),
        errors: &[
            ErrorCode::EndpointNotFound,
            ErrorCode::EndpointLimitExceeded,
            ErrorCode::ConcurrentUpdate,
            ErrorCode::EventsLost,
        ],
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = ReplayEvents;
    type Output = Replayed;

    async fn run(cx: Context<'_, Caller>, input: Self::Input) -> Result<Reply<Replayed>, ApiError> {
        Ok(Reply::ok("Events will be sent again", webhooks(cx.services)?.replay(cx.caller, input).await?))
    }
}

/// Lists attempts to deliver.
pub struct Attempts;

impl Operation for Attempts {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "listWebhookAttempts",
        method: Method::Get,
        path: "/events/endpoints/{endpointId}/attempts/chatbots/{agentId}",
        tag: "Webhooks",
        summary: "List attempts",
        description: "Attempts of the last 30 days, newest first, at most 10,000: each failure, the success after one, and the first success of a minute. What is not in it was accepted at the first attempt.",
        access: Access::Key(Permission::new(Scope::Events, Action::Read)),
        errors: &[ErrorCode::EndpointNotFound],
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = ListAttempts;
    type Output = AttemptList;

    async fn run(cx: Context<'_, Caller>, input: Self::Input) -> Result<Reply<AttemptList>, ApiError> {
        let attempts = webhooks(cx.services)?.attempts(cx.caller, input).await?;
        Ok(Reply::ok("Attempts retrieved successfully", attempts))
    }

    /// The cursor stands next to `data`.
    fn encode(reply: Reply<AttemptList>) -> Result<EncodedResponse, ApiError> {
        let AttemptList { attempts, next_cursor } = &reply.data;
        let body = Body {
            success: true,
            message: &reply.message,
            data: attempts,
            next_cursor: next_cursor.as_deref(),
        };
        let body = serde_json::to_vec(&body).map_err(|_| ApiError::internal())?;
        Ok(EncodedResponse { reply: reply.map(|_| ()), body: Payload::Json(body) })
    }

    fn response_schema() -> Value {
        AttemptList::envelope()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    success: bool,
    message: &'a str,
    data: &'a [AttemptView],
    next_cursor: Option<&'a str>,
}
