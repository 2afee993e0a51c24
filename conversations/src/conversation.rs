//! A conversation between a visitor and an agent, and its messages.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use openapi_core::json::RawObject;
use openapi_core::values::{AgentId, ContactId, ConversationId, FileId, MessageId, PlatformId, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{ChatPage, Handoff, Outcome, Source, Speaker, Usage};

/// A day.
pub(crate) const DAY_MILLIS: i64 = 24 * 3_600_000;
/// How long a turn counts as running without a sign of life of its process.
pub(crate) const LEASE_MILLIS: i64 = 15_000;
/// The most changes of participants that a conversation records; then the oldest ones go.
const MAX_PARTICIPANT_CHANGES: usize = 40;
/// The interval between calls of `/sync`, whatever the mode: a person may reply at any time.
const POLL_MILLIS: u32 = 3_000;
/// The same while a person answers.
const POLL_HUMAN_MILLIS: u32 = 1_500;
/// How long after the last message the widget asks for new ones.
const POLLED_MILLIS: i64 = 30 * 60_000;

/// A conversation. It changes only by [`ConversationStore::save_conversation`], one version after another.
///
/// [`ConversationStore::save_conversation`]: crate::storage::ConversationStore::save_conversation
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Conversation {
    /// The id.
    pub id: ConversationId,
    /// The agent.
    pub agent_id: AgentId,
    /// Its version: how many times it was saved.
    pub version: u64,
    /// The visitor.
    pub visitor_id: VisitorId,
    /// 0 anonymous, 1 an email is claimed, 2 verified until [`Conversation::verified_until`].
    pub level: u8,
    /// The end of the visitor's verification.
    pub verified_until: Option<Timestamp>,
    /// The user whose identity the page's server has signed.
    pub verified_as: Option<VerifiedUser>,
    /// The linked contact.
    pub contact_id: Option<ContactId>,
    /// Unverified statements of the page about the visitor.
    pub claims: Claims,
    /// The submitted lead form.
    pub lead: Option<Lead>,
    /// Whether it is open.
    pub status: ConversationStatus,
    /// Whether the agent or a person answers.
    pub mode: ConversationMode,
    /// The time since which the visitor waits for a person. After the operator's timeout, the agent answers again.
    pub waiting_since: Option<Timestamp>,
    /// The language of the widget.
    pub locale: String,
    /// The visitor's time zone, as the browser names it.
    pub time_zone: Option<String>,
    /// The page on which it began.
    pub page: Option<ChatPage>,
    /// The metadata that the page passed to the widget.
    pub metadata: RawObject,
    /// How many messages it has, and so the number of the last one.
    pub message_count: u64,
    /// How many of the visitor's messages no operator has read.
    pub operator_unread: u64,
    /// The number of the last message that the visitor has read.
    pub visitor_read: u64,
    /// The time of the last message.
    pub last_message_at: Timestamp,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
    /// When it began.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// When its status ends: an open conversation is closed then, a closed one erased with its messages and files.
    pub expires_at: Timestamp,
    /// For how many days after its last message it is retained; [`None`] of one in which nobody has written since an
    /// earlier version, which stored the end of that time in [`Conversation::expires_at`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention_days: Option<u32>,
    /// The epoch of its valid tokens. Raising it revokes all earlier ones.
    pub epoch: u32,
    /// The visitor's network (/24, IPv6 /48).
    pub network: Option<String>,
    /// The times that the visitor's limits count.
    pub counted: Counted,
    /// The files that the visitor has sent, with or without a message. They are erased with the conversation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uploads: Vec<FileId>,
    /// When persons joined and left, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub participants: Vec<ParticipantChange>,
    /// The turn whose reply is running.
    pub running: Option<RunningTurn>,
}

impl Conversation {
    /// The status at `now`. A day without messages closes a conversation.
    #[must_use]
    pub fn status_at(&self, now: Timestamp) -> ConversationStatus {
        if now >= self.silent_at() { ConversationStatus::Closed } else { self.status }
    }

    /// When it has been silent for a day.
    fn silent_at(&self) -> Timestamp {
        self.last_message_at.plus_millis(DAY_MILLIS)
    }

    /// When it is erased with its messages and files, unless somebody writes before.
    #[must_use]
    pub fn erased_at(&self) -> Timestamp {
        let retention = |days| self.last_message_at.plus_millis(i64::from(days) * DAY_MILLIS);
        self.retention_days.map_or(self.expires_at, retention)
    }

    /// It is retained for so many days after its last message.
    pub(crate) fn retain_for(&mut self, days: u32) {
        self.retention_days = Some(days);
        self.expires_at = match self.status {
            ConversationStatus::Open => self.silent_at(),
            ConversationStatus::Closed => self.erased_at(),
        };
    }

    /// The level at `now`, because a verification expires.
    #[must_use]
    pub fn level_at(&self, now: Timestamp) -> u8 {
        match self.verified_until {
            Some(until) if until > now => 2,
            _ => self.level.min(1),
        }
    }

    /// The turn that is answered at `now`.
    pub(crate) fn running_at(&self, now: Timestamp) -> Option<&RunningTurn> {
        self.running.as_ref().filter(|running| running.lease_until > now)
    }

    /// Returns the conversation to the agent if no operator has answered within so many minutes, and whether it did.
    pub(crate) fn end_handoff(&mut self, minutes: u32, now: Timestamp) -> bool {
        let millis = i64::from(minutes) * 60_000;
        let is_over = self.mode == ConversationMode::Human
            && self.waiting_since.is_some_and(|since| now.millis_since(since) >= millis);
        if is_over {
            self.release(now);
        }
        is_over
    }

    /// A person joins, under a name if it is known. The name of a person who joined without one is filled in.
    /// Returns whether that changed anything.
    pub(crate) fn join(&mut self, name: Option<&str>, now: Timestamp) -> bool {
        if let Some(last) = self.participants.last_mut()
            && last.change == Participation::Joined
            && (last.name.is_none() || name.is_none() || last.name.as_deref() == name)
        {
            let is_named = last.name.is_none() && name.is_some();
            if is_named {
                last.name = name.map(str::to_owned);
            }
            return is_named;
        }
        self.note_participant(Participation::Joined, name.map(str::to_owned), now);
        true
    }

    /// The agent answers again; a person who had joined leaves.
    pub(crate) fn release(&mut self, now: Timestamp) {
        self.mode = ConversationMode::Ai;
        self.waiting_since = None;
        if let Some(last) = self.participants.last()
            && last.change == Participation::Joined
        {
            self.note_participant(Participation::Left, last.name.clone(), now);
        }
    }

    /// The conversation closes: nobody answers in it any more, and nobody waits for a person.
    pub(crate) fn end(&mut self, now: Timestamp) {
        self.status = ConversationStatus::Closed;
        self.closed_at.get_or_insert(now);
        self.mode = ConversationMode::Ai;
        self.waiting_since = None;
        self.expires_at = self.erased_at();
    }

    /// Closes an open conversation that has been silent for a day at `now`, and returns whether it was one.
    pub(crate) fn end_by_silence(&mut self, now: Timestamp) -> bool {
        let is_silent = self.status == ConversationStatus::Open && now >= self.silent_at();
        if is_silent {
            self.end(self.silent_at());
        }
        is_silent
    }

    /// The operator closes the conversation.
    pub(crate) fn end_by_operator(&mut self, now: Timestamp) {
        self.end(now);
        self.note_participant(Participation::Closed, None, now);
    }

    fn note_participant(&mut self, change: Participation, name: Option<String>, at: Timestamp) {
        if self.participants.len() >= MAX_PARTICIPANT_CHANGES {
            self.participants.remove(0);
        }
        self.participants.push(ParticipantChange { after: self.message_count, change, name, at });
    }

    /// The milliseconds after which an open widget asks for new messages; [`None`] once nobody writes any more.
    pub(crate) fn poll_after(&self, now: Timestamp) -> Option<u32> {
        let is_recent = now.millis_since(self.last_message_at) < POLLED_MILLIS;
        let is_human = self.mode == ConversationMode::Human;
        let is_awaited = is_human && self.waiting_since.is_some();
        let is_polled = self.status_at(now) == ConversationStatus::Open && (is_recent || is_awaited);
        is_polled.then_some(if is_human { POLL_HUMAN_MILLIS } else { POLL_MILLIS })
    }

    /// Appends a message. The conversation is retained for so many days after it.
    pub(crate) fn append(
        &mut self,
        id: MessageId,
        role: Speaker,
        text: String,
        at: Timestamp,
        retention_days: u32,
    ) -> Message {
        self.message_count += 1;
        self.last_message_at = at;
        self.retain_for(retention_days);
        Message {
            id,
            seq: self.message_count,
            role,
            text,
            state: MessageState::Complete,
            sources: Vec::new(),
            uploads: Vec::new(),
            feedback: 0,
            comment: None,
            at,
            turn: None,
            author: None,
            outcome: None,
            after: FollowUp::default(),
            usage: None,
            credits: 0,
        }
    }
}

/// A person joined or left a conversation, or closed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ParticipantChange {
    /// The number of the last message before the change.
    pub after: u64,
    /// What changed.
    pub change: Participation,
    /// The name of the person, if it is known.
    pub name: Option<String>,
    /// When it changed.
    pub at: Timestamp,
}

