//! Sessions: the tokens that let a visitor return to a conversation.

use openapi_core::values::{ConversationId, Timestamp};
use serde::Serialize;

use super::call::{SentToken, WidgetRequest};
use super::repository::Repository;
use crate::widget::token::VisitorToken;
use crate::{Conversation, ConversationMode};

/// The session of a client.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Session {
    conversation: ConversationId,
    pub(super) token: String,
    exp: Timestamp,
    mode: ConversationMode,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) identity: Option<&'static str>,
}

impl Session {
    fn of(conversation: &Conversation, token: &VisitorToken, text: String) -> Self {
        Session {
            conversation: conversation.id,
            token: text,
            exp: token.expires_at(),
            mode: conversation.mode,
            identity: None,
        }
    }
}

impl Repository {
    /// The session of a conversation, with the token that was sent unless that needs to be replaced.
    pub(super) fn session(
        &self,
        request: &WidgetRequest,
        conversation: &Conversation,
        sent: Option<&SentToken>,
        is_session: bool,
    ) -> Session {
        if let Some(SentToken { token, text }) = sent
            && token.conversation == conversation.id
            && token.epoch == conversation.epoch
            && token.level == conversation.level_at(request.now)
            && !token.is_aged(request.now)
        {
            return Session::of(conversation, token, text.clone());
        }
        let is_session = is_session || sent.is_some_and(|sent| sent.token.is_session());
        self.new_session(request, conversation, is_session)
    }

    /// A session with a new token. A replayed turn has new numbers of events and begins with such a session, so the
    /// token of a resumed turn identifies the numbers that its client has received.
    pub(super) fn new_session(
        &self,
        request: &WidgetRequest,
        conversation: &Conversation,
        is_session: bool,
    ) -> Session {
        let ports = self.platform.ports();
        let mut nonce = [0; 4];
        ports.ids.fill(&mut nonce);
        let token = VisitorToken::new(
            conversation.agent_id.clone(),
            conversation.visitor_id,
            conversation.id,
            &request.origin,
            conversation.epoch,
            conversation.level_at(request.now),
            is_session,
            u32::from_be_bytes(nonce),
            request.now,
        );
        Session::of(conversation, &token, token.sign(&ports.server_keys))
    }
}
