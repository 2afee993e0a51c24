//! What was sent to a webhook endpoint, and what it answered.

use std::collections::{BTreeMap, BTreeSet};

use events::webhooks::{AttemptQuery, AttemptView, ListAttempts, ReplayEvents, Replayed};
use openapi_core::audit::AuditAction;
use openapi_core::events::Event;
use openapi_core::json::{Json, Object, json_object};
use openapi_core::operation::Method;
use openapi_core::reply::{ApiError, ErrorCode, Reply};
use openapi_core::storage::LogEntry;
use openapi_core::values::{AgentId, Line, PlatformId};

use super::webhooks::{metadata, refused, service};
use crate::context::Context;
use crate::errors::not_found;
use crate::input::{Limit, input};
use crate::operation::{Metadata, Operation};
use crate::stream;

/// Events that are read at a time.
const READ_AT_ONCE: u32 = 100;

input! {
    /// A part of the log of attempts.
    ReadAttempts {
        "agent" Path agent: AgentId,
        "webhook" Path webhook: PlatformId,
        "failed" Query failed: Option<bool> { "default": false, "description": "Only attempts that failed." },
        "limit" Query limit: Limit,
        "cursor" Query cursor: Option<Line<100>> { "description": "`nextCursor` of an earlier answer." },
    }
}

input! {
    /// An attempt.
    OneAttempt {
        "agent" Path agent: AgentId,
        "webhook" Path webhook: PlatformId,
        "number" Path number: u64,
    }
}

/// An attempt with what it was about.
pub struct Delivery {
    attempt: AttemptView,
    event: Option<LogEntry>,
}

json_object! { Delivery as "WebhookDelivery" = |it| {
    "attempt": AttemptView = it.attempt,
    "type": Option<&'static str> { "description": "The type of the event; `null` when the log no longer has it." } = it.event.as_ref().map(|event| event.kind.as_str()),
    "eventId": Option<PlatformId> { "description": "Receivers recognise repeated messages by it." } = it.event.as_ref().map(|event| event.id),
} }

/// A part of the log.
pub struct Deliveries {
    deliveries: Vec<Delivery>,
    next_cursor: Option<String>,
}

json_object! { Deliveries as "WebhookDeliveries" = |page| {
    "deliveries": Vec<Delivery> { "description": "The newest first." } = page.deliveries,
    "nextCursor": Option<String> { "description": "What to pass as `cursor` next; `null` at the end." } = page.next_cursor,
} }

/// An attempt with the message.
pub struct DeliveryReport {
    delivery: Delivery,
    message: Option<Event>,
}

json_object! { DeliveryReport as "WebhookDeliveryReport" = |report| {
    "delivery": Delivery = report.delivery,
    "message": Option<Event> { "description": "What was sent; `null` when the log no longer has it, or the caller may not see what it is about." } = report.message,
} }

/// The events with these numbers, as far as the log has them.
async fn events_of(
    cx: &Context<'_>,
    agent: &AgentId,
    mut wanted: BTreeSet<u64>,
) -> Result<BTreeMap<u64, LogEntry>, ApiError> {
    let mut found = BTreeMap::new();
    while let Some(first) = wanted.first().copied() {
        let page = cx.platform().storage().log(agent, first.saturating_sub(1), READ_AT_ONCE).await?;
        let Some(last) = page.entries.last().map(|entry| entry.seq) else { break };
        let shown = page.entries.into_iter().filter(|entry| wanted.contains(&entry.seq));
        found.extend(shown.map(|entry| (entry.seq, entry)));
        wanted = wanted.split_off(&(last + 1));
    }
    Ok(found)
}

async fn deliveries(
    cx: &Context<'_>,
    (agent, webhook): (&AgentId, PlatformId),
    query: AttemptQuery,
) -> Result<Deliveries, ApiError> {
    let (webhooks, caller) = service(cx, agent).await?;
    let request = ListAttempts { target: webhook.into(), query: query.into() };
    let found = webhooks.attempts(&caller, request).await.map_err(refused(webhook))?;
    let numbers = found.attempts.iter().map(|attempt| attempt.0.seq).collect();
    let events = events_of(cx, agent, numbers).await?;
    let with_event = |attempt: AttemptView| {
        let event = events.get(&attempt.0.seq).cloned();
        Delivery { attempt, event }
    };
    let deliveries = found.attempts.into_iter().map(with_event).collect();
    Ok(Deliveries { deliveries, next_cursor: found.next_cursor })
}

