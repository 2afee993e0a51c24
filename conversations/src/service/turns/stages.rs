//! The stages by which a visitor's message begins a turn: locate, check, count, prepare, compose, store.

use std::ops::ControlFlow::{self, Break, Continue};

use openapi_core::events::EventActor;
use openapi_core::reply::ApiError;
use openapi_core::storage::Effects;
use openapi_core::values::{ConversationId, FileId, Timestamp};

use super::Turns;
use super::attempt::Attempt;
use super::repeated::Known;
use crate::conversation::LEASE_MILLIS;
use crate::events::Seen;
use crate::service::admission::{AddressLimit, VisitorLimit, count};
use crate::service::locator::{Beginning, ConversationTarget};
use crate::service::session::Session;
use crate::service::streams::Playback;
use crate::storage::ConversationWrite;
use crate::{
    Conversation, ConversationMode, Message, MessageState, Outcome, RunningTurn, Speaker, UploadRef,
};

/// The result of the stages.
pub(super) enum Begun {
    /// The turn is new and gets an answer.
    New(Box<NewTurn>),
    /// An earlier request began the same turn: its events.
    Known(Playback),
}

/// A stored turn without an answer.
pub(super) struct NewTurn {
    pub(super) conversation: Conversation,
    pub(super) question: Message,
    pub(super) session: Session,
    /// Whether the reply offers the lead form, because no operator has answered in time.
    pub(super) offers_form: bool,
}

/// A turn whose conversation was looked up.
struct Located {
    /// The conversation of the turn, or the predecessor of the one that it begins.
    stored: Option<Conversation>,
    begins: Option<Beginning>,
    /// The stored message of this turn, if an earlier answer to it failed.
    failed: Option<Message>,
    /// Why the turn cannot begin. The stages report limits and invalid members first.
    refusal: Option<ApiError>,
    begins_session: bool,
}

/// A turn whose conversation has everything but its message.
struct Prepared {
    /// What the conversation was before the turn.
    seen: Seen,
    conversation: Conversation,
    /// The conversation that pending uploads were taken from.
    moved_from: Option<ConversationId>,
    failed: Option<Message>,
    uploads: Vec<UploadRef>,
    effects: Effects,
    offers_form: bool,
}

/// A turn that is ready to be written.
struct Composed {
    seen: Seen,
    write: ConversationWrite,
    question: Message,
    moved_from: Option<ConversationId>,
    offers_form: bool,
}

impl Turns {
    /// Stores the visitor's message, stage by stage. Continues if another writer changed the conversation meanwhile,
    /// with whether the limits have counted the turn.
    pub(super) async fn begin(
        &self,
        attempt: &Attempt<'_>,
        is_counted: bool,
    ) -> Result<ControlFlow<Begun, bool>, ApiError> {
        let sent = attempt.sent;
        let mut located = match self.locate(attempt).await? {
            Break(playback) => return Ok(Break(Begun::Known(playback))),
            Continue(located) => located,
        };
        let is_new = located.failed.is_none() && !is_counted;
        if is_new {
            self.check_limits(attempt, &located)?;
        }
        if !sent.faults.is_empty() {
            return Err(sent.faults.clone().into());
        }
        if let Some(refusal) = located.refusal.take() {
            return Err(refusal);
        }
        if sent.is_honeypot {
            return Ok(Break(Begun::Known(self.honeypot_filled(attempt))));
        }
        // Counting comes last and once for all attempts, so that a rejected request uses up no limit.
        if is_new {
            self.count(attempt, &located)?;
        }
        let prepared = self.prepare(attempt, located).await?;
        let composed = self.compose(attempt, prepared);
        let stored = self.store(attempt, composed).await?;
        Ok(stored.map_or(Continue(is_counted || is_new), |new| Break(Begun::New(Box::new(new)))))
    }

