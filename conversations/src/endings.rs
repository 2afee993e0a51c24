//! The ends that time brings: a silent conversation is closed, and a closed one is erased after its retention.

use openapi_core::access::Actor;
use openapi_core::audit::AuditAction;
use openapi_core::events::{ConversationReason, EventActor};
use openapi_core::platform::Platform;
use openapi_core::storage::retry::{RetryOn, retry_on_conflict};
use openapi_core::storage::{Effects, StorageError, StorageErrorKind};
use openapi_core::values::{AgentId, ConversationId, Timestamp};

use crate::events::Seen;
use crate::storage::{ConversationStorage, ConversationWrite};
use crate::{Conversation, ConversationStatus, Conversations};

/// How many conversations are read at once.
const BATCH: u32 = 200;

impl Conversations {
    /// Closes the conversations in which nobody has written for a day, and erases those whose retention is over. Call
    /// it about every 20 s, like [`Platform::maintain`].
    ///
    /// # Errors
    /// When the store fails; the next call continues.
    pub async fn maintain(&self) -> Result<(), StorageError> {
        loop {
            let now = self.platform.now();
            let due = self.storage.expired_conversations(now, BATCH).await?;
            let mut has_ended = false;
            for (agent, id) in &due {
                has_ended |= self.end_due(agent, *id, now).await?;
            }
            // Without progress, the same conversations would be read again.
            if !has_ended || due.len() < BATCH as usize {
                return Ok(());
            }
        }
    }

    /// Does what is due with a conversation; returns whether it has ended, by this server or another one.
    async fn end_due(
        &self,
        agent: &AgentId,
        id: ConversationId,
        now: Timestamp,
    ) -> Result<bool, StorageError> {
        let stored = close_if_silent(&self.platform, &*self.storage, agent, id, now).await?;
        let Some(conversation) = stored else { return Ok(true) };
        if conversation.expires_at <= now && conversation.status == ConversationStatus::Closed {
            self.erase_expired(&conversation, now).await?;
        }
        Ok(conversation.status == ConversationStatus::Closed)
    }

    async fn erase_expired(&self, conversation: &Conversation, now: Timestamp) -> Result<(), StorageError> {
        let Conversation { agent_id: agent, id, contact_id, .. } = conversation;
        let (by, action) = (Actor::Operator("retention".to_owned()), AuditAction::ConversationErase);
        let audit = self.conversation_audit(&by, action, agent, *id, "erase", now);
        let reason = ConversationReason::Retention;
        let event = self.erasure_event(&EventActor::System, *id, *contact_id, reason, now);
        let effects = Effects::audited(audit).with_event(event);
        match self.storage.erase_conversation(agent, *id, now, &effects).await {
            // Another server was faster.
            Err(error) if error.kind == StorageErrorKind::Missing => Ok(()),
            outcome => outcome,
        }
    }
}

/// Closes a conversation that has been silent for a day at `now`, with its event in the same write. Returns the
/// conversation as it is stored then; [`None`] if there is none.
///
/// Only one of several servers can store the version that closes the conversation, so a silence has one event. A
/// message that was stored first ends the silence, and there is none.
///
/// # Errors
/// When the store fails.
pub(crate) async fn close_if_silent(
    platform: &Platform,
    storage: &dyn ConversationStorage,
    agent: &AgentId,
    id: ConversationId,
    now: Timestamp,
) -> Result<Option<Conversation>, StorageError> {
    let lost_race = || StorageErrorKind::Unavailable.into();
    retry_on_conflict(lost_race, |_| async move {
        let Some(mut conversation) = storage.conversation(agent, id).await? else { return Ok(Some(None)) };
        let seen = Seen::of(&conversation);
        if !conversation.end_by_silence(now) {
            return Ok(Some(Some(conversation)));
        }
        let mut write = ConversationWrite::next(conversation, now);
        seen.emit(platform, &EventActor::System, &mut write);
        match storage.save_conversation(agent, &write).await {
            Err(error) if error.kind == StorageErrorKind::Missing => Ok(Some(None)),
            saved => Ok(saved.retry_on(&[StorageErrorKind::Stale])?.map(|()| Some(write.conversation))),
        }
    })
    .await
}
