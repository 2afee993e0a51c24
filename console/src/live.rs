//! What the console needs of its host to send live updates, and how many streams may be open.

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream;
use openapi_core::events::EventCursor;
use openapi_core::platform::EventSource;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::service::EventPage;
use openapi_core::values::AgentId;
use parking_lot::Mutex;

/// Pages of the event log of an agent, each as soon as it has an event.
pub type EventPages = Pin<Box<dyn Stream<Item = Result<EventPage, ApiError>> + Send>>;

type Follow = dyn Fn(EventSource, &AgentId, EventCursor) -> EventPages + Send + Sync;

/// The most streams of a session, or of a person whom the host application has signed in.
const MOST_OF_CALLER: u32 = 6;
/// The most streams of a server.
const MOST: u32 = 256;

/// The live streams of a server. Clones share them.
///
/// ```
/// # use console::{ConsoleSettings, LiveStreams};
/// use events::streams::EventHub;
/// use openapi_core::service::EventStreamQuery;
///
/// let hub = EventHub::default();
/// let mut settings = ConsoleSettings::mounted("/admin", "https://app.example.com");
/// settings.live = Some(LiveStreams::new(move |source, agent, after| {
///     let query = EventStreamQuery { after: Some(after), ..EventStreamQuery::default() };
///     Box::pin(hub.pages(source, agent, query))
/// }));
/// ```
#[derive(Clone)]
pub struct LiveStreams(Arc<Streams>);

struct Streams {
    follow: Box<Follow>,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    all: u32,
    callers: HashMap<Vec<u8>, u32>,
}

impl LiveStreams {
    /// Streams that read the logs by this function: the pages of an agent's log after a cursor. They end when the
    /// server drains.
    #[must_use]
    pub fn new(
        follow: impl Fn(EventSource, &AgentId, EventCursor) -> EventPages + Send + Sync + 'static,
    ) -> Self {
        LiveStreams(Arc::new(Streams { follow: Box::new(follow), open: Mutex::default() }))
    }

    /// The number of streams that are open.
    #[must_use]
    pub fn open_streams(&self) -> u32 {
        self.0.open.lock().all
    }

    pub(crate) fn follow(&self, source: EventSource, agent: &AgentId, after: EventCursor) -> EventPages {
        (self.0.follow)(source, agent, after)
    }

    /// A slot for one more stream of a caller.
    pub(crate) fn take(&self, caller: Vec<u8>) -> Result<Slot, ApiError> {
        let mut open = self.0.open.lock();
        if open.callers.get(&caller).is_some_and(|count| *count >= MOST_OF_CALLER) {
            return Err(too_many("This session", MOST_OF_CALLER));
        }
        if open.all >= MOST {
            return Err(too_many("This server", MOST));
        }
        open.all += 1;
        *open.callers.entry(caller.clone()).or_default() += 1;
        Ok(Slot { streams: self.clone(), caller })
    }
}

impl fmt::Debug for LiveStreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveStreams").field("open", &self.open_streams()).finish_non_exhaustive()
    }
}

fn too_many(what: &str, limit: u32) -> ApiError {
    let text = format!("{what} has {limit} live streams open, which is as many as it may; close one first");
    ApiError::new(ErrorCode::StreamLimitExceeded, text).with_detail("limit", u64::from(limit))
}

/// The slot of a stream, which is free again on drop.
pub(crate) struct Slot {
    streams: LiveStreams,
    caller: Vec<u8>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut open = self.streams.0.open.lock();
        open.all -= 1;
        if let Some(count) = open.callers.get_mut(&self.caller) {
            *count -= 1;
            if *count == 0 {
                open.callers.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_limited_by_caller_and_server_and_slots_come_back() {
        let live = LiveStreams::new(|_, _, _| Box::pin(futures_util::stream::empty()));
        let of_one: Vec<Slot> = (0..MOST_OF_CALLER).map(|_| live.take(vec![1]).unwrap()).collect();
        assert_eq!(live.take(vec![1]).err().unwrap().code(), ErrorCode::StreamLimitExceeded);
        let others: Vec<Slot> =
            (MOST_OF_CALLER..MOST).map(|caller| live.take(caller.to_be_bytes().to_vec()).unwrap()).collect();
        assert_eq!(live.open_streams(), MOST);
        assert!(live.take(vec![2]).is_err(), "one more than the server may have");
        drop(of_one);
        drop(live.take(vec![1]).unwrap());
        assert_eq!(live.open_streams(), MOST - MOST_OF_CALLER);
        drop(others);
        assert!(live.0.open.lock().callers.is_empty(), "nothing is retained of streams that have ended");
    }
}
