//! Writing events, what changes append to the log of their agent, and reading them.

use std::future::poll_fn;
use std::task::Poll;

use super::{Platform, keys};
use crate::access::Caller;
use crate::credits::CreditAccount;
use crate::events::{ChangedFields, Event, EventActor, EventCursor, EventData, NewEvent};
use crate::json::{Json, Object};
use crate::ports::timeout;
use crate::reply::{ApiBody, ApiError, ErrorCode};
use crate::service::{EventPage, EventQuery, EventStream, StreamEvents};
use crate::storage::{LogPage, Storage, StorageError, StorageErrorKind};
use crate::values::{AgentId, ContactId, Timestamp};

/// How many events are read at a time.
const READ_AT_ONCE: u32 = 500;

/// How many events a request reads at most, with those that its filter leaves out.
const MAX_SCANNED: u32 = 10_000;

/// How often a request that waits looks for events of other servers.
const POLL_MILLIS: u64 = 1_000;

/// How many requests wait for events of an agent at a time. Further ones are answered at once.
const MAX_WAITING: usize = 64;

/// How many events a sweep removes at a time.
const SWEPT_AT_ONCE: u32 = 500;

/// How many events a scrub looks at at a time. Other writes wait for as long as one step takes.
const SCRUBBED_AT_ONCE: u32 = 1_000;

impl Platform {
    /// An event about a change that the caller is about to store, for [`Effects`](crate::storage::Effects). `contact`
    /// is the one whose erasure empties the event.
    #[must_use]
    pub fn event(
        &self,
        actor: impl Into<EventActor>,
        contact: Option<ContactId>,
        data: EventData,
        now: Timestamp,
    ) -> Option<NewEvent> {
        let event =
            || NewEvent { id: self.ports.ids.platform_id(now), at: now, actor: actor.into(), contact, data };
        self.events.is_on.then(event)
    }

    /// The events that a change of an account needs: if it leaves less than the threshold, and if it leaves nothing.
    #[must_use]
    pub fn credits_events(
        &self,
        actor: impl Into<EventActor>,
        before: &CreditAccount,
        account: &CreditAccount,
        now: Timestamp,
    ) -> Vec<NewEvent> {
        let (actor, available) = (actor.into(), account.available());
        let is_exhausted = !account.unlimited && available == 0 && before.available() > 0;
        let threshold = account.undercut_threshold().filter(|_| before.undercut_threshold().is_none());
        let low = threshold.map(|threshold| EventData::CreditsLow { available, threshold });
        let exhausted = is_exhausted.then_some(EventData::CreditsExhausted { available });
        let event = |data| self.event(actor.clone(), None, data, now);
        low.into_iter().chain(exhausted).filter_map(event).collect()
    }

    /// Empties events of erased contacts and, every hour, announces keys that expire soon and removes events after their
    /// retention.
    pub(super) async fn maintain_logs(&self) -> Result<(), StorageError> {
        while self.storage.scrub_logs(SCRUBBED_AT_ONCE).await? > 0 {}
        let now = self.now();
        if !self.events.is_sweep_due(now) {
            return Ok(());
        }
        let before = now.plus_millis(-self.events.retention_millis);
        for agent in self.storage.agents().await? {
            keys::announce_expiries(self, &agent.id).await?;
            while self.storage.sweep_log(&agent.id, before, SWEPT_AT_ONCE).await? >= u64::from(SWEPT_AT_ONCE)
            {
            }
        }
        Ok(())
    }
}

/// Reads a page of the log, and waits for the first event if there is none.
pub(super) async fn pull(
    platform: &Platform,
    caller: &Caller,
    query: &EventQuery,
) -> Result<EventPage, ApiError> {
    refuse_off(platform)?;
    let agent = &caller.agent_id;
    let notifier = platform.storage.notifier();
    let seconds = if notifier.listeners(agent) < MAX_WAITING { query.wait } else { 0 };
    let mut subscription = notifier.subscribe(agent);
    let mut deadline = platform.ports.timer.sleep(seconds * 1_000);
    let (mut after, mut seconds) = (query.after, seconds);
    loop {
        let page = read_events(&*platform.storage, agent, query, after).await?;
        if !page.events.is_empty() || seconds == 0 {
            return Ok(page);
        }
        // What the filter leaves out is read once.
        after = Some(page.stream.cursor);
        if timeout(&*platform.ports.timer, POLL_MILLIS, subscription.changed()).await.is_none() {
            // Another server may have written events.
            seconds -= 1;
        }
        // Events that the filter leaves out end no wait, and do not prolong it.
        if poll_fn(|cx| Poll::Ready(deadline.as_mut().poll(cx).is_ready())).await {
            seconds = 0;
        }
    }
}

