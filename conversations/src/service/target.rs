//! Where a turn belongs: the conversation of its token, the one that came after it, or a new one. A repeated turn
//! finds the same conversation, so that it is stored once.

use openapi_core::reply::ApiError;
use openapi_core::values::{ConversationId, PlatformId, Timestamp};

use super::agent_view::AgentView;
use super::call::WidgetRequest;
use super::sent::{FIRST_EPOCH, SentTurn};
use super::state::Inner;
use crate::widget::token::VisitorToken;
use crate::{Conversation, ConversationStatus, VerifiedUser, VisitorId};

const DAY_MILLIS: i64 = 86_400_000;
/// For how long a first turn that is sent again without a token finds its conversation.
const REPEATED_MILLIS: i64 = 3_600_000;
/// How many conversations that came one after another are gone through.
const MOST_FOLLOWED: usize = 1_000;

/// Where a turn belongs.
pub(super) struct ConversationTarget {
    /// The conversation that it goes on in, or the last one before the one that it begins.
    pub(super) stored: Option<Conversation>,
    /// The conversation that it begins.
    pub(super) begins: Option<Beginning>,
}

/// A conversation that is not there yet.
pub(super) struct Beginning {
    pub(super) id: ConversationId,
    /// Who writes in it; none for the visitor of the one before.
    pub(super) visitor: Option<VisitorId>,
}

impl Inner {
    /// Where a turn belongs that came with this token, of a user for whom the page's server vouches.
    pub(super) async fn locate_conversation(
        &self,
        visit: &WidgetRequest,
        view: &AgentView,
        token: Option<&VisitorToken>,
        sent: &SentTurn,
        verified: Option<&VerifiedUser>,
    ) -> Result<ConversationTarget, ApiError> {
        let mut conversation = match token {
            Some(token) => self.conversation_of(token).await?,
            None => match self.begun_by(view, sent, visit).await? {
                ConversationTarget { stored: Some(stored), begins: None } => stored,
                beginning => return Ok(beginning),
            },
        };
        for _ in 0..MOST_FOLLOWED {
            // Another signed-in user gets a new conversation and sees nothing of the earlier visitor.
            let is_other = verified.is_some()
                && conversation.verified_as.is_some()
                && conversation.verified_as.as_ref() != verified;
            let is_open = conversation.status_at(visit.now) == ConversationStatus::Open;
            if !is_other && (is_open || self.has_turn(&conversation, sent).await?) {
                return Ok(ConversationTarget { stored: Some(conversation), begins: None });
            }
            let (id, visitor) = self.next_conversation(&conversation, verified.filter(|_| is_other));
            match self.storage.conversation(&view.agent.id, id).await? {
                Some(next) => conversation = next,
                None => {
                    let visitor = Some(visitor).filter(|_| is_other);
                    let stored = Some(conversation).filter(|_| !is_other);
                    return Ok(ConversationTarget { stored, begins: Some(Beginning { id, visitor }) });
                }
            }
        }
        Err(openapi_core::platform::concurrent_update())
    }

    async fn has_turn(&self, conversation: &Conversation, sent: &SentTurn) -> Result<bool, ApiError> {
        let messages = self.messages_of_turn(&conversation.agent_id, conversation.id, &sent.id).await?;
        Ok(!messages.is_empty())
    }

    /// What a turn without a token begins: the same for the same turn of a page, so that a client whose first answer
    /// was lost finds its conversation instead of beginning a second one.
    fn first_conversation(
        &self,
        view: &AgentView,
        turn: &str,
        visit: &WidgetRequest,
        at: Timestamp,
    ) -> Beginning {
        let day = at.millis().div_euclid(DAY_MILLIS) * DAY_MILLIS;
        let message = format!("{}\n{turn}\n{}", view.agent.id, visit.origin);
        let (id, visitor) = self.derived("first turn", &message, Timestamp::from_millis(day));
        Beginning { id, visitor: Some(visitor) }
    }

    /// What a form without a token begins: the same for the same form of a page and an address on one day. A call that
    /// made a contact and died finds it again by that. A caller that sends a copy of a stored form gets
    /// another conversation: it may be somebody else.
    pub(super) async fn conversation_of_form(
        &self,
        view: &AgentView,
        visit: &WidgetRequest,
        form: &str,
    ) -> Result<Option<Beginning>, ApiError> {
        let day = visit.now.millis().div_euclid(DAY_MILLIS) * DAY_MILLIS;
        let message = format!("{}\n{}\n{}\n{form}", view.agent.id, visit.origin, visit.network);
        let (id, visitor) = self.derived("first form", &message, Timestamp::from_millis(day));
        let stored = self.storage.conversation(&view.agent.id, id).await?;
        Ok(stored.is_none().then_some(Beginning { id, visitor: Some(visitor) }))
    }

    /// The conversation that comes after one that is closed, or after that of another user.
    fn next_conversation(
        &self,
        before: &Conversation,
        other: Option<&VerifiedUser>,
    ) -> (ConversationId, VisitorId) {
        let user = other.map(|user| serde_json::to_string(user).unwrap_or_default()).unwrap_or_default();
        let message = format!("{}\n{}\n{user}", before.agent_id, before.id);
        self.derived("next conversation", &message, before.created_at)
    }

    fn derived(&self, purpose: &str, message: &str, at: Timestamp) -> (ConversationId, VisitorId) {
        let tag = self.platform.ports().server_keys.tag(purpose, message.as_bytes());
        let (mut id, mut visitor) = ([0; 8], [0; 16]);
        id.copy_from_slice(&tag[..8]);
        visitor.copy_from_slice(&tag[8..24]);
        (PlatformId::new(at, id).into(), VisitorId(visitor))
    }

    /// The conversation that this turn has begun already, a little while ago, or is to begin.
    async fn begun_by(
        &self,
        view: &AgentView,
        sent: &SentTurn,
        visit: &WidgetRequest,
    ) -> Result<ConversationTarget, ApiError> {
        let now = visit.now;
        for at in [now, now.plus_millis(-DAY_MILLIS)] {
            let begun = self.first_conversation(view, &sent.id, visit, at);
            let Some(stored) = self.storage.conversation(&view.agent.id, begun.id).await? else {
                continue;
            };
            let is_revoked = stored.epoch > FIRST_EPOCH;
            if now.millis_since(stored.created_at) < REPEATED_MILLIS && !is_revoked {
                return Ok(ConversationTarget { stored: Some(stored), begins: None });
            }
            // Who comes so late, or after its tokens were ended, is taken for somebody else.
            let ids = &self.platform.ports().ids;
            let mut bytes = [0; 16];
            ids.fill(&mut bytes);
            let begins = Beginning { id: ids.platform_id(now).into(), visitor: Some(VisitorId(bytes)) };
            return Ok(ConversationTarget { stored: None, begins: Some(begins) });
        }
        Ok(ConversationTarget {
            stored: None,
            begins: Some(self.first_conversation(view, &sent.id, visit, now)),
        })
    }
}
