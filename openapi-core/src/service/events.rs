//! Requests and outcomes about events.

use http::HeaderName;
use serde::Serialize;
use serde_json::{Value, json};

use super::unvalidated::Unvalidated;
use crate::events::{Event, EventCursor, EventType};
use crate::json::{JsonSchema, json_object};
use crate::request::rules::{Rule, Within};
use crate::request::{Part, Reader, header_fault, parameters, request};
use crate::validation::{ValidationCode, ValidationIssue};

/// The most types of a filter.
const MAX_TYPES: usize = 50;

request! {
    /// `GET /events/chatbots/<A>`
    #[derive(Clone, Debug, PartialEq)]
    pub struct PullEvents {
        /// The query.
        pub query: Unvalidated<EventQuery>,
    }
}

request! {
    /// `GET /events/chatbots/<A>/stream`
    #[derive(Clone, Debug, PartialEq)]
    pub struct StreamEvents {
        /// Where an earlier stream ended; replaces `after`.
        pub last_event_id: Option<EventCursor> = LastEventId,
        /// The query.
        pub query: Unvalidated<EventStreamQuery>,
    }
}

parameters! {
    /// Which events a stream sends (contract 17).
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct EventStreamQuery {
        /// `cursor` of an event or of a page, or the number of an event: only events after it. Without it, from the
        /// oldest event on.
        "after" after: Option<EventCursor> = After,
        /// Names of types, separated by commas; `contact.*` stands for every type of a group, `*` for all. Up to 50.
        "types" types: EventFilter = Types,
    }
}

/// The header `Last-Event-ID`; blank is none.
pub struct LastEventId;

impl Part for LastEventId {
    type Value = Option<EventCursor>;

    fn read(request: &mut Reader<'_>) -> Option<EventCursor> {
        const NAME: HeaderName = HeaderName::from_static("last-event-id");
        let read = request.sent.header(&NAME).and_then(|text| {
            let text = text.filter(|text| !text.is_empty());
            text.map(|text| text.parse())
                .transpose()
                .map_err(|()| Box::new(header_fault(&NAME, "must be the id of an event of a stream")))
        });
        read.unwrap_or_else(|fault| {
            request.headers.push(*fault);
            None
        })
    }
}

parameters! {
    /// Which events (contract 17).
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct EventQuery {
        /// `cursor` of an event or of `stream`, or the number of an event: only events after it. Without it, from the
        /// oldest event on.
        "after" after: Option<EventCursor> = After,
        /// Names of types, separated by commas; `contact.*` stands for every type of a group, `*` for all. Up to 50.
        "types" types: EventFilter = Types,
        /// How many events at most.
        "limit" limit: u64 = Within(1..=500, 100),
        /// How many seconds the answer waits for the first event, if there is none.
        "wait" wait: u64 = Within(0..=25, 0),
    }
}

struct After;

impl Rule<Option<EventCursor>> for After {
    fn schema(&self) -> Value {
        json!({ "type": "string", "pattern": EventCursor::PATTERN })
    }

    fn parse(&self, text: &str) -> Result<Option<EventCursor>, ValidationIssue> {
        let invalid =
            |()| ValidationIssue::new(ValidationCode::Format, "must be the cursor or the number of an event");
        text.parse().map(Some).map_err(invalid)
    }
}

struct Types;

impl Rule<EventFilter> for Types {
    fn schema(&self) -> Value {
        json!({ "type": "string" })
    }

    fn parse(&self, text: &str) -> Result<EventFilter, ValidationIssue> {
        EventFilter::read(text)
    }
}

/// Which types of events; without any, all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter(Vec<EventType>);

impl EventFilter {
    /// Reads names of types, separated by commas: `contact.created`, `contact.*` or `*`.
    ///
    /// # Errors
    /// `enum` for a name that no type has, `maxItems` for more than 50 names.
    pub fn read(text: &str) -> Result<Self, ValidationIssue> {
        let names: Vec<&str> = text.split(',').map(str::trim).collect();
        if names.len() > MAX_TYPES {
            let text = format!("must have at most {MAX_TYPES} names");
            return Err(ValidationIssue::new(ValidationCode::MaxItems, text));
        }
        let mut types = Vec::new();
        for name in names {
            let group = name.strip_suffix('*').filter(|group| group.is_empty() || group.ends_with('.'));
            let found = EventType::ALL.iter().copied().filter(|kind| match group {
                Some(group) => kind.as_str().starts_with(group),
                None => kind.as_str() == name,
            });
            let before = types.len();
            types.extend(found);
            if types.len() == before {
                let text = format!("'{name}' is no type of events; GET /events/types lists them");
                return Err(ValidationIssue::new(ValidationCode::Enum, text));
            }
        }
        Ok(EventFilter(types))
    }

    /// Whether events of every type pass.
    #[must_use]
    pub fn admits_all(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether events of a type pass.
    #[must_use]
    pub fn admits(&self, kind: EventType) -> bool {
        self.0.is_empty() || self.0.contains(&kind)
    }
}

/// A part of the event log of an agent.
#[derive(Clone, Debug)]
pub struct EventPage {
    /// The events that pass the filter, oldest first.
    pub events: Vec<Event>,
    /// Where they stand.
    pub stream: EventStream,
}

// Written by the endpoint, next to each other.
impl Serialize for EventPage {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.events.serialize(serializer)
    }
}

impl JsonSchema for EventPage {
    fn schema() -> Value {
        <[Event]>::schema()
    }
}

/// A position in the event log of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventStream {
    /// What to pass as `after` next.
    pub cursor: EventCursor,
    /// The number of the oldest event.
    pub oldest: u64,
    /// The number of the newest event.
    pub head: u64,
    /// Whether there are more events after the cursor.
    pub has_more: bool,
}

json_object! { EventStream = |stream| {
    "cursor": EventCursor { "description": "What to pass as `after` next." } = stream.cursor,
    "oldest": u64 { "minimum": 0, "description": "The number of the oldest event; 0 without any." } = stream.oldest,
    "head": u64 { "minimum": 0, "description": "The number of the newest event; 0 without any." } = stream.head,
    "hasMore": bool { "description": "Whether there are more events after the cursor." } = stream.has_more,
} }
