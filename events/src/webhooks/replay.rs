//! Sending events again, and passing them over.

use openapi_core::access::Caller;
use openapi_core::audit::AuditAction;
use openapi_core::events::EventCursor;
use openapi_core::json::{Json, Object, json_object};
use openapi_core::platform::concurrent_update;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::service::{EventFilter, EventQuery, OpenApiService, PullEvents};
use openapi_core::storage::retry::retry_on_conflict;
use openapi_core::storage::{Effects, LogPage};
use openapi_core::validation::{Location, ValidationCode, ValidationError, ValidationIssue, Violations};
use openapi_core::values::{AgentId, PlatformId, TextValue, Timestamp};

use super::body::conflict;
use super::records::state_change;
use super::requests::{EndpointTarget, ReplayEvents};
use super::service::Webhooks;
use crate::delivery::{MAX_REPLAYS, Mode};

/// The most ids of a replay.
const MAX_IDS: usize = 100;
/// Events that are read at a time.
const READ_AT_ONCE: u32 = 500;
/// How far the time of an event may be from those around it in the log, in milliseconds: clocks of servers differ.
const CLOCK_SLACK: i64 = 10_000;

/// Which events are sent again.
#[derive(Clone, Debug, PartialEq)]
enum Selected {
    After(EventCursor),
    Since(Timestamp),
    Ids(Vec<PlatformId>),
}

/// The events that are sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// The first.
    pub from: u64,
    /// The last; before the first, if there is none.
    pub to: u64,
}

json_object! { Replayed as "WebhookReplayed" = |it| {
    "from": u64 { "minimum": 1, "description": "The number of the first event that is sent again." } = it.from,
    "to": u64 { "minimum": 0, "description": "The number of the last; less than `from` if there is none. What follows is sent in any case." } = it.to,
} }

/// An event that was passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkippedEvent {
    /// Its number.
    pub seq: u64,
}

fn fault(
    name: String,
    value: Option<&Json>,
    code: ValidationCode,
    text: impl Into<String>,
) -> ValidationError {
    let fault = ValidationIssue::new(code, text.into());
    ValidationError::new(Location::Body, name, value, fault)
}

fn read(members: &Object) -> Result<Selected, Violations> {
    let (mut faults, mut selected) = (Violations::new(), None);
    for (name, value) in members.iter() {
        let read = match (name, value) {
            ("after", Json::Number(number)) => cursor(number.as_str()).map_err(|it| (name.to_owned(), it)),
            ("after", Json::String(text)) => cursor(text).map_err(|it| (name.to_owned(), it)),
            ("since", Json::String(text)) => {
                Timestamp::parse(text).map(Selected::Since).map_err(|it| (name.to_owned(), it))
            }
            ("ids", Json::Array(items)) => match ids(items) {
                Ok(ids) => Ok(Selected::Ids(ids)),
                Err(found) => {
                    faults.extend(found);
                    continue;
                }
            },
            ("after" | "since", Json::Null) | ("ids", Json::Null) => {
                Err((name.to_owned(), ValidationIssue::required()))
            }
            ("after" | "since", _) => Err((name.to_owned(), ValidationIssue::wrong_type("a string"))),
            ("ids", _) => Err((name.to_owned(), ValidationIssue::wrong_type("an array"))),
            (name, _) if name.contains('\0') => Err((name.to_owned(), ValidationIssue::invalid_characters())),
            (name, _) => {
                let text = "is not a member of this request";
                Err((name.to_owned(), ValidationIssue::new(ValidationCode::Unknown, text)))
            }
        };
        match read {
            Ok(_) if selected.is_some() => {
                let text = "cannot be given together with another selection";
                faults.push(fault(name.to_owned(), None, ValidationCode::Conflict, text));
            }
            Ok(found) => selected = Some(found),
            Err((name, found)) => faults.push(ValidationError::new(Location::Body, name, Some(value), found)),
        }
    }
    match selected {
        _ if !faults.is_empty() => Err(faults),
        Some(selected) => Ok(selected),
        None => Err(ValidationError::new(Location::Body, "after", None, ValidationIssue::required()).into()),
    }
}