async fn delivery(cx: &Context<'_>, input: &OneAttempt) -> Result<Delivery, ApiError> {
    let before = input.number.saturating_add(1).to_string();
    let query = AttemptQuery { limit: 1, cursor: Some(before), failed: false };
    let found = deliveries(cx, (&input.agent, input.webhook), query).await?;
    let own = found.deliveries.into_iter().next().filter(|one| one.attempt.0.number == input.number);
    own.ok_or_else(|| not_found("attempt", &input.number.to_string()))
}

/// `attempts.list`
pub struct List;

impl Operation for List {
    const METADATA: Metadata = metadata(
        "attempts.list",
        "Lists attempts to deliver, newest first: each failure, the success after one, and the first success of a minute.",
        (Method::Get, "/agents/{agent}/webhooks/{webhook}/attempts"),
        &[],
        "webhooks attempts ID --agent AGENT",
    );
    type Input = ReadAttempts;
    type Output = Deliveries;

    async fn run(cx: Context<'_>, input: ReadAttempts) -> Result<Reply<Deliveries>, ApiError> {
        let cursor = input.cursor.map(|cursor| cursor.to_string());
        let failed = input.failed.unwrap_or_default();
        let query = AttemptQuery { limit: input.limit.0.into(), cursor, failed };
        let page = deliveries(&cx, (&input.agent, input.webhook), query).await?;
        Ok(Reply::ok("Attempts retrieved successfully", page))
    }
}

/// `attempts.show`
pub struct Show;

impl Operation for Show {
    const METADATA: Metadata = metadata(
        "attempts.show",
        "Shows an attempt to deliver with the message that was sent.",
        (Method::Get, "/agents/{agent}/webhooks/{webhook}/attempts/{number}"),
        &[],
        "",
    );
    type Input = OneAttempt;
    type Output = DeliveryReport;

    async fn run(cx: Context<'_>, input: OneAttempt) -> Result<Reply<DeliveryReport>, ApiError> {
        let delivery = delivery(&cx, &input).await?;
        let event = delivery.event.as_ref().map(|entry| Event::of(&input.agent, entry)).transpose();
        let event = event.map_err(|_| ApiError::internal())?;
        let message = event.filter(|event| stream::is_whole(&cx.operator.grants, event));
        Ok(Reply::ok("Attempt retrieved successfully", DeliveryReport { delivery, message }))
    }
}

/// `attempts.resend`
pub struct Resend;

impl Operation for Resend {
    const METADATA: Metadata = metadata(
        "attempts.resend",
        "Sends the event of an attempt again. An ordered endpoint also gets all that follows it again.",
        (Method::Post, "/agents/{agent}/webhooks/{webhook}/attempts/{number}/resend"),
        &[AuditAction::WebhookReplay],
        "webhooks replay ID --agent AGENT --id EVENT",
    );
    type Input = OneAttempt;
    type Output = Replayed;

    async fn run(cx: Context<'_>, input: OneAttempt) -> Result<Reply<Replayed>, ApiError> {
        let impossible = |text| ApiError::new(ErrorCode::NotPossible, text);
        let Some(event) = delivery(&cx, &input).await?.event else {
            return Err(impossible("The event log no longer has this event, so it cannot be sent again"));
        };
        let (webhooks, caller) = service(&cx, &input.agent).await?;
        let mut fields = Object::new();
        fields.insert("ids", Json::Array(vec![event.id.to_string().as_str().into()]));
        let request = ReplayEvents { target: input.webhook.into(), fields: fields.into() };
        let replayed = webhooks.replay(&caller, request).await.map_err(refused(input.webhook))?;
        if replayed.to < replayed.from {
            return Err(impossible(
                "The webhook no longer subscribes to events of this type, so nothing was sent",
            ));
        }
        Ok(Reply::ok("The event will be sent again", replayed))
    }
}
