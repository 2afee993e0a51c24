//! The live stream of an operator: what happens to the agents that a page shows, as server-sent events.
//!
//! The stream has no task and no queue: it reads the logs when its client takes what was sent, and skips to the head of
//! a log whose events the client takes too slowly.

mod cursor;
mod visible;

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use openapi_core::admin::Admin;
use openapi_core::events::EventCursor;
use openapi_core::platform::{Platform, read_events};
use openapi_core::ports::timeout;
use openapi_core::reply::{ApiBody, ApiError, ErrorCode};
use openapi_core::service::{EventFilter, EventPage, EventQuery};
use openapi_core::values::{AgentId, Timestamp};
use serde_json::{Value, json};

use crate::auth::watch::{Standing, WatchedCaller};
use crate::context::Context;
use crate::errors::{failed, not_found};
use crate::grants::Grants;
use crate::live::{EventPages, LiveStreams, Slot};

pub(crate) use visible::{SUBJECTS, is_whole};

/// The most agents of a stream.
pub(crate) const MAX_AGENTS: usize = 20;

/// The time without an event after which the cursor is sent.
const PING_MILLIS: i64 = 15_000;
/// How often a stream looks whether its session still stands: the stream ends within 5 s after it.
const CHECK_MILLIS: i64 = 4_000;
/// The time after which a stream ends. Its client connects again.
const LENGTH_MILLIS: i64 = 15 * 60_000;
/// The same where a host application signs people in, which alone knows whether a session of its own still stands.
const HOSTED_LENGTH_MILLIS: i64 = 60_000;
/// How many events a client may have missed or be slow to take. Beyond that, it reads its records again.
const MAX_MISSED: u64 = 256;

/// The log of an agent.
struct Log {
    agent: AgentId,
    /// Everything up to here was sent, or is not for the operator.
    cursor: EventCursor,
    pages: EventPages,
}

/// What a stream reads, and for whom.
struct Source {
    platform: Arc<Platform>,
    live: LiveStreams,
    grants: Grants,
    /// The session or the token of the caller, unless a host application has signed the caller in.
    session: Option<WatchedCaller>,
}

/// A stream that is open.
struct LiveStream {
    source: Source,
    logs: Vec<Log>,
    /// The log that is looked at first, so that a busy agent does not hold up the others.
    first: usize,
    begun: Timestamp,
    checked_at: Timestamp,
    sent_at: Timestamp,
    /// What is sent before anything else.
    opening: Option<Vec<u8>>,
    is_over: bool,
    _slot: Slot,
}

/// Whether this server sends live updates.
pub(crate) fn is_offered(cx: &Context<'_>) -> bool {
    cx.console.settings.live.is_some() && cx.platform().event_retention().is_some()
}

/// The text of a cursor of an agent's log.
pub(crate) fn cursor_of(agent: &AgentId, cursor: EventCursor) -> String {
    cursor::write(std::iter::once((agent, cursor)))
}

