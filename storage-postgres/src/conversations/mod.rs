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

use crate::PostgresStorage;
use crate::error::Result;
use crate::rows::Columns;

#[async_trait]
impl ConversationStore for PostgresStorage {
    async fn conversation(
        &self,
        agent: &AgentId,
        conversation: ConversationId,
    ) -> Result<Option<Conversation>, StorageError> {
        let row = self.db.read_one(read::one(agent, conversation)?).await?;
        Ok(row.map(|row| Columns::of(&row).json()).transpose()?)
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
        let rows = self.db.read(read::messages(agent, query)?).await?;
        let found = rows.iter().map(|row| Columns::of(row).json()).collect::<Result<_>>()?;
        Ok(read::in_order(query, found))
    }

    async fn save_conversation(
        &self,
        agent: &AgentId,
        write: &ConversationWrite,
    ) -> Result<(), StorageError> {
        self.db
            .write((agent.clone(), write.clone()), |db, (agent, write)| {
                Box::pin(write::save(db, agent, write))
            })
            .await
    }

    async fn erase_conversation(
        &self,
        agent: &AgentId,
        conversation: ConversationId,
        audit: &AuditEntry,
    ) -> Result<(), StorageError> {
        self.db
            .write((agent.clone(), conversation, audit.clone()), |db, (agent, conversation, audit)| {
                Box::pin(write::erase(db, agent, *conversation, audit))
            })
            .await
    }

    async fn expired_conversations(
        &self,
        now: Timestamp,
        at_most: u32,
    ) -> Result<Vec<(AgentId, ConversationId)>, StorageError> {
        let rows = self.db.read(read::expired(now, at_most)?).await?;
        Ok(rows.iter().map(read::place).collect::<Result<_>>()?)
    }
}
