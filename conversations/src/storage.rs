//! The storage ports of the chat: conversations and knowledge.

use async_trait::async_trait;
#[cfg(doc)]
use openapi_core::storage::{ContactStore, DocumentStore, RecordKind, StorageErrorKind};
use openapi_core::storage::{Effects, RecordStore, Result, Storage};
use openapi_core::values::{AgentId, ContactId, ConversationId, FileId, KnowledgeId, MessageId, Timestamp};

use crate::{Conversation, ConversationMode, ConversationStatus, KnowledgeDocument, Message, Passage};

/// What a step of a conversation writes, all of it or nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct ConversationWrite {
    /// The conversation as it is to be, of the version after the stored one; 1 for a new one.
    pub conversation: Conversation,
    /// Messages that are added, or replaced where one of their number is there.
    pub messages: Vec<Message>,
    /// Documents ([`StoredDocument`](openapi_core::storage::StoredDocument)) that have no end of their own from now on:
    /// they go when the conversation is erased, which names them among its [`uploads`](Conversation::uploads).
    pub keep: Vec<FileId>,
    /// What else is written.
    pub effects: Effects,
    /// Whether no caller waits for it: the text of a reply that is being written. A store may hold such writes back for
    /// some milliseconds, so that many share a commit; a store that writes them at once is just as correct.
    pub deferrable: bool,
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
    /// Whether a conversation matches.
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
    /// The exact number of conversations that match the filter.
    pub total: u64,
}

/// Messages of a conversation, always in the order of their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageQuery {
    /// The conversation.
    pub conversation: ConversationId,
    /// Which of its messages.
    pub which: MessageSelector,
    /// How many at most.
    pub limit: u32,
}

/// Which messages of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageSelector {
    /// The first ones after this number.
    After(u64),
    /// The last ones before this number.
    Before(u64),
    /// The one with this id.
    Id(MessageId),
    /// Those of this turn.
    Turn(String),
}

/// A change of an agent's knowledge, all of it or nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct KnowledgeWrite {
    /// The version of the agent's knowledge as it is to be: the one after the stored one.
    pub version: u64,
    /// Documents that go, with their passages.
    pub remove: Vec<KnowledgeId>,
    /// A document that comes, with its passages by position.
    pub add: Option<(KnowledgeDocument, Vec<Passage>)>,
    /// What else is written.
    pub effects: Effects,
}

/// Everything that the platform and the chat over it store. Implement the parts; a blanket implementation adds this
/// trait.
pub trait ConversationStorage: Storage + ConversationStore + KnowledgeStore {}

impl<S> ConversationStorage for S where S: Storage + ConversationStore + KnowledgeStore {}

/// Conversations in the widget, with their messages.
#[async_trait]
pub trait ConversationStore: Send + Sync {
    /// One conversation.
    async fn conversation(
        &self,
        agent: &AgentId,
        conversation: ConversationId,
    ) -> Result<Option<Conversation>>;

    /// A page of conversations and the exact number of all that the filter lets through.
    async fn conversations(&self, agent: &AgentId, query: &ConversationQuery) -> Result<ConversationPage>;

    /// Messages of a conversation, by their numbers; none of one that is not there.
    async fn messages(&self, agent: &AgentId, query: &MessageQuery) -> Result<Vec<Message>>;

    /// Stores a step of a conversation if the stored version is `write.conversation.version - 1`, 0 standing for none.
    /// The contents of the documents in `write.keep` are due no more.
    ///
    /// # Errors
    /// In this order: [`Missing`](StorageErrorKind::Missing) without such an agent,
    /// [`Stale`](StorageErrorKind::Stale) when another version is stored, or one of the documents is not there.
    async fn save_conversation(&self, agent: &AgentId, write: &ConversationWrite) -> Result<()>;

    /// Removes a conversation with its messages, and as [`DocumentStore::discard_document`] its
    /// [`uploads`](Conversation::uploads), at `at`. The erasure of a contact does the same with
    /// its conversations ([`ContactStore::erase_contact`]).
    ///
    /// # Errors
    /// [`Missing`](StorageErrorKind::Missing) when the conversation is not there.
    async fn erase_conversation(
        &self,
        agent: &AgentId,
        conversation: ConversationId,
        at: Timestamp,
        effects: &Effects,
    ) -> Result<()>;

    /// Up to `at_most` conversations of all agents that are not deleted whose [`Conversation::expires_at`] has come by
    /// `now`, those due longest first, then by agent and id. The operator's own.
    async fn expired_conversations(
        &self,
        now: Timestamp,
        at_most: u32,
    ) -> Result<Vec<(AgentId, ConversationId)>>;
}

/// The knowledge of agents. Its version is the version of the record [`RecordKind::Knowledge`].
#[async_trait]
pub trait KnowledgeStore: RecordStore {
    /// The documents of an agent, by id.
    async fn knowledge(&self, agent: &AgentId) -> Result<Vec<KnowledgeDocument>>;

    /// Up to `at_most` passages after `after`, by document and position.
    async fn passages(
        &self,
        agent: &AgentId,
        after: Option<(KnowledgeId, u32)>,
        at_most: u32,
    ) -> Result<Vec<(KnowledgeId, Passage)>>;

    /// Changes the documents if the stored version is `write.version - 1`, and stores the version as that of the
    /// record [`RecordKind::Knowledge`]. Documents to remove that are not there are passed over.
    ///
    /// # Errors
    /// In this order: [`Missing`](StorageErrorKind::Missing) without such an agent,
    /// [`Stale`](StorageErrorKind::Stale) when another version is stored,
    /// [`AlreadyExists`](StorageErrorKind::AlreadyExists) when the id of the document that comes is in use by one that
    /// does not go.
    async fn change_knowledge(&self, agent: &AgentId, write: &KnowledgeWrite) -> Result<()>;
}