    /// Finds the conversation of a turn, and breaks with the events if the turn was answered before.
    async fn locate(&self, attempt: &Attempt<'_>) -> Result<ControlFlow<Playback, Located>, ApiError> {
        let &Attempt { request, view, token, sent, .. } = attempt;
        let target = ConversationTarget::of_turn(
            &self.repository,
            request,
            view,
            token,
            &sent.id,
            attempt.verified.as_ref(),
        );
        let ConversationTarget { stored, begins } = target.await?;
        let (mut failed, mut refusal) = (None, None);
        if let Some(conversation) = &stored
            && begins.is_none()
        {
            match self.known(attempt, conversation).await? {
                Known::Playback(playback) => return Ok(Break(playback)),
                Known::Failed(question) => failed = Some(*question),
                Known::Refused(error) => refusal = Some(error),
                Known::Unknown => {}
            }
        }
        let begins_session = stored.is_none() && token.is_none();
        Ok(Continue(Located { stored, begins, failed, refusal, begins_session }))
    }

    /// Checks the limits without counting, and asks for a challenge if one of them is nearly reached.
    fn check_limits(&self, attempt: &Attempt<'_>, located: &Located) -> Result<(), ApiError> {
        let &Attempt { request, view, sent, share, .. } = attempt;
        let Located { stored, begins, begins_session, .. } = located;
        let (admission, agent) = (&self.admission, &view.agent.id);
        let mut share = share.max(admission.peek_agent(request, view)?);
        share = share.max(self.replies.budgets.usages.share_of_day(agent, request.now));
        if let Some(conversation) = stored {
            admission.check_visitor(conversation, VisitorLimit::Turns, request.now)?;
        }
        if sent.lead.is_some() {
            if let Some(conversation) = stored {
                admission.check_visitor(conversation, VisitorLimit::Leads, request.now)?;
            }
            share = share.max(admission.peek_address(request, AddressLimit::Leads)?);
        }
        if *begins_session {
            share = share.max(admission.peek_address(request, AddressLimit::Sessions)?);
        }
        let conversation = begins.as_ref().map(|begins| begins.id);
        let conversation = conversation.or_else(|| stored.as_ref().map(|stored| stored.id));
        if admission.is_duplicate(request, &sent.text, conversation) {
            share = 1.0;
        }
        let call = format!("{}\n{}", sent.id, attempt.token.map_or("", |sent| sent.text.as_str()));
        admission.challenge(request, agent, &call, sent.challenge.as_ref(), share)
    }

    /// Counts an accepted turn towards the limits.
    fn count(&self, attempt: &Attempt<'_>, located: &Located) -> Result<(), ApiError> {
        let &Attempt { request, view, sent, .. } = attempt;
        if located.begins_session {
            self.admission.admit_address(request, AddressLimit::Sessions)?;
        }
        if sent.lead.is_some() {
            self.admission.admit_address(request, AddressLimit::Leads)?;
        }
        self.admission.admit_agent(request, view)
    }

    /// Creates the conversation that a turn begins. It takes over the pending uploads that the turn refers to, and
    /// names the conversation that it takes them from.
    fn successor(
        &self,
        attempt: &Attempt<'_>,
        before: Option<&Conversation>,
        begins: Option<Beginning>,
    ) -> (Conversation, Option<ConversationId>) {
        let &Attempt { request, view, sent, .. } = attempt;
        let waiting = before.map(|before| before.uploads.clone()).unwrap_or_default();
        let taken: Vec<FileId> = waiting.into_iter().filter(|id| sent.uploads.contains(id)).collect();
        let moved_from = before.filter(|_| !taken.is_empty()).map(|before| before.id);
        let counted = before.map(|before| before.counted.clone()).unwrap_or_default();
        let visitor = before.map(|before| before.visitor_id);
        let mut new = self.repository.create(view, visitor, counted, request);
        if let Some(begins) = begins {
            new.id = begins.id;
            new.visitor_id = begins.visitor.unwrap_or(new.visitor_id);
        }
        new.uploads = taken;
        (new, moved_from)
    }

