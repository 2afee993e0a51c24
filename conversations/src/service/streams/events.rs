//! The data of the events of a turn, and a whole turn as one document.

use http::HeaderMap;
use openapi_core::api::{ApiBody, Outcome as CallOutcome};
use openapi_core::reply::{ApiError, ErrorCode, Reply};
use openapi_core::values::{MessageId, Timestamp};
use serde::Serialize;
use serde_json::json;

use crate::service::agent_view::AgentView;
use crate::service::repository::MessageView;
use crate::widget::config::LeadForm;
use crate::widget::live::{EventName, EventStream, LiveTurn, Sent};
use crate::{Handoff, Message, Outcome};

/// Data of the event `ack`.
#[derive(Serialize)]
pub(crate) struct Ack {
    pub(crate) id: MessageId,
    pub(crate) seq: u64,
    pub(crate) at: Timestamp,
}

impl Ack {
    pub(crate) fn of(message: &Message) -> Self {
        Ack { id: message.id, seq: message.seq, at: message.at }
    }
}

/// Data of the event `error`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Failure {
    pub(crate) code: &'static str,
    pub(crate) message: &'static str,
    pub(crate) retryable: bool,
    pub(crate) retry_after_seconds: Option<u32>,
}

impl Failure {
    pub(crate) fn unavailable() -> Self {
        Failure {
            code: "RESPONDER_UNAVAILABLE",
            message: "The answer could not be completed",
            retryable: true,
            retry_after_seconds: Some(5),
        }
    }
}

/// The response that streams events.
pub(crate) fn stream(events: EventStream) -> CallOutcome {
    let headers: HeaderMap = ApiBody::EVENT_HEADERS.into_iter().collect();
    CallOutcome::Content { status: 200, headers, body: ApiBody::events(events) }
}

/// An ended turn as one document; a failed turn is an error.
pub(crate) fn document(events: &[Sent]) -> Result<CallOutcome, ApiError> {
    let read = |name: EventName| {
        let event = events.iter().rev().find(|event| event.name == name)?;
        serde_json::from_slice::<serde_json::Value>(&event.data).ok()
    };
    if let Some(failure) = read(EventName::Error) {
        let code = match failure.get("code").and_then(|code| code.as_str()) {
            Some("INTERNAL_ERROR") => ErrorCode::InternalError,
            _ => ErrorCode::ServiceUnavailable,
        };
        return Err(ApiError::new(code, "The answer could not be completed").with_retry_after(5));
    }
    let or_null = |value: Option<serde_json::Value>| value.unwrap_or(serde_json::Value::Null);
    let items = read(EventName::Suggestions).and_then(|data| data.get("items").cloned());
    let outcome = read(EventName::Done).and_then(|data| data.get("outcome").cloned());
    let data = json!({
        "session": or_null(read(EventName::Session)),
        "ack": or_null(read(EventName::Ack)),
        "message": or_null(read(EventName::Message)),
        "suggestions": items.unwrap_or_else(|| json!([])),
        "form": or_null(read(EventName::Form)),
        "handoff": or_null(read(EventName::Handoff)),
        "outcome": or_null(outcome),
    });
    CallOutcome::success(Reply::ok("The turn has ended", data))
}

/// Emits the last events of a turn: the reply, what follows it and the outcome.
pub(crate) fn emit_end(live: &LiveTurn, message: &Message, form: Option<&LeadForm>, view: &AgentView) {
    live.emit(EventName::Message, &MessageView::of(message));
    if !message.after.suggestions.is_empty() {
        live.emit(EventName::Suggestions, &json!({ "items": message.after.suggestions }));
    }
    if message.after.form
        && let Some(form) = form
    {
        live.emit(EventName::Form, form);
    }
    if let Some(handoff) = &message.after.handoff {
        live.emit(EventName::Handoff, &allowed(handoff, view));
    }
    let outcome = message.outcome.unwrap_or(Outcome::Answered).on_the_wire();
    live.emit(EventName::Done, &json!({ "outcome": outcome }));
}

/// A handoff without images from hosts that the widget may not load from.
fn allowed(handoff: &Handoff, view: &AgentView) -> Handoff {
    let is_allowed = |address: &String| {
        let host = url::Url::parse(address).ok().and_then(|url| url.host_str().map(str::to_owned));
        host.is_some_and(|host| view.settings.image_hosts.contains(&host))
    };
    Handoff { avatar: handoff.avatar.clone().filter(is_allowed), ..handoff.clone() }
}
