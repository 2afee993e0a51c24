//! The operator's side of the chat.

mod knowledge;
mod pairs;
mod questions;
mod trial;
mod websites;

use std::ops::ControlFlow::{Break, Continue};

use openapi_core::access::Actor;
use openapi_core::admin::AdminError;
use openapi_core::audit::{AuditAction, SealedEntry};
use openapi_core::events::{ConversationReason, EventActor, EventData, NewEvent};
use openapi_core::json::{Json, Object, RawObject};
use openapi_core::storage::retry::{MAX_ATTEMPTS, RetryOn, retry_on_conflict, retry_with};
use openapi_core::storage::{
    Effects, RecordKind, RecordsWrite, StorageError, StorageErrorKind, StoredRecord,
};
use openapi_core::values::{AgentId, ContactId, ConversationId, Timestamp};

use crate::admin::Configured;
use crate::agents::{IdentitySecrets, SecretName};
use crate::conversation::DAY_MILLIS;
use crate::conversations::Conversations;
use crate::events::Seen;
use crate::storage::{
    ConversationFilter, ConversationPage, ConversationQuery, ConversationWrite, MessageQuery, MessageSelector,
};
use crate::{AgentSettings, Conversation, ConversationMode, ConversationStatus, Message, Speaker};

/// The longest time for which a replaced identity secret stays valid.
const MAX_GRACE_MILLIS: u64 = 7 * DAY_MILLIS.unsigned_abs();
/// How many conversations are read at once.
const BATCH: u32 = 200;

impl Conversations {
    pub(crate) fn erasure_event(
        &self,
        actor: &EventActor,
        conversation_id: ConversationId,
        contact_id: Option<ContactId>,
        reason: ConversationReason,
        now: Timestamp,
    ) -> Option<NewEvent> {
        let data = EventData::ConversationErased { conversation_id, contact_id, reason };
        self.platform.event(actor.clone(), contact_id, data, now)
    }

