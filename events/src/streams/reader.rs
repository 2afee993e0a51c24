//! Reads the log of an agent page by page, and waits for what comes.

use std::sync::Arc;

use futures_core::Stream;
use futures_util::StreamExt;
use openapi_core::events::Event;
use openapi_core::platform::{EventSource, read_events};
use openapi_core::ports::timeout;
use openapi_core::reply::ApiError;
use openapi_core::service::{EventPage, EventQuery, EventStreamQuery};
use openapi_core::values::{AgentId, Timestamp};

use super::{Hub, POLL_MILLIS};

/// Events of a page: at most 64 KiB, since an event has less than 2 KiB.
const PAGE_EVENTS: u64 = 32;

/// A reader of the log of an agent.
pub(super) struct Reader {
    hub: Arc<Hub>,
    pub(super) source: EventSource,
    agent: AgentId,
    query: EventQuery,
}

impl Reader {
    pub(super) fn new(hub: Arc<Hub>, source: EventSource, agent: AgentId, query: EventStreamQuery) -> Self {
        hub.watch(&agent);
        let EventStreamQuery { after, types } = query;
        let query = EventQuery { after, types, limit: PAGE_EVENTS, wait: 0 };
        Reader { hub, source, agent, query }
    }

    pub(super) fn hub(&self) -> &Hub {
        &self.hub
    }

    pub(super) fn now(&self) -> Timestamp {
        self.source.clock.now()
    }

    /// The next page, perhaps an empty one.
    pub(super) async fn read(&mut self) -> Result<EventPage, ApiError> {
        let page = read_events(&*self.source.storage, &self.agent, &self.query, self.query.after).await?;
        self.query.after = Some(page.stream.cursor);
        self.hub.saw(&self.agent, page.stream.head);
        Ok(page)
    }

    /// The next page with events; an empty one at `until`, if there are none until then, and when the hub is closed.
    pub(super) async fn next(&mut self, until: Option<Timestamp>) -> Result<EventPage, ApiError> {
        let source = self.source.clone();
        loop {
            // First, so that no commit after the read is missed.
            let mut subscription = source.storage.notifier().subscribe(&self.agent);
            let page = self.read().await?;
            if !page.events.is_empty() || self.hub.is_closed() {
                return Ok(page);
            }
            if page.stream.has_more {
                continue;
            }
            while timeout(&*source.timer, POLL_MILLIS, subscription.changed()).await.is_none() {
                let now = self.now();
                if until.is_some_and(|until| now >= until) {
                    return Ok(page);
                }
                if let Err(error) = self.hub.poll(&*source.storage, now).await {
                    tracing::debug!(%error, "cannot look at the heads of event logs; trying again");
                }
            }
        }
    }

    /// Its pages, until the hub is closed or a page fails.
    pub(super) fn into_pages(self) -> impl Stream<Item = Result<EventPage, ApiError>> + Send + use<> {
        futures_util::stream::unfold(Some(self), |reader| async move {
            let mut reader = reader.filter(|reader| !reader.hub.is_closed())?;
            match reader.next(None).await {
                Ok(page) => Some((Ok(page), Some(reader))),
                Err(error) => Some((Err(error), None)),
            }
        })
    }

    /// Its events, one by one.
    pub(super) fn into_events(self) -> impl Stream<Item = Result<Event, ApiError>> + Send + use<> {
        self.into_pages().flat_map(|page| {
            let (events, error) = match page {
                Ok(page) => (page.events, None),
                Err(error) => (Vec::new(), Some(error)),
            };
            futures_util::stream::iter(events.into_iter().map(Ok).chain(error.map(Err)))
        })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.hub.unwatch(&self.agent);
    }
}
