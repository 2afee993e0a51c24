//! The implementation of [`ConversationStore`].

use ::conversations::storage::{
    ConversationPage, ConversationQuery, ConversationStore, ConversationWrite, MessageQuery,
};
use ::conversations::{Conversation, Message};
use async_trait::async_trait;
use openapi_core::storage::{Effects, StorageError};
use openapi_core::values::{AgentId, ConversationId, Timestamp};
use storage_common::in_transaction;

use super::{read, write};
use crate::store::MongoStorage;

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
        // To the database 0 means no limit.
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
        in_transaction!(self.writer.write(agent), write::save(agent, write))
    }

    async fn erase_conversation(
        &self,
        agent: &AgentId,
        conversation: ConversationId,
        at: Timestamp,
        effects: &Effects,
    ) -> Result<(), StorageError> {
        in_transaction!(self.writer.write(agent), write::erase(agent, *conversation, *at, effects))
    }

    async fn expired_conversations(
        &self,
        now: Timestamp,
        at_most: u32,
    ) -> Result<Vec<(AgentId, ConversationId)>, StorageError> {
        Ok(self.handle.list(read::expired(&self.handle, now, at_most)).await?)
    }
}
