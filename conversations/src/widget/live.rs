//! The events of a turn, in memory while it runs and for five minutes afterwards, for any number of readers.

use std::borrow::Cow;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_core::Stream;
use openapi_core::platform::AgentObserver;
use openapi_core::ports::{Task, Timer};
use openapi_core::values::{AgentId, ConversationId, Timestamp};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::open_limiter::OpenSlot;

/// The interval between the comments of an idle stream, which prevent intermediaries from closing it.
const HEARTBEAT_MILLIS: u64 = 15_000;

/// How long events stay in memory after the end of their turn.
const RETENTION_MILLIS: i64 = 5 * 60_000;

/// The number of events from which on small pieces of the reply are merged, so that a turn has bounded memory.
const FINE_EVENTS: usize = 2_000;
/// The smallest merged piece, in bytes.
const COARSE_BYTES: usize = 64;
/// The most bytes of the events of a turn. Beyond them, one event with the reply so far replaces those that wrote it.
const MAX_BUFFER: usize = 256 * 1024;

/// Who has cancelled a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The visitor. The text so far is the answer.
    Visitor,
    /// The service, because it shuts down or the agent was deleted. The turn has failed.
    Service,
}

/// The name of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventName {
    Session,
    Ack,
    Status,
    Delta,
    Replace,
    Message,
    Suggestions,
    Form,
    Handoff,
    Done,
    Error,
}

impl EventName {
    /// Whether it changes the text of the reply.
    const fn writes_reply(self) -> bool {
        matches!(self, EventName::Delta | EventName::Replace)
    }

    const fn as_str(self) -> &'static str {
        match self {
            EventName::Session => "session",
            EventName::Ack => "ack",
            EventName::Status => "status",
            EventName::Delta => "delta",
            EventName::Replace => "replace",
            EventName::Message => "message",
            EventName::Suggestions => "suggestions",
            EventName::Form => "form",
            EventName::Handoff => "handoff",
            EventName::Done => "done",
            EventName::Error => "error",
        }
    }
}

/// An event as it is sent.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) name: EventName,
    /// JSON.
    pub(crate) data: Vec<u8>,
}

/// The events of a turn.
#[derive(Default)]
pub(crate) struct LiveTurn {
    /// The digest of the session's token. A client that resumes with this token knows the numbers of these events.
    token: [u8; 32],
    state: Mutex<State>,
}

/// The events in one allocation, because a busy server stores tens of thousands of turns for their five minutes.
#[derive(Default)]
struct State {
    /// The concatenated data of all events.
    data: Vec<u8>,
    /// The events, in order.
    events: Vec<Event>,
    /// The size at which the events of the reply are merged next.
    most: usize,
    /// Text of the reply that is not an event yet.
    pending: String,
    ended_at: Option<Timestamp>,
    asked_to_end: Option<Ending>,
    waiting: Vec<Waker>,
}

/// An event of a [`State`].
#[derive(Clone, Copy)]
struct Event {
    name: EventName,
    /// Its number, from 1. Merged events leave gaps.
    number: u32,
    /// Where its data ends.
    end: u32,
}

/// Data of the events `delta` and `replace`.
#[derive(Serialize)]
pub(crate) struct Text<'a> {
    pub(crate) text: &'a str,
}

/// The text of a `delta` or `replace`.
#[derive(Deserialize)]
struct Written<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

impl State {
    fn push(&mut self, name: EventName, data: &impl Serialize) {
        let number = self.last_number() + 1;
        self.write(name, number, data);
        if self.data.len() > self.most.max(MAX_BUFFER) {
            self.put_together();
            // A text that is much larger as JSON is not merged again with each event.
            self.most = self.data.len() * 2;
        }
    }

    fn write(&mut self, name: EventName, number: u32, data: &impl Serialize) {
        let begin = self.data.len();
        if serde_json::to_writer(&mut self.data, data).is_err() {
            // All data of the protocol can be serialized.
            self.data.truncate(begin);
            self.data.extend_from_slice(b"null");
        }
        self.events.push(Event { name, number, end: u32::try_from(self.data.len()).unwrap_or(u32::MAX) });
    }

