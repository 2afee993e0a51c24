//! A conversation between a visitor and an agent, and its messages.

use std::fmt;
use std::str::FromStr;

use openapi_core::json::RawObject;
use openapi_core::values::{AgentId, ContactId, ConversationId, FileId, MessageId, PlatformId, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{ChatPage, Handoff, Outcome, Source, Speaker, Usage};

/// How long a conversation stays open without a word.
const SILENCE_MILLIS: i64 = 24 * 3_600_000;

/// A conversation. It changes only through [`ConversationStore::save_conversation`], version by version.
///
/// [`ConversationStore::save_conversation`]: crate::storage::ConversationStore::save_conversation
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Conversation {
    /// The id.
    pub id: ConversationId,
    /// The agent.
    pub agent_id: AgentId,
    /// How often it was saved, from 1.
    pub version: u64,
    /// Who writes in it.
    pub visitor_id: VisitorId,
    /// 0 anonymous, 1 an email is claimed, 2 verified until [`Conversation::verified_until`].
    pub level: u8,
    /// Until when the visitor counts as verified.
    pub verified_until: Option<Timestamp>,
    /// Whom the page's server has vouched for.
    pub verified_as: Option<VerifiedUser>,
    /// The contact that it is linked with.
    pub contact_id: Option<ContactId>,
    /// What the visitor or the page says of the visitor; it identifies nobody.
    pub claims: Claims,
    /// What the visitor has left in the lead form.
    pub lead: Option<Lead>,
    /// Whether it goes on.
    pub status: ConversationStatus,
    /// Who answers.
    pub mode: ConversationMode,
    /// Since when nobody of the operator's has answered while a human was to: the mode goes back some time after.
    pub waiting_since: Option<Timestamp>,
    /// The language of the widget.
    pub locale: String,
    /// The visitor's time zone, as the browser names it.
    pub time_zone: Option<String>,
    /// The page that it began on.
    pub page: Option<ChatPage>,
    /// What the page gave along.
    pub metadata: RawObject,
    /// How many messages it has: the number of the last one.
    pub message_count: u64,
    /// Messages of the visitor that nobody of the operator's has read.
    pub operator_unread: u64,
    /// The last message that the visitor has read.
    pub visitor_read: u64,
    /// When the last message came.
    pub last_message_at: Timestamp,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
    /// When it began.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// When it is erased, with everything in it.
    pub expires_at: Timestamp,
    /// What tokens must carry; raising it ends all that were given out.
    pub epoch: u32,
    /// Where the visitor came from, cut to a network (/24, IPv6 /48).
    pub network: Option<String>,
    /// When the visitor's last turns and forms began: what the limits count. The newest last.
    pub counted: Counted,
    /// Files that the visitor has sent, with a message or not yet: documents that are erased with the conversation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uploads: Vec<FileId>,
    /// The turn that is being answered.
    pub running: Option<RunningTurn>,
}

impl Conversation {
    /// The status at `now`: one day of silence closes a conversation.
    #[must_use]
    pub fn status_at(&self, now: Timestamp) -> ConversationStatus {
        let is_silent = now.millis().saturating_sub(self.last_message_at.millis()) >= SILENCE_MILLIS;
        if is_silent { ConversationStatus::Closed } else { self.status }
    }

    /// The level at `now`: a verification ends by itself.
    #[must_use]
    pub fn level_at(&self, now: Timestamp) -> u8 {
        match self.verified_until {
            Some(until) if until > now => 2,
            _ => self.level.min(1),
        }
    }
}

/// When a visitor's turns and forms began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Counted {
    /// Turns of the last day.
    pub turns: Vec<Timestamp>,
    /// Lead forms of the last day.
    pub leads: Vec<Timestamp>,
    /// Uploads of the last day.
    pub uploads: Vec<Timestamp>,
}

/// A turn with a running answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunningTurn {
    /// The turn, as the client named it.
    pub turn: String,
    /// The process that answers it.
    pub owner: PlatformId,
    /// Until when it counts as running if nothing more is heard of that process.
    pub lease_until: Timestamp,
    /// The reply so far.
    pub text: String,
    /// Whether the visitor has asked for its end.
    #[serde(default)]
    pub cancelled: bool,
}

/// A visitor: 16 random bytes, written as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VisitorId(pub [u8; 16]);

impl fmt::Display for VisitorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
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
        let digits: &[u8; 32] = text.as_bytes().try_into().map_err(|_| InvalidVisitorId)?;
        let nibble = |digit: u8| match digit {
            b'0'..=b'9' => Ok(digit - b'0'),
            b'a'..=b'f' => Ok(digit - b'a' + 10),
            _ => Err(InvalidVisitorId),
        };
        let mut bytes = [0; 16];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Ok(VisitorId(bytes))
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
    /// What the visitor has agreed to.
    pub consent: Option<Consent>,
    /// When.
    pub at: Timestamp,
    /// Why no contact was made of it, for the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The consent of a visitor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Consent {
    /// The version of the text.
    pub version: String,
    /// When.
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
            /// Every one.
            pub const ALL: &'static [$name] = &[$($name::$item),*];

            /// The word.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$item => $word,)* }
            }

            /// That of a word.
            #[must_use]
            pub fn of_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.as_str() == word)
            }
        }
    };
}

words! {
    /// Whether a conversation goes on.
    ConversationStatus {
        /// The visitor's next message belongs to it.
        Open = "open",
        /// It can be read only; the visitor's next message begins another one.
        Closed = "closed",
    }
}

words! {
    /// Who answers.
    ConversationMode {
        /// The AI chat agent.
        Ai = "ai",
        /// A person.
        Human = "human",
    }
}

words! {
    /// Whether a message is whole.
    MessageState {
        /// It is.
        Complete = "complete",
        /// The visitor ended the reply.
        Stopped = "stopped",
        /// The reply failed, or its time was over.
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
    /// Who said it.
    pub role: Speaker,
    /// What: of a visitor plain text, else Markdown.
    pub text: String,
    /// Whether it is whole.
    pub state: MessageState,
    /// What it cites.
    pub sources: Vec<Source>,
    /// What came with it.
    pub uploads: Vec<UploadRef>,
    /// What the visitor thinks of it: -1, 0 or 1.
    pub feedback: i8,
    /// What the visitor says about it.
    pub comment: Option<String>,
    /// When.
    pub at: Timestamp,
    /// The turn that it belongs to, as the client named it.
    pub turn: Option<String>,
    /// What answered, or the name of the person who did.
    pub author: Option<String>,
    /// Of a reply how it ended; of a visitor's message that a human is to answer, `queued`.
    pub outcome: Option<Outcome>,
    /// What followed it on the visitor's screen.
    pub after: FollowUp,
    /// What it used of a model.
    pub usage: Option<Usage>,
    /// What it cost.
    pub credits: u64,
}

/// What the widget shows after a reply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FollowUp {
    /// Questions that the visitor may ask next.
    pub suggestions: Vec<String>,
    /// Whether the lead form is offered.
    pub form: bool,
    /// Who takes over.
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
    /// Bytes.
    pub size: u64,
    /// The media type.
    #[serde(rename = "type")]
    pub media_type: String,
}
