//! Events: one for each change of an agent's data (contract 17). They name what changed and never a value that
//! a person entered.

mod members;
mod types;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::access::{Actor, ApiKey};
use crate::json::{JsonSchema, RawObject, schemas};
use crate::storage::LogEntry;
use crate::values::{AgentId, ContactId, PlatformId, Timestamp, text_words, words};

pub use members::{ChangedFields, ConversationReason, EndpointReason, MessageRole};
pub use types::{EventData, EventType, Rating};

/// An event that a write appends to the log of its agent ([`Effects::events`](crate::storage::Effects::events)).
#[derive(Clone, Debug, PartialEq)]
pub struct NewEvent {
    /// Its id.
    pub id: PlatformId,
    /// When it happens.
    pub at: Timestamp,
    /// Who causes it.
    pub actor: EventActor,
    /// The contact that it is about. Erasing the contact empties the event.
    pub contact: Option<ContactId>,
    /// What happens.
    pub data: EventData,
}

impl NewEvent {
    /// The event under a number of the log.
    #[must_use]
    pub fn to_entry(&self, seq: u64) -> LogEntry {
        let NewEvent { id, at, actor, contact, data } = self;
        let body = Some(RawObject::of(&Body { actor, data }));
        LogEntry { seq, id: *id, at: *at, kind: data.kind(), contact: *contact, body }
    }
}

/// What the log stores of an event besides its columns.
#[derive(Serialize)]
struct Body<'a> {
    actor: &'a EventActor,
    data: &'a EventData,
}

/// Who caused an event. Names of people stay in the audit log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "ActorMembers", into = "ActorMembers")]
pub enum EventActor {
    /// An API key, by its public string.
    ApiKey(ApiKey),
    /// An operator.
    Operator,
    /// A user of the host platform.
    User,
    /// A visitor of the widget.
    Visitor,
    /// The service itself.
    System,
}

words! {
    /// The kinds of actors.
    ActorKind, 5 {
        /// An API key.
        ApiKey = "apiKey",
        /// An operator.
        Operator = "operator",
        /// A user of the host platform.
        User = "user",
        /// A visitor of the widget.
        Visitor = "visitor",
        /// The service itself.
        System = "system",
    }
}

text_words! { ActorKind, }

schemas! {
    EventActor: {
        "type": "object",
        "required": ["type", "id"],
        "properties": { "type": ActorKind::schema(), "id": { "type": ["string", "null"] } },
        "additionalProperties": false,
    },
}

#[derive(Serialize, Deserialize)]
struct ActorMembers {
    r#type: ActorKind,
    id: Option<ApiKey>,
}

impl From<EventActor> for ActorMembers {
    fn from(actor: EventActor) -> Self {
        let (kind, id) = match actor {
            EventActor::ApiKey(key) => (ActorKind::ApiKey, Some(key)),
            EventActor::Operator => (ActorKind::Operator, None),
            EventActor::User => (ActorKind::User, None),
            EventActor::Visitor => (ActorKind::Visitor, None),
            EventActor::System => (ActorKind::System, None),
        };
        ActorMembers { r#type: kind, id }
    }
}

impl From<ActorMembers> for EventActor {
    fn from(members: ActorMembers) -> Self {
        match (members.r#type, members.id) {
            (ActorKind::ApiKey, Some(key)) => EventActor::ApiKey(key),
            (ActorKind::Operator, _) => EventActor::Operator,
            (ActorKind::User, _) => EventActor::User,
            (ActorKind::Visitor, _) => EventActor::Visitor,
            (ActorKind::ApiKey | ActorKind::System, _) => EventActor::System,
        }
    }
}

impl From<&Actor> for EventActor {
    fn from(actor: &Actor) -> Self {
        match actor {
            Actor::ApiKey(key) => EventActor::ApiKey(key.clone()),
            Actor::Operator(_) => EventActor::Operator,
            Actor::User(_) => EventActor::User,
            Actor::Visitor(_) => EventActor::Visitor,
            Actor::Anonymous(_) => EventActor::System,
        }
    }
}

/// What stores write of an event besides its columns ([`LogEntry::body`]).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EventBody {
    /// Who caused it.
    pub actor: EventActor,
    /// Its data.
    pub data: Box<RawValue>,
}

