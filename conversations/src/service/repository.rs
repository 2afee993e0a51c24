//! Conversations in the store, and the compare-and-swap by which they change.

use std::net::IpAddr;
use std::ops::ControlFlow::{Break, Continue};
use std::sync::Arc;

use openapi_core::contacts::ContactRef;
use openapi_core::events::EventActor;
use openapi_core::limits::Network;
use openapi_core::platform::{Platform, concurrent_update};
use openapi_core::reply::ApiError;
use openapi_core::storage::StorageErrorKind;
use openapi_core::storage::retry::{MAX_ATTEMPTS, retry_with};
use openapi_core::values::{AgentId, ContactStatus, ConversationId, MessageId, PlatformId, Timestamp};
use serde::Serialize;

use super::agent_view::AgentView;
use super::call::WidgetRequest;
use super::errors::{agent_not_available, token_invalid, visitor_blocked};
use crate::conversation::DAY_MILLIS;
use crate::endings::close_if_silent;
use crate::events::Seen;
use crate::storage::{ConversationStorage, ConversationWrite, MessageQuery, MessageSelector};
use crate::widget::token::{FIRST_EPOCH, VisitorToken};
use crate::{
    Conversation, ConversationMode, ConversationStatus, Counted, Message, MessageState, Outcome, Speaker,
    VisitorId,
};

/// The most messages of a turn that are read. A turn has two: the visitor's message and the reply.
const MESSAGES_OF_TURN: u32 = 8;

/// Reads and changes conversations.
pub(super) struct Repository {
    pub(super) platform: Arc<Platform>,
    pub(super) storage: Arc<dyn ConversationStorage>,
}

impl Repository {
    /// The conversation of a token.
    ///
    /// # Errors
    /// 401 TOKEN_INVALID if the conversation is erased or the token revoked.
    pub(super) async fn of_token(&self, token: &VisitorToken) -> Result<Conversation, ApiError> {
        let stored = self.storage.conversation(&token.agent, token.conversation).await?;
        stored
            .filter(|stored| stored.epoch == token.epoch && stored.visitor_id == token.visitor)
            .ok_or_else(token_invalid)
    }

    /// Messages of a conversation.
    pub(super) async fn messages(
        &self,
        conversation: &Conversation,
        which: MessageSelector,
        limit: u32,
    ) -> Result<Vec<Message>, ApiError> {
        let query = MessageQuery { conversation: conversation.id, which, limit };
        Ok(self.storage.messages(&conversation.agent_id, &query).await?)
    }

    /// The messages of a turn.
    pub(super) async fn turn(&self, conversation: &Conversation, turn: &str) -> Result<StoredTurn, ApiError> {
        let which = MessageSelector::Turn(turn.to_owned());
        let mut found = StoredTurn::default();
        for message in self.messages(conversation, which, MESSAGES_OF_TURN).await? {
            match message.role {
                Speaker::Visitor => found.question = Some(message),
                Speaker::Agent => found.reply = Some(message),
                Speaker::Human => {}
            }
        }
        Ok(found)
    }

    /// Changes a stored conversation, and again if another writer was faster. `change` returns the messages to store,
    /// or [`None`] to leave the conversation as it is. Returns the stored conversation, or [`None`] if there is none.
    /// Events name `actor` as the one who has changed it.
    pub(super) async fn change<F>(
        &self,
        actor: &EventActor,
        agent: &AgentId,
        id: ConversationId,
        change: F,
    ) -> Result<Option<Conversation>, ApiError>
    where
        F: FnMut(&mut Conversation) -> Option<Vec<Message>> + Send,
    {
        retry_with(MAX_ATTEMPTS, change, concurrent_update, |mut change| async move {
            let Some(mut conversation) = self.storage.conversation(agent, id).await? else {
                return Ok(Break(None));
            };
            let seen = Seen::of(&conversation);
            let Some(messages) = change(&mut conversation) else { return Ok(Break(Some(conversation))) };
            let next = ConversationWrite::next(conversation, self.platform.now());
            let mut write = ConversationWrite { messages, ..next };
            seen.emit(&self.platform, actor, &mut write);
            match self.storage.save_conversation(agent, &write).await {
                Ok(()) => Ok(Break(Some(write.conversation))),
                Err(error) if error.kind == StorageErrorKind::Stale => Ok(Continue(change)),
                Err(error) if error.kind == StorageErrorKind::Missing => Ok(Break(None)),
                Err(error) => Err(error.into()),
            }
        })
        .await
    }

    /// Closes a conversation that was silent for a day, and returns it as it is stored then.
    ///
    /// # Errors
    /// 401 TOKEN_INVALID if it is erased by now.
    pub(super) async fn close_if_silent(
        &self,
        conversation: &Conversation,
        now: Timestamp,
    ) -> Result<Conversation, ApiError> {
        let Conversation { agent_id: agent, id, .. } = conversation;
        let stored = close_if_silent(&self.platform, &*self.storage, agent, *id, now).await?;
        stored.ok_or_else(token_invalid)
    }