fn refuse_off(platform: &Platform) -> Result<(), ApiError> {
    let off = || ApiError::new(ErrorCode::EventsUnavailable, "This service writes no events");
    platform.events.is_on.then_some(()).ok_or_else(off)
}

/// Opens a stream of events.
pub(super) async fn stream(
    platform: &Platform,
    caller: &Caller,
    request: StreamEvents,
) -> Result<ApiBody, ApiError> {
    let mut query = request.query.check()?;
    query.after = request.last_event_id.or(query.after);
    refuse_off(platform)?;
    let Some(streams) = &platform.events.streams else {
        return Err(ApiError::new(ErrorCode::EventsUnavailable, "This service has no event streams"));
    };
    streams.open(platform.event_source(), caller, query).await
}

/// Reads a page of the log of an agent after a cursor, without waiting. `query` says which types, and how many events
/// at most.
///
/// # Errors
/// EVENTS_LOST when an event after the cursor is no longer there; when the store fails.
pub async fn read_events(
    storage: &dyn Storage,
    agent: &AgentId,
    query: &EventQuery,
    after: Option<EventCursor>,
) -> Result<EventPage, ApiError> {
    let internal = |error| ApiError::from(StorageError::new(StorageErrorKind::Internal, error));
    // The event of the cursor too, to see whether it is still the same.
    let mut next = after.map_or(0, |after| after.seq.saturating_sub(1));
    // Without a filter, one page of the log fills the page: its events, the one of the cursor and the one after it.
    let most = u32::try_from(query.limit + 2).unwrap_or(READ_AT_ONCE);
    let at_once = if query.types.admits_all() { READ_AT_ONCE.min(most) } else { READ_AT_ONCE };
    let mut page = storage.log(agent, next, at_once).await?;
    let mut cursor = after.unwrap_or_default();
    refuse_lost(after, &page)?;
    let (mut events, mut scanned) = (Vec::new(), 0);
    loop {
        for entry in &page.entries {
            if entry.seq <= cursor.seq {
                cursor.id = Some(entry.id);
                continue;
            }
            if events.len() as u64 == query.limit {
                break;
            }
            cursor = EventCursor { seq: entry.seq, id: Some(entry.id) };
            if query.types.admits(entry.kind) {
                events.push(Event::of(agent, entry).map_err(internal)?);
            }
        }
        next = next.max(cursor.seq);
        scanned += at_once;
        let is_full = events.len() as u64 == query.limit || scanned >= MAX_SCANNED;
        if is_full || cursor.seq >= page.head {
            let (oldest, head) = (page.oldest, page.head);
            let stream = EventStream { cursor, oldest, head, has_more: cursor.seq < head };
            return Ok(EventPage { events, stream });
        }
        page = storage.log(agent, next, at_once).await?;
        refuse_lost(Some(cursor), &page)?;
    }
}

/// Fails unless every event after a cursor is in the log.
fn refuse_lost(after: Option<EventCursor>, page: &LogPage) -> Result<(), ApiError> {
    let Some(after) = after else { return Ok(()) };
    let same = page.entries.first().filter(|entry| entry.seq == after.seq);
    let is_rewritten =
        after.seq > page.head || after.id.is_some_and(|id| same.is_some_and(|entry| entry.id != id));
    let reason = match is_rewritten {
        true => "rewritten",
        false if after.seq + 1 < page.oldest => "expired",
        false => return Ok(()),
    };
    let text =
        "Events after the cursor are no longer there; read the records again and go on at details.head";
    Err(ApiError::new(ErrorCode::EventsLost, text)
        .with_detail("oldest", page.oldest)
        .with_detail("head", page.head)
        .with_detail("reason", reason))
}

/// The fields that the details of an audit entry name as changed.
pub(super) fn changed_in(details: &Object) -> ChangedFields {
    match details.get("changed") {
        Some(Json::Array(names)) => ChangedFields::new(names.iter().filter_map(Json::as_str)),
        _ => ChangedFields::default(),
    }
}
