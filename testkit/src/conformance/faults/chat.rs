//! Faults in conversations and their messages.

use std::cmp::Reverse;

use super::*;
use conversations::{ConversationStatus, FollowUp};

impl Faulty {
    /// All conversations of an agent.
    async fn conversations_of(&self, agent: &AgentId) -> Result<Vec<Conversation>> {
        let query = ConversationQuery { filter: ConversationFilter::default(), offset: 0, limit: u32::MAX };
        Ok(self.inner.conversations(agent, &query).await?.conversations)
    }

    /// All messages of a conversation.
    async fn every_message(&self, agent: &AgentId, conversation: ConversationId) -> Result<Vec<Message>> {
        let query = MessageQuery { conversation, which: MessageSelector::After(0), limit: u32::MAX };
        self.inner.messages(agent, &query).await
    }

    /// All messages of a conversation as transfer records.
    async fn message_records(
        &self,
        agent: &AgentId,
        conversation: ConversationId,
    ) -> Result<Vec<TransferRow>> {
        let messages = self.every_message(agent, conversation).await?;
        Ok(messages.into_iter().map(|message| TransferRow::Message { conversation, message }).collect())
    }

    /// The chat records of a contact that a fault leaves when the contact is erased.
    pub(super) async fn chat_of(&self, agent: &AgentId, contact: ContactId) -> Result<Vec<TransferRow>> {
        let (keeps_all, keeps_messages) = (
            self.is(PlantedFault::EraseContactKeepsConversations),
            self.is(PlantedFault::EraseContactKeepsMessages),
        );
        let mut records = Vec::new();
        if keeps_all || keeps_messages {
            for conversation in self.conversations_of(agent).await? {
                if conversation.contact_id != Some(contact) {
                    continue;
                }
                let id = conversation.id;
                if keeps_all {
                    records.push(TransferRow::Conversation(Box::new(conversation)));
                } else {
                    records.extend(self.message_records(agent, id).await?);
                }
            }
        }
        Ok(records)
    }

    /// The documents of a conversation that a fault leaves.
    async fn sent_documents(
        &self,
        agent: &AgentId,
        conversation: Option<&Conversation>,
        fault: PlantedFault,
    ) -> Result<Vec<StoredDocument>> {
        let mut documents = Vec::new();
        for id in conversation.filter(|_| self.is(fault)).map_or(&[] as &[FileId], |it| &it.uploads) {
            documents.extend(self.inner.document(agent, *id).await?);
        }
        Ok(documents)
    }

    /// The documents of a contact's conversations that a fault leaves.
    pub(super) async fn uploads_of(
        &self,
        agent: &AgentId,
        contact: ContactId,
    ) -> Result<Vec<StoredDocument>> {
        let mut documents = Vec::new();
        for conversation in self.conversations_of(agent).await? {
            if conversation.contact_id == Some(contact) {
                let fault = PlantedFault::EraseContactKeepsUploads;
                documents.extend(self.sent_documents(agent, Some(&conversation), fault).await?);
            }
        }
        Ok(documents)
    }

    /// Restores documents as if they had not been removed: their contents are not due.
    pub(super) async fn put_back(&self, agent: &AgentId, documents: Vec<StoredDocument>) -> Result<()> {
        let keys: Vec<BlobKey> =
            documents.iter().map(|document| BlobKey::new(agent.clone(), document.id)).collect();
        self.inner.remove_blob_records(&keys).await?;
        let records: Vec<TransferRow> = documents.into_iter().map(TransferRow::Document).collect();
        self.inner.put_records(agent, &records).await
    }

    /// Erases the conversations linked with a contact.
    pub(super) async fn erase_linked(
        &self,
        agent: &AgentId,
        at: Timestamp,
        effects: &Effects,
        erased: impl Fn(ContactId) -> bool,
    ) -> Result<()> {
        for conversation in self.conversations_of(agent).await? {
            if conversation.contact_id.is_some_and(&erased) {
                self.inner.erase_conversation(agent, conversation.id, at, effects).await?;
            }
        }
        Ok(())
    }

