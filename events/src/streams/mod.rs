//! Streams of events, in the order of the log: for hosts in their own process, and as `text/event-stream` for
//! `GET /events/chatbots/<A>/stream`.
//!
//! One [`EventHub`] serves a process. It has no thread and no task: every stream reads the log when it is polled, and a
//! stream that waits also looks, at most once a second for all of them, at the heads of the logs that are read, because
//! another server may have written. Nothing is buffered beyond one page.

mod reader;
mod sse;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use futures_core::Stream;
use openapi_core::access::{Actor, Caller};
use openapi_core::events::Event;
use openapi_core::platform::{EventSource, EventStreams};
use openapi_core::reply::{ApiBody, ApiError, ErrorCode};
use openapi_core::service::{EventPage, EventStreamQuery};
use openapi_core::storage::{Storage, StorageError};
use openapi_core::values::{AgentId, Timestamp};
use parking_lot::Mutex;

use reader::Reader;

/// How often the heads of the logs are looked at while streams wait, in milliseconds.
const POLL_MILLIS: u64 = 1_000;

/// Limits of the streams that clients open; those of hosts have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamLimits {
    /// Streams of a key, or of a caller that the host has authenticated.
    pub per_caller: u32,
    /// Streams of the process.
    pub per_process: u32,
    /// The time after which a stream ends, in milliseconds. Its client connects again. With 0 a stream ends after its
    /// first page.
    pub length_millis: i64,
}

impl Default for StreamLimits {
    fn default() -> Self {
        StreamLimits { per_caller: 5, per_process: 1_000, length_millis: 15 * 60_000 }
    }
}

/// Serves the event streams of a process. Clones share it.
///
/// ```
/// use std::future::poll_fn;
/// use std::pin::pin;
/// use std::sync::Arc;
///
/// use events::streams::EventHub;
/// use futures_core::Stream;
/// use openapi_core::access::Actor;
/// use openapi_core::admin::{Admin, NewAgent, NewKey};
/// use openapi_core::events::EventType;
/// use openapi_core::platform::{Platform, Ports};
/// use openapi_core::server_keys::{ServerKey, ServerKeys};
/// use openapi_core::service::EventStreamQuery;
/// use openapi_core::service_info::ServiceInfo;
/// use storage_memory::MemoryStorage;
///
/// # pollster::block_on(async {
/// let ports = Ports::system(ServerKeys::new(ServerKey::new(&[7; 32]), vec![]));
/// let names = ServiceInfo::new("https://api.example.com")?;
/// let hub = EventHub::default();
/// let platform = Platform::new(Arc::new(MemoryStorage::new()), ports, names).with_event_streams(Arc::new(hub.clone()));
///
/// let by = Actor::Operator("setup".to_owned());
/// let agent = platform.create_agent(&by, NewAgent::new("Support".parse()?)).await?;
/// let mut events = pin!(hub.stream(platform.event_source(), &agent.id, EventStreamQuery::default()));
/// let key = NewKey::new(agent.id.clone(), "First key".parse()?, "contacts:all".parse()?);
/// platform.create_key(&by, key).await?;
/// let event = poll_fn(|cx| events.as_mut().poll_next(cx)).await.unwrap()?;
/// assert_eq!((event.seq, event.r#type), (1, EventType::KeyCreated));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Default)]
pub struct EventHub(Arc<Hub>);

#[derive(Default)]
struct Hub {
    limits: StreamLimits,
    is_closed: AtomicBool,
    open: Mutex<Open>,
    watched: Mutex<Watched>,
}

/// The streams of clients.
#[derive(Default)]
struct Open {
    all: u32,
    callers: HashMap<(AgentId, Actor), u32>,
}

/// The agents whose logs are read.
#[derive(Default)]
struct Watched {
    agents: HashMap<AgentId, WatchedLog>,
    /// When the heads were looked at last.
    polled_at: Option<Timestamp>,
    is_polling: bool,
}

#[derive(Default)]
struct WatchedLog {
    readers: u32,
    head: u64,
}

impl EventHub {
    /// A hub with other limits.
    #[must_use]
    pub fn new(limits: StreamLimits) -> Self {
        EventHub(Arc::new(Hub { limits, ..Hub::default() }))
    }

    /// The events of an agent after a cursor, and then each as it happens, for a host in its own process. Dropping the
    /// stream ends it. It ends by itself after an error and when the hub is closed; the host goes on with the cursor of
    /// the last event.
    ///
    /// The errors are EVENTS_LOST, with `oldest`, `head` and `reason` in its details, when an event after the cursor is
    /// no longer there, and those of the store.
    pub fn stream(
        &self,
        source: EventSource,
        agent: &AgentId,
        query: EventStreamQuery,
    ) -> impl Stream<Item = Result<Event, ApiError>> + Send + use<> {
        let reader = Reader::new(Arc::clone(&self.0), source, agent.clone(), query);
        reader.into_events()
    }