    /// Brings the conversation up to date with everything that came with the turn except its message.
    async fn prepare(&self, attempt: &Attempt<'_>, located: Located) -> Result<Prepared, ApiError> {
        let &Attempt { request, view, sent, .. } = attempt;
        let now = request.now;
        let Located { stored, begins, failed, .. } = located;
        let (mut conversation, moved_from) = match (stored, begins) {
            (Some(stored), None) => (stored, None),
            (before, begins) => self.successor(attempt, before.as_ref(), begins),
        };
        let seen = Seen::of(&conversation);
        let uploads = match failed {
            Some(_) => Vec::new(),
            None => self.uploads.attach(&conversation, &sent.uploads, now).await?,
        };
        attempt.describe(&mut conversation, now);
        let offers_form = conversation.end_handoff(view.settings.chat.handoff.timeout_minutes, now);
        let filled = match &sent.lead {
            Some(lead) => Some(self.leads.fill_in(request, view, &mut conversation, lead, &sent.id).await?),
            None => None,
        };
        self.leads.link(request, view, &mut conversation, filled.as_ref()).await?;
        let effects = filled.map_or_else(Effects::default, |filled| Effects::audited(filled.audit));
        Ok(Prepared { seen, conversation, moved_from, failed, uploads, effects, offers_form })
    }

    /// Appends the message, and marks the turn as running or, where a person answers, as waiting.
    fn compose(&self, attempt: &Attempt<'_>, prepared: Prepared) -> Composed {
        let &Attempt { request, view, sent, .. } = attempt;
        let (now, days) = (request.now, view.settings.retention_days);
        let Prepared { seen, mut conversation, moved_from, failed, uploads, effects, offers_form } = prepared;
        // The process of an earlier turn is gone: with a valid lease, the turn would have been refused. The text that
        // it wrote stays.
        let mut messages: Vec<Message> = self.abandoned(&mut conversation, now, days).into_iter().collect();
        let is_human = conversation.mode == ConversationMode::Human;
        let question = failed.unwrap_or_else(|| {
            count(&mut conversation.counted.turns, now);
            conversation.operator_unread += 1;
            let id = self.repository.next_id(now);
            let mut question = conversation.append(id, Speaker::Visitor, sent.text.clone(), now, days);
            question.turn = Some(sent.id.clone());
            question.outcome = is_human.then_some(Outcome::Queued);
            question.uploads.clone_from(&uploads);
            messages.push(question.clone());
            question
        });
        conversation.visitor_read = conversation.message_count;
        if is_human {
            conversation.waiting_since.get_or_insert(now);
        } else {
            conversation.running = Some(RunningTurn {
                turn: sent.id.clone(),
                owner: self.replies.server,
                lease_until: now.plus_millis(LEASE_MILLIS),
                text: String::new(),
                cancelled: false,
            });
        }
        let keep = uploads.iter().map(|upload| upload.id).collect();
        let next = ConversationWrite::next(conversation, now);
        let write = ConversationWrite { messages, keep, effects, ..next };
        Composed { seen, write, question, moved_from, offers_form }
    }

    /// Stores the composed turn; [`None`] if another writer changed the conversation meanwhile.
    async fn store(&self, attempt: &Attempt<'_>, composed: Composed) -> Result<Option<NewTurn>, ApiError> {
        let &Attempt { request, view, token, sent, .. } = attempt;
        let Composed { seen, write, question, moved_from, offers_form } = composed;
        let Some(conversation) = self.repository.save(seen, write).await? else { return Ok(None) };
        self.admission.note_text(request, &sent.text, conversation.id);
        if let Some(before) = moved_from {
            // Until this write, erasing either conversation erases the files.
            let left = self.repository.change(&EventActor::Visitor, &view.agent.id, before, |before| {
                before.uploads.retain(|upload| !conversation.uploads.contains(upload));
                Some(Vec::new())
            });
            left.await?;
        }
        let mut session = self.repository.session(request, &conversation, token, sent.is_session);
        session.identity = attempt.is_rejected.then_some("rejected");
        Ok(Some(NewTurn { conversation, question, session, offers_form }))
    }

    /// Takes the text that a stopped process wrote of its reply, as an incomplete message.
    fn abandoned(&self, conversation: &mut Conversation, now: Timestamp, days: u32) -> Option<Message> {
        let running = conversation.running.take().filter(|running| !running.text.is_empty())?;
        let id = self.repository.next_id(now);
        let mut message = conversation.append(id, Speaker::Agent, running.text, now, days);
        message.state = MessageState::Incomplete;
        message.turn = Some(running.turn);
        Some(message)
    }
}
