//! Conversations, knowledge, and the small records of agents.

use std::cmp::Reverse;

use async_trait::async_trait;
use conversations::storage::{
    ConversationPage, ConversationQuery, ConversationStore, ConversationWrite, KnowledgeStore,
    KnowledgeWrite, MessageQuery, MessageSelector,
};
use conversations::{Conversation, KnowledgeDocument, Message, Passage};
use openapi_core::audit::AuditEntry;
use openapi_core::json::RawObject;
use openapi_core::ports::BlobKey;
use openapi_core::storage::StorageErrorKind::{AlreadyExists, Missing, Stale};
use openapi_core::storage::{RecordKind, RecordStore, Result, StoredRecord};
use openapi_core::values::{AgentId, ConversationId, FileId, KnowledgeId, Timestamp};

use crate::MapStorage;
use crate::tables::{Tables, refuse_stale};

impl Tables {
    /// Removes conversations with their messages; what their visitors have sent is to go.
    pub fn erase_conversations(
        &mut self,
        agent: &AgentId,
        at: Timestamp,
        goes: impl Fn(&ConversationId, &Conversation) -> bool,
    ) {
        let going = self.conversations.of(agent).filter(|(id, row)| goes(id, row));
        let uploads: Vec<FileId> = going.flat_map(|(_, row)| row.uploads.clone()).collect();
        for gone in self.conversations.sift(agent, |id, row| !goes(id, row)) {
            self.messages.sift(agent, |(conversation, _), _| *conversation != gone);
        }
        for upload in uploads {
            if self.documents.remove(agent, &upload).is_some() {
                self.purges.insert(BlobKey::new(agent.clone(), upload), at);
            }
        }
    }
}

#[async_trait]
impl ConversationStore for MapStorage {
    async fn conversation(
        &self,
        agent: &AgentId,
        conversation: ConversationId,
    ) -> Result<Option<Conversation>> {
        Ok(self.of(agent).and_then(|tables| tables.conversations.row(agent, &conversation).cloned()))
    }

    async fn conversations(&self, agent: &AgentId, query: &ConversationQuery) -> Result<ConversationPage> {
        let Some(tables) = self.of(agent) else { return Ok(ConversationPage::default()) };
        let all = tables.conversations.of(agent).map(|(_, conversation)| conversation);
        let mut found: Vec<&Conversation> = all.filter(|it| query.filter.admits(it)).collect();
        found.sort_by_key(|it| Reverse((it.last_message_at, it.id)));
        let total = found.len() as u64;
        let first = usize::try_from(query.offset).unwrap_or(usize::MAX);
        let shown = found.into_iter().skip(first).take(query.limit as usize);
        Ok(ConversationPage { conversations: shown.cloned().collect(), total })
    }

    async fn messages(&self, agent: &AgentId, query: &MessageQuery) -> Result<Vec<Message>> {
        let Some(tables) = self.of(agent) else { return Ok(Vec::new()) };
        let is_asked = |message: &Message| match &query.which {
            MessageSelector::After(seq) => message.seq > *seq,
            MessageSelector::Before(seq) => message.seq < *seq,
            MessageSelector::Id(id) => message.id == *id,
            MessageSelector::Turn(turn) => message.turn.as_ref() == Some(turn),
        };
        let all = tables.messages.of(agent).filter(|((of, _), _)| *of == query.conversation);
        let mut found: Vec<Message> =
            all.map(|(_, message)| message).filter(|message| is_asked(message)).cloned().collect();
        let limit = query.limit as usize;
        if matches!(query.which, MessageSelector::Before(_)) {
            found.drain(..found.len().saturating_sub(limit));
        }
        found.truncate(limit);
        Ok(found)
    }

    async fn save_conversation(&self, agent: &AgentId, write: &ConversationWrite) -> Result<()> {
        let mut tables = self.change(agent)?;
        let conversation = &write.conversation;
        let stored = tables.conversations.row(agent, &conversation.id).map(|stored| stored.version);
        refuse_stale(stored, conversation.version)?;
        if write.keep.iter().any(|document| tables.documents.row(agent, document).is_none()) {
            return Err(Stale.into());
        }
        tables.conversations.put(agent, conversation.id, conversation.clone());
        for message in &write.messages {
            tables.messages.put(agent, (conversation.id, message.seq), message.clone());
        }
        for document in &write.keep {
            tables.purges.remove(&BlobKey::new(agent.clone(), *document));
        }
        if let Some(audit) = &write.audit {
            tables.note(audit);
        }
        Ok(())
    }

