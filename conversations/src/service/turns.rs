//! Turns: a visitor's message begins one; whoever lost its stream finds it again.

use std::sync::Arc;

use openapi_core::json::{Json, Object};
use openapi_core::limits::fits;
use openapi_core::platform::concurrent_update;
use openapi_core::ports::Task;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::storage::StorageErrorKind;
use openapi_core::values::{FileId, Timestamp};

use super::agent_view::AgentView;
use super::call::{WidgetRequest, WidgetResponse};
use super::errors::too_many;
use super::events::{Ack, Done, document};
use super::job::Job;
use super::resume::Known;
use super::run::FinishOnDrop;
use super::sent::{FIRST_EPOCH, LEASE_MILLIS, SentTurn};
use super::state::Inner;
use super::store::Session;
use super::target::ConversationTarget;
use crate::conversations::ATTEMPTS;
use crate::storage::ConversationWrite;
use crate::widget::challenge::{Challenge, is_solved};
use crate::widget::identity;
use crate::widget::live::{EventName, EventStream, LiveTurn};
use crate::widget::request::SentUser;
use crate::widget::token::VisitorToken;
use crate::{
    Conversation, ConversationMode, ConversationStatus, Message, Outcome, RunningTurn, Speaker, VerifiedUser,
    VisitorId,
};

const DAY_MILLIS: i64 = 86_400_000;
/// From which share of an address's or an agent's limit on a challenge is asked for.
const CHALLENGED_SHARE: f64 = 0.8;

/// What a turn comes to before it is answered.
enum Begun {
    /// It is to be answered.
    New(Box<NewTurn>),
    /// Another turn of this name is there already.
    Known(WidgetResponse),
}

/// What one call counts, however often it is tried.
#[derive(Default)]
struct Once {
    is_counted: bool,
}

/// A turn that was stored and is to be answered.
struct NewTurn {
    conversation: Conversation,
    asked: Message,
    session: Session,
    /// No person has come: the reply offers the lead form.
    offers_form: bool,
}

impl Inner {
    pub(super) async fn turn(
        self: &Arc<Self>,
        visit: &mut WidgetRequest,
        view: Arc<AgentView>,
        token: Option<VisitorToken>,
        body: &Object,
        address_share: f64,
    ) -> Result<WidgetResponse, ApiError> {
        let sent = SentTurn::read(body);
        let text = body.get("token").and_then(Json::as_str).unwrap_or_default();
        let mut once = Once::default();
        for _ in 0..ATTEMPTS {
            let came = token.as_ref().map(|token| (token, text));
            match self.begin(visit, &view, came, &sent, address_share, &mut once).await {
                Ok(Some(Begun::Known(answer))) => return Ok(answer),
                Ok(Some(Begun::New(new))) => return self.start(visit, view, *new).await,
                // Something came in between.
                Ok(None) => {}
                Err(error) => return Err(error),
            }
        }
        Err(concurrent_update())
    }