/// An event as its readers see it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Its id.
    pub id: PlatformId,
    /// Its number in the log of the agent.
    pub seq: u64,
    /// Where to read on after it.
    pub cursor: EventCursor,
    /// What happened.
    pub r#type: EventType,
    /// When it happened.
    pub timestamp: Timestamp,
    /// The agent.
    pub agent_id: AgentId,
    /// Who caused it; the system, if the event is erased.
    pub actor: EventActor,
    /// What it is about; empty, if the event is erased.
    pub data: Box<RawValue>,
    /// Whether the contact that it was about has been erased, so that actor and data are empty.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub erased: bool,
}

impl Event {
    /// The event of an entry in the log of an agent.
    ///
    /// # Errors
    /// When the body of the entry is not that of an event.
    pub fn of(agent: &AgentId, entry: &LogEntry) -> serde_json::Result<Self> {
        let body = match &entry.body {
            Some(body) => serde_json::from_str(body.as_str())?,
            None => {
                EventBody { actor: EventActor::System, data: serde_json::value::to_raw_value(&Map::new())? }
            }
        };
        Ok(Event {
            id: entry.id,
            seq: entry.seq,
            cursor: EventCursor { seq: entry.seq, id: Some(entry.id) },
            r#type: entry.kind,
            timestamp: entry.at,
            agent_id: agent.clone(),
            actor: body.actor,
            data: body.data,
            erased: entry.body.is_none(),
        })
    }
}

impl JsonSchema for Event {
    const NAME: Option<&'static str> = Some("Event");

    fn schema() -> Value {
        json!({
            "type": "object",
            "required": ["id", "seq", "cursor", "type", "timestamp", "agentId", "actor", "data"],
            "properties": {
                "id": { "type": "string", "pattern": "^[0-9a-f]{24}$" },
                "seq": { "type": "integer", "minimum": 1 },
                "cursor": EventCursor::schema(),
                "type": { "type": "string", "pattern": "^[a-z_]+\\.[a-z_]+$" },
                "timestamp": { "type": "string", "format": "date-time" },
                "agentId": { "type": "string" },
                "actor": EventActor::schema(),
                "data": { "type": "object", "additionalProperties": true },
                "erased": { "type": "boolean", "description": "Whether the contact was erased, so that `data` is empty." },
            },
        })
    }
}

/// A position in a log: the number of an event, with its id, by which a reader notices that the log is another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventCursor {
    /// The number; 0 stands for the beginning.
    pub seq: u64,
    /// The id; none where only a number is known.
    pub id: Option<PlatformId>,
}

impl EventCursor {
    /// The form of its text.
    pub const PATTERN: &'static str = "^[0-9]{1,19}(\\.[0-9A-Fa-f]{24})?$";
}

schemas! { EventCursor: { "type": "string", "pattern": EventCursor::PATTERN }, }

impl std::fmt::Display for EventCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.id {
            Some(id) => write!(f, "{}.{id}", self.seq),
            None => write!(f, "{}", self.seq),
        }
    }
}

impl std::str::FromStr for EventCursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (seq, id) = text.split_once('.').map_or((text, None), |(seq, id)| (seq, Some(id)));
        let is_number = !seq.is_empty() && seq.len() <= 19 && seq.bytes().all(|byte| byte.is_ascii_digit());
        let seq = seq.parse().ok().filter(|_| is_number).ok_or(())?;
        Ok(EventCursor { seq, id: id.map(str::parse).transpose().map_err(|_| ())? })
    }
}

impl Serialize for EventCursor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