    fn admits_conversation(&self, filter: &ConversationFilter, conversation: &Conversation) -> bool {
        let mut filter = filter.clone();
        match self.fault {
            Some(PlantedFault::ConversationStatusIgnored) => filter.status = None,
            Some(PlantedFault::ConversationModeIgnored) => filter.mode = None,
            Some(PlantedFault::ConversationContactIgnored) => filter.contact = None,
            Some(PlantedFault::ConversationSinceExclusive) => {
                filter.since = filter.since.map(|since| since.plus_millis(1));
            }
            Some(PlantedFault::ConversationSinceReadsCreation) => {
                let since = filter.since.take();
                return filter.admits(conversation)
                    && since.is_none_or(|since| conversation.created_at >= since);
            }
            _ => {}
        }
        filter.admits(conversation)
    }

    /// The faulty list, computed from all conversations.
    async fn faulty_conversations(
        &self,
        agent: &AgentId,
        query: &ConversationQuery,
    ) -> Result<ConversationPage> {
        let mut all = self.conversations_of(agent).await?;
        if self.is(PlantedFault::ConversationListCrossesAgents) {
            for other in self.others(agent) {
                all.extend(self.conversations_of(&other).await?);
            }
        }
        let count = all.len() as u64;
        all.retain(|conversation| self.admits_conversation(&query.filter, conversation));
        match self.fault {
            Some(PlantedFault::ConversationsByCreation) => {
                all.sort_by_key(|it| Reverse((it.created_at, it.id)));
            }
            Some(PlantedFault::ConversationsOldestFirst) => all.sort_by_key(|it| (it.last_message_at, it.id)),
            Some(PlantedFault::ConversationTiesAscending) => {
                all.sort_by_key(|it| (Reverse(it.last_message_at), it.id));
            }
            _ => all.sort_by_key(|it| Reverse((it.last_message_at, it.id))),
        }
        let extra = u64::from(self.is(PlantedFault::ConversationOffsetOffByOne) && query.offset > 0);
        let offset = usize::try_from(query.offset.saturating_add(extra)).unwrap_or(usize::MAX);
        let found = all.len() as u64;
        let conversations: Vec<Conversation> =
            all.into_iter().skip(offset).take(query.limit as usize).collect();
        let total = match self.fault {
            Some(PlantedFault::ConversationTotalOfPage) => conversations.len() as u64,
            Some(PlantedFault::ConversationTotalIgnoresFilter) => count,
            _ => found,
        };
        Ok(ConversationPage { conversations, total })
    }

    /// The faulty selection from all messages of the conversation.
    async fn faulty_messages(&self, agent: &AgentId, query: &MessageQuery) -> Result<Vec<Message>> {
        let mut all = self.every_message(agent, query.conversation).await?;
        match self.fault {
            Some(PlantedFault::MessagesCrossAgents) => {
                for other in self.others(agent) {
                    all.extend(self.every_message(&other, query.conversation).await?);
                }
            }
            Some(PlantedFault::MessagesCrossConversations) => {
                for other in self.conversations_of(agent).await? {
                    if other.id != query.conversation {
                        all.extend(self.every_message(agent, other.id).await?);
                    }
                }
            }
            _ => {}
        }
        let limit = if self.is(PlantedFault::MessagesUnbounded) { usize::MAX } else { query.limit as usize };
        let is_inclusive = match query.which {
            MessageSelector::After(_) => self.is(PlantedFault::MessagesAfterInclusive),
            _ => self.is(PlantedFault::MessagesBeforeInclusive),
        };
        let same_turn = |known: &str, turn: &str| {
            known == turn || self.is(PlantedFault::TurnIgnoresCase) && known.eq_ignore_ascii_case(turn)
        };
        all.retain(|message| match &query.which {
            MessageSelector::After(seq) => message.seq > *seq || is_inclusive && message.seq == *seq,
            MessageSelector::Before(seq) => message.seq < *seq || is_inclusive && message.seq == *seq,
            MessageSelector::Id(id) => message.id == *id,
            MessageSelector::Turn(turn) => message.turn.as_ref().is_some_and(|known| same_turn(known, turn)),
        });
        if self.is(PlantedFault::MessagesSortAsText) {
            all.sort_by_key(|message| message.seq.to_string());
        } else {
            all.sort_by_key(|message| message.seq);
        }
        match &query.which {
            MessageSelector::Before(_) if !self.is(PlantedFault::MessagesBeforeFromStart) => {
                all.drain(..all.len().saturating_sub(limit));
            }
            MessageSelector::Turn(_) if self.is(PlantedFault::TurnEndsAtFirstMessage) => all.truncate(1),
            _ => {}
        }
        all.truncate(limit);
        if self.is(PlantedFault::MessagesBeforeReversed) && matches!(query.which, MessageSelector::Before(_))
        {
            all.reverse();
        }
        Ok(all)
    }