    /// Rejects a verified visitor whose contact is blocked.
    pub(super) async fn refuse_blocked(
        &self,
        conversation: &Conversation,
        now: Timestamp,
    ) -> Result<(), ApiError> {
        let Some(id) = conversation.contact_id.filter(|_| conversation.level_at(now) == 2) else {
            return Ok(());
        };
        let contact = self.storage.contact(&conversation.agent_id, &ContactRef::Id(id)).await?;
        match contact {
            Some(contact) if contact.status == ContactStatus::Blocked => Err(visitor_blocked()),
            _ => Ok(()),
        }
    }

    /// Stores a step of a conversation that a visitor makes, with its events; [`None`] if another writer was faster.
    pub(super) async fn save(
        &self,
        seen: Seen,
        mut write: ConversationWrite,
    ) -> Result<Option<Conversation>, ApiError> {
        seen.emit(&self.platform, &EventActor::Visitor, &mut write);
        match self.storage.save_conversation(&write.conversation.agent_id, &write).await {
            Ok(()) => Ok(Some(write.conversation)),
            Err(error) if error.kind == StorageErrorKind::Stale => Ok(None),
            Err(error) if error.kind == StorageErrorKind::Missing => Err(agent_not_available()),
            Err(error) => Err(error.into()),
        }
    }

    /// A conversation that is not stored yet, of version 0.
    pub(super) fn create(
        &self,
        view: &AgentView,
        visitor: Option<VisitorId>,
        counted: Counted,
        request: &WidgetRequest,
    ) -> Conversation {
        let now = request.now;
        let ids = &self.platform.ports().ids;
        let mut bytes = [0; 16];
        ids.fill(&mut bytes);
        Conversation {
            id: ids.platform_id(now).into(),
            agent_id: view.agent.id.clone(),
            version: 0,
            visitor_id: visitor.unwrap_or(VisitorId(bytes)),
            level: 0,
            verified_until: None,
            verified_as: None,
            contact_id: None,
            claims: Default::default(),
            lead: None,
            status: ConversationStatus::Open,
            mode: ConversationMode::Ai,
            waiting_since: None,
            locale: "en".to_owned(),
            time_zone: None,
            page: None,
            metadata: Default::default(),
            message_count: 0,
            operator_unread: 0,
            visitor_read: 0,
            last_message_at: now,
            closed_at: None,
            created_at: now,
            updated_at: now,
            expires_at: now.plus_millis(DAY_MILLIS),
            retention_days: Some(view.settings.retention_days),
            epoch: FIRST_EPOCH,
            network: site(request.address),
            counted,
            uploads: Vec::new(),
            participants: Vec::new(),
            running: None,
        }
    }

    /// The id of a message or document that is created now.
    pub(super) fn next_id<T: From<PlatformId>>(&self, now: Timestamp) -> T {
        self.platform.ports().ids.platform_id(now).into()
    }
}

/// The stored messages of a turn.
#[derive(Default)]
pub(super) struct StoredTurn {
    pub(super) question: Option<Message>,
    pub(super) reply: Option<Message>,
}

impl StoredTurn {
    pub(super) const fn exists(&self) -> bool {
        self.question.is_some() || self.reply.is_some()
    }

    /// Whether the turn needs no other answer: its reply is complete or stopped, or a person will write it.
    pub(super) fn is_answered(&self) -> bool {
        let is_queued = |question: &Message| question.outcome == Some(Outcome::Queued);
        self.question.as_ref().is_some_and(is_queued)
            || self.reply.as_ref().is_some_and(|reply| reply.state != MessageState::Incomplete)
    }
}

/// A message as visitors see it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MessageView<'a> {
    id: MessageId,
    seq: u64,
    role: Speaker,
    text: &'a str,
    state: MessageState,
    sources: &'a [crate::Source],
    uploads: &'a [crate::UploadRef],
    feedback: i8,
    at: Timestamp,
    /// The name of the person who wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
}

impl<'a> MessageView<'a> {
    pub(super) fn of(message: &'a Message) -> Self {
        MessageView {
            id: message.id,
            seq: message.seq,
            role: message.role,
            text: &message.text,
            state: message.state,
            sources: &message.sources,
            uploads: &message.uploads,
            feedback: message.feedback,
            at: message.at,
            name: message.author.as_deref().filter(|_| message.role == Speaker::Human),
        }
    }
}

/// The network of a visitor, if the host names the address.
fn site(address: IpAddr) -> Option<String> {
    let is_named = !address.to_canonical().is_unspecified();
    is_named.then(|| Network::site(address).to_string())
}