/// Opens the stream of some agents.
pub(crate) async fn open(cx: Context<'_>, agents: Vec<AgentId>) -> Result<ApiBody, ApiError> {
    let platform = cx.platform();
    let settings = &cx.console.settings;
    let live = settings.live.clone().filter(|_| is_offered(&cx));
    let unavailable = || {
        let text = "This server sends no live updates; read again what you show every few seconds";
        ApiError::new(ErrorCode::EventsUnavailable, text)
    };
    let live = live.ok_or_else(unavailable)?;
    for agent in &agents {
        if !cx.operator.grants.knows(agent) {
            return Err(not_found("agent", agent.as_str()));
        }
        platform.agent(agent).await.map_err(failed)?;
    }
    let cursors = cursor::read(cx.call.last_event_id.as_deref())?;
    let session = cx.proof.zip(settings.accounts.as_ref());
    let session = session.map(|(proof, accounts)| WatchedCaller::new(proof, accounts));
    let hosted = || format!("host:{}", cx.operator.id).into_bytes();
    let slot = live.take(session.as_ref().map_or_else(hosted, |session| session.id().to_vec()))?;
    let grants = cx.operator.grants.clone();
    let source = Source { platform: Arc::clone(platform), live, grants, session };
    let (mut logs, mut gaps, mut fresh) = (Vec::new(), Vec::new(), Vec::new());
    for agent in agents {
        let after = cursors.get(&agent).copied();
        if after.is_none() {
            fresh.push(agent.clone());
        }
        let (log, gap) = source.log(agent, after).await?;
        gaps.extend(gap.map(|reason| (logs.len(), reason)));
        logs.push(log);
    }
    let now = platform.now();
    let mut stream = LiveStream {
        source,
        logs,
        first: 0,
        begun: now,
        checked_at: now,
        sent_at: now,
        opening: None,
        is_over: false,
        _slot: slot,
    };
    let agents: Vec<&AgentId> = stream.logs.iter().map(|log| &log.agent).collect();
    let mut text = stream.text("ready", &json!({ "agents": agents, "fresh": fresh }));
    for (at, reason) in gaps {
        text.extend(stream.gap(at, reason));
    }
    stream.opening = Some(text);
    let text = futures_util::stream::unfold(stream, |mut stream| async move {
        stream.next().await.map(|text| (Bytes::from(text), stream))
    });
    Ok(ApiBody::events(text))
}

impl Source {
    /// The log of an agent after a cursor, or from its head on. If events after the cursor are gone, or are too many, it
    /// begins at the head, and the reason comes with it.
    async fn log(
        &self,
        agent: AgentId,
        after: Option<EventCursor>,
    ) -> Result<(Log, Option<&'static str>), ApiError> {
        let source = self.platform.event_source();
        let (cursor, gap) = match after {
            None => (self.at_head(&agent).await?, None),
            Some(after) => match self.at(&agent, after).await {
                Ok(page) if page.stream.head - page.stream.cursor.seq <= MAX_MISSED => {
                    (page.stream.cursor, None)
                }
                Ok(_) => (self.at_head(&agent).await?, Some("tooMany")),
                Err(error) => {
                    let reason = lost(&error).ok_or(error)?;
                    (self.at_head(&agent).await?, Some(reason))
                }
            },
        };
        let pages = self.live.follow(source, &agent, cursor);
        Ok((Log { agent, cursor, pages }, gap))
    }

    /// Whether a cursor is one of a log: its page has no events.
    async fn at(&self, agent: &AgentId, after: EventCursor) -> Result<EventPage, ApiError> {
        let query = EventQuery { after: None, types: EventFilter::default(), limit: 0, wait: 0 };
        read_events(&**self.platform.storage(), agent, &query, Some(after)).await
    }

    async fn at_head(&self, agent: &AgentId) -> Result<EventCursor, ApiError> {
        let heads = self.platform.storage().log_heads(std::slice::from_ref(agent)).await?;
        let head = EventCursor { seq: heads.first().copied().unwrap_or_default(), id: None };
        Ok(self.at(agent, head).await?.stream.cursor)
    }
}

/// Why events are no longer there, if that is what failed.
fn lost(error: &ApiError) -> Option<&'static str> {
    if error.code() != ErrorCode::EventsLost {
        return None;
    }
    let reason = error.detail("reason").and_then(|reason| reason.as_str());
    Some(if reason == Some("rewritten") { "rewritten" } else { "expired" })
}