    fn last_number(&self) -> u32 {
        self.events.last().map_or(0, |event| event.number)
    }

    /// Merges all events that wrote the reply into one `replace`. A slow reader gets the text so far, under the number
    /// of the last merged event.
    fn put_together(&mut self) {
        let whole = State {
            data: std::mem::take(&mut self.data),
            events: std::mem::take(&mut self.events),
            ..State::default()
        };
        let gives_way = |name: EventName| name.writes_reply() || name == EventName::Status;
        let (mut text, mut is_written, mut last) = (String::new(), false, 0);
        for (event, data) in whole.after(0).filter(|(event, _)| gives_way(event.name)) {
            last = event.number;
            if event.name == EventName::Replace {
                text.clear();
            }
            if event.name.writes_reply() {
                let written = serde_json::from_slice::<Written<'_>>(data);
                text += written.map(|it| it.text).unwrap_or_default().as_ref();
                is_written = true;
            }
        }
        for (event, data) in whole.after(0) {
            if event.number == last && is_written {
                self.write(EventName::Replace, last, &Text { text: &text });
            } else if event.number == last || !gives_way(event.name) {
                self.data.extend_from_slice(data);
                let end = u32::try_from(self.data.len()).unwrap_or(u32::MAX);
                self.events.push(Event { end, ..event });
            }
        }
    }

    /// The events after the one with the number `after`.
    fn after(&self, after: usize) -> impl Iterator<Item = (Event, &[u8])> {
        let first = self.events.partition_point(|event| event.number as usize <= after);
        let begin = first.checked_sub(1).and_then(|last| self.events.get(last)).map_or(0, |event| event.end);
        self.events.iter().skip(first).scan(begin, |begin, event| {
            let data = self.data.get(std::mem::replace(begin, event.end) as usize..event.end as usize);
            Some((*event, data.unwrap_or_default()))
        })
    }

    fn flush(&mut self) {
        let text = std::mem::take(&mut self.pending);
        if !text.is_empty() {
            self.push(EventName::Delta, &Text { text: &text });
        }
    }

    fn wake(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }

    fn wait(&mut self, cx: &Context<'_>) {
        if !self.waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
            self.waiting.push(cx.waker().clone());
        }
    }
}

impl LiveTurn {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Whether a client with this token received these events and no others.
    pub(crate) fn has_token(&self, token: &str) -> bool {
        self.token == digest_of(token)
    }

    /// Adds an event.
    pub(crate) fn emit(&self, name: EventName, data: &impl Serialize) {
        let mut state = self.state();
        state.flush();
        state.push(name, data);
        state.wake();
    }

    /// Adds a piece of the reply.
    pub(crate) fn delta(&self, text: &str) {
        let mut state = self.state();
        state.pending.push_str(text);
        if state.events.len() < FINE_EVENTS || state.pending.len() >= COARSE_BYTES {
            state.flush();
            state.wake();
        }
    }

    /// Whether its last event was emitted.
    pub(crate) fn has_finished(&self) -> bool {
        matches!(self.state().events.last(), Some(Event { name: EventName::Done | EventName::Error, .. }))
    }

    /// Marks the last event.
    pub(crate) fn end(&self, now: Timestamp) {
        let mut state = self.state();
        state.flush();
        state.ended_at.get_or_insert(now);
        state.wake();
        let State { data, events, pending, waiting, .. } = &mut *state;
        data.shrink_to_fit();
        events.shrink_to_fit();
        (*pending, *waiting) = Default::default();
    }

    /// Cancels the turn.
    pub(crate) fn cancel(&self, by: Ending) {
        let mut state = self.state();
        state.asked_to_end.get_or_insert(by);
        state.wake();
    }

