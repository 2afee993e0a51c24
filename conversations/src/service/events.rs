//! The events of a turn as clients receive them: their data, and a whole turn as one document.

use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::values::{MessageId, Timestamp};
use serde::Serialize;

use super::agent_view::AgentView;
use super::call::WidgetResponse;
use super::store::shown;
use crate::widget::config::LeadForm;
use crate::widget::live::{EventName, LiveTurn, Sent};
use crate::{Handoff, Message, Outcome, StatusKind};

/// Data of the event `ack`.
#[derive(Serialize)]
pub(super) struct Ack {
    pub(super) id: MessageId,
    pub(super) seq: u64,
    pub(super) at: Timestamp,
}

impl Ack {
    pub(super) fn of(message: &Message) -> Self {
        Ack { id: message.id, seq: message.seq, at: message.at }
    }
}

/// Data of the events `delta` and `replace`.
#[derive(Serialize)]
pub(super) struct Text<'a> {
    pub(super) text: &'a str,
}

/// Data of the event `done`.
#[derive(Serialize)]
pub(super) struct Done {
    pub(super) outcome: Outcome,
}

/// Data of the event `error`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Failure {
    pub(super) code: &'static str,
    pub(super) message: &'static str,
    pub(super) retryable: bool,
    pub(super) retry_after_seconds: Option<u32>,
}

impl Failure {
    pub(super) fn unavailable() -> Self {
        Failure {
            code: "RESPONDER_UNAVAILABLE",
            message: "The answer could not be completed",
            retryable: true,
            retry_after_seconds: Some(5),
        }
    }
}

/// A turn that has ended as one document; one that failed is an error.
pub(super) fn document(events: &[Sent]) -> Result<WidgetResponse, ApiError> {
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
    let data = serde_json::json!({
        "session": or_null(read(EventName::Session)),
        "ack": or_null(read(EventName::Ack)),
        "message": or_null(read(EventName::Message)),
        "suggestions": items.unwrap_or_else(|| serde_json::json!([])),
        "form": or_null(read(EventName::Form)),
        "handoff": or_null(read(EventName::Handoff)),
        "outcome": or_null(outcome),
    });
    WidgetResponse::json("The turn has ended", &data)
}

/// Data of the event `status`.
#[derive(Serialize)]
pub(super) struct Status {
    pub(super) kind: StatusKind,
}

/// Data of the event `suggestions`.
#[derive(Serialize)]
struct Items<'a> {
    items: &'a [String],
}

/// Emits the end of a turn: the message, what follows it and the outcome.
pub(super) fn tell(live: &LiveTurn, message: &Message, form: Option<&LeadForm>, view: &AgentView) {
    live.emit(EventName::Message, &shown(message));
    if !message.after.suggestions.is_empty() {
        live.emit(EventName::Suggestions, &Items { items: &message.after.suggestions });
    }
    if message.after.form
        && let Some(form) = form
    {
        live.emit(EventName::Form, form);
    }
    if let Some(handoff) = &message.after.handoff {
        live.emit(EventName::Handoff, &allowed(handoff, view));
    }
    live.emit(EventName::Done, &Done { outcome: message.outcome.unwrap_or(Outcome::Answered) });
}

/// A handoff without images from hosts that the widget may not load from.
fn allowed(handoff: &Handoff, view: &AgentView) -> Handoff {
    let is_allowed = |address: &String| {
        let host = url::Url::parse(address).ok().and_then(|url| url.host_str().map(str::to_owned));
        host.is_some_and(|host| view.settings.image_hosts.contains(&host))
    };
    Handoff { avatar: handoff.avatar.clone().filter(is_allowed), ..handoff.clone() }
}
