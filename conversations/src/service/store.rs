//! Changes of conversations: each is computed from the stored version, and stored if no other writer changed it.

use openapi_core::platform::concurrent_update;
use openapi_core::reply::ApiError;
use openapi_core::storage::{Effects, StorageErrorKind};
use openapi_core::values::{AgentId, ConversationId, MessageId, Timestamp};
use serde::Serialize;

use super::call::WidgetRequest;
use super::errors::token_invalid;
use super::state::Inner;
use crate::conversations::ATTEMPTS;
use crate::storage::{ConversationWrite, MessageQuery, MessageSelector};
use crate::widget::token::VisitorToken;
use crate::{Conversation, ConversationMode, Message, MessageState, Outcome, Speaker};

/// How many messages a turn can have: the visitor's and the reply, and room for what is not foreseen.
const MESSAGES_OF_TURN: u32 = 8;

/// A message as visitors see it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shown<'a> {
    id: MessageId,
    seq: u64,
    role: Speaker,
    text: &'a str,
    state: MessageState,
    sources: &'a [crate::Source],
    uploads: &'a [crate::UploadRef],
    feedback: i8,
    at: Timestamp,
    /// The name of the person who writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
}

pub(super) fn shown(message: &Message) -> Shown<'_> {
    Shown {
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

/// What a client learns of its session.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Session {
    pub(super) conversation: ConversationId,
    pub(super) token: String,
    exp: Timestamp,
    mode: ConversationMode,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) identity: Option<&'static str>,
}

impl Inner {
    /// The conversation of a token; a token whose conversation is gone, or that was ended, is none.
    pub(super) async fn conversation_of(&self, token: &VisitorToken) -> Result<Conversation, ApiError> {
        let stored = self.storage.conversation(&token.agent, token.conversation).await?;
        stored
            .filter(|stored| stored.epoch == token.epoch && stored.visitor_id == token.visitor)
            .ok_or_else(token_invalid)
    }

    /// The session of a conversation: the token that came, unless a newer one is to replace it.
    pub(super) fn session(
        &self,
        visit: &WidgetRequest,
        conversation: &Conversation,
        came: Option<(&VisitorToken, &str)>,
        is_session: bool,
    ) -> Session {
        let level = conversation.level_at(visit.now);
        if let Some((token, text)) = came
            && token.conversation == conversation.id
            && token.epoch == conversation.epoch
            && token.level == level
            && !token.is_aged(visit.now)
        {
            return Session {
                conversation: conversation.id,
                token: text.to_owned(),
                exp: token.expires_at(),
                mode: conversation.mode,
                identity: None,
            };
        }
        self.new_session(visit, conversation, is_session || came.is_some_and(|(token, _)| token.is_session()))
    }

    /// A session with a token that no other has. Events that are emitted again, with new numbers, begin with one: so
    /// the token of a resumed turn tells which numbers its client has seen.
    pub(super) fn new_session(
        &self,
        visit: &WidgetRequest,
        conversation: &Conversation,
        is_session: bool,
    ) -> Session {
        let mut nonce = [0; 4];
        self.platform.ports().ids.fill(&mut nonce);
        let token = VisitorToken::new(
            conversation.agent_id.clone(),
            conversation.visitor_id,
            conversation.id,
            &visit.origin,
            conversation.epoch,
            conversation.level_at(visit.now),
            is_session,
            u32::from_be_bytes(nonce),
            visit.now,
        );
        Session {
            conversation: conversation.id,
            token: token.sign(&self.platform.ports().server_keys),
            exp: token.expires_at(),
            mode: conversation.mode,
            identity: None,
        }
    }

    /// The messages of a turn: the visitor's, and the reply where there is one.
    pub(super) async fn messages_of_turn(
        &self,
        agent: &AgentId,
        conversation: ConversationId,
        turn: &str,
    ) -> Result<Vec<Message>, ApiError> {
        let which = MessageSelector::Turn(turn.to_owned());
        let query = MessageQuery { conversation, which, limit: MESSAGES_OF_TURN };
        Ok(self.storage.messages(agent, &query).await?)
    }

    /// Changes a conversation as `change` says, from what is stored; [`None`] of `change` leaves it as it is. Tells
    /// what is stored afterwards.
    pub(super) async fn change<F>(
        &self,
        agent: &AgentId,
        id: ConversationId,
        mut change: F,
    ) -> Result<Option<Conversation>, ApiError>
    where
        F: FnMut(&mut Conversation) -> Option<Vec<Message>> + Send,
    {
        for _ in 0..ATTEMPTS {
            let Some(mut conversation) = self.storage.conversation(agent, id).await? else {
                return Ok(None);
            };
            let Some(messages) = change(&mut conversation) else { return Ok(Some(conversation)) };
            conversation.version += 1;
            conversation.updated_at = self.platform.now();
            let write = ConversationWrite {
                conversation,
                messages,
                keep: Vec::new(),
                effects: Effects::default(),
                deferrable: false,
            };
            match self.storage.save_conversation(agent, &write).await {
                Ok(()) => return Ok(Some(write.conversation)),
                Err(error) if error.kind == StorageErrorKind::Stale => {}
                Err(error) if error.kind == StorageErrorKind::Missing => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        Err(concurrent_update())
    }

    /// A new message at the end of a conversation, which counts it.
    pub(super) fn append(
        &self,
        conversation: &mut Conversation,
        role: Speaker,
        text: String,
        at: Timestamp,
        retention_days: u32,
    ) -> Message {
        conversation.message_count += 1;
        conversation.last_message_at = at;
        conversation.expires_at = at.plus_millis(i64::from(retention_days) * 86_400_000);
        Message {
            id: self.platform.ports().ids.platform_id(at).into(),
            seq: conversation.message_count,
            role,
            text,
            state: MessageState::Complete,
            sources: Vec::new(),
            uploads: Vec::new(),
            feedback: 0,
            comment: None,
            at,
            turn: None,
            author: None,
            outcome: None,
            after: Default::default(),
            usage: None,
            credits: 0,
        }
    }
}

/// The visitor's message and the reply among the messages of a turn.
pub(super) fn asked_and_answered(messages: Vec<Message>) -> (Option<Message>, Option<Message>) {
    let (mut asked, mut answered) = (None, None);
    for message in messages {
        match message.role {
            Speaker::Visitor => asked = Some(message),
            Speaker::Agent => answered = Some(message),
            Speaker::Human => {}
        }
    }
    (asked, answered)
}

/// Whether a turn with these messages needs no other answer: a reply that is whole, stopped, or left to a human.
pub(super) fn is_answered(asked: Option<&Message>, answered: Option<&Message>) -> bool {
    asked.is_some_and(|asked| asked.outcome == Some(Outcome::Queued))
        || answered.is_some_and(|answered| answered.state != MessageState::Incomplete)
}
