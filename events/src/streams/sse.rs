//! Events as `text/event-stream`.

use bytes::Bytes;
use futures_core::Stream;
use openapi_core::access::{Action, Caller, Permission, Scope};
use openapi_core::events::EventCursor;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::service::EventPage;
use openapi_core::values::Timestamp;
use serde_json::json;

use super::Slot;
use super::reader::Reader;

/// The time without an event after which a comment is sent, so that intermediaries do not close the stream.
const PING_MILLIS: i64 = 15_000;

/// How often a stream looks whether its key still works and may read events.
const CHECK_MILLIS: i64 = 60_000;

/// How long a client waits before it connects again, in milliseconds.
const RETRY: &[u8] = b"retry: 2000\n\n";

/// The events of a client.
struct EventText {
    reader: Reader,
    caller: Caller,
    begun: Timestamp,
    checked_at: Timestamp,
    sent_at: Timestamp,
    /// The cursor that the client has.
    sent: Option<EventCursor>,
    /// The page that was read before the response began.
    first: Option<EventPage>,
    is_over: bool,
    _slot: Slot,
}

/// The text that a client receives. It is made as the client takes it.
pub(super) fn stream(
    reader: Reader,
    first: EventPage,
    caller: Caller,
    slot: Slot,
) -> impl Stream<Item = Bytes> + Send {
    let now = reader.now();
    let text = EventText {
        reader,
        caller,
        begun: now,
        checked_at: now,
        sent_at: now,
        sent: None,
        first: Some(first),
        is_over: false,
        _slot: slot,
    };
    futures_util::stream::unfold(text, |mut text| async move { Some((text.next().await?, text)) })
}

impl EventText {
    /// The next piece; none at the end.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(page) = self.first.take() {
            let mut text = RETRY.to_vec();
            self.write(&page, &mut text);
            return Some(text.into());
        }
        loop {
            let now = self.reader.now();
            let ends_at = self.begun.plus_millis(self.reader.hub().limits.length_millis);
            if self.is_over || self.reader.hub().is_closed() || now >= ends_at || !self.is_admitted(now).await
            {
                return None;
            }
            let check_at = self.checked_at.plus_millis(CHECK_MILLIS);
            let ping_at = self.sent_at.plus_millis(PING_MILLIS);
            let page = match self.reader.next(Some(ends_at.min(check_at).min(ping_at))).await {
                Ok(page) => page,
                Err(error) => {
                    self.is_over = true;
                    return gap(&error);
                }
            };
            let mut text = Vec::new();
            self.write(&page, &mut text);
            if text.is_empty() && self.reader.now() >= ping_at {
                self.ping(page.stream.cursor, &mut text);
            }
            if !text.is_empty() {
                return Some(text.into());
            }
        }
    }

    /// Whether the key still works and may read events. A store that does not answer is asked again later.
    async fn is_admitted(&mut self, now: Timestamp) -> bool {
        // A clock that was set back does not delay the check.
        if (0..CHECK_MILLIS).contains(&now.millis_since(self.checked_at)) {
            return true;
        }
        self.checked_at = now;
        let permission = Permission::new(Scope::Events, Action::Read);
        let admitted = self.reader.source.authenticator.still_admits(&self.caller, permission).await;
        admitted.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot check the key of an event stream; trying again in a minute");
            true
        })
    }

    fn write(&mut self, page: &EventPage, text: &mut Vec<u8>) {
        for event in &page.events {
            text.extend_from_slice(
                format!("id: {}\nevent: {}\ndata: ", event.cursor, event.r#type.as_str()).as_bytes(),
            );
            let begin = text.len();
            // JSON has no line breaks of its own. All members of an event can be written.
            if serde_json::to_writer(&mut *text, event).is_err() {
                text.truncate(begin);
            }
            text.extend_from_slice(b"\n\n");
        }
        if let Some(last) = page.events.last() {
            (self.sent, self.sent_at) = (Some(last.cursor), self.reader.now());
        }
    }

    /// A comment. If the filter has left events out since the last `id`, it comes with the cursor after them: the client
    /// goes on there even if they are gone when it connects again.
    fn ping(&mut self, cursor: EventCursor, text: &mut Vec<u8>) {
        text.extend_from_slice(b": ping\n");
        if self.sent != Some(cursor) {
            text.extend_from_slice(format!("id: {cursor}\n").as_bytes());
        }
        text.push(b'\n');
        (self.sent, self.sent_at) = (Some(cursor), self.reader.now());
    }
}

/// What a client receives when events after its cursor are gone; another failure ends the stream, and the client learns
/// of it when it connects again.
fn gap(error: &ApiError) -> Option<Bytes> {
    if error.code() != ErrorCode::EventsLost {
        tracing::warn!(%error, "an event stream ends");
        return None;
    }
    let detail = |name| error.detail(name);
    let data = json!({ "oldest": detail("oldest"), "head": detail("head"), "reason": detail("reason") });
    Some(format!("event: gap\ndata: {data}\n\n").into())
}