    /// Stores the visitor's message. None when something came in between.
    async fn begin(
        self: &Arc<Self>,
        visit: &mut WidgetRequest,
        view: &Arc<AgentView>,
        came: Option<(&VisitorToken, &str)>,
        sent: &SentTurn,
        address_share: f64,
        once: &mut Once,
    ) -> Result<Option<Begun>, ApiError> {
        let now = visit.now;
        let (verified, is_rejected) = self.verify(view, sent.user.as_ref(), now);
        let token = came.map(|(token, _)| token);
        let ConversationTarget { stored, begins } =
            self.place(visit, view, token, sent, verified.as_ref()).await?;
        let (mut asked_before, mut refusal) = (None, None);
        if let Some(conversation) = &stored
            && begins.is_none()
        {
            match self.known(visit, view, conversation, came, sent).await? {
                Known::WidgetResponse(answer) => return Ok(Some(Begun::Known(answer))),
                Known::Failed(asked) => asked_before = Some(asked),
                Known::Refused(error) => refusal = Some(error),
                Known::Unknown => {}
            }
        }
        let limits = &self.settings.limits;
        let begins_session = stored.is_none() && came.is_none();
        if asked_before.is_none() && !once.is_counted {
            let agent = self.agents.peek(&view.agent.id, &limits.agent_turns, now);
            let mut share = agent.map_err(|full| too_many("agent", full))?.share;
            share = share.max(self.usage.share_of_day(&view.agent.id, now)).max(address_share);
            if let Some(conversation) = &stored {
                let turns = conversation.counted.turns.iter().map(|at| at.millis());
                fits(turns, &limits.turns, now.millis()).map_err(|full| too_many("visitor", full))?;
            }
            if sent.lead.is_some() {
                share = share.max(self.admit_lead(visit, stored.as_ref())?);
            }
            if begins_session {
                share = share.max(self.peek_address(visit, "session", &limits.address_sessions)?);
            }
            let conversation = begins.as_ref().map(|begins| begins.id);
            let conversation = conversation.or_else(|| stored.as_ref().map(|stored| stored.id));
            let windows = &limits.address_repeats;
            if self.repeats.is_spread(visit.network, &sent.text, conversation, windows, now) {
                share = 1.0;
            }
            self.challenge(visit, sent.challenge.as_ref(), share)?;
        }
        if !sent.faults.is_empty() {
            return Err(sent.faults.clone().into());
        }
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        if sent.is_honeypot {
            return self.honeypot_filled(visit, view, sent).await.map(|answer| Some(Begun::Known(answer)));
        }
        // What is counted is counted last, and once for all tries: a call that is refused uses nothing up.
        if asked_before.is_none() && !once.is_counted {
            if begins_session {
                self.admit_address(visit, "session", &limits.address_sessions)?;
            }
            if sent.lead.is_some() {
                self.admit_address(visit, "lead", &limits.address_leads)?;
            }
            let agent = view.agent.id.clone();
            self.agents.admit(agent, &limits.agent_turns, now).map_err(|full| too_many("agent", full))?;
            once.is_counted = true;
        }
        // What was sent in the conversation before and waits for its message moves into the new one.
        let mut moved = None;
        let mut conversation = match (stored, begins) {
            (Some(stored), None) => stored,
            (before, begins) => {
                let waiting = before.as_ref().map(|before| before.uploads.clone()).unwrap_or_default();
                let taken: Vec<FileId> = waiting.into_iter().filter(|id| sent.uploads.contains(id)).collect();
                moved = before.as_ref().filter(|_| !taken.is_empty()).map(|before| before.id);
                let counted = before.as_ref().map(|before| before.counted.clone()).unwrap_or_default();
                let visitor = before.as_ref().map(|before| before.visitor_id);
                let mut new = self.new_conversation(view, visitor, counted, visit);
                if let Some(begins) = begins {
                    new.id = begins.id;
                    new.visitor_id = begins.visitor.unwrap_or(new.visitor_id);
                }
                new.uploads = taken;
                new
            }
        };
        let uploads = match asked_before {
            Some(_) => Vec::new(),
            None => self.taken_along(&conversation, &sent.uploads, now).await?,
        };
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
        if let Some(verified) = &verified {
            conversation.level = 2;
            conversation.verified_until = Some(now.plus_millis(DAY_MILLIS));
            conversation.verified_as = Some(verified.clone());
        } else if is_rejected {
            // Until a valid hash comes, whatever one came before: who claims this may be somebody else.
            conversation.level = 1;
            conversation.verified_until = None;
        }
        let is_back = self.back_to_ai(view, &mut conversation, now);
        let filled = match &sent.lead {
            Some(lead) => Some(self.fill_in(visit, view, &mut conversation, lead, &sent.id).await?),
            None => None,
        };
        self.link(visit, view, &mut conversation, filled.as_ref()).await?;
        // Whoever ran before is gone, or its lease would have been answered; what it had written stays.
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
                owner: self.server,
                lease_until: now.plus_millis(LEASE_MILLIS),
                text: String::new(),
                cancelled: false,
            });
        }
        conversation.version += 1;
        conversation.updated_at = now;
        let audit = filled.map(|filled| filled.audit);
        let keep = uploads.iter().map(|upload| upload.id).collect();
        let write = ConversationWrite { conversation, messages, keep, audit, deferrable: false };
        match self.storage.save_conversation(&view.agent.id, &write).await {
            Ok(()) => {}
            Err(error) if error.kind == StorageErrorKind::Stale => return Ok(None),
            Err(error) if error.kind == StorageErrorKind::Missing => {
                return Err(super::errors::agent_not_available());
            }
            Err(error) => return Err(error.into()),
        }
        let conversation = write.conversation;
        self.repeats.note(visit.network, &sent.text, conversation.id, &limits.address_repeats, now);
        if let Some(before) = moved {
            // Until then the erasure of either takes the files along.
            let left = self.change(&view.agent.id, before, |before| {
                before.uploads.retain(|upload| !conversation.uploads.contains(upload));
                Some(Vec::new())
            });
            left.await?;
        }
        let mut session = self.session(visit, &conversation, came, sent.is_session);
        session.identity = is_rejected.then_some("rejected");
        Ok(Some(Begun::New(Box::new(NewTurn { conversation, asked, session, offers_form: is_back }))))
    }

    /// Answers a turn that was stored, beside this call.
    async fn start(
        self: &Arc<Self>,
        visit: &mut WidgetRequest,
        view: Arc<AgentView>,
        new: NewTurn,
    ) -> Result<WidgetResponse, ApiError> {
        let NewTurn { conversation, asked, session, offers_form } = new;
        let turn = asked.turn.clone().unwrap_or_default();
        let key = (view.agent.id.clone(), conversation.id, turn.clone());
        let live = self.turns.begin(key, &session.token, visit.now);
        live.emit(EventName::Session, &session);
        live.emit(EventName::Ack, &Ack::of(&asked));
        let mut driver = None;
        if conversation.running.is_some() {
            let job = Box::new(Job {
                view,
                version: conversation.version.into(),
                conversation,
                asked,
                turn: turn.clone(),
                offers_form,
                live: Arc::clone(&live),
                request_id: visit.request_id.clone(),
            });
            let inner = Arc::clone(self);
            let at_last = FinishOnDrop { inner: Arc::clone(self), live: Arc::clone(&live) };
            let task: Task = Box::pin(async move {
                inner.run(job).await;
                drop(at_last);
            });
            match &self.ports.tasks {
                Some(tasks) => tasks.spawn(task),
                None => driver = Some(task),
            }
        } else {
            live.emit(EventName::Done, &Done { outcome: Outcome::Queued });
            live.end(visit.now);
        }
        self.listen(visit, live, turn, (0, 0), driver).await
    }

    /// The events of a turn, as a stream or, where that is wanted, as one document.
    pub(super) async fn listen(
        &self,
        visit: &mut WidgetRequest,
        live: Arc<LiveTurn>,
        turn: String,
        from: (usize, usize),
        driver: Option<Task>,
    ) -> Result<WidgetResponse, ApiError> {
        let open = visit.open.take().ok_or_else(ApiError::internal)?;
        if visit.wants_document {
            if let Some(driver) = driver {
                driver.await;
            }
            return document(&live.whole().await);
        }
        let timer = Arc::clone(&self.platform.ports().timer);
        Ok(WidgetResponse::Events(EventStream::new(live, turn, from, timer, driver, open)))
    }

    /// A conversation that is not stored yet: its version is 0.
    pub(super) fn new_conversation(
        &self,
        view: &AgentView,
        visitor: Option<VisitorId>,
        counted: crate::Counted,
        visit: &WidgetRequest,
    ) -> Conversation {
        let now = visit.now;
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
            expires_at: now.plus_millis(i64::from(view.settings.retention_days) * DAY_MILLIS),
            epoch: FIRST_EPOCH,
            network: truncated(visit.address),
            counted,
            uploads: Vec::new(),
            running: None,
        }
    }

    /// What a process that is gone had written of a reply.
    fn abandoned(
        &self,
        view: &AgentView,
        conversation: &mut Conversation,
        now: Timestamp,
    ) -> Option<Message> {
        let running = conversation.running.take().filter(|running| !running.text.is_empty())?;
        let days = view.settings.retention_days;
        let mut message = self.append(conversation, Speaker::Agent, running.text, now, days);
        message.state = crate::MessageState::Incomplete;
        message.turn = Some(running.turn);
        Some(message)
    }

    /// The mode goes back when no human has answered for a while.
    pub(super) fn back_to_ai(
        &self,
        view: &AgentView,
        conversation: &mut Conversation,
        now: Timestamp,
    ) -> bool {
        let minutes = i64::from(view.settings.chat.handoff.timeout_minutes);
        let is_over = conversation.mode == ConversationMode::Human
            && conversation.waiting_since.is_some_and(|since| now.millis_since(since) >= minutes * 60_000);
        if is_over {
            conversation.mode = ConversationMode::Ai;
            conversation.waiting_since = None;
        }
        is_over
    }

    /// Whom the page's server vouches for, and whether it was tried without success.
    fn verify(
        &self,
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

    /// Asks for a challenge where a limit is nearly reached.
    pub(super) fn challenge(
        &self,
        visit: &WidgetRequest,
        solution: Option<&(String, String)>,
        share: f64,
    ) -> Result<(), ApiError> {
        if share < CHALLENGED_SHARE {
            return Ok(());
        }
        let ports = &self.platform.ports();
        let holder = visit.network.to_string();
        if let Some((salt, nonce)) = solution
            && is_solved(&ports.server_keys, &holder, salt, nonce, visit.now)
        {
            return Ok(());
        }
        let challenge = Challenge::new(&ports.server_keys, &*ports.ids, &holder, share, visit.now);
        let details = serde_json::to_value(&challenge).map_err(|_| ApiError::internal())?;
        Err(ApiError::new(ErrorCode::ChallengeRequired, "Solve the challenge and send this again")
            .with_detail("challenge", Json::from(&details))
            .with_retry_after(0))
    }

    /// The answer to whoever has filled in what no person sees: as usual, and nothing is stored.
    async fn honeypot_filled(
        &self,
        visit: &mut WidgetRequest,
        view: &AgentView,
        sent: &SentTurn,
    ) -> Result<WidgetResponse, ApiError> {
        let conversation = self.new_conversation(view, None, Default::default(), visit);
        let live = Arc::new(LiveTurn::default());
        live.emit(EventName::Session, &self.session(visit, &conversation, None, sent.is_session));
        let id = self.platform.ports().ids.platform_id(visit.now).into();
        live.emit(EventName::Ack, &Ack { id, seq: 1, at: visit.now });
        live.emit(EventName::Done, &Done { outcome: Outcome::Answered });
        live.end(visit.now);
        self.listen(visit, live, sent.id.clone(), (0, 0), None).await
    }
}

/// A network that no single subscriber is told from: /24, IPv6 /48.
fn truncated(address: std::net::IpAddr) -> Option<String> {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
    match address.to_canonical() {
        IpAddr::V4(address) if address.is_unspecified() => None,
        IpAddr::V4(address) => Some(format!("{}/24", Ipv4Addr::from_bits(address.to_bits() >> 8 << 8))),
        IpAddr::V6(address) => Some(format!("{}/48", Ipv6Addr::from_bits(address.to_bits() >> 80 << 80))),
    }
}
