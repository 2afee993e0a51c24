//! Conversations and knowledge in the model.

use std::cmp::Reverse;

use super::{Tenant, World};
use conversations::storage::{
    ConversationPage, ConversationQuery, ConversationWrite, KnowledgeWrite, MessageQuery, MessageSelector,
};
use conversations::{Conversation, KnowledgeDocument, Message, Passage};
use openapi_core::agents::AgentStatus;
use openapi_core::json::RawObject;
use openapi_core::ports::BlobKey;
use openapi_core::storage::{
    Effects, RecordKey, RecordKind, Result, StorageErrorKind, StoredRecord, Subject,
};
use openapi_core::values::{AgentId, ConversationId, FileId, KnowledgeId, Timestamp};

/// Whether `version` directly follows the stored one.
fn refuse_stale(stored: Option<u64>, version: u64) -> Result<()> {
    if stored.unwrap_or(0).checked_add(1) == Some(version) {
        Ok(())
    } else {
        Err(StorageErrorKind::Stale.into())
    }
}

impl Tenant {
    /// Removes conversations with their messages and their visitors' documents; returns those documents.
    pub(super) fn erase_conversations(
        &mut self,
        erased: impl Fn(&Conversation) -> bool,
        at: Timestamp,
    ) -> Vec<FileId> {
        let mut uploads = Vec::new();
        let mut subjects = Vec::new();
        self.conversations.retain(|_, conversation| {
            let stays = !erased(conversation);
            if !stays {
                subjects.push(Subject::Conversation(conversation.id));
                uploads.append(&mut conversation.uploads);
            }
            stays
        });
        subjects.into_iter().for_each(|subject| self.erase_subject(subject, at));
        let conversations = &self.conversations;
        self.messages.retain(|(conversation, _), _| conversations.contains_key(conversation));
        uploads.retain(|document| self.documents.remove(document).is_some());
        uploads
    }
}

impl World {
    /// Schedules the contents of documents for deletion.
    pub(super) fn make_due(&mut self, agent: &AgentId, documents: Vec<FileId>, now: Timestamp) {
        let due = documents.into_iter().map(|document| (BlobKey::new(agent.clone(), document), now));
        self.purges.extend(due);
    }

    pub(crate) fn conversation(&self, agent: &AgentId, id: ConversationId) -> Option<Conversation> {
        self.tenant(agent)?.conversations.get(&id).cloned()
    }

    pub(crate) fn conversations(&self, agent: &AgentId, query: &ConversationQuery) -> ConversationPage {
        let Some(tenant) = self.tenant(agent) else { return ConversationPage::default() };
        let mut found: Vec<&Conversation> =
            tenant.conversations.values().filter(|conversation| query.filter.admits(conversation)).collect();
        found.sort_by_key(|conversation| Reverse((conversation.last_message_at, conversation.id)));
        let total = found.len() as u64;
        let skipped = usize::try_from(query.offset).unwrap_or(usize::MAX);
        let shown = found.into_iter().skip(skipped).take(query.limit as usize);
        ConversationPage { conversations: shown.cloned().collect(), total }
    }

    pub(crate) fn messages(&self, agent: &AgentId, query: &MessageQuery) -> Vec<Message> {
        let Some(tenant) = self.tenant(agent) else { return Vec::new() };
        let id = query.conversation;
        let all = tenant.messages.range((id, 0)..=(id, u64::MAX)).map(|(_, message)| message);
        let limit = query.limit as usize;
        let mut found: Vec<Message> = match &query.which {
            MessageSelector::After(seq) => all.filter(|it| it.seq > *seq).take(limit).cloned().collect(),
            MessageSelector::Before(seq) => {
                all.filter(|it| it.seq < *seq).rev().take(limit).cloned().collect()
            }
            MessageSelector::Id(id) => all.filter(|it| it.id == *id).take(limit).cloned().collect(),
            MessageSelector::Turn(turn) => {
                all.filter(|it| it.turn.as_ref() == Some(turn)).take(limit).cloned().collect()
            }
        };
        found.sort_by_key(|message| message.seq);
        found
    }

