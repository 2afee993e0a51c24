//! Conversations in the widget, with their messages.

pub(crate) mod read;
pub(crate) mod write;

use ::conversations::storage::{
    ConversationPage, ConversationQuery, ConversationStore, ConversationWrite, MessageQuery,
};
use ::conversations::{Conversation, Message};
use async_trait::async_trait;
use openapi_core::audit::AuditEntry;
use openapi_core::storage::StorageError;
use openapi_core::values::{AgentId, ConversationId, Timestamp};

pub(crate) use write::erase_of;

use crate::MongoStorage;

#[async_trait]
impl ConversationStore for MongoStorage {
    async fn conversation(
        &self,
        agent: &AgentId,
        conversation: ConversationId,
    ) -> Result<Option<Conversation>, StorageError> {
        Ok(self.handle.read(read::one(&self.handle, agent, conversation)).await?)
    }

    async fn conversations(
        &self,
        agent: &AgentId,
        query: &ConversationQuery,
    ) -> Result<ConversationPage, StorageError> {
        Ok(self.handle.list(read::page(&self.handle, agent, query)).await?)
    }

    async fn messages(&self, agent: &AgentId, query: &MessageQuery) -> Result<Vec<Message>, StorageError> {
        // No limit is what 0 means to the database.
        if query.limit == 0 {
            return Ok(Vec::new());
        }
        Ok(self.handle.list(read::messages(&self.handle, agent, query)).await?)
    }

    async fn save_conversation(
        &self,
        agent: &AgentId,
        write: &ConversationWrite,
    ) -> Result<(), StorageError> {
        let input = (agent.clone(), write.clone());
        self.writer.write(agent, input, |tx, (agent, write)| Box::pin(write::save(tx, agent, write))).await
    }

    async fn erase_conversation(
        &self,
        agent: &AgentId,
        conversation: ConversationId,
        audit: &AuditEntry,
    ) -> Result<(), StorageError> {
        let input = (agent.clone(), conversation, audit.clone());
        self.writer
            .write(agent, input, |tx, (agent, conversation, audit)| {
                Box::pin(write::erase(tx, agent, *conversation, audit))
            })
            .await
    }

    async fn expired_conversations(
        &self,
        now: Timestamp,
        at_most: u32,
    ) -> Result<Vec<(AgentId, ConversationId)>, StorageError> {
        Ok(self.handle.list(read::expired(&self.handle, now, at_most)).await?)
    }
}
