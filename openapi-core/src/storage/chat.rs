//! What is stored about the chat: conversations, knowledge, and small records of an agent.

use serde::{Deserialize, Serialize};

use crate::audit::AuditEntry;
use crate::chat::{Conversation, ConversationMode, ConversationStatus, KnowledgeDocument, Message, Passage};
use crate::json::RawObject;
use crate::values::{ContactId, ConversationId, FileId, KnowledgeId, MessageId, Timestamp};

/// What a step of a conversation writes, all of it or nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct ConversationWrite {
    /// The conversation as it is to be, of the version behind the stored one; 1 for a new one.
    pub conversation: Conversation,
    /// Messages that are added, or replaced where one of their number is there.
    pub messages: Vec<Message>,
    /// Documents ([`StoredDocument`](super::StoredDocument)) that have no end of their own from now on: they go when the
    /// conversation is erased, which names them among its [`uploads`](Conversation::uploads).
    pub keep: Vec<FileId>,
    /// What goes into the audit log.
    pub audit: Option<AuditEntry>,
    /// Whether nobody is kept waiting: the text of a reply that is being written. A store may hold such writes back for
    /// some milliseconds, so that many share a commit; one that writes them at once is as right.
    pub may_linger: bool,
}

/// A page of the conversations of an agent, the newest message first, then by id downwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationQuery {
    /// Which.
    pub filter: ConversationFilter,
    /// How many to pass over.
    pub offset: u64,
    /// How many to return at the most.
    pub limit: u32,
}

/// Which conversations; empty, all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConversationFilter {
    /// Those of this stored status.
    pub status: Option<ConversationStatus>,
    /// Those of this mode.
    pub mode: Option<ConversationMode>,
    /// Those linked with this contact.
    pub contact: Option<ContactId>,
    /// Those whose last message came then or later.
    pub since: Option<Timestamp>,
}

impl ConversationFilter {
    /// Whether a conversation passes.
    #[must_use]
    pub fn admits(&self, conversation: &Conversation) -> bool {
        self.status.is_none_or(|status| conversation.status == status)
            && self.mode.is_none_or(|mode| conversation.mode == mode)
            && self.contact.is_none_or(|contact| conversation.contact_id == Some(contact))
            && self.since.is_none_or(|since| conversation.last_message_at >= since)
    }
}

/// A page of conversations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConversationPage {
    /// Those of the page, in order.
    pub conversations: Vec<Conversation>,
    /// How many the filter lets through, exactly.
    pub total: u64,
}

/// Messages of a conversation, always in the order of their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageQuery {
    /// The conversation.
    pub conversation: ConversationId,
    /// Which of its messages.
    pub which: WhichMessages,
    /// How many at most.
    pub limit: u32,
}

/// Which messages of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhichMessages {
    /// The first ones behind this number.
    After(u64),
    /// The last ones before this number.
    Before(u64),
    /// The one with this id.
    Id(MessageId),
    /// Those of this turn.
    Turn(String),
}

/// A change of what an agent answers from, all of it or nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct KnowledgeWrite {
    /// The version of the agent's knowledge as it is to be: the one behind the stored one.
    pub version: u64,
    /// Documents that go, with their passages.
    pub remove: Vec<KnowledgeId>,
    /// A document that comes, with its passages by position.
    pub add: Option<(KnowledgeDocument, Vec<Passage>)>,
    /// What goes into the audit log.
    pub audit: AuditEntry,
}

/// A small record of an agent, replaced as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentRecord {
    /// What it is.
    pub kind: AgentRecordKind,
    /// How often it was saved, from 1.
    pub version: u64,
    /// Its members.
    pub body: RawObject,
}

/// What small records an agent has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AgentRecordKind {
    /// Its settings ([`AgentSettings`](crate::chat::AgentSettings)).
    Settings,
    /// What its chat has used today.
    ChatUsage,
    /// The version of its knowledge ([`KnowledgeWrite::version`]); the body is empty.
    Knowledge,
    /// What its identity secrets are made from.
    Identity,
}

impl AgentRecordKind {
    /// Every kind.
    pub const ALL: [AgentRecordKind; 4] = [
        AgentRecordKind::Settings,
        AgentRecordKind::ChatUsage,
        AgentRecordKind::Knowledge,
        AgentRecordKind::Identity,
    ];

    /// The number that stores write for it.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            AgentRecordKind::Settings => 1,
            AgentRecordKind::ChatUsage => 2,
            AgentRecordKind::Knowledge => 3,
            AgentRecordKind::Identity => 4,
        }
    }

    /// The kind of a number that a store has written.
    #[must_use]
    pub fn of_number(number: u8) -> Option<Self> {
        AgentRecordKind::ALL.into_iter().find(|kind| kind.number() == number)
    }
}