fn cursor(text: &str) -> Result<Selected, ValidationIssue> {
    let invalid =
        |()| ValidationIssue::new(ValidationCode::Format, "must be the cursor or the number of an event");
    text.parse().map(Selected::After).map_err(invalid)
}

fn ids(items: &[Json]) -> Result<Vec<PlatformId>, Violations> {
    if items.is_empty() {
        return Err(fault("ids".to_owned(), None, ValidationCode::MinItems, "must have at least 1 id").into());
    }
    if items.len() > MAX_IDS {
        let text = format!("must have at most {MAX_IDS} ids");
        return Err(fault("ids".to_owned(), None, ValidationCode::MaxItems, text).into());
    }
    let (mut faults, mut ids) = (Violations::new(), Vec::with_capacity(items.len()));
    for (at, item) in items.iter().enumerate() {
        let name = format!("ids[{at}]");
        match item.as_str().map(str::parse::<PlatformId>) {
            Some(Ok(id)) if ids.contains(&id) => {
                faults.push(fault(name, Some(item), ValidationCode::UniqueItems, "is given twice"));
            }
            Some(Ok(id)) => ids.push(id),
            Some(Err(invalid)) => {
                faults.push(ValidationError::new(Location::Body, name, Some(item), invalid.0));
            }
            None => {
                faults.push(ValidationError::new(
                    Location::Body,
                    name,
                    Some(item),
                    ValidationIssue::wrong_type("a string"),
                ));
            }
        }
    }
    if faults.is_empty() { Ok(ids) } else { Err(faults) }
}

impl Webhooks {
    /// Sends events again.
    ///
    /// # Errors
    /// Those of the contract.
    pub async fn replay(&self, caller: &Caller, request: ReplayEvents) -> Result<Replayed, ApiError> {
        let request = &request;
        retry_on_conflict(concurrent_update, |_| async move {
            let agent = &caller.agent_id;
            let (id, endpoint, state) = self.find(agent, &request.target).await?;
            let selected = request.fields.check_with(read)?;
            let mode = endpoint.value.mode;
            let (mut progress, now) = (state.value.clone(), self.platform.now());
            let cursor = progress.cursor;
            let (replayed, outcome) = match &selected {
                Selected::Ids(ids) => {
                    let types = EventFilter::read(&endpoint.value.types.join(",")).unwrap_or_default();
                    let seqs = self.seqs_of(caller, ids, &types).await?;
                    let (from, to) = (seqs.iter().min().copied(), seqs.iter().max().copied());
                    let replayed = Replayed { from: from.unwrap_or(cursor + 1), to: to.unwrap_or(cursor) };
                    (replayed, progress.replay_events(mode, &seqs, now))
                }
                Selected::After(_) | Selected::Since(_) => {
                    let after = match &selected {
                        Selected::Since(since) => self.first_since(agent, *since).await?.saturating_sub(1),
                        Selected::After(after) => self.existing(caller, *after).await?,
                        Selected::Ids(_) => 0,
                    };
                    let replayed = Replayed { from: after + 1, to: cursor.max(after) };
                    (replayed, progress.replay(mode, after + 1, cursor))
                }
            };
            if outcome.is_err() {
                let text = "The endpoint has as many replays, or events to be sent again, as it may have";
                return Err(ApiError::new(ErrorCode::EndpointLimitExceeded, text)
                    .with_detail("limit", MAX_REPLAYS as u64));
            }
            let mut details = Object::new();
            details.insert("from", replayed.from.into());
            details.insert("to", replayed.to.into());
            let audit = self.audit(caller, AuditAction::WebhookReplay, id, &details, now);
            if mode == Mode::Ordered && endpoint.value.is_enabled() {
                // So that it is due although nothing new happens.
                progress.probe_at = Some(now);
            }
            let change = state_change(id, state.version + 1, &progress)?;
            let saved = self.save(agent, id, vec![change], Effects::audited(audit)).await?;
            Ok(saved.map(|()| replayed))
        })
        .await
    }