    async fn erase_conversation(
        &self,
        agent: &AgentId,
        conversation: ConversationId,
        audit: &AuditEntry,
    ) -> Result<()> {
        let mut tables = self.change(agent)?;
        tables.conversations.row(agent, &conversation).ok_or(Missing)?;
        tables.erase_conversations(agent, audit.at, |id, _| *id == conversation);
        tables.note(audit);
        Ok(())
    }

    async fn expired_conversations(
        &self,
        now: Timestamp,
        at_most: u32,
    ) -> Result<Vec<(AgentId, ConversationId)>> {
        let tables = self.tables();
        let living = tables.conversations.all().filter(|(agent, _, _)| tables.is_living(agent));
        let mut due: Vec<(Timestamp, &AgentId, ConversationId)> = living
            .filter(|(_, _, conversation)| conversation.expires_at <= now)
            .map(|(agent, id, conversation)| (conversation.expires_at, agent, *id))
            .collect();
        due.sort();
        Ok(due.into_iter().take(at_most as usize).map(|(_, agent, id)| (agent.clone(), id)).collect())
    }
}

#[async_trait]
impl KnowledgeStore for MapStorage {
    async fn knowledge(&self, agent: &AgentId) -> Result<Vec<KnowledgeDocument>> {
        let Some(tables) = self.of(agent) else { return Ok(Vec::new()) };
        Ok(tables.knowledge.of(agent).map(|(_, document)| document.clone()).collect())
    }

    async fn passages(
        &self,
        agent: &AgentId,
        after: Option<(KnowledgeId, u32)>,
        at_most: u32,
    ) -> Result<Vec<(KnowledgeId, Passage)>> {
        let Some(tables) = self.of(agent) else { return Ok(Vec::new()) };
        let behind = tables.passages.of(agent).filter(|(place, _)| after.is_none_or(|after| **place > after));
        let shown = behind.take(at_most as usize);
        Ok(shown.map(|((document, _), passage)| (*document, passage.clone())).collect())
    }

    async fn change_knowledge(&self, agent: &AgentId, write: &KnowledgeWrite) -> Result<()> {
        let mut tables = self.change(agent)?;
        let kind = RecordKind::Knowledge;
        refuse_stale(tables.records.row(agent, &kind).map(|record| record.version), write.version)?;
        let is_used =
            |id: &KnowledgeId| tables.knowledge.row(agent, id).is_some() && !write.remove.contains(id);
        if write.add.as_ref().is_some_and(|(document, _)| is_used(&document.id)) {
            return Err(AlreadyExists.into());
        }
        for id in &write.remove {
            tables.knowledge.remove(agent, id);
            tables.passages.sift(agent, |(document, _), _| document != id);
        }
        if let Some((document, passages)) = &write.add {
            tables.knowledge.put(agent, document.id, document.clone());
            for passage in passages {
                tables.passages.put(agent, (document.id, passage.position), passage.clone());
            }
        }
        let record = StoredRecord { kind, version: write.version, body: RawObject::default() };
        tables.records.put(agent, kind, record);
        tables.note(&write.audit);
        Ok(())
    }
}

#[async_trait]
impl RecordStore for MapStorage {
    async fn record(&self, agent: &AgentId, kind: RecordKind) -> Result<Option<StoredRecord>> {
        Ok(self.of(agent).and_then(|tables| tables.records.row(agent, &kind).cloned()))
    }

    async fn save_record(
        &self,
        agent: &AgentId,
        record: &StoredRecord,
        audit: Option<&AuditEntry>,
    ) -> Result<()> {
        let mut tables = self.change(agent)?;
        refuse_stale(tables.records.row(agent, &record.kind).map(|stored| stored.version), record.version)?;
        tables.records.put(agent, record.kind, record.clone());
        if let Some(audit) = audit {
            tables.note(audit);
        }
        Ok(())
    }
}
