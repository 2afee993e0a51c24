//! A turn while it runs and a little longer: its events, for everybody who listens, from the first or from any other.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_core::Stream;
use serde::Serialize;

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

/// An event as it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) name: &'static str,
    /// JSON.
    pub(crate) data: Box<str>,
}

/// The events of a turn.
#[derive(Default)]
pub(crate) struct LiveTurn {
    /// The token of its session: whoever resumes with it has seen the numbers of these events.
    token: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    events: Vec<Sent>,
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
    fn push(&mut self, name: &'static str, data: &impl Serialize) {
        let data = serde_json::to_string(data).unwrap_or_default().into_boxed_str();
        self.events.push(Sent { name, data });
    }

    fn flush(&mut self) {
        let text = std::mem::take(&mut self.pending);
        if !text.is_empty() {
            self.push("delta", &Text { text: &text });
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
        self.token == token
    }

    /// Adds an event.
    pub(crate) fn emit(&self, name: &'static str, data: &impl Serialize) {
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
        self.state().events.last().is_some_and(|event| matches!(event.name, "done" | "error"))
    }

    /// No event follows.
    pub(crate) fn end(&self, now: Timestamp) {
        let mut state = self.state();
        state.flush();
        state.ended_at.get_or_insert(now);
        state.wake();
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
                return Poll::Ready(state.events.clone());
            }
            state.wait(cx);
            Poll::Pending
        })
        .await
    }
}

/// What tells a turn from all others.
type TurnKey = (AgentId, ConversationId, String);

/// The turns of this process.
#[derive(Default)]
pub(crate) struct LiveTurns(Mutex<HashMap<TurnKey, Arc<LiveTurn>>>);

impl LiveTurns {
    /// A new turn, in place of one that failed.
    pub(crate) fn begin(&self, key: TurnKey, token: String, now: Timestamp) -> Arc<LiveTurn> {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, turn| {
            turn.state().ended_at.is_none_or(|ended| now.millis_since(ended) < KEPT_MILLIS)
        });
        let turn = Arc::new(LiveTurn { token, state: Mutex::default() });
        turns.insert(key, Arc::clone(&turn));
        turn
    }

    pub(crate) fn find(&self, key: &TurnKey) -> Option<Arc<LiveTurn>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// Those that have not ended.
    pub(crate) fn running(&self) -> Vec<Arc<LiveTurn>> {
        let turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        turns.values().filter(|turn| !turn.has_ended()).cloned().collect()
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
        use std::fmt::Write;
        let this = self.get_mut();
        if let Some(driver) = &mut this.driver
            && driver.as_mut().poll(cx).is_ready()
        {
            this.driver = None;
        }
        let mut text = String::new();
        {
            let mut state = this.turn.state();
            for (at, Sent { name, data }) in state.events.iter().enumerate().skip(this.next) {
                // Writing to a string cannot fail. JSON has no line breaks of its own.
                let _ =
                    write!(text, "event: {name}\nid: {}.{}\ndata: {data}\n\n", this.id, this.before + at + 1);
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
            text.push_str(": still here\n\n");
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
        turn.emit("ack", &serde_json::json!({ "seq": 1 }));
        turn.delta("Hello");
        turn.delta(", \n\"world\"");
        turn.emit("done", &serde_json::json!({ "outcome": "answered" }));
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
        let kept: usize = events.iter().map(|event| event.data.len() + size_of::<Sent>()).sum();
        assert!(kept <= 256 * 1024, "{kept}");
        let sent: String = events
            .iter()
            .map(|event| {
                serde_json::from_str::<serde_json::Value>(&event.data).expect("JSON")["text"].clone()
            })
            .map(|text| text.as_str().expect("a text").to_owned())
            .collect();
        assert_eq!(sent, text);
    }
}