    /// The write that reaches the store.
    async fn prepared_conversation(
        &self,
        agent: &AgentId,
        write: &ConversationWrite,
    ) -> Result<ConversationWrite> {
        let mut write = write.clone();
        let id = write.conversation.id;
        match self.fault {
            Some(PlantedFault::ConversationForgetsTurn) => write.conversation.running = None,
            Some(PlantedFault::ConversationWithoutAudit) => write.effects.audit.clear(),
            Some(PlantedFault::RetainedUploadsEnd) => write.keep.clear(),
            Some(PlantedFault::AbsentUploadsRetained) => {
                let mut there = Vec::new();
                for document in write.keep {
                    there.extend(self.inner.document(agent, document).await?.map(|document| document.id));
                }
                write.keep = there;
            }
            Some(PlantedFault::ConversationVersionIgnored) => {
                let stored = self.inner.conversation(agent, id).await?;
                write.conversation.version = stored.map_or(0, |stored| stored.version) + 1;
            }
            Some(PlantedFault::MessagesNotReplaced) => {
                let known = self.every_message(agent, id).await?;
                write.messages.retain(|message| known.iter().all(|known| known.seq != message.seq));
            }
            Some(PlantedFault::MessageLosesFollowUp) => {
                write.messages.iter_mut().for_each(|message| message.after = FollowUp::default());
            }
            _ => {}
        }
        Ok(write)
    }

    /// All due conversations of all agents, deleted ones included.
    async fn expired_of_everybody(&self, now: Timestamp) -> Result<Vec<(AgentId, ConversationId)>> {
        let agents: Vec<AgentId> = self.agents.lock().expect("lock").clone();
        let mut due = Vec::new();
        for agent in agents {
            let records = self.inner.records(&agent, TransferKind::Conversation, None, u32::MAX).await?;
            due.extend(records.into_iter().filter_map(|record| match record {
                TransferRow::Conversation(it) if it.expires_at <= now => {
                    Some((it.expires_at, agent.clone(), it.id))
                }
                _ => None,
            }));
        }
        due.sort();
        Ok(due.into_iter().map(|(_, agent, id)| (agent, id)).collect())
    }
}

impl Faulty {
    pub(super) async fn conversation(
        &self,
        agent: &AgentId,
        id: ConversationId,
    ) -> Result<Option<Conversation>> {
        if self.is(PlantedFault::ConversationCrossesAgents) {
            for agent in self.every_agent(agent) {
                if let Some(conversation) = self.inner.conversation(&agent, id).await? {
                    return Ok(Some(conversation));
                }
            }
        }
        self.inner.conversation(agent, id).await
    }

    pub(super) async fn conversations(
        &self,
        agent: &AgentId,
        query: &ConversationQuery,
    ) -> Result<ConversationPage> {
        match self.fault {
            Some(_) => self.faulty_conversations(agent, query).await,
            None => self.inner.conversations(agent, query).await,
        }
    }

