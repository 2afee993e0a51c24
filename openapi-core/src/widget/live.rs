//! A turn while it runs and a little longer: its events, for everybody who listens, from the first or from any other.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_core::Stream;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::open::OpenStream;
use crate::ports::{Task, Timer};
use crate::values::{AgentId, ConversationId, Timestamp};

/// Between two comments of a stream where nothing else happens, so that no intermediary takes it for dead.
const HEARTBEAT_MILLIS: u64 = 15_000;

/// How long events are kept after the end of their turn.
const KEPT_MILLIS: i64 = 5 * 60_000;

/// From so many events on, pieces of the reply are put together before they are sent: what a turn keeps is bounded.
const FINE_EVENTS: usize = 2_000;
/// How large these pieces are at the least, in octets.
const COARSE_OCTETS: usize = 64;

/// Who wants a turn to end before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The visitor: what is written is the answer.
    Visitor,
    /// The service, which ends itself: the turn has failed and may be tried again.
    Service,
}

/// What an event tells of; its name on the wire.
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
    /// Of the token of its session: whoever resumes with that one has seen the numbers of these events.
    token: [u8; 32],
    state: Mutex<State>,
}

/// A busy server keeps tens of thousands of turns for their five minutes, so all events of one lie in one piece.
#[derive(Default)]
struct State {
    /// The data of all events, one behind the other.
    data: Vec<u8>,
    /// What each event is, and where its data ends.
    events: Vec<(EventName, u32)>,
    /// Of the reply, not yet an event.
    pending: String,
    ended_at: Option<Timestamp>,
    asked_to_end: Option<Ending>,
    waiting: Vec<Waker>,
}

#[derive(Serialize)]
struct Text<'a> {
    text: &'a str,
}

impl State {
    fn push(&mut self, name: EventName, data: &impl Serialize) {
        let begin = self.data.len();
        if serde_json::to_writer(&mut self.data, data).is_err() {
            // Nothing of the protocol's cannot be written as JSON.
            self.data.truncate(begin);
            self.data.extend_from_slice(b"null");
        }
        self.events.push((name, u32::try_from(self.data.len()).unwrap_or(u32::MAX)));
    }

    /// The events behind the first `after`.
    fn behind(&self, after: usize) -> impl Iterator<Item = (usize, EventName, &[u8])> {
        let begin = match after.checked_sub(1) {
            Some(last) => self.events.get(last).map_or(u32::MAX, |&(_, end)| end),
            None => 0,
        };
        self.events.iter().enumerate().skip(after).scan(begin, |begin, (at, &(name, end))| {
            let data = self.data.get(std::mem::replace(begin, end) as usize..end as usize);
            Some((at, name, data.unwrap_or_default()))
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
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a client with this token has been told of these events, and of no others.
    pub(crate) fn is_told_to(&self, token: &str) -> bool {
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
        if state.events.len() < FINE_EVENTS || state.pending.len() >= COARSE_OCTETS {
            state.flush();
            state.wake();
        }
    }

    /// Whether its last event was told.
    pub(crate) fn is_told(&self) -> bool {
        matches!(self.state().events.last(), Some((EventName::Done | EventName::Error, _)))
    }

    /// No event follows.
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

    /// Asks for the end of the turn.
    pub(crate) fn cancel(&self, by: Ending) {
        let mut state = self.state();
        state.asked_to_end.get_or_insert(by);
        state.wake();
    }

    /// Who has asked for the end; where nobody has, who polls is woken when somebody does.
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

    /// All events, once no event follows.
    pub(crate) async fn whole(&self) -> Vec<Sent> {
        std::future::poll_fn(|cx| {
            let mut state = self.state();
            if state.ended_at.is_some() {
                let all = state.behind(0).map(|(_, name, data)| Sent { name, data: data.to_vec() });
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

/// What tells a turn from all others.
type TurnKey = (AgentId, ConversationId, String);

/// How often those whose time has passed are looked for: a look goes through all of them.
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
        // A clock that was set back does not stop the sweeping.
        if self.swept_at.is_some_and(|at| (0..SWEEP_MILLIS).contains(&now.millis_since(at))) {
            return;
        }
        self.swept_at = Some(now);
        self.by_key.retain(|_, turn| {
            turn.state().ended_at.is_none_or(|ended| now.millis_since(ended) < KEPT_MILLIS)
        });
    }
}

impl LiveTurns {
    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new turn, in place of one that failed.
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

    /// Those that have not ended.
    pub(crate) fn running(&self) -> Vec<Arc<LiveTurn>> {
        self.turns().by_key.values().filter(|turn| !turn.has_ended()).cloned().collect()
    }
}

/// The events of a turn as `text/event-stream`.
pub(crate) struct EventStream {
    turn: Arc<LiveTurn>,
    id: String,
    next: usize,
    /// Events that went before the turn's first.
    before: usize,
    timer: Arc<dyn Timer>,
    heartbeat: Task,
    /// The turn itself, where nobody else drives it: dropping the stream then ends it.
    driver: Option<Task>,
    /// Counts among the open streams.
    _open: OpenStream,
}

impl EventStream {
    /// The events of the turn `id` behind the first `after`; those of a turn that is told anew number on from `before`.
    pub(crate) fn new(
        turn: Arc<LiveTurn>,
        id: String,
        (before, after): (usize, usize),
        timer: Arc<dyn Timer>,
        driver: Option<Task>,
        open: OpenStream,
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
            for (at, name, data) in state.behind(this.next) {
                let (name, id, number) = (name.as_str(), &this.id, this.before + at + 1);
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
                this.next = state.events.len();
            }
        }
        if text.is_empty() {
            if this.heartbeat.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            text.extend_from_slice(b": still here\n\n");
        }
        this.heartbeat = this.timer.sleep(HEARTBEAT_MILLIS);
        // The new one must know whom to wake.
        if this.heartbeat.as_mut().poll(cx).is_ready() {
            cx.waker().wake_by_ref();
        }
        Poll::Ready(Some(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::NoTimer;
    use crate::widget::open::OpenStreams;
    use pollster::block_on;

    fn text_of(turn: &Arc<LiveTurn>, after: usize) -> String {
        let open = OpenStreams::default().open(&"a".parse().expect("an id"), None).expect("room");
        let mut stream =
            EventStream::new(Arc::clone(turn), "t".to_owned(), (0, after), Arc::new(NoTimer), None, open);
        let mut text = String::new();
        while let Some(octets) = block_on(std::future::poll_fn(|cx| Pin::new(&mut stream).poll_next(cx))) {
            text.push_str(std::str::from_utf8(&octets).expect("UTF-8"));
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

    #[test]
    fn many_small_pieces_keep_little_and_lose_nothing() {
        let turn = Arc::new(LiveTurn::default());
        let text: String = ('a'..='z').cycle().take(64 * 1024).collect();
        text.chars().for_each(|letter| turn.delta(letter.encode_utf8(&mut [0; 4])));
        turn.end(Timestamp::from_millis(0));
        let events = block_on(turn.whole());
        assert!(events.len() <= FINE_EVENTS + text.len() / COARSE_OCTETS + 1, "{}", events.len());
        let state = turn.state();
        let kept = state.data.capacity() + state.events.capacity() * size_of::<(EventName, u32)>();
        assert!(kept <= 128 * 1024, "{kept}");
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
