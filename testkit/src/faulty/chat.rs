//! The chat stores.

use async_trait::async_trait;

use super::FaultyStorage;
use conversations::storage::{
    ConversationPage, ConversationQuery, ConversationStore, ConversationWrite, KnowledgeStore,
    KnowledgeWrite, MessageQuery,
};
use conversations::{Conversation, KnowledgeDocument, Message, Passage};
use openapi_core::audit::AuditEntry;
use openapi_core::storage::{AgentRecord, AgentRecordKind, AgentRecordStore, Result};
use openapi_core::values::{AgentId, ConversationId, KnowledgeId, Timestamp};

#[async_trait]
impl ConversationStore for FaultyStorage {
    async fn conversation(&self, agent: &AgentId, id: ConversationId) -> Result<Option<Conversation>> {
        self.ready()?;
        self.through(self.inner.conversation(agent, id)).await
    }

    async fn conversations(&self, agent: &AgentId, query: &ConversationQuery) -> Result<ConversationPage> {
        self.ready()?;
        self.through(self.inner.conversations(agent, query)).await
    }

    async fn messages(&self, agent: &AgentId, query: &MessageQuery) -> Result<Vec<Message>> {
        self.ready()?;
        self.through(self.inner.messages(agent, query)).await
    }

    async fn save_conversation(&self, agent: &AgentId, write: &ConversationWrite) -> Result<()> {
        self.before_write().await?;
        self.through(self.inner.save_conversation(agent, write)).await
    }

    async fn erase_conversation(
        &self,
        agent: &AgentId,
        id: ConversationId,
        audit: &AuditEntry,
    ) -> Result<()> {
        self.through(self.inner.erase_conversation(agent, id, audit)).await
    }

    async fn expired_conversations(
        &self,
        now: Timestamp,
        at_most: u32,
    ) -> Result<Vec<(AgentId, ConversationId)>> {
        self.through(self.inner.expired_conversations(now, at_most)).await
    }
}

#[async_trait]
impl KnowledgeStore for FaultyStorage {
    async fn knowledge(&self, agent: &AgentId) -> Result<Vec<KnowledgeDocument>> {
        self.ready()?;
        self.through(self.inner.knowledge(agent)).await
    }

    async fn passages(
        &self,
        agent: &AgentId,
        after: Option<(KnowledgeId, u32)>,
        at_most: u32,
    ) -> Result<Vec<(KnowledgeId, Passage)>> {
        self.ready()?;
        self.through(self.inner.passages(agent, after, at_most)).await
    }

    async fn change_knowledge(&self, agent: &AgentId, write: &KnowledgeWrite) -> Result<()> {
        self.before_write().await?;
        self.through(self.inner.change_knowledge(agent, write)).await
    }
}

#[async_trait]
impl AgentRecordStore for FaultyStorage {
    async fn agent_record(&self, agent: &AgentId, kind: AgentRecordKind) -> Result<Option<AgentRecord>> {
        self.ready()?;
        self.through(self.inner.agent_record(agent, kind)).await
    }

    async fn save_agent_record(
        &self,
        agent: &AgentId,
        record: &AgentRecord,
        audit: Option<&AuditEntry>,
    ) -> Result<()> {
        self.before_write().await?;
        self.through(self.inner.save_agent_record(agent, record, audit)).await
    }
}