    /// Who has cancelled the turn. If nobody has, a cancellation wakes the caller.
    pub(crate) fn poll_cancelled(&self, cx: &Context<'_>) -> Option<Ending> {
        let mut state = self.state();
        if state.asked_to_end.is_none() {
            state.wait(cx);
        }
        state.asked_to_end
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.state().ended_at.is_some()
    }

    /// All events, after the last one.
    pub(crate) async fn whole(&self) -> Vec<Sent> {
        std::future::poll_fn(|cx| {
            let mut state = self.state();
            if state.ended_at.is_some() {
                let all = state.after(0).map(|(event, data)| Sent { name: event.name, data: data.to_vec() });
                return Poll::Ready(all.collect());
            }
            state.wait(cx);
            Poll::Pending
        })
        .await
    }
}

fn digest_of(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

/// The identity of a turn.
type TurnKey = (AgentId, ConversationId, String);

/// The shortest interval between removals of expired turns, because each goes through all turns.
const SWEEP_MILLIS: i64 = 10_000;

/// The turns of this process.
#[derive(Default)]
pub(crate) struct LiveTurns(Mutex<Turns>);

#[derive(Default)]
struct Turns {
    by_key: HashMap<TurnKey, Arc<LiveTurn>>,
    swept_at: Option<Timestamp>,
}

impl Turns {
    fn sweep(&mut self, now: Timestamp) {
        // A clock that was set back does not delay the removal.
        if self.swept_at.is_some_and(|at| (0..SWEEP_MILLIS).contains(&now.millis_since(at))) {
            return;
        }
        self.swept_at = Some(now);
        self.by_key.retain(|_, turn| {
            turn.state().ended_at.is_none_or(|ended| now.millis_since(ended) < RETENTION_MILLIS)
        });
    }
}

impl LiveTurns {
    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.0.lock()
    }

    /// A new turn, which replaces a failed one.
    pub(crate) fn begin(&self, key: TurnKey, token: &str, now: Timestamp) -> Arc<LiveTurn> {
        let mut turns = self.turns();
        turns.sweep(now);
        let turn = Arc::new(LiveTurn { token: digest_of(token), state: Mutex::default() });
        turns.by_key.insert(key, Arc::clone(&turn));
        turn
    }

    pub(crate) fn find(&self, key: &TurnKey) -> Option<Arc<LiveTurn>> {
        self.turns().by_key.get(key).cloned()
    }

    /// The turns that have not ended.
    pub(crate) fn running(&self) -> Vec<Arc<LiveTurn>> {
        self.turns().by_key.values().filter(|turn| !turn.has_ended()).cloned().collect()
    }
}

impl AgentObserver for LiveTurns {
    /// Cancels the turns of the agent in this process. Turns in other processes end with their next draft.
    fn agent_deleted(&self, agent: &AgentId) {
        let turns = self.turns();
        let of_agent = turns.by_key.iter().filter(|(key, _)| key.0 == *agent);
        of_agent.for_each(|(_, turn)| turn.cancel(Ending::Service));
    }
}

/// The events of a turn as `text/event-stream`.
pub(crate) struct EventStream {
    turn: Arc<LiveTurn>,
    id: String,
    next: usize,
    /// The number of events of earlier streams.
    before: usize,
    timer: Arc<dyn Timer>,
    heartbeat: Task,
    /// The task of the turn if no spawner runs it. Dropping the stream then ends the turn.
    driver: Option<Task>,
    /// The slot of this stream.
    _open: OpenSlot,
}

impl EventStream {
    /// The events of the turn `id` after the first `after`. The numbers of a replayed turn continue from `before`.
    pub(crate) fn new(
        turn: Arc<LiveTurn>,
        id: String,
        (before, after): (usize, usize),
        timer: Arc<dyn Timer>,
        driver: Option<Task>,
        open: OpenSlot,
    ) -> Self {
        let heartbeat = timer.sleep(HEARTBEAT_MILLIS);
        EventStream { turn, id, next: after, before, timer, heartbeat, driver, _open: open }
    }
}

