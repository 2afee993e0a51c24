//! The operator's actions on an agent's chat: settings, knowledge, conversations.

use async_trait::async_trait;
use openapi_core::access::Actor;
use openapi_core::admin::AdminError;
use openapi_core::files::Sha256Digest;
use openapi_core::json::Object;
use openapi_core::values::{AgentId, ConversationId, KnowledgeId};

use crate::storage::{ConversationPage, ConversationQuery};
use crate::{AgentSettings, Conversation, KnowledgeDocument, Message, Passage};

/// The operator's capabilities around the chat. Changes record `by` in the audit log.
///
/// # Errors
/// Every method fails with [`AdminError::NotFound`] for an agent, document or conversation that does not exist, and
/// with [`AdminError::Storage`] when the store fails. Each method documents its other errors.
#[async_trait]
pub trait ChatAdmin: Send + Sync {
    /// The settings of an agent's widget and chat; the built-in ones where none were made.
    async fn agent_settings(&self, agent: &AgentId) -> Result<AgentSettings, AdminError>;

    /// Replaces the settings as a whole; what is left out is as built in. Servers follow within 5 s. A new
    /// `retentionDays` holds for the conversations that are there, too.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] with the faults, each with its path.
    async fn configure_agent(
        &self,
        by: &Actor,
        agent: &AgentId,
        settings: &Object,
    ) -> Result<AgentSettings, AdminError>;

    /// The secret under which the page's server vouches for its signed-in users, and the one before while it still
    /// holds; none before the first was made.
    async fn identity_secrets(&self, agent: &AgentId) -> Result<Vec<String>, AdminError>;

    /// Makes a new identity secret. The one before stays valid for `grace_millis`, 0 to 7 days.
    ///
    /// # Errors
    /// [`AdminError::Refused`] for a longer grace.
    async fn rotate_identity_secret(
        &self,
        by: &Actor,
        agent: &AgentId,
        grace_millis: u64,
    ) -> Result<String, AdminError>;

    /// The documents that an agent answers from, by title.
    async fn knowledge(&self, agent: &AgentId) -> Result<Vec<KnowledgeDocument>, AdminError>;

    /// Adds a document, in place of those with the same `url` or the same file name.
    ///
    /// # Errors
    /// [`AdminError::Refused`] for a document without text, or beyond the bounds of [`KnowledgeLimits`].
    async fn add_knowledge(
        &self,
        by: &Actor,
        agent: &AgentId,
        document: NewKnowledge,
    ) -> Result<KnowledgeDocument, AdminError>;

    /// Removes a document.
    async fn remove_knowledge(
        &self,
        by: &Actor,
        agent: &AgentId,
        document: KnowledgeId,
    ) -> Result<KnowledgeDocument, AdminError>;

    /// A page of conversations, the newest message first, and the exact number of all that the filter lets through.
    async fn conversations(
        &self,
        agent: &AgentId,
        query: &ConversationQuery,
    ) -> Result<ConversationPage, AdminError>;

    /// One conversation.
    async fn conversation(
        &self,
        agent: &AgentId,
        conversation: ConversationId,
    ) -> Result<Conversation, AdminError>;

    /// Up to `limit` messages of a conversation after the number `after`.
    async fn messages(
        &self,
        agent: &AgentId,
        conversation: ConversationId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Message>, AdminError>;

    /// Takes a conversation over: what the visitor writes waits for a person. `by` counts its messages as read.
    ///
    /// # Errors
    /// [`AdminError::Conflict`] for a conversation that is closed.
    async fn take_conversation(
        &self,
        by: &Actor,
        agent: &AgentId,
        conversation: ConversationId,
    ) -> Result<Conversation, AdminError>;

    /// Writes to the visitor, as the person of this name, up to 100 characters; takes the conversation over.
    ///
    /// # Errors
    /// [`AdminError::Conflict`] for a conversation that is closed, [`AdminError::Refused`] for a text that is empty or
    /// longer than 4,000 characters.
    async fn reply_to_conversation(
        &self,
        by: &Actor,
        agent: &AgentId,
        conversation: ConversationId,
        name: &str,
        text: &str,
    ) -> Result<Message, AdminError>;

    /// Lets the agent answer again.
    async fn release_conversation(
        &self,
        by: &Actor,
        agent: &AgentId,
        conversation: ConversationId,
    ) -> Result<Conversation, AdminError>;

    /// Closes a conversation: the visitor can read it, and begins another one with the next message.
    async fn close_conversation(
        &self,
        by: &Actor,
        agent: &AgentId,
        conversation: ConversationId,
    ) -> Result<Conversation, AdminError>;

    /// Ends all tokens of a conversation: its visitor can neither read nor continue it, and begins another one with the
    /// next message. What was said stays.
    async fn revoke_conversation(
        &self,
        by: &Actor,
        agent: &AgentId,
        conversation: ConversationId,
    ) -> Result<Conversation, AdminError>;

    /// Erases a conversation with its messages. The visitor's tokens end with it.
    async fn erase_conversation(
        &self,
        by: &Actor,
        agent: &AgentId,
        conversation: ConversationId,
    ) -> Result<Conversation, AdminError>;
}

/// A document to answer from, read and cut.
#[derive(Clone, Debug, PartialEq)]
pub struct NewKnowledge {
    /// The name of the file.
    pub file_name: String,
    /// What visitors see as the name of the source.
    pub title: String,
    /// Where visitors may read it: an absolute http or https URL.
    pub url: Option<String>,
    /// Its language, as a BCP 47 tag.
    pub language: Option<String>,
    /// The media type of the file.
    pub content_type: String,
    /// SHA-256 of the file.
    pub sha256: Sha256Digest,
    /// Characters of its text.
    pub characters: u64,
    /// Its pages, where it has pages.
    pub pages: Option<u32>,
    /// Its passages, in order.
    pub passages: Vec<Passage>,
}

/// The limits of an agent's documents, with the documented defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KnowledgeLimits {
    /// Bytes of a document (25 MiB). Enforced by the code that reads the file.
    pub bytes: u64,
    /// Pages of a document (1,000).
    pub pages: u32,
    /// Characters of a document (5,000,000).
    pub characters: u64,
    /// Documents of an agent (1,000).
    pub documents: u32,
    /// Passages of an agent (50,000).
    pub passages: u64,
}

impl Default for KnowledgeLimits {
    fn default() -> Self {
        KnowledgeLimits {
            bytes: 25 * 1024 * 1024,
            pages: 1_000,
            characters: 5_000_000,
            documents: 1_000,
            passages: 50_000,
        }
    }
}
