//! The request of a turn, and the input of its stages.

use std::sync::Arc;

use openapi_core::json::{Object, RawObject};
use openapi_core::validation::Violations;
use openapi_core::values::{FileId, Timestamp};

use crate::conversation::DAY_MILLIS;
use crate::service::agent_view::AgentView;
use crate::service::call::{SentToken, WidgetRequest};
use crate::service::leads::SentLead;
use crate::widget::identity;
use crate::widget::request::{Members, SentUser, is_of_tab};
use crate::{ChatPage, Conversation, VerifiedUser};

/// The request of a turn. Its errors are reported after those of its conversation and of the limits.
pub(super) struct SentTurn {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) uploads: Vec<FileId>,
    pub(super) lead: Option<SentLead>,
    pub(super) user: Option<SentUser>,
    pub(super) page: Option<ChatPage>,
    pub(super) locale: String,
    pub(super) time_zone: Option<String>,
    pub(super) metadata: RawObject,
    pub(super) is_session: bool,
    pub(super) challenge: Option<(String, String)>,
    pub(super) is_honeypot: bool,
    pub(super) faults: Violations,
}

impl SentTurn {
    pub(super) fn read(body: &Object) -> Self {
        let mut members = Members::new(body);
        let id = members.turn("id").unwrap_or_default();
        let uploads = members.uploads();
        let lead = SentLead::of_turn(&mut members);
        let may_be_empty = lead.is_some() || !uploads.is_empty();
        SentTurn {
            text: members.message(may_be_empty),
            uploads,
            lead,
            user: members.user(),
            page: members.page(),
            locale: members.line("locale", 35).unwrap_or_else(|| "en".to_owned()),
            time_zone: members.line("tz", 64),
            metadata: members.metadata(),
            is_session: is_of_tab(body),
            challenge: members.challenge(),
            is_honeypot: members.is_honeypot(),
            faults: members.faults,
            id,
        }
    }
}

/// The input of every stage: what the request sent, for which agent and visitor.
pub(super) struct Attempt<'a> {
    pub(super) request: &'a WidgetRequest,
    pub(super) view: &'a Arc<AgentView>,
    pub(super) token: Option<&'a SentToken>,
    pub(super) sent: &'a SentTurn,
    /// The used share of the address's limits on turns and streams.
    pub(super) share: f64,
    /// The user whose signature is valid.
    pub(super) verified: Option<VerifiedUser>,
    /// Whether the request has a signature that is not valid.
    pub(super) is_rejected: bool,
}

impl Attempt<'_> {
    /// Sets what the page says about itself and its user, and the level that follows from it.
    pub(super) fn describe(&self, conversation: &mut Conversation, now: Timestamp) {
        let sent = self.sent;
        if conversation.message_count == 0 && conversation.page.is_none() {
            conversation.locale.clone_from(&sent.locale);
            conversation.time_zone.clone_from(&sent.time_zone);
            conversation.page.clone_from(&sent.page);
            conversation.metadata = sent.metadata.clone();
        }
        if let Some(user) = &sent.user {
            conversation.claims = user.claims.clone();
        }
        let known_by_email = conversation.claims.email.is_some() || conversation.lead.is_some();
        conversation.level = conversation.level_at(now).max(u8::from(known_by_email || sent.lead.is_some()));
        if let Some(verified) = &self.verified {
            conversation.level = 2;
            conversation.verified_until = Some(now.plus_millis(DAY_MILLIS));
            conversation.verified_as = Some(verified.clone());
        } else if self.is_rejected {
            // An earlier valid signature no longer counts, because somebody else may send this one. The next valid
            // signature restores the level.
            conversation.level = 1;
            conversation.verified_until = None;
        }
    }
}

/// The user whose signature is valid, and whether an invalid one was sent.
pub(super) fn verify(
    view: &AgentView,
    user: Option<&SentUser>,
    now: Timestamp,
) -> (Option<VerifiedUser>, bool) {
    let Some((user, hash)) = user.and_then(|user| Some((user, user.hash.as_ref()?))) else {
        return (None, false);
    };
    let claimed = VerifiedUser {
        external_reference_id: user.claims.external_reference_id.clone(),
        email: user.claims.email.clone(),
    };
    if identity::verify_signature(&view.secrets, &view.agent.id, &claimed, hash, now) {
        (Some(claimed), false)
    } else {
        (None, true)
    }
}