impl Stream for EventStream {
    type Item = Bytes;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        use std::io::Write;
        let this = self.get_mut();
        if let Some(driver) = &mut this.driver
            && driver.as_mut().poll(cx).is_ready()
        {
            this.driver = None;
        }
        let mut text = Vec::new();
        {
            let mut state = this.turn.state();
            for (event, data) in state.after(this.next) {
                let (name, id, number) = (event.name.as_str(), &this.id, this.before + event.number as usize);
                // Writing into memory cannot fail. JSON has no line breaks of its own.
                let _ = write!(text, "event: {name}\nid: {id}.{number}\ndata: ");
                text.extend_from_slice(data);
                text.extend_from_slice(b"\n\n");
            }
            if text.is_empty() {
                if state.ended_at.is_some() {
                    return Poll::Ready(None);
                }
                state.wait(cx);
            } else {
                this.next = state.last_number() as usize;
            }
        }
        if text.is_empty() {
            if this.heartbeat.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            text.extend_from_slice(b": still here\n\n");
        }
        this.heartbeat = this.timer.sleep(HEARTBEAT_MILLIS);
        // Polled once, so that it wakes this task.
        if this.heartbeat.as_mut().poll(cx).is_ready() {
            cx.waker().wake_by_ref();
        }
        Poll::Ready(Some(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::widget::{OpenLimiter, OpenLimits};
    use openapi_core::ports::NoTimer;
    use pollster::block_on;

    fn text_of(turn: &Arc<LiveTurn>, after: usize) -> String {
        let open = OpenLimiter::new(OpenLimits { per_address: 0, per_agent: 0, per_process: 0 })
            .open(&"a".parse().expect("an id"), [192, 0, 2, 1].into(), None)
            .expect("room");
        let mut stream =
            EventStream::new(Arc::clone(turn), "t".to_owned(), (0, after), Arc::new(NoTimer), None, open);
        let mut text = String::new();
        while let Some(bytes) = block_on(std::future::poll_fn(|cx| Pin::new(&mut stream).poll_next(cx))) {
            text.push_str(std::str::from_utf8(&bytes).expect("UTF-8"));
        }
        text
    }

    #[test]
    fn everybody_gets_the_same_events_from_where_they_ask() {
        let turn = Arc::new(LiveTurn::default());
        turn.emit(EventName::Ack, &serde_json::json!({ "seq": 1 }));
        turn.delta("Hello");
        turn.delta(", \n\"world\"");
        turn.emit(EventName::Done, &serde_json::json!({ "outcome": "answered" }));
        turn.end(Timestamp::from_millis(0));
        let all = text_of(&turn, 0);
        assert_eq!(
            all,
            "event: ack\nid: t.1\ndata: {\"seq\":1}\n\nevent: delta\nid: t.2\ndata: {\"text\":\"Hello\"}\n\n\
             event: delta\nid: t.3\ndata: {\"text\":\", \\n\\\"world\\\"\"}\n\n\
             event: done\nid: t.4\ndata: {\"outcome\":\"answered\"}\n\n"
        );
        for after in 0..4 {
            assert!(all.ends_with(&text_of(&turn, after)));
        }
        assert_eq!(text_of(&turn, 4), "");
        assert_eq!(text_of(&turn, 40), "");
    }

    fn text_in(data: &str) -> String {
        serde_json::from_str::<Written<'_>>(data).expect("JSON").text.into()
    }

    #[test]
    fn a_reply_that_is_written_over_and_over_is_put_together_and_bounded() {
        let turn = Arc::new(LiveTurn::default());
        turn.emit(EventName::Session, &serde_json::json!({ "conversation": "c" }));
        turn.emit(EventName::Ack, &serde_json::json!({ "seq": 1 }));
        let mut text = String::new();
        for round in 0..100_u32 {
            turn.emit(EventName::Status, &serde_json::json!({ "kind": "writing" }));
            text = format!("{round}: ") + &"x".repeat(32 * 1024);
            turn.emit(EventName::Replace, &Text { text: &text });
            turn.delta("\"more\"");
            text += "\"more\"";
            let held = turn.state().data.len();
            assert!(held <= MAX_BUFFER + 64 * 1024, "{held} bytes");
        }
        turn.emit(EventName::Done, &serde_json::json!({ "outcome": "answered" }));
        turn.end(Timestamp::from_millis(0));
        // 2 before, 3 in each round, 1 after.
        let last = 2 + 300 + 1;
        for after in [0, 1, 2, 3, 100, 250, 299, 300, 301, 302, 303] {
            let sent = text_of(&turn, after);
            let ids: Vec<usize> = sent
                .lines()
                .filter_map(|line| line.strip_prefix("id: t."))
                .map(|id| id.parse().expect("a number"))
                .collect();
            assert!(ids.is_sorted_by(|a, b| a < b) && ids.iter().all(|id| *id > after), "{after}: {ids:?}");
            assert_eq!(ids.last().copied(), (after < last).then_some(last), "{after}");
            assert_eq!(sent.contains("event: session"), after < 1);
            // A client that has not seen the whole last round gets the text from its beginning.
            if after < 300 {
                let mut written = String::new();
                let mut name = "";
                for line in sent.lines() {
                    name = line.strip_prefix("event: ").unwrap_or(name);
                    let Some(data) = line.strip_prefix("data: ") else { continue };
                    match name {
                        "replace" => written = text_in(data),
                        "delta" => written.push_str(&text_in(data)),
                        _ => {}
                    }
                }
                assert_eq!(written, text, "{after}");
            }
        }
        // Whatever comes last when it is put together, no number is given twice.
        let turn = LiveTurn::default();
        turn.emit(EventName::Session, &serde_json::json!({ "conversation": "c" }));
        for round in 0..20_000_u32 {
            match round % 7 {
                3 => turn.emit(EventName::Replace, &Text { text: &"y".repeat(1_000) }),
                5 => turn.delta("z"),
                _ => turn.emit(
                    EventName::Status,
                    &serde_json::json!({ "kind": "x".repeat(round as usize % 300) }),
                ),
            }
            assert_eq!(turn.state().last_number(), round + 2);
        }
        for only_status in 0..20_000_u32 {
            turn.emit(EventName::Status, &serde_json::json!({ "kind": "thinking" }));
            assert_eq!(turn.state().last_number(), only_status + 20_002);
        }
        assert!(turn.state().data.len() <= MAX_BUFFER + 64 * 1024);
        // What much more room is taken by as JSON is bounded too.
        let turn = LiveTurn::default();
        for _ in 0..64 * 1024 {
            turn.delta("\u{1}");
        }
        let held = turn.state().data.len();
        assert!(held <= 1_024 * 1024, "{held} bytes");
    }

    #[test]
    fn many_small_pieces_keep_little_and_lose_nothing() {
        let turn = Arc::new(LiveTurn::default());
        let text: String = ('a'..='z').cycle().take(64 * 1024).collect();
        text.chars().for_each(|letter| turn.delta(letter.encode_utf8(&mut [0; 4])));
        turn.end(Timestamp::from_millis(0));
        let events = block_on(turn.whole());
        assert!(events.len() <= FINE_EVENTS + text.len() / COARSE_BYTES + 1, "{}", events.len());
        let state = turn.state();
        let used = state.data.capacity() + state.events.capacity() * size_of::<Event>();
        assert!(used <= 136 * 1024, "{used}");
        let sent: String = events
            .iter()
            .map(|event| {
                serde_json::from_slice::<serde_json::Value>(&event.data).expect("JSON")["text"].clone()
            })
            .map(|text| text.as_str().expect("a text").to_owned())
            .collect();
        assert_eq!(sent, text);
    }
}
