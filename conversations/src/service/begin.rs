//! The stages by which a visitor's message begins a turn: locate, check, count, prepare, compose, store.

use std::ops::ControlFlow;
use std::sync::Arc;

use openapi_core::limits::fits;
use openapi_core::reply::ApiError;
use openapi_core::storage::{Effects, StorageErrorKind};
use openapi_core::values::{ConversationId, FileId, Timestamp};

use super::agent_view::AgentView;
use super::call::{WidgetRequest, WidgetResponse};
use super::errors::{agent_not_available, too_many};
use super::resume::Known;
use super::sent::{LEASE_MILLIS, SentTurn};
use super::state::Inner;
use super::store::Session;
use super::target::{Beginning, ConversationTarget};
use crate::storage::ConversationWrite;
use crate::widget::token::VisitorToken;
use crate::{
    Conversation, ConversationMode, Message, MessageState, Outcome, RunningTurn, Speaker, UploadRef,
    VerifiedUser,
};

const DAY_MILLIS: i64 = 86_400_000;

/// The result of storing a turn.
pub(super) enum Begun {
    /// The turn is new and gets an answer.
    New(Box<NewTurn>),
    /// An earlier request began the same turn: this is its response.
    Known(WidgetResponse),
}

/// What one request counts only once, however many attempts it takes.
#[derive(Default)]
pub(super) struct Once {
    is_counted: bool,
}

/// A stored turn without an answer.
pub(super) struct NewTurn {
    pub(super) conversation: Conversation,
    pub(super) asked: Message,
    pub(super) session: Session,
    /// No operator has answered in time: the reply offers the lead form.
    pub(super) offers_form: bool,
}

/// The input of every stage: what the request sent, for which agent and visitor.
pub(super) struct Attempt<'a> {
    pub(super) view: &'a Arc<AgentView>,
    /// The visitor's token and its text.
    pub(super) came: Option<(&'a VisitorToken, &'a str)>,
    pub(super) sent: &'a SentTurn,
    /// The used share of the address's limit on turns and streams.
    pub(super) address_share: f64,
    /// The user whose signature is valid.
    pub(super) verified: Option<VerifiedUser>,
    /// The request has a signature that is not valid.
    pub(super) is_rejected: bool,
}

/// A turn whose conversation was looked up.
struct Located {
    /// The conversation of the turn, or the one before the one that it begins.
    stored: Option<Conversation>,
    begins: Option<Beginning>,
    /// The stored message of this turn, if an earlier answer to it failed.
    asked_before: Option<Message>,
    /// Why the turn cannot begin. The stages report limits and invalid members first.
    refusal: Option<ApiError>,
    begins_session: bool,
}

/// A turn whose conversation has everything but its message.
struct Prepared {
    conversation: Conversation,
    /// The conversation that pending uploads were taken from.
    moved_from: Option<ConversationId>,
    asked_before: Option<Message>,
    uploads: Vec<UploadRef>,
    effects: Effects,
    offers_form: bool,
}

/// A turn that is ready to be written.
struct Composed {
    write: ConversationWrite,
    asked: Message,
    moved_from: Option<ConversationId>,
    offers_form: bool,
}

