//! Finds the conversation of a turn: that of its token, its successor, or a new one. A repeated request finds the same
//! conversation, so its message is stored once.

use openapi_core::limits::Network;
use openapi_core::platform::concurrent_update;
use openapi_core::reply::ApiError;
use openapi_core::values::{ConversationId, PlatformId, Timestamp};

use super::agent_view::AgentView;
use super::call::{SentToken, WidgetRequest};
use super::repository::Repository;
use crate::conversation::DAY_MILLIS;
use crate::widget::token::FIRST_EPOCH;
use crate::{Conversation, ConversationStatus, VerifiedUser, VisitorId};

/// How long a first turn that is resubmitted without a token finds its conversation.
const REPEATED_MILLIS: i64 = 3_600_000;
/// The most successors that a lookup follows.
const MAX_SUCCESSORS: usize = 1_000;

/// Where a turn belongs.
pub(super) struct ConversationTarget {
    /// The conversation that it continues, or the predecessor of the one that it begins.
    pub(super) stored: Option<Conversation>,
    /// The conversation that it begins.
    pub(super) begins: Option<Beginning>,
}

/// A conversation that does not exist yet.
#[derive(Clone, Copy)]
pub(super) struct Beginning {
    pub(super) id: ConversationId,
    /// Its visitor; [`None`] for that of its predecessor.
    pub(super) visitor: Option<VisitorId>,
}

impl ConversationTarget {
    /// The conversation of a turn. `verified` is the user whose identity the page's server has signed.
    pub(super) async fn of_turn(
        repository: &Repository,
        request: &WidgetRequest,
        view: &AgentView,
        sent: Option<&SentToken>,
        turn: &str,
        verified: Option<&VerifiedUser>,
    ) -> Result<Self, ApiError> {
        let mut conversation = match sent {
            Some(sent) => repository.of_token(&sent.token).await?,
            None => match Self::of_first_turn(repository, request, view, turn).await? {
                ConversationTarget { stored: Some(stored), begins: None } => stored,
                beginning => return Ok(beginning),
            },
        };
        for _ in 0..MAX_SUCCESSORS {
            // Another signed-in user gets a new conversation and sees nothing of the earlier visitor.
            let is_other = verified.is_some()
                && conversation.verified_as.is_some()
                && conversation.verified_as.as_ref() != verified;
            if conversation.status_at(request.now) != conversation.status {
                // A silent conversation closes before the next one begins.
                conversation = repository.close_if_silent(&conversation, request.now).await?;
            }
            let is_open = conversation.status_at(request.now) == ConversationStatus::Open;
            if !is_other && (is_open || repository.turn(&conversation, turn).await?.exists()) {
                return Ok(ConversationTarget { stored: Some(conversation), begins: None });
            }
            let (id, visitor) = successor(repository, &conversation, verified.filter(|_| is_other));
            match repository.storage.conversation(&view.agent.id, id).await? {
                Some(next) => conversation = next,
                None => {
                    let visitor = Some(visitor).filter(|_| is_other);
                    let stored = Some(conversation).filter(|_| !is_other);
                    return Ok(ConversationTarget { stored, begins: Some(Beginning { id, visitor }) });
                }
            }
        }
        Err(concurrent_update())
    }

    /// The conversation that a turn without a token has begun within the last hour, or begins. Only the network that sent
    /// the turn finds it, so that who learns the turn's id and text elsewhere gets no token.
    async fn of_first_turn(
        repository: &Repository,
        request: &WidgetRequest,
        view: &AgentView,
        turn: &str,
    ) -> Result<Self, ApiError> {
        let now = request.now;
        let site = Network::site(request.address);
        let message = format!("{}\n{turn}\n{}\n{site}", view.agent.id, request.origin);
        let begun_at = |at| derived(repository, "first turn", &message, start_of_day(at));
        let (mut id, mut visitor) = begun_at(now);
        for at in [now, now.plus_millis(-DAY_MILLIS)] {
            let Some(stored) = repository.storage.conversation(&view.agent.id, begun_at(at).0).await? else {
                continue;
            };
            let is_revoked = stored.epoch > FIRST_EPOCH;
            if now.millis_since(stored.created_at) < REPEATED_MILLIS && !is_revoked {
                return Ok(ConversationTarget { stored: Some(stored), begins: None });
            }
            // After an hour, or after the operator has revoked the tokens, the caller counts as somebody else.
            let mut bytes = [0; 16];
            repository.platform.ports().ids.fill(&mut bytes);
            (id, visitor) = (repository.next_id(now), VisitorId(bytes));
            break;
        }
        let begins = Some(Beginning { id, visitor: Some(visitor) });
        Ok(ConversationTarget { stored: None, begins })
    }
}

impl Beginning {
    /// The conversation that a lead form without a token begins; [`None`] if it exists. It is the same for the same
    /// form of a page and an address on one day, so a repeated call finds the contact of one that created it and died.
    /// A caller that sends a copy of a stored form gets another conversation, because it may be somebody else.
    pub(super) async fn of_form(
        repository: &Repository,
        request: &WidgetRequest,
        view: &AgentView,
        form: &str,
    ) -> Result<Option<Self>, ApiError> {
        let message = format!("{}\n{}\n{}\n{form}", view.agent.id, request.origin, request.network);
        let (id, visitor) = derived(repository, "first form", &message, start_of_day(request.now));
        let stored = repository.storage.conversation(&view.agent.id, id).await?;
        Ok(stored.is_none().then_some(Beginning { id, visitor: Some(visitor) }))
    }
}

/// The successor of a closed conversation, or of one of another user.
fn successor(
    repository: &Repository,
    before: &Conversation,
    other: Option<&VerifiedUser>,
) -> (ConversationId, VisitorId) {
    let user = other.map(|user| serde_json::to_string(user).unwrap_or_default()).unwrap_or_default();
    let message = format!("{}\n{}\n{user}", before.agent_id, before.id);
    derived(repository, "next conversation", &message, before.created_at)
}

/// The ids of a conversation and its visitor that follow from a message.
fn derived(
    repository: &Repository,
    purpose: &str,
    message: &str,
    at: Timestamp,
) -> (ConversationId, VisitorId) {
    let tag = repository.platform.ports().server_keys.tag(purpose, message.as_bytes());
    let (mut id, mut visitor) = ([0; 8], [0; 16]);
    id.copy_from_slice(&tag[..8]);
    visitor.copy_from_slice(&tag[8..24]);
    (PlatformId::new(at, id).into(), VisitorId(visitor))
}

fn start_of_day(at: Timestamp) -> Timestamp {
    Timestamp::from_millis(at.millis().div_euclid(DAY_MILLIS) * DAY_MILLIS)
}
