//! The operator's side of the chat.

use async_trait::async_trait;
use openapi_core::access::Actor;
use openapi_core::admin::AdminError;
use openapi_core::audit::{AuditAction, AuditEntry};
use openapi_core::json::{Json, Object, RawObject};
use openapi_core::storage::{Effects, RecordKind, StorageError, StorageErrorKind, StoredRecord};
use openapi_core::values::{AgentId, ConversationId, KnowledgeId, Timestamp};

use crate::admin::{ChatAdmin, KnowledgeLimits, NewKnowledge};
use crate::agents::{IdentitySecrets, SecretName};
use crate::conversations::{ATTEMPTS, Conversations};
use crate::storage::{
    ConversationFilter, ConversationPage, ConversationQuery, ConversationWrite, KnowledgeWrite, MessageQuery,
    MessageSelector,
};
use crate::{
    AgentSettings, Conversation, ConversationMode, ConversationStatus, KnowledgeDocument, Message,
    MessageState, Speaker,
};

const DAY_MILLIS: i64 = 86_400_000;
/// The longest grace of an identity secret that was replaced.
const MAX_GRACE_MILLIS: u64 = 7 * 86_400_000;
/// Conversations that one step goes through.
const BATCH: u32 = 200;

impl Conversations {
    /// Work that is due from time to time: erases conversations whose retention is over. One whose agent retains them
    /// longer by now stays. Call it about every 20 s, like
    /// [`Platform::maintain`](openapi_core::platform::Platform::maintain).
    ///
    /// # Errors
    /// When the store fails; the next call goes on.
    pub async fn maintain(&self) -> Result<(), StorageError> {
        let by = Actor::Operator("retention".to_owned());
        loop {
            let now = self.platform.now();
            let due = self.storage.expired_conversations(now, BATCH).await?;
            for (agent, id) in &due {
                let audit =
                    self.conversation_audit(&by, AuditAction::ConversationErase, agent, *id, "erase", now);
                match self.storage.erase_conversation(agent, *id, now, &Effects::audited(audit)).await {
                    Err(error) if error.kind == StorageErrorKind::Missing => {}
                    outcome => outcome?,
                }
            }
            if due.len() < BATCH as usize {
                return Ok(());
            }
        }
    }

    fn conversation_audit(
        &self,
        by: &Actor,
        action: AuditAction,
        agent: &AgentId,
        id: ConversationId,
        what: &str,
        now: Timestamp,
    ) -> AuditEntry {
        let mut details = Object::new();
        details.insert("change", what.into());
        self.platform.operator_audit(by, action, agent, &id.to_string(), &details, now)
    }

    async fn stored_conversation(
        &self,
        agent: &AgentId,
        id: ConversationId,
    ) -> Result<Conversation, AdminError> {
        self.platform.living_agent(agent).await?;
        let stored = self.storage.conversation(agent, id).await?;
        stored.ok_or_else(|| AdminError::NotFound { what: "conversation", id: id.to_string() })
    }