impl Attempt<'_> {
    /// Sets what the page says about itself and its user, and the level that follows from it.
    fn describe(&self, conversation: &mut Conversation, now: Timestamp) {
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

impl Inner {
    /// Stores the visitor's message, stage by stage. None if another writer changed the conversation meanwhile.
    pub(super) async fn begin(
        self: &Arc<Self>,
        visit: &mut WidgetRequest,
        attempt: &Attempt<'_>,
        once: &mut Once,
    ) -> Result<Option<Begun>, ApiError> {
        let sent = attempt.sent;
        let mut located = match self.locate(visit, attempt).await? {
            ControlFlow::Break(response) => return Ok(Some(Begun::Known(response))),
            ControlFlow::Continue(located) => located,
        };
        let is_new = located.asked_before.is_none() && !once.is_counted;
        if is_new {
            self.check_limits(visit, attempt, &located)?;
        }
        if !sent.faults.is_empty() {
            return Err(sent.faults.clone().into());
        }
        if let Some(refusal) = located.refusal.take() {
            return Err(refusal);
        }
        if sent.is_honeypot {
            let response = self.honeypot_filled(visit, attempt.view, sent).await?;
            return Ok(Some(Begun::Known(response)));
        }
        // Counting comes last and once for all attempts, so that a rejected request uses up no limit.
        if is_new {
            self.count(visit, attempt, &located)?;
            once.is_counted = true;
        }
        let prepared = self.prepare(visit, attempt, located).await?;
        let composed = self.compose(attempt, prepared, visit.now);
        self.store(visit, attempt, composed).await
    }

    /// Finds the conversation of a turn, and breaks with the response if the turn was answered before.
    async fn locate(
        self: &Arc<Self>,
        visit: &mut WidgetRequest,
        attempt: &Attempt<'_>,
    ) -> Result<ControlFlow<WidgetResponse, Located>, ApiError> {
        let &Attempt { view, came, sent, .. } = attempt;
        let token = came.map(|(token, _)| token);
        let ConversationTarget { stored, begins } =
            self.locate_conversation(visit, view, token, sent, attempt.verified.as_ref()).await?;
        let (mut asked_before, mut refusal) = (None, None);
        if let Some(conversation) = &stored
            && begins.is_none()
        {
            match self.known(visit, view, conversation, came, sent).await? {
                Known::WidgetResponse(response) => return Ok(ControlFlow::Break(response)),
                Known::Failed(asked) => asked_before = Some(asked),
                Known::Refused(error) => refusal = Some(error),
                Known::Unknown => {}
            }
        }
        let begins_session = stored.is_none() && came.is_none();
        Ok(ControlFlow::Continue(Located { stored, begins, asked_before, refusal, begins_session }))
    }

    /// Checks the limits without counting, and asks for a challenge if one of them is nearly reached.
    fn check_limits(
        &self,
        visit: &WidgetRequest,
        attempt: &Attempt<'_>,
        located: &Located,
    ) -> Result<(), ApiError> {
        let &Attempt { view, sent, address_share, .. } = attempt;
        let Located { stored, begins, begins_session, .. } = located;
        let now = visit.now;
        let limits = &self.settings.limits;
        let agent = self.shared.agents.peek(&view.agent.id, &limits.agent_turns, now);
        let mut share = agent.map_err(|full| too_many("agent", full))?.share;
        share = share.max(self.shared.usage.share_of_day(&view.agent.id, now)).max(address_share);
        if let Some(conversation) = stored {
            let turns = conversation.counted.turns.iter().map(|at| at.millis());
            fits(turns, &limits.turns, now.millis()).map_err(|full| too_many("visitor", full))?;
        }
        if sent.lead.is_some() {
            share = share.max(self.admit_lead(visit, stored.as_ref())?);
        }
        if *begins_session {
            share = share.max(self.peek_address(visit, "session", &limits.address_sessions)?);
        }
        let conversation = begins.as_ref().map(|begins| begins.id);
        let conversation = conversation.or_else(|| stored.as_ref().map(|stored| stored.id));
        let windows = &limits.address_repeats;
        if self.shared.repeats.is_spread(visit.network, &sent.text, conversation, windows, now) {
            share = 1.0;
        }
        self.challenge(visit, sent.challenge.as_ref(), share)
    }

    /// Counts an accepted turn towards the limits.
    fn count(&self, visit: &WidgetRequest, attempt: &Attempt<'_>, located: &Located) -> Result<(), ApiError> {
        let limits = &self.settings.limits;
        if located.begins_session {
            self.admit_address(visit, "session", &limits.address_sessions)?;
        }
        if attempt.sent.lead.is_some() {
            self.admit_address(visit, "lead", &limits.address_leads)?;
        }
        let agent = attempt.view.agent.id.clone();
        let admitted = self.shared.agents.admit(agent, &limits.agent_turns, visit.now);
        admitted.map(drop).map_err(|full| too_many("agent", full))
    }

    /// Creates the conversation that a turn begins. It takes over the pending uploads that the turn refers to, and
    /// names the conversation that it takes them from.
    fn successor(
        &self,
        visit: &WidgetRequest,
        attempt: &Attempt<'_>,
        before: Option<&Conversation>,
        begins: Option<Beginning>,
    ) -> (Conversation, Option<ConversationId>) {
        let &Attempt { view, sent, .. } = attempt;
        let waiting = before.map(|before| before.uploads.clone()).unwrap_or_default();
        let taken: Vec<FileId> = waiting.into_iter().filter(|id| sent.uploads.contains(id)).collect();
        let moved_from = before.filter(|_| !taken.is_empty()).map(|before| before.id);
        let counted = before.map(|before| before.counted.clone()).unwrap_or_default();
        let visitor = before.map(|before| before.visitor_id);
        let mut new = self.new_conversation(view, visitor, counted, visit);
        if let Some(begins) = begins {
            new.id = begins.id;
            new.visitor_id = begins.visitor.unwrap_or(new.visitor_id);
        }
        new.uploads = taken;
        (new, moved_from)
    }

    /// Brings the conversation up to date with everything that came with the turn except its message.
    async fn prepare(
        &self,
        visit: &WidgetRequest,
        attempt: &Attempt<'_>,
        located: Located,
    ) -> Result<Prepared, ApiError> {
        let &Attempt { view, sent, .. } = attempt;
        let now = visit.now;
        let Located { stored, begins, asked_before, .. } = located;
        let (mut conversation, moved_from) = match (stored, begins) {
            (Some(stored), None) => (stored, None),
            (before, begins) => self.successor(visit, attempt, before.as_ref(), begins),
        };
        let uploads = match asked_before {
            Some(_) => Vec::new(),
            None => self.taken_along(&conversation, &sent.uploads, now).await?,
        };
        attempt.describe(&mut conversation, now);
        let is_back = self.back_to_ai(view, &mut conversation, now);
        let filled = match &sent.lead {
            Some(lead) => Some(self.fill_in(visit, view, &mut conversation, lead, &sent.id).await?),
            None => None,
        };
        self.link(visit, view, &mut conversation, filled.as_ref()).await?;
        let effects = filled.map_or_else(Effects::default, |filled| Effects::audited(filled.audit));
        Ok(Prepared { conversation, moved_from, asked_before, uploads, effects, offers_form: is_back })
    }

    /// Appends the message, and marks the turn as running or, where a person answers, as waiting.
    fn compose(&self, attempt: &Attempt<'_>, prepared: Prepared, now: Timestamp) -> Composed {
        let &Attempt { view, sent, .. } = attempt;
        let Prepared { mut conversation, moved_from, asked_before, uploads, effects, offers_form } = prepared;
        // The process of an earlier turn is gone: with a valid lease, the turn would have been refused. The text that
        // it wrote stays.
        let mut messages: Vec<Message> = self.abandoned(view, &mut conversation, now).into_iter().collect();
        let is_human = conversation.mode == ConversationMode::Human;
        let asked = match asked_before {
            Some(asked) => asked,
            None => {
                conversation.counted.turns.retain(|at| now.millis_since(*at) < DAY_MILLIS);
                conversation.counted.turns.push(now);
                conversation.operator_unread += 1;
                let days = view.settings.retention_days;
                let mut asked =
                    self.append(&mut conversation, Speaker::Visitor, sent.text.clone(), now, days);
                asked.turn = Some(sent.id.clone());
                asked.outcome = is_human.then_some(Outcome::Queued);
                asked.uploads.clone_from(&uploads);
                messages.push(asked.clone());
                asked
            }
        };
        conversation.visitor_read = conversation.message_count;
        if is_human {
            conversation.waiting_since.get_or_insert(now);
        } else {
            conversation.running = Some(RunningTurn {
                turn: sent.id.clone(),
                owner: self.shared.server,
                lease_until: now.plus_millis(LEASE_MILLIS),
                text: String::new(),
                cancelled: false,
            });
        }
        conversation.version += 1;
        conversation.updated_at = now;
        let keep = uploads.iter().map(|upload| upload.id).collect();
        let write = ConversationWrite { conversation, messages, keep, effects, deferrable: false };
        Composed { write, asked, moved_from, offers_form }
    }

    /// Stores the composed turn. None if another writer changed the conversation meanwhile.
    async fn store(
        &self,
        visit: &WidgetRequest,
        attempt: &Attempt<'_>,
        composed: Composed,
    ) -> Result<Option<Begun>, ApiError> {
        let &Attempt { view, came, sent, .. } = attempt;
        let Composed { write, asked, moved_from, offers_form } = composed;
        match self.storage.save_conversation(&view.agent.id, &write).await {
            Ok(()) => {}
            Err(error) if error.kind == StorageErrorKind::Stale => return Ok(None),
            Err(error) if error.kind == StorageErrorKind::Missing => {
                return Err(agent_not_available());
            }
            Err(error) => return Err(error.into()),
        }
        let conversation = write.conversation;
        let windows = &self.settings.limits.address_repeats;
        self.shared.repeats.note(visit.network, &sent.text, conversation.id, windows, visit.now);
        if let Some(before) = moved_from {
            // Until this write, erasing either conversation erases the files.
            let left = self.change(&view.agent.id, before, |before| {
                before.uploads.retain(|upload| !conversation.uploads.contains(upload));
                Some(Vec::new())
            });
            left.await?;
        }
        let mut session = self.session(visit, &conversation, came, sent.is_session);
        session.identity = attempt.is_rejected.then_some("rejected");
        Ok(Some(Begun::New(Box::new(NewTurn { conversation, asked, session, offers_form }))))
    }

    /// Takes the text that a stopped process wrote of its reply, as an incomplete message.
    fn abandoned(
        &self,
        view: &AgentView,
        conversation: &mut Conversation,
        now: Timestamp,
    ) -> Option<Message> {
        let running = conversation.running.take().filter(|running| !running.text.is_empty())?;
        let days = view.settings.retention_days;
        let mut message = self.append(conversation, Speaker::Agent, running.text, now, days);
        message.state = MessageState::Incomplete;
        message.turn = Some(running.turn);
        Some(message)
    }
}