    pub(super) async fn messages(&self, agent: &AgentId, query: &MessageQuery) -> Result<Vec<Message>> {
        match self.fault {
            Some(_) => self.faulty_messages(agent, query).await,
            None => self.inner.messages(agent, query).await,
        }
    }

    pub(super) async fn save_conversation(&self, agent: &AgentId, write: &ConversationWrite) -> Result<()> {
        let prepared = self.prepared_conversation(agent, write).await?;
        let result = self.inner.save_conversation(agent, &prepared).await;
        if result.is_err() {
            if self.is(PlantedFault::RefusedConversationNoted) {
                self.note(&write.effects).await?;
            }
            if self.is(PlantedFault::MessagesStoredBeforeCheck) {
                let conversation = write.conversation.id;
                for message in write.messages.iter().cloned() {
                    let record = TransferRow::Message { conversation, message };
                    // A message whose number is taken stays unchanged.
                    let _ = self.inner.put_records(agent, &[record]).await;
                }
            }
        }
        result
    }

    pub(super) async fn erase_conversation(
        &self,
        agent: &AgentId,
        id: ConversationId,
        at: Timestamp,
        effects: &Effects,
    ) -> Result<()> {
        let messages = self.message_records(agent, id).await?;
        let before = self.inner.conversation(agent, id).await?;
        let uploads = self.sent_documents(agent, before.as_ref(), PlantedFault::EraseKeepsUploads).await?;
        if self.is(PlantedFault::EraseConversationCrossesAgents) && before.is_none() {
            for other in self.others(agent) {
                if self.inner.erase_conversation(&other, id, at, effects).await.is_ok() {
                    return Ok(());
                }
            }
        }
        let mut effects = effects.clone();
        if self.is(PlantedFault::EraseConversationWithoutAudit) {
            effects.audit.clear();
        }
        match self.inner.erase_conversation(agent, id, at, &effects).await {
            Err(error)
                if self.is(PlantedFault::EraseConversationSilent)
                    && error.kind == StorageErrorKind::Missing =>
            {
                return Ok(());
            }
            result => result?,
        }
        if self.is(PlantedFault::EraseKeepsMessages) {
            self.inner.put_records(agent, &messages).await?;
        }
        self.put_back(agent, uploads).await?;
        let contact = before.and_then(|before| before.contact_id);
        if self.is(PlantedFault::EraseConversationErasesContacts)
            && let Some(contact) = contact
        {
            self.erase_linked(agent, at, &effects, |linked| linked == contact).await?;
        }
        Ok(())
    }

    pub(super) async fn expired_conversations(
        &self,
        now: Timestamp,
        at_most: u32,
    ) -> Result<Vec<(AgentId, ConversationId)>> {
        let now = if self.is(PlantedFault::ExpiryExclusive) { now.plus_millis(-1) } else { now };
        let most = if self.is(PlantedFault::ExpiredUnbounded) { u32::MAX } else { at_most };
        let mut due = match self.fault {
            Some(PlantedFault::ExpiredOfDeletedAgents) => self.expired_of_everybody(now).await?,
            Some(PlantedFault::ExpiredById | PlantedFault::ClosedNeverExpire) => {
                self.inner.expired_conversations(now, u32::MAX).await?
            }
            _ => self.inner.expired_conversations(now, most).await?,
        };
        if self.is(PlantedFault::ExpiredById) {
            due.sort();
        }
        if self.is(PlantedFault::ClosedNeverExpire) {
            let mut open = Vec::new();
            for (agent, id) in due {
                let stored = self.inner.conversation(&agent, id).await?;
                if stored.is_some_and(|stored| stored.status == ConversationStatus::Open) {
                    open.push((agent, id));
                }
            }
            due = open;
        }
        due.truncate(most as usize);
        Ok(due)
    }
}