/// The times of a visitor's turns, lead forms and uploads within the last day, the newest last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Counted {
    /// Turns.
    pub turns: Vec<Timestamp>,
    /// Lead forms.
    pub leads: Vec<Timestamp>,
    /// Uploads.
    pub uploads: Vec<Timestamp>,
}

/// A turn whose reply is running.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunningTurn {
    /// The client's id of the turn.
    pub turn: String,
    /// The process that answers it.
    pub owner: PlatformId,
    /// The end of the lease, which that process renews.
    pub lease_until: Timestamp,
    /// The draft of the reply.
    pub text: String,
    /// Whether the visitor has cancelled it.
    #[serde(default)]
    pub cancelled: bool,
}

/// A visitor: 16 random bytes, written as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VisitorId(pub [u8; 16]);

impl fmt::Display for VisitorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for VisitorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Not 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a visitor's id is 32 hexadecimal digits")]
pub struct InvalidVisitorId;

impl FromStr for VisitorId {
    type Err = InvalidVisitorId;

    fn from_str(text: &str) -> Result<Self, InvalidVisitorId> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let number = u128::from_str_radix(text, 16).ok();
        let number = number.filter(|_| text.len() == 32 && text.bytes().all(is_digit));
        number.map(|number| VisitorId(number.to_be_bytes())).ok_or(InvalidVisitorId)
    }
}