    /// The same by pages of up to 32 events, each with the cursor after it and the head of the log, for a host that
    /// skips events when its client reads too slowly. A page may be empty.
    pub fn pages(
        &self,
        source: EventSource,
        agent: &AgentId,
        query: EventStreamQuery,
    ) -> impl Stream<Item = Result<EventPage, ApiError>> + Send + use<> {
        let reader = Reader::new(Arc::clone(&self.0), source, agent.clone(), query);
        reader.into_pages()
    }

    /// The number of streams that clients have open.
    #[must_use]
    pub fn open_streams(&self) -> u32 {
        self.0.open.lock().all
    }

    /// Ends all streams, and refuses new ones with 503 SERVICE_UNAVAILABLE: the server drains. `storage` is the store
    /// that they read.
    pub fn close(&self, storage: &dyn Storage) {
        self.0.is_closed.store(true, Ordering::SeqCst);
        let agents: Vec<AgentId> = self.0.watched.lock().agents.keys().cloned().collect();
        agents.iter().for_each(|agent| storage.notifier().notify(agent));
    }
}

#[async_trait]
impl EventStreams for EventHub {
    async fn open(
        &self,
        source: EventSource,
        caller: &Caller,
        query: EventStreamQuery,
    ) -> Result<ApiBody, ApiError> {
        if self.0.is_closed() {
            return Err(ApiError::unavailable());
        }
        let mut reader = Reader::new(Arc::clone(&self.0), source, caller.agent_id.clone(), query);
        let first = reader.read().await?;
        let slot = Slot::take(&self.0, caller)?;
        Ok(ApiBody::events(sse::stream(reader, first, caller.clone(), slot)))
    }
}

impl Hub {
    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    /// Looks at the heads of all logs that are read, unless that was done within the last second, and wakes the readers
    /// of those that have grown or are others.
    async fn poll(&self, storage: &dyn Storage, now: Timestamp) -> Result<(), StorageError> {
        let agents: Vec<AgentId> = {
            let mut watched = self.watched.lock();
            // Half a period, because timers are not exact.
            let is_recent = |at: Timestamp| (0..POLL_MILLIS as i64 / 2).contains(&now.millis_since(at));
            if watched.is_polling || watched.polled_at.is_some_and(is_recent) {
                return Ok(());
            }
            (watched.is_polling, watched.polled_at) = (true, Some(now));
            watched.agents.keys().cloned().collect()
        };
        let _polling = Polling(self);
        let heads = storage.log_heads(&agents).await?;
        let mut changed = Vec::new();
        {
            let mut watched = self.watched.lock();
            for (agent, head) in agents.into_iter().zip(heads) {
                if let Some(log) = watched.agents.get_mut(&agent)
                    && std::mem::replace(&mut log.head, head) != head
                {
                    changed.push(agent);
                }
            }
        }
        changed.iter().for_each(|agent| storage.notifier().notify(agent));
        Ok(())
    }

    fn watch(&self, agent: &AgentId) {
        self.watched.lock().agents.entry(agent.clone()).or_default().readers += 1;
    }

    /// Notes the head that a reader has seen.
    fn saw(&self, agent: &AgentId, head: u64) {
        if let Some(log) = self.watched.lock().agents.get_mut(agent) {
            log.head = head;
        }
    }

    fn unwatch(&self, agent: &AgentId) {
        let mut watched = self.watched.lock();
        if let Some(log) = watched.agents.get_mut(agent) {
            log.readers -= 1;
            if log.readers == 0 {
                watched.agents.remove(agent);
            }
        }
    }
}

/// A look at the heads, which ends when its stream is dropped too.
struct Polling<'h>(&'h Hub);

impl Drop for Polling<'_> {
    fn drop(&mut self) {
        self.0.watched.lock().is_polling = false;
    }
}

/// The slot of a client's stream, which is free again on drop.
struct Slot {
    hub: Arc<Hub>,
    caller: (AgentId, Actor),
}

impl Slot {
    fn take(hub: &Arc<Hub>, caller: &Caller) -> Result<Self, ApiError> {
        let StreamLimits { per_caller, per_process, .. } = hub.limits;
        let caller = (caller.agent_id.clone(), caller.actor.clone());
        let mut open = hub.open.lock();
        if open.callers.get(&caller).is_some_and(|count| *count >= per_caller) {
            return Err(too_many("This API key", per_caller));
        }
        if open.all >= per_process {
            return Err(too_many("This server", per_process));
        }
        open.all += 1;
        *open.callers.entry(caller.clone()).or_default() += 1;
        Ok(Slot { hub: Arc::clone(hub), caller })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut open = self.hub.open.lock();
        open.all -= 1;
        if let Some(count) = open.callers.get_mut(&self.caller) {
            *count -= 1;
            if *count == 0 {
                open.callers.remove(&self.caller);
            }
        }
    }
}

fn too_many(who: &str, limit: u32) -> ApiError {
    let text = format!("{who} has {limit} event streams open, which is as many as it may");
    ApiError::new(ErrorCode::StreamLimitExceeded, text).with_detail("limit", u64::from(limit))
}