    /// Changes a conversation as an operator wishes; `change` gives the messages that come with it, or none where
    /// nothing is to be changed.
    async fn change_conversation(
        &self,
        by: &Actor,
        agent: &AgentId,
        id: ConversationId,
        what: &str,
        mut change: impl FnMut(&mut Conversation, Timestamp) -> Result<Option<Vec<Message>>, AdminError> + Send,
    ) -> Result<Conversation, AdminError> {
        for _ in 0..ATTEMPTS {
            let mut conversation = self.stored_conversation(agent, id).await?;
            let now = self.platform.now();
            let Some(messages) = change(&mut conversation, now)? else { return Ok(conversation) };
            conversation.version += 1;
            conversation.updated_at = now;
            let audit = self.conversation_audit(by, AuditAction::ConversationChange, agent, id, what, now);
            let write = ConversationWrite {
                conversation,
                messages,
                keep: Vec::new(),
                effects: Effects::audited(audit),
                deferrable: false,
            };
            match self.storage.save_conversation(agent, &write).await {
                Ok(()) => return Ok(write.conversation),
                Err(error) if error.kind == StorageErrorKind::Stale => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(lost_race())
    }

    async fn save_record(
        &self,
        agent: &AgentId,
        kind: RecordKind,
        version: u64,
        body: &impl serde::Serialize,
        audit: AuditEntry,
    ) -> Result<bool, AdminError> {
        let text = serde_json::to_string(body).unwrap_or_default();
        let body = RawObject::from_text(text).map_err(|_| StorageError::from(StorageErrorKind::Internal))?;
        let record = StoredRecord { kind, version: version + 1, body };
        match self.storage.save_record(agent, &record, &Effects::audited(audit)).await {
            Ok(()) => Ok(true),
            Err(error) if error.kind == StorageErrorKind::Stale => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Recomputes when the conversations of an agent are erased.
    async fn keep_for(&self, agent: &AgentId, days: u32) -> Result<(), AdminError> {
        let mut offset = 0;
        loop {
            let query = ConversationQuery { filter: ConversationFilter::default(), offset, limit: BATCH };
            let page = self.storage.conversations(agent, &query).await?;
            for found in &page.conversations {
                for _ in 0..ATTEMPTS {
                    let Some(mut conversation) = self.storage.conversation(agent, found.id).await? else {
                        break;
                    };
                    let expires_at = conversation.last_message_at.plus_millis(i64::from(days) * DAY_MILLIS);
                    if conversation.expires_at == expires_at {
                        break;
                    }
                    conversation.expires_at = expires_at;
                    conversation.version += 1;
                    let write = ConversationWrite {
                        conversation,
                        messages: Vec::new(),
                        keep: Vec::new(),
                        effects: Effects::default(),
                        deferrable: false,
                    };
                    match self.storage.save_conversation(agent, &write).await {
                        Err(error) if error.kind == StorageErrorKind::Stale => {}
                        outcome => {
                            outcome?;
                            break;
                        }
                    }
                }
            }
            offset += u64::from(BATCH);
            if page.conversations.len() < BATCH as usize {
                return Ok(());
            }
        }
    }
}

fn lost_race() -> AdminError {
    AdminError::Conflict("the change lost a race against others; try again".to_owned())
}

fn refuse_closed(conversation: &Conversation, now: Timestamp) -> Result<(), AdminError> {
    if conversation.status_at(now) == ConversationStatus::Closed {
        return Err(AdminError::Conflict(format!(
            "the conversation '{}' is closed; the visitor's next message begins another one",
            conversation.id
        )));
    }
    Ok(())
}

fn take(conversation: &mut Conversation) {
    conversation.mode = ConversationMode::Human;
    conversation.operator_unread = 0;
}

#[async_trait]
impl ChatAdmin for Conversations {
    async fn agent_settings(&self, agent: &AgentId) -> Result<AgentSettings, AdminError> {
        self.platform.living_agent(agent).await?;
        Ok(self.stored_settings(agent).await?.0)
    }

    async fn configure_agent(
        &self,
        by: &Actor,
        agent: &AgentId,
        settings: &Object,
    ) -> Result<AgentSettings, AdminError> {
        self.platform.living_agent(agent).await?;
        for _ in 0..ATTEMPTS {
            let schema = self.storage.contact_schema(agent).await?;
            let schema =
                schema.ok_or_else(|| AdminError::NotFound { what: "agent", id: agent.to_string() })?;
            let read = AgentSettings::read(settings, &schema).map_err(AdminError::Invalid)?;
            let (before, version) = self.stored_settings(agent).await?;
            // First, so that a repeated command goes on where it was interrupted.
            if version == 0 || before.retention_days != read.retention_days {
                self.keep_for(agent, read.retention_days).await?;
            }
            if version > 0 && before == read {
                return Ok(read);
            }
            let now = self.platform.now();
            let action = AuditAction::AgentConfigure;
            let audit = self.platform.operator_audit(by, action, agent, agent.as_str(), &Object::new(), now);
            if self.save_record(agent, RecordKind::Settings, version, &read, audit).await? {
                return Ok(read);
            }
        }
        Err(lost_race())
    }

    async fn identity_secrets(&self, agent: &AgentId) -> Result<Vec<String>, AdminError> {
        self.platform.living_agent(agent).await?;
        let (secrets, _) = self.stored_secrets(agent).await?;
        let now = self.platform.now();
        let previous = secrets.previous.filter(|_| secrets.previous_until.is_some_and(|until| until > now));
        let names = secrets.current.iter().chain(&previous);
        Ok(names.filter_map(|name| self.identity_secret(agent, name)).collect())
    }

    async fn rotate_identity_secret(
        &self,
        by: &Actor,
        agent: &AgentId,
        grace_millis: u64,
    ) -> Result<String, AdminError> {
        if grace_millis > MAX_GRACE_MILLIS {
            return Err(AdminError::Refused("the grace is at most 7 days".to_owned()));
        }
        self.platform.living_agent(agent).await?;
        for _ in 0..ATTEMPTS {
            let (before, version) = self.stored_secrets(agent).await?;
            let now = self.platform.now();
            let number = before.current.as_ref().map_or(0, |name| name.number) + 1;
            let name = SecretName { key: self.platform.ports().server_keys.current_id().to_owned(), number };
            let until = now.plus_millis(i64::try_from(grace_millis).unwrap_or(0));
            let secrets = IdentitySecrets {
                current: Some(name.clone()),
                previous_until: before.current.is_some().then_some(until),
                previous: before.current,
            };
            let mut details = Object::new();
            details.insert("identitySecret", Json::Number(number.into()));
            let action = AuditAction::AgentConfigure;
            let audit = self.platform.operator_audit(by, action, agent, agent.as_str(), &details, now);
            if self.save_record(agent, RecordKind::Identity, version, &secrets, audit).await? {
                let secret = self.identity_secret(agent, &name);
                return secret.ok_or_else(|| StorageError::from(StorageErrorKind::Internal).into());
            }
        }
        Err(lost_race())
    }

    async fn knowledge(&self, agent: &AgentId) -> Result<Vec<KnowledgeDocument>, AdminError> {
        self.platform.living_agent(agent).await?;
        let mut documents = self.storage.knowledge(agent).await?;
        documents.sort_by(|a, b| (&a.title, a.id).cmp(&(&b.title, b.id)));
        Ok(documents)
    }

    async fn add_knowledge(
        &self,
        by: &Actor,
        agent: &AgentId,
        new: NewKnowledge,
    ) -> Result<KnowledgeDocument, AdminError> {
        check(&new, self.knowledge)?;
        self.platform.living_agent(agent).await?;
        for _ in 0..ATTEMPTS {
            let record = self.storage.record(agent, RecordKind::Knowledge).await?;
            let known = self.storage.knowledge(agent).await?;
            let is_replaced = |it: &&KnowledgeDocument| {
                new.url.is_some() && it.url == new.url || it.file_name == new.file_name
            };
            let replaced: Vec<&KnowledgeDocument> = known.iter().filter(is_replaced).collect();
            let staying = known.len() - replaced.len();
            let most = self.knowledge.documents;
            if staying >= most as usize {
                return Err(AdminError::Refused(format!(
                    "an agent has at most {most} documents; remove one first"
                )));
            }
            let gone: u64 = replaced.iter().map(|it| u64::from(it.passages)).sum();
            let all: u64 = known.iter().map(|it| u64::from(it.passages)).sum();
            let most = self.knowledge.passages;
            if all - gone + new.passages.len() as u64 > most {
                return Err(AdminError::Refused(format!(
                    "an agent has at most {most} passages; remove a document first"
                )));
            }
            let now = self.platform.now();
            let document = KnowledgeDocument {
                id: self.platform.ports().ids.platform_id(now).into(),
                file_name: new.file_name.clone(),
                title: new.title.clone(),
                url: new.url.clone(),
                language: new.language.clone(),
                content_type: new.content_type.clone(),
                sha256: new.sha256,
                characters: new.characters,
                pages: new.pages,
                passages: u32::try_from(new.passages.len()).unwrap_or(u32::MAX),
                created_at: replaced.first().map_or(now, |it| it.created_at),
                updated_at: now,
            };
            let mut details = Object::new();
            details.insert("fileName", new.file_name.as_str().into());
            details.insert("replaced", Json::Bool(!replaced.is_empty()));
            let resource = document.id.to_string();
            let action = AuditAction::KnowledgeAdd;
            let audit = self.platform.operator_audit(by, action, agent, &resource, &details, now);
            let write = KnowledgeWrite {
                version: record.map_or(0, |record| record.version) + 1,
                remove: replaced.iter().map(|it| it.id).collect(),
                add: Some((document.clone(), new.passages.clone())),
                effects: Effects::audited(audit),
            };
            match self.storage.change_knowledge(agent, &write).await {
                Ok(()) => return Ok(document),
                Err(error)
                    if matches!(error.kind, StorageErrorKind::Stale | StorageErrorKind::AlreadyExists) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(lost_race())
    }

    async fn remove_knowledge(
        &self,
        by: &Actor,
        agent: &AgentId,
        id: KnowledgeId,
    ) -> Result<KnowledgeDocument, AdminError> {
        self.platform.living_agent(agent).await?;
        for _ in 0..ATTEMPTS {
            let record = self.storage.record(agent, RecordKind::Knowledge).await?;
            let known = self.storage.knowledge(agent).await?;
            let document = known.into_iter().find(|document| document.id == id);
            let document =
                document.ok_or_else(|| AdminError::NotFound { what: "document", id: id.to_string() })?;
            let now = self.platform.now();
            let mut details = Object::new();
            details.insert("fileName", document.file_name.as_str().into());
            let action = AuditAction::KnowledgeRemove;
            let audit = self.platform.operator_audit(by, action, agent, &id.to_string(), &details, now);
            let write = KnowledgeWrite {
                version: record.map_or(0, |record| record.version) + 1,
                remove: vec![id],
                add: None,
                effects: Effects::audited(audit),
            };
            match self.storage.change_knowledge(agent, &write).await {
                Ok(()) => return Ok(document),
                Err(error) if error.kind == StorageErrorKind::Stale => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(lost_race())
    }

    async fn conversations(
        &self,
        agent: &AgentId,
        query: &ConversationQuery,
    ) -> Result<ConversationPage, AdminError> {
        self.platform.living_agent(agent).await?;
        Ok(self.storage.conversations(agent, query).await?)
    }

    async fn conversation(&self, agent: &AgentId, id: ConversationId) -> Result<Conversation, AdminError> {
        self.stored_conversation(agent, id).await
    }

    async fn messages(
        &self,
        agent: &AgentId,
        id: ConversationId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Message>, AdminError> {
        self.stored_conversation(agent, id).await?;
        let query = MessageQuery { conversation: id, which: MessageSelector::After(after), limit };
        Ok(self.storage.messages(agent, &query).await?)
    }

    async fn take_conversation(
        &self,
        by: &Actor,
        agent: &AgentId,
        id: ConversationId,
    ) -> Result<Conversation, AdminError> {
        self.change_conversation(by, agent, id, "take", |conversation, now| {
            refuse_closed(conversation, now)?;
            let is_taken = conversation.mode == ConversationMode::Human && conversation.operator_unread == 0;
            take(conversation);
            conversation.waiting_since = Some(now);
            Ok((!is_taken).then(Vec::new))
        })
        .await
    }

    async fn reply_to_conversation(
        &self,
        by: &Actor,
        agent: &AgentId,
        id: ConversationId,
        name: &str,
        text: &str,
    ) -> Result<Message, AdminError> {
        let (name, text) = (name.trim(), text.trim());
        if text.is_empty() || text.chars().count() > crate::widget::config::MESSAGE_CHARS {
            return Err(AdminError::Refused("a reply has 1 to 4,000 characters".to_owned()));
        }
        if name.chars().count() > 100 || name.chars().any(char::is_control) {
            return Err(AdminError::Refused("a name has at most 100 characters on one line".to_owned()));
        }
        let days = self.stored_settings(agent).await?.0.retention_days;
        let mut written = None;
        self.change_conversation(by, agent, id, "reply", |conversation, now| {
            refuse_closed(conversation, now)?;
            take(conversation);
            // The person is there: the agent answers again only when the next question waits too long.
            conversation.waiting_since = None;
            conversation.message_count += 1;
            conversation.last_message_at = now;
            conversation.expires_at = now.plus_millis(i64::from(days) * DAY_MILLIS);
            let message = Message {
                id: self.platform.ports().ids.platform_id(now).into(),
                seq: conversation.message_count,
                role: Speaker::Human,
                text: text.to_owned(),
                state: MessageState::Complete,
                sources: Vec::new(),
                uploads: Vec::new(),
                feedback: 0,
                comment: None,
                at: now,
                turn: None,
                author: Some(name.to_owned()).filter(|name| !name.is_empty()),
                outcome: None,
                after: Default::default(),
                usage: None,
                credits: 0,
            };
            written = Some(message.clone());
            Ok(Some(vec![message]))
        })
        .await?;
        written.ok_or_else(lost_race)
    }

    async fn release_conversation(
        &self,
        by: &Actor,
        agent: &AgentId,
        id: ConversationId,
    ) -> Result<Conversation, AdminError> {
        self.change_conversation(by, agent, id, "release", |conversation, _| {
            let is_human = conversation.mode == ConversationMode::Human;
            conversation.mode = ConversationMode::Ai;
            conversation.waiting_since = None;
            Ok(is_human.then(Vec::new))
        })
        .await
    }

    async fn close_conversation(
        &self,
        by: &Actor,
        agent: &AgentId,
        id: ConversationId,
    ) -> Result<Conversation, AdminError> {
        self.change_conversation(by, agent, id, "close", |conversation, now| {
            let is_open = conversation.status == ConversationStatus::Open;
            conversation.status = ConversationStatus::Closed;
            conversation.closed_at.get_or_insert(now);
            Ok(is_open.then(Vec::new))
        })
        .await
    }

    async fn revoke_conversation(
        &self,
        by: &Actor,
        agent: &AgentId,
        id: ConversationId,
    ) -> Result<Conversation, AdminError> {
        self.change_conversation(by, agent, id, "revoke", |conversation, now| {
            conversation.epoch = conversation.epoch.checked_add(1).ok_or_else(lost_race)?;
            conversation.status = ConversationStatus::Closed;
            conversation.closed_at.get_or_insert(now);
            Ok(Some(Vec::new()))
        })
        .await
    }

    async fn erase_conversation(
        &self,
        by: &Actor,
        agent: &AgentId,
        id: ConversationId,
    ) -> Result<Conversation, AdminError> {
        let conversation = self.stored_conversation(agent, id).await?;
        let action = AuditAction::ConversationErase;
        let now = self.platform.now();
        let audit = self.conversation_audit(by, action, agent, id, "erase", now);
        match self.storage.erase_conversation(agent, id, now, &Effects::audited(audit)).await {
            Ok(()) => Ok(conversation),
            Err(error) if error.kind == StorageErrorKind::Missing => {
                Err(AdminError::NotFound { what: "conversation", id: id.to_string() })
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// What a document must be.
fn check(new: &NewKnowledge, limits: KnowledgeLimits) -> Result<(), AdminError> {
    let refuse = |words: String| Err(AdminError::Refused(words));
    if new.passages.iter().all(|passage| passage.text.trim().is_empty()) {
        return refuse(format!("'{}' has no text to answer from", new.file_name));
    }
    if new.characters > limits.characters {
        return refuse(format!("a document has at most {} characters", limits.characters));
    }
    if new.pages.is_some_and(|pages| pages > limits.pages) {
        return refuse(format!("a document has at most {} pages", limits.pages));
    }
    if !(1..=200).contains(&new.title.chars().count()) || new.title.chars().any(char::is_control) {
        return refuse("a title has 1 to 200 characters on one line".to_owned());
    }
    let is_web = |url: &String| {
        url.len() <= 2_000 && url::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
    };
    match &new.url {
        Some(url) if !is_web(url) => refuse(format!("'{url}' is no http or https URL")),
        _ => Ok(()),
    }
}