    pub(crate) fn save_conversation(&mut self, agent: &AgentId, write: &ConversationWrite) -> Result<()> {
        let tenant = self.tenant_mut(agent)?;
        let conversation = &write.conversation;
        let stored = tenant.conversations.get(&conversation.id).map(|stored| stored.version);
        refuse_stale(stored, conversation.version)?;
        if write.keep.iter().any(|document| !tenant.documents.contains_key(document)) {
            return Err(StorageErrorKind::Stale.into());
        }
        tenant.conversations.insert(conversation.id, conversation.clone());
        for message in &write.messages {
            tenant.messages.insert((conversation.id, message.seq), message.clone());
        }
        for document in &write.keep {
            self.purges.remove(&BlobKey::new(agent.clone(), *document));
        }
        self.apply(agent, &write.effects);
        Ok(())
    }

    pub(crate) fn erase_conversation(
        &mut self,
        agent: &AgentId,
        id: ConversationId,
        at: Timestamp,
        effects: &Effects,
    ) -> Result<()> {
        let tenant = self.tenant_mut(agent)?;
        if !tenant.conversations.contains_key(&id) {
            return Err(StorageErrorKind::Missing.into());
        }
        let uploads = tenant.erase_conversations(|conversation| conversation.id == id, at);
        self.make_due(agent, uploads, at);
        self.apply(agent, effects);
        Ok(())
    }

    pub(crate) fn expired_conversations(
        &self,
        now: Timestamp,
        at_most: u32,
    ) -> Vec<(AgentId, ConversationId)> {
        let living = self.agents.values().filter(|tenant| tenant.agent.status != AgentStatus::Deleted);
        let all = living.flat_map(|tenant| tenant.conversations.values());
        let mut due: Vec<(Timestamp, AgentId, ConversationId)> = all
            .filter(|conversation| conversation.expires_at <= now)
            .map(|conversation| (conversation.expires_at, conversation.agent_id.clone(), conversation.id))
            .collect();
        due.sort();
        due.into_iter().take(at_most as usize).map(|(_, agent, id)| (agent, id)).collect()
    }

    pub(crate) fn knowledge(&self, agent: &AgentId) -> Vec<KnowledgeDocument> {
        self.tenant(agent).map(|tenant| tenant.knowledge.values().cloned().collect()).unwrap_or_default()
    }

    pub(crate) fn passages(
        &self,
        agent: &AgentId,
        after: Option<(KnowledgeId, u32)>,
        at_most: u32,
    ) -> Vec<(KnowledgeId, Passage)> {
        let Some(tenant) = self.tenant(agent) else { return Vec::new() };
        let following =
            tenant.passages.iter().filter(|(candidate, _)| after.is_none_or(|after| **candidate > after));
        following.take(at_most as usize).map(|((document, _), it)| (*document, it.clone())).collect()
    }

    pub(crate) fn change_knowledge(&mut self, agent: &AgentId, write: &KnowledgeWrite) -> Result<()> {
        let tenant = self.tenant_mut(agent)?;
        let key = RecordKey::from(RecordKind::Knowledge);
        let stored = tenant.records.get(&key).map(|record| record.version);
        refuse_stale(stored, write.version)?;
        if let Some((document, _)) = &write.add
            && tenant.knowledge.contains_key(&document.id)
            && !write.remove.contains(&document.id)
        {
            return Err(StorageErrorKind::AlreadyExists.into());
        }
        for id in &write.remove {
            tenant.knowledge.remove(id);
            tenant.passages.retain(|(document, _), _| document != id);
        }
        if let Some((document, passages)) = &write.add {
            tenant.knowledge.insert(document.id, document.clone());
            let placed = passages.iter().map(|it| ((document.id, it.position), it.clone()));
            tenant.passages.extend(placed);
        }
        let record = StoredRecord::single(RecordKind::Knowledge, write.version, RawObject::default());
        tenant.records.insert(key, record);
        self.apply(agent, &write.effects);
        Ok(())
    }
}