    pub(crate) fn conversation_audit(
        &self,
        by: &Actor,
        action: AuditAction,
        agent: &AgentId,
        id: ConversationId,
        what: &str,
        now: Timestamp,
    ) -> SealedEntry {
        let details = details("change", what.into());
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

    /// Changes a conversation for an operator. `change` returns the messages to store, or [`None`] to leave the
    /// conversation as it is.
    async fn change_conversation(
        &self,
        by: &Actor,
        agent: &AgentId,
        id: ConversationId,
        what: &str,
        change: impl FnMut(&mut Conversation, Timestamp) -> Result<Option<Vec<Message>>, AdminError> + Send,
    ) -> Result<Conversation, AdminError> {
        retry_with(MAX_ATTEMPTS, change, lost_race, |mut change| async move {
            let mut conversation = self.stored_conversation(agent, id).await?;
            let now = self.platform.now();
            let seen = Seen::of(&conversation);
            let Some(messages) = change(&mut conversation, now)? else { return Ok(Break(conversation)) };
            let audit = self.conversation_audit(by, AuditAction::ConversationChange, agent, id, what, now);
            let next = ConversationWrite::next(conversation, now);
            let mut write = ConversationWrite { messages, effects: Effects::audited(audit), ..next };
            seen.emit(&self.platform, &by.into(), &mut write);
            let saved = self.storage.save_conversation(agent, &write).await;
            let saved = saved.retry_on(&[StorageErrorKind::Stale])?;
            Ok(saved.map_or(Continue(change), |()| Break(write.conversation)))
        })
        .await
    }

    /// Stores a record of an agent; [`None`] if another writer was faster.
    async fn save_record(
        &self,
        agent: &AgentId,
        kind: RecordKind,
        version: u64,
        body: &impl serde::Serialize,
        audit: SealedEntry,
        event: Option<NewEvent>,
    ) -> Result<Option<()>, AdminError> {
        let text = serde_json::to_string(body).unwrap_or_default();
        let body = RawObject::from_text(text).map_err(|_| StorageError::from(StorageErrorKind::Internal))?;
        let record = StoredRecord::single(kind, version + 1, body);
        let write = RecordsWrite::save(record, Effects::audited(audit).with_event(event));
        let saved = self.storage.save_records(Some(agent), &write).await;
        Ok(saved.retry_on(&[StorageErrorKind::Stale])?)
    }

    /// Recomputes when the conversations of an agent expire.
    async fn retain_all_for(&self, agent: &AgentId, days: u32) -> Result<(), AdminError> {
        let mut offset = 0;
        loop {
            let query = ConversationQuery { filter: ConversationFilter::default(), offset, limit: BATCH };
            let page = self.storage.conversations(agent, &query).await?;
            for found in &page.conversations {
                self.retain_for(agent, found.id, days).await?;
            }
            offset += u64::from(BATCH);
            if page.conversations.len() < BATCH as usize {
                return Ok(());
            }
        }
    }

    async fn retain_for(&self, agent: &AgentId, id: ConversationId, days: u32) -> Result<(), AdminError> {
        retry_on_conflict(lost_race, |_| async move {
            let Some(conversation) = self.storage.conversation(agent, id).await? else { return Ok(Some(())) };
            let mut retained = conversation.clone();
            retained.retain_for(days);
            if retained == conversation {
                return Ok(Some(()));
            }
            let updated_at = conversation.updated_at;
            let write = ConversationWrite::next(retained, updated_at);
            let saved = self.storage.save_conversation(agent, &write).await;
            Ok(saved.retry_on(&[StorageErrorKind::Stale])?)
        })
        .await
    }
}

/// The error after the last attempt.
fn lost_race() -> AdminError {
    AdminError::Conflict("the change lost a race against others; try again".to_owned())
}

fn details(name: &str, value: Json) -> Object {
    [(name.to_owned(), value)].into_iter().collect()
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

/// The name under which visitors see an operator; none for an empty one.
fn visible_name(name: &str) -> Result<Option<&str>, AdminError> {
    let name = name.trim();
    if name.chars().count() > 100 || name.chars().any(char::is_control) {
        return Err(AdminError::Refused("a name has at most 100 characters on one line".to_owned()));
    }
    Ok(Some(name).filter(|name| !name.is_empty()))
}

fn take(conversation: &mut Conversation) {
    conversation.mode = ConversationMode::Human;
    conversation.operator_unread = 0;
}

/// The operator's side of the chat. Changes record `by` in the audit log.
///
/// # Errors
/// Every method fails with [`AdminError::NotFound`] for an agent, document or conversation that does not exist, and
/// with [`AdminError::Storage`] when the store fails. Each method documents its other errors.
impl Conversations {
    /// The settings of an agent's widget and chat; the built-in ones if there are none.
    pub async fn agent_settings(&self, agent: &AgentId) -> Result<AgentSettings, AdminError> {
        Ok(self.versioned_settings(agent).await?.0)
    }

    /// The same with their version, which each change raises; 0 of the built-in ones.
    pub async fn versioned_settings(&self, agent: &AgentId) -> Result<(AgentSettings, u64), AdminError> {
        self.platform.living_agent(agent).await?;
        Ok(self.stored_settings(agent).await?)
    }

    /// Replaces all settings. Absent members get their built-in values. Servers apply the change within 5 s. A new
    /// `retentionDays` also applies to existing conversations.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] with the errors, each with its path.
    pub async fn configure_agent(
        &self,
        by: &Actor,
        agent: &AgentId,
        settings: &Object,
    ) -> Result<AgentSettings, AdminError> {
        match self.configure_agent_if(by, agent, settings, &|_| true).await? {
            Configured::Saved(settings, _) | Configured::Stale(settings, _) => Ok(settings),
        }
    }

    /// The same, if `is_expected` of the version that is replaced. Of several who expect the same version, one succeeds.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] with the errors, each with its path.
    pub async fn configure_agent_if(
        &self,
        by: &Actor,
        agent: &AgentId,
        settings: &Object,
        is_expected: &(dyn Fn(u64) -> bool + Send + Sync),
    ) -> Result<Configured, AdminError> {
        self.platform.living_agent(agent).await?;
        retry_on_conflict(lost_race, |_| async move {
            let (before, version) = self.stored_settings(agent).await?;
            if !is_expected(version) {
                return Ok(Some(Configured::Stale(before, version)));
            }
            let schema = self.storage.contact_schema(agent).await?;
            let schema =
                schema.ok_or_else(|| AdminError::NotFound { what: "agent", id: agent.to_string() })?;
            let read = AgentSettings::read(settings, &schema).map_err(AdminError::Invalid)?;
            // This comes first, so that a repeated command continues where the first was interrupted.
            if version == 0 || before.retention_days != read.retention_days {
                self.retain_all_for(agent, read.retention_days).await?;
            }
            if version > 0 && before == read {
                return Ok(Some(Configured::Saved(read, version)));
            }
            let now = self.platform.now();
            let action = AuditAction::AgentConfigure;
            let audit = self.platform.operator_audit(by, action, agent, agent.as_str(), &Object::new(), now);
            let event = self.platform.event(by, None, EventData::AgentConfigured {}, now);
            let saved = self.save_record(agent, RecordKind::Settings, version, &read, audit, event).await?;
            Ok(saved.map(|()| Configured::Saved(read, version + 1)))
        })
        .await
    }

    /// The secret with which the page's server signs the identity of its users, and the previous one until it expires.
    /// Empty until the first secret is created.
    pub async fn identity_secrets(&self, agent: &AgentId) -> Result<Vec<String>, AdminError> {
        self.platform.living_agent(agent).await?;
        let (secrets, _) = self.stored_secrets(agent).await?;
        let now = self.platform.now();
        let previous = secrets.previous.filter(|_| secrets.previous_until.is_some_and(|until| until > now));
        let names = secrets.current.iter().chain(&previous);
        Ok(names.filter_map(|name| self.identity_secret(agent, name)).collect())
    }

    /// The ids of the server keys from which the live identity secrets of an agent are derived.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn identity_secret_keys(&self, agent: &AgentId) -> Result<Vec<String>, AdminError> {
        let (secrets, _) = self.stored_secrets(agent).await?;
        let now = self.platform.now();
        let previous = secrets.previous.filter(|_| secrets.previous_until.is_some_and(|until| until > now));
        Ok(secrets.current.into_iter().chain(previous).map(|name| name.key).collect())
    }

    /// Creates a new identity secret. The previous one stays valid for `grace_millis`, 0 to 7 days.
    ///
    /// # Errors
    /// [`AdminError::Refused`] for a longer grace.
    pub async fn rotate_identity_secret(
        &self,
        by: &Actor,
        agent: &AgentId,
        grace_millis: u64,
    ) -> Result<String, AdminError> {
        if grace_millis > MAX_GRACE_MILLIS {
            return Err(AdminError::Refused("the grace is at most 7 days".to_owned()));
        }
        self.platform.living_agent(agent).await?;
        let name = retry_on_conflict(lost_race, |_| async move {
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
            let details = details("identitySecret", Json::Number(number.into()));
            let action = AuditAction::AgentConfigure;
            let audit = self.platform.operator_audit(by, action, agent, agent.as_str(), &details, now);
            let event = self.platform.event(by, None, EventData::AgentConfigured {}, now);
            let saved =
                self.save_record(agent, RecordKind::Identity, version, &secrets, audit, event).await?;
            Ok(saved.map(|()| name))
        });
        let secret = self.identity_secret(agent, &name.await?);
        secret.ok_or_else(|| StorageError::from(StorageErrorKind::Internal).into())
    }

    /// A page of conversations, the newest message first, and the exact number of all that match the filter.
    pub async fn conversations(
        &self,
        agent: &AgentId,
        query: &ConversationQuery,
    ) -> Result<ConversationPage, AdminError> {
        self.platform.living_agent(agent).await?;
        Ok(self.storage.conversations(agent, query).await?)
    }

    /// One conversation.
    pub async fn conversation(
        &self,
        agent: &AgentId,
        id: ConversationId,
    ) -> Result<Conversation, AdminError> {
        self.stored_conversation(agent, id).await
    }

    /// Up to `limit` messages of a conversation after the number `after`.
    pub async fn messages(
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

    /// Takes a conversation over: the visitor's messages wait for a person, whose name of up to 100 characters the visitor
    /// sees. Those so far count as read.
    ///
    /// # Errors
    /// [`AdminError::Conflict`] for a closed conversation, [`AdminError::Refused`] for a name that is too long.
    pub async fn take_conversation(
        &self,
        by: &Actor,
        agent: &AgentId,
        id: ConversationId,
        name: Option<&str>,
    ) -> Result<Conversation, AdminError> {
        let name = name.map(visible_name).transpose()?.flatten();
        self.change_conversation(by, agent, id, "take", |conversation, now| {
            refuse_closed(conversation, now)?;
            let is_human = conversation.mode == ConversationMode::Human;
            let is_taken = !conversation.join(name, now) && is_human && conversation.operator_unread == 0;
            take(conversation);
            conversation.waiting_since = Some(now);
            Ok((!is_taken).then(Vec::new))
        })
        .await
    }

    /// Writes to the visitor under a name of up to 100 characters, and takes the conversation over.
    ///
    /// # Errors
    /// [`AdminError::Conflict`] for a closed conversation, [`AdminError::Refused`] for a text that is empty or longer
    /// than 4,000 characters.
    pub async fn reply_to_conversation(
        &self,
        by: &Actor,
        agent: &AgentId,
        id: ConversationId,
        name: &str,
        text: &str,
    ) -> Result<Message, AdminError> {
        let (name, text) = (visible_name(name)?, text.trim());
        if text.is_empty() || text.chars().count() > crate::widget::config::MESSAGE_CHARS {
            return Err(AdminError::Refused("a reply has 1 to 4,000 characters".to_owned()));
        }
        let settings = self.stored_settings(agent).await?.0;
        let days = settings.retention_days;
        self.await_reply(agent, id, &settings).await?;
        let mut written = None;
        self.change_conversation(by, agent, id, "reply", |conversation, now| {
            refuse_closed(conversation, now)?;
            conversation.join(name, now);
            take(conversation);
            // The person has answered, so the time until the agent takes over again starts with the next message.
            conversation.waiting_since = None;
            let id = self.platform.ports().ids.platform_id(now).into();
            let mut message = conversation.append(id, Speaker::Human, text.to_owned(), now, days);
            message.author = name.map(str::to_owned);
            written = Some(message.clone());
            Ok(Some(vec![message]))
        })
        .await?;
        written.ok_or_else(lost_race)
    }

    /// Lets the agent answer again.
    pub async fn release_conversation(
        &self,
        by: &Actor,
        agent: &AgentId,
        id: ConversationId,
    ) -> Result<Conversation, AdminError> {
        self.change_conversation(by, agent, id, "release", |conversation, now| {
            let is_human = conversation.mode == ConversationMode::Human;
            conversation.release(now);
            Ok(is_human.then(Vec::new))
        })
        .await
    }

    /// Closes a conversation. The visitor can still read it; the next message begins another one.
    pub async fn close_conversation(
        &self,
        by: &Actor,
        agent: &AgentId,
        id: ConversationId,
    ) -> Result<Conversation, AdminError> {
        self.change_conversation(by, agent, id, "close", |conversation, now| {
            if conversation.status == ConversationStatus::Closed {
                return Ok(None);
            }
            conversation.end_by_operator(now);
            Ok(Some(Vec::new()))
        })
        .await
    }

    /// Revokes all tokens of a conversation and closes it. Its visitor can no longer read it; the next message begins
    /// another one. The messages stay.
    pub async fn revoke_conversation(
        &self,
        by: &Actor,
        agent: &AgentId,
        id: ConversationId,
    ) -> Result<Conversation, AdminError> {
        self.change_conversation(by, agent, id, "revoke", |conversation, now| {
            conversation.epoch = conversation.epoch.checked_add(1).ok_or_else(lost_race)?;
            conversation.end(now);
            Ok(Some(Vec::new()))
        })
        .await
    }

    /// Erases a conversation with its messages and tokens.
    pub async fn erase_conversation(
        &self,
        by: &Actor,
        agent: &AgentId,
        id: ConversationId,
    ) -> Result<Conversation, AdminError> {
        let conversation = self.stored_conversation(agent, id).await?;
        let action = AuditAction::ConversationErase;
        let now = self.platform.now();
        let audit = self.conversation_audit(by, action, agent, id, "erase", now);
        let (contact, reason) = (conversation.contact_id, ConversationReason::Operator);
        let event = self.erasure_event(&by.into(), id, contact, reason, now);
        let effects = Effects::audited(audit).with_event(event);
        match self.storage.erase_conversation(agent, id, now, &effects).await {
            Ok(()) => Ok(conversation),
            Err(error) if error.kind == StorageErrorKind::Missing => {
                Err(AdminError::NotFound { what: "conversation", id: id.to_string() })
            }
            Err(error) => Err(error.into()),
        }
    }
}