    /// Passes over a failed event for good; without a number, the oldest one.
    ///
    /// # Errors
    /// 404 ENDPOINT_NOT_FOUND; VALIDATION_ERROR if the event has not failed.
    pub async fn skip(
        &self,
        caller: &Caller,
        target: &EndpointTarget,
        seq: Option<u64>,
    ) -> Result<SkippedEvent, ApiError> {
        retry_on_conflict(concurrent_update, |_| async move {
            let agent = &caller.agent_id;
            let (id, endpoint, state) = self.find(agent, target).await?;
            let (mut progress, now) = (state.value, self.platform.now());
            let failed = || progress.open.keys().next().copied();
            let none = || conflict("seq", "names no event that waits for another attempt");
            let seq = seq.or_else(failed).ok_or_else(none)?;
            progress.skip(endpoint.value.mode, seq).map_err(|_| none())?;
            if endpoint.value.is_enabled() {
                (progress.rest_until, progress.probe_at) = (None, Some(now));
            }
            let mut details = Object::new();
            details.insert("skipped", seq.into());
            let audit = self.audit(caller, AuditAction::WebhookReplay, id, &details, now);
            let change = state_change(id, state.version + 1, &progress)?;
            let saved = self.save(agent, id, vec![change], Effects::audited(audit)).await?;
            Ok(saved.map(|()| SkippedEvent { seq }))
        })
        .await
    }

    /// The number of a cursor, if every event after it is there.
    async fn existing(&self, caller: &Caller, after: EventCursor) -> Result<u64, ApiError> {
        let query = EventQuery { after: Some(after), limit: 1, ..EventQuery::default() };
        self.platform.events(caller, PullEvents { query: query.into() }).await?;
        Ok(after.seq)
    }

    /// The number of the first event of this time or later; one after the newest without any.
    async fn first_since(&self, agent: &AgentId, since: Timestamp) -> Result<u64, ApiError> {
        let page = self.storage().log(agent, 0, 1).await?;
        let (mut low, mut high) = (page.oldest.max(1), page.head + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            let page = self.storage().log(agent, middle - 1, 1).await?;
            match page.entries.first() {
                Some(entry) if entry.at < since => low = entry.seq + 1,
                Some(_) => high = middle,
                None => return Ok(page.head + 1),
            }
        }
        Ok(low)
    }

    /// The numbers of events that pass a filter, by their ids.
    async fn seqs_of(
        &self,
        caller: &Caller,
        ids: &[PlatformId],
        types: &EventFilter,
    ) -> Result<Vec<u64>, ApiError> {
        let agent = &caller.agent_id;
        let (mut seqs, mut faults) = (Vec::with_capacity(ids.len()), Violations::new());
        for (at, id) in ids.iter().enumerate() {
            match self.seq_of(agent, *id).await? {
                Found::Event(seq, kind) if types.admits(kind) => seqs.push(seq),
                Found::Event(..) => {}
                // The error of a read from there.
                Found::Expired => {
                    self.existing(caller, EventCursor { seq: 0, id: None }).await?;
                    faults.push(unknown_event(at, *id));
                }
                Found::Nothing => faults.push(unknown_event(at, *id)),
            }
        }
        if faults.is_empty() { Ok(seqs) } else { Err(faults.into()) }
    }

    /// Finds an event by the time that its id contains.
    async fn seq_of(&self, agent: &AgentId, id: PlatformId) -> Result<Found, ApiError> {
        let at = id.created_at();
        let first = self.first_since(agent, at.plus_millis(-CLOCK_SLACK)).await?;
        let mut after = first.saturating_sub(1);
        loop {
            let LogPage { entries, oldest, .. } = self.storage().log(agent, after, READ_AT_ONCE).await?;
            for entry in &entries {
                if entry.id == id {
                    return Ok(Found::Event(entry.seq, entry.kind));
                }
                after = entry.seq;
            }
            let is_past = entries.last().is_none_or(|last| last.at > at.plus_millis(CLOCK_SLACK + 1_000));
            if is_past {
                return Ok(if first <= oldest && oldest > 1 { Found::Expired } else { Found::Nothing });
            }
        }
    }
}

enum Found {
    Event(u64, openapi_core::events::EventType),
    Expired,
    Nothing,
}

fn unknown_event(at: usize, id: PlatformId) -> ValidationError {
    let value = Json::from(id.to_string().as_str());
    fault(
        format!("ids[{at}]"),
        Some(&value),
        ValidationCode::Reference,
        "is no event in the log of this agent",
    )
}
