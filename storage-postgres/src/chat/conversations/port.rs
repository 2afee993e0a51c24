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
use crate::store::PostgresStorage;

#[async_trait]
impl ConversationStore for PostgresStorage {
    async fn conversation(
        &self,
        agent: &AgentId,
        conversation: ConversationId,
    ) -> Result<Option<Conversation>, StorageError> {
        self.db.read_one(read::one(agent, conversation)?, |r| r.json()).await
    }

    async fn conversations(
        &self,
        agent: &AgentId,
        query: &ConversationQuery,
    ) -> Result<ConversationPage, StorageError> {
        let rows = self.db.read(read::page(agent, query)?).await?;
        Ok(read::listed(&rows)?)
    }

    async fn messages(&self, agent: &AgentId, query: &MessageQuery) -> Result<Vec<Message>, StorageError> {
        let found = self.db.read_all(read::messages(agent, query)?, |r| r.json()).await?;
        Ok(read::in_order(query, found))
    }

    async fn save_conversation(
        &self,
        agent: &AgentId,
        write: &ConversationWrite,
    ) -> Result<(), StorageError> {
        in_transaction!(self.db.write(), write::save(agent, write))
    }

    async fn erase_conversation(
        &self,
        agent: &AgentId,
        conversation: ConversationId,
        at: Timestamp,
        effects: &Effects,
    ) -> Result<(), StorageError> {
        in_transaction!(self.db.write(), write::erase(agent, *conversation, *at, effects))
    }

    async fn expired_conversations(
        &self,
        now: Timestamp,
        at_most: u32,
    ) -> Result<Vec<(AgentId, ConversationId)>, StorageError> {
        self.db.read_all(read::expired(now, at_most)?, read::key).await
    }
}