impl LiveStream {
    /// The next piece of text; none at the end.
    async fn next(&mut self) -> Option<Vec<u8>> {
        if let Some(text) = self.opening.take() {
            return Some(text);
        }
        loop {
            let now = self.source.platform.now();
            let hosted = self.source.session.is_none();
            let length = if hosted { HOSTED_LENGTH_MILLIS } else { LENGTH_MILLIS };
            let age = now.millis_since(self.begun);
            // A clock that was set back prolongs nothing.
            if self.is_over || !(0..length).contains(&age) {
                return None;
            }
            if let Some(reason) = self.session_end(now).await {
                self.is_over = true;
                return Some(self.text("session", &json!({ "reason": reason })));
            }
            let ping_in = PING_MILLIS - now.millis_since(self.sent_at);
            let check_in = CHECK_MILLIS - now.millis_since(self.checked_at);
            let wait = ping_in.min(length - age).min(check_in).clamp(1, CHECK_MILLIS);
            let timer = Arc::clone(&self.source.platform.ports().timer);
            let found = timeout(&*timer, u64::try_from(wait).unwrap_or(1), self.page()).await;
            let text = match found {
                Some((at, Some(Ok(page)))) => self.events(at, &page).await,
                Some((at, Some(Err(error)))) => match lost(&error) {
                    Some(reason) => self.skip(at, reason).await,
                    None => Err(error),
                },
                // The server drains.
                Some((_, None)) => return None,
                None if self.is_ping_due() => Ok(self.text("ping", &json!({}))),
                None => Ok(Vec::new()),
            };
            match text {
                Ok(text) if text.is_empty() => {}
                Ok(text) => {
                    self.sent_at = self.source.platform.now();
                    return Some(text);
                }
                Err(error) => {
                    tracing::warn!(%error, "a live stream ends; its client connects again");
                    return None;
                }
            }
        }
    }

    fn is_ping_due(&self) -> bool {
        self.source.platform.now().millis_since(self.sent_at) >= PING_MILLIS
    }

    /// Why the session no longer stands as it was when the stream began. A store that does not answer is asked again.
    async fn session_end(&mut self, now: Timestamp) -> Option<&'static str> {
        // A clock that was set back does not delay the look.
        if (0..CHECK_MILLIS).contains(&now.millis_since(self.checked_at)) {
            return None;
        }
        self.checked_at = now;
        let session = self.source.session.as_ref()?;
        match session.standing(&self.source.platform).await {
            Ok(Standing::Same) => None,
            Ok(Standing::Changed) => Some("changed"),
            Ok(Standing::Ended) => Some("ended"),
            Err(error) => {
                tracing::warn!(%error, "cannot look at the session of a live stream; trying again");
                None
            }
        }
    }

    /// The next page of any log, with the position of the log; no page at the end of the log.
    async fn page(&mut self) -> (usize, Option<Result<EventPage, ApiError>>) {
        poll_fn(|cx| {
            let count = self.logs.len();
            for at in (0..count).map(|offset| (self.first + offset) % count) {
                if let Poll::Ready(page) = self.logs[at].pages.as_mut().poll_next(cx) {
                    self.first = at + 1;
                    return Poll::Ready((at, page));
                }
            }
            Poll::Pending
        })
        .await
    }

    /// The text of the events of a page that are for the operator.
    async fn events(&mut self, at: usize, page: &EventPage) -> Result<Vec<u8>, ApiError> {
        if page.stream.head.saturating_sub(page.stream.cursor.seq) > MAX_MISSED {
            return self.skip(at, "tooMany").await;
        }
        let mut text = Vec::new();
        for event in &page.events {
            self.logs[at].cursor = event.cursor;
            if let Some(data) = visible::visible(&self.source.grants, event) {
                text.extend(self.text("event", &data));
            }
        }
        self.logs[at].cursor = page.stream.cursor;
        Ok(text)
    }

    /// Goes on at the head of a log.
    async fn skip(&mut self, at: usize, reason: &'static str) -> Result<Vec<u8>, ApiError> {
        let agent = self.logs[at].agent.clone();
        (self.logs[at], _) = self.source.log(agent, None).await?;
        Ok(self.gap(at, reason))
    }

    fn gap(&self, at: usize, reason: &str) -> Vec<u8> {
        self.text("gap", &json!({ "agent": self.logs[at].agent, "reason": reason }))
    }

    /// An event with the cursor after it. JSON has no line breaks of its own.
    fn text(&self, name: &str, data: &Value) -> Vec<u8> {
        let cursor = cursor::write(self.logs.iter().map(|log| (&log.agent, log.cursor)));
        format!("id: {cursor}\nevent: {name}\ndata: {data}\n\n").into_bytes()
    }
}