impl Serialize for VisitorId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for VisitorId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// What the page claims about a visitor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Claims {
    /// Their id in the operator's own system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_reference_id: Option<String>,
    /// Their email address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Their name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Their telephone number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
}

/// A user of the page whose signature by the page's server is valid.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VerifiedUser {
    /// Their id in the operator's own system.
    pub external_reference_id: Option<String>,
    /// Their email address.
    pub email: Option<String>,
}

/// A submitted lead form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lead {
    /// The fields of the contact.
    pub fields: RawObject,
    /// The visitor's consent.
    pub consent: Option<Consent>,
    /// When it was submitted.
    pub at: Timestamp,
    /// Why it created no contact, for the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The consent of a visitor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Consent {
    /// The version of the text.
    pub version: String,
    /// When it was given.
    pub at: Timestamp,
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$item_doc:meta])* $item:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$item_doc])* #[serde(rename = $word)] $item,)*
        }

        impl $name {
            /// All values.
            pub const ALL: &'static [$name] = &[$($name::$item),*];

            /// The value on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$item => $word,)* }
            }

            /// The value of a word on the wire.
            #[must_use]
            pub fn of_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.as_str() == word)
            }
        }
    };
}

words! {
    /// Whether a conversation is open.
    ConversationStatus {
        /// The visitor's next message belongs to it.
        Open = "open",
        /// It is read-only. The visitor's next message begins another one.
        Closed = "closed",
    }
}

words! {
    /// Whether the agent or a person answers.
    ConversationMode {
        /// The AI chat agent.
        Ai = "ai",
        /// A person.
        Human = "human",
    }
}

words! {
    /// A change of the persons in a conversation.
    Participation {
        /// A person joined.
        Joined = "joined",
        /// The person left, and the agent answers again.
        Left = "left",
        /// The operator closed the conversation.
        Closed = "closed",
    }
}

words! {
    /// Whether a message is complete.
    MessageState {
        /// It is complete.
        Complete = "complete",
        /// The visitor stopped the reply.
        Stopped = "stopped",
        /// The reply failed or reached its deadline.
        Incomplete = "incomplete",
    }
}

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// The id.
    pub id: MessageId,
    /// Its number in the conversation, from 1 without gaps.
    pub seq: u64,
    /// The author.
    pub role: Speaker,
    /// The text: plain text of a visitor, else Markdown.
    pub text: String,
    /// Whether it is complete.
    pub state: MessageState,
    /// The sources that it cites.
    pub sources: Vec<Source>,
    /// The attached files.
    pub uploads: Vec<UploadRef>,
    /// The visitor's feedback: -1, 0 or 1.
    pub feedback: i8,
    /// The visitor's comment with the feedback.
    pub comment: Option<String>,
    /// When it was written.
    pub at: Timestamp,
    /// The client's id of the turn that it belongs to.
    pub turn: Option<String>,
    /// The name of the responder, or of the person who replied.
    pub author: Option<String>,
    /// The outcome of a reply; `queued` for a visitor's message that waits for a person.
    pub outcome: Option<Outcome>,
    /// What the widget shows after it.
    pub after: FollowUp,
    /// The usage of a model.
    pub usage: Option<Usage>,
    /// The charged credits.
    pub credits: u64,
}

/// What the widget shows after a reply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FollowUp {
    /// Questions that the visitor may ask next.
    pub suggestions: Vec<String>,
    /// Whether it offers the lead form.
    pub form: bool,
    /// What the form shows filled in, by field: what the visitor said in the conversation.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub collected: BTreeMap<String, String>,
    /// The person who takes over.
    pub handoff: Option<Handoff>,
}

/// A file that a visitor attached to a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UploadRef {
    /// The id.
    pub id: FileId,
    /// The name.
    pub name: String,
    /// The size in bytes.
    pub size: u64,
    /// The media type.
    #[serde(rename = "type")]
    pub media_type: String,
}
