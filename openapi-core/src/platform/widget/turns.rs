//! Turns: a visitor's message begins one; whoever lost its stream finds it again.

use std::sync::Arc;

use serde::Serialize;

use super::leads::SentLead;
use super::run::{Job, tell};
use super::settings::AgentView;
use super::store::{Session, asked_and_answered, is_answered};
use super::{Answer, Inner, Visit, too_many};
use crate::chat::{
    Conversation, ConversationMode, ConversationStatus, Message, Outcome, RunningTurn, Speaker, VerifiedUser,
    VisitorId,
};
use crate::json::{Json, Object};
use crate::limits::fits;
use crate::platform::ATTEMPTS;
use crate::platform::errors::concurrent_update;
use crate::ports::Task;
use crate::reply::{ApiError, ErrorCode};
use crate::storage::{ConversationWrite, StorageErrorKind};
use crate::values::{ConversationId, PlatformId, Timestamp};
use crate::violation::{Fault, Rule, Violations};
use crate::widget::challenge::{Challenge, is_solved};
use crate::widget::identity;
use crate::widget::live::{EventStream, LiveTurn, Sent};
use crate::widget::request::{Members, SentUser};
use crate::widget::token::VisitorToken;

/// How long a turn counts as running when nothing is heard of its process.
pub(super) const LEASE_MILLIS: i64 = 15_000;
const DAY_MILLIS: i64 = 86_400_000;
/// From which share of an address's or an agent's limit on a challenge is asked for.
const CHALLENGED_SHARE: f64 = 0.8;
/// For how long a first turn that is sent again without a token finds its conversation.
const REPEATED_MILLIS: i64 = 3_600_000;
/// How often another process is asked for what it has written.
const FOLLOW_MILLIS: u64 = 500;

/// A turn as it was sent.
struct SentTurn {
    id: String,
    text: String,
    lead: Option<SentLead>,
    user: Option<SentUser>,
    page: Option<crate::chat::ChatPage>,
    locale: String,
    time_zone: Option<String>,
    metadata: crate::json::RawObject,
    is_session: bool,
    challenge: Option<(String, String)>,
    is_trap: bool,
    faults: Violations,
}

impl SentTurn {
    fn read(body: &Object) -> Self {
        let mut members = Members::new(body);
        let id = members.turn("id").unwrap_or_default();
        let uploads = members.uploads();
        if !uploads.is_empty() {
            members
                .fault("uploads", Fault::new(Rule::Reference, "names files that this visitor has not sent"));
        }
        let lead = SentLead::of_turn(&mut members);
        let may_be_empty = lead.is_some();
        SentTurn {
            text: members.message(may_be_empty),
            lead,
            user: members.user(),
            page: members.page(),
            locale: members.line("locale", 35).unwrap_or_else(|| "en".to_owned()),
            time_zone: members.line("tz", 64),
            metadata: members.metadata(),
            is_session: body.get("persist").and_then(Json::as_str) == Some("session"),
            challenge: members.challenge(),
            is_trap: members.is_trap(),
            faults: members.faults,
            id,
        }
    }
}

/// What a turn comes to before it is answered.
enum Begun {
    /// It is to be answered.
    New(Box<NewTurn>),
    /// Another turn of this name is there already.
    Known(Answer),
}

/// A turn that was stored and is to be answered.
struct NewTurn {
    conversation: Conversation,
    asked: Message,
    session: Session,
}

impl Inner {
    pub(super) async fn turn(
        self: &Arc<Self>,
        visit: &mut Visit,
        view: Arc<AgentView>,
        token: Option<VisitorToken>,
        body: &Object,
        address_share: f64,
    ) -> Result<Answer, ApiError> {
        let sent = SentTurn::read(body);
        let text = body.get("token").and_then(Json::as_str).unwrap_or_default();
        for _ in 0..ATTEMPTS {
            let came = token.as_ref().map(|token| (token, text));
            match self.begin(visit, &view, came, &sent, address_share).await {
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
        visit: &Visit,
        view: &Arc<AgentView>,
        came: Option<(&VisitorToken, &str)>,
        sent: &SentTurn,
        address_share: f64,
    ) -> Result<Option<Begun>, ApiError> {
        let now = visit.now;
        let mut stored = match came {
            Some((token, _)) => Some(self.conversation_of(token).await?),
            None => self.begun_by(view, sent, visit).await?,
        };
        let mut asked_before = None;
        if let Some(conversation) = &stored
            && !sent.id.is_empty()
        {
            match self.known(visit, view, conversation, came, sent).await? {
                Known::Answer(answer) => return Ok(Some(Begun::Known(answer))),
                Known::Failed(asked) => asked_before = Some(asked),
                Known::Unknown => {}
            }
        }
        if asked_before.is_none() {
            let agent_share =
                match self.agents.admit(view.agent.id.clone(), &self.settings.limits.agent_turns, now) {
                    Ok(standing) => standing.share,
                    Err(full) => return Err(too_many("agent", full)),
                };
            if let Some(conversation) = &stored {
                let turns = conversation.counted.turns.iter().map(|at| at.millis());
                fits(turns, &self.settings.limits.turns, now.millis())
                    .map_err(|full| too_many("visitor", full))?;
            }
            self.challenge(visit, sent.challenge.as_ref(), address_share.max(agent_share))?;
        }
        if !sent.faults.is_empty() {
            return Err(sent.faults.clone().into());
        }
        if sent.is_trap {
            return Ok(Some(Begun::Known(self.trapped(visit, view, sent)?)));
        }
        let (verified, is_rejected) = self.verify(view, sent.user.as_ref(), now);
        // Another signed-in user begins anew: nothing of who was there before is shown.
        if let (Some(verified), Some(conversation)) = (&verified, &stored)
            && conversation.verified_as.as_ref().is_some_and(|known| known != verified)
        {
            stored = None;
        }
        let counted = stored.as_ref().map(|conversation| conversation.counted.clone()).unwrap_or_default();
        let visitor = stored.as_ref().map(|conversation| conversation.visitor_id);
        let is_new = stored.is_none();
        let going_on = stored.filter(|conversation| {
            asked_before.is_some() || conversation.status_at(now) == ConversationStatus::Open
        });
        if is_new {
            self.admit_address(visit, "session", &self.settings.limits.address_sessions)?;
        }
        let mut conversation = match going_on {
            Some(conversation) => conversation,
            None => {
                let mut new = self.new_conversation(view, visitor, counted, visit);
                if came.is_none() {
                    new.id = self.first_conversation(view, &sent.id, visit, now);
                }
                new
            }
        };
        if conversation.message_count == 0 && conversation.version == 0 {
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
        }
        self.back_to_ai(view, &mut conversation, now);
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
        let write = ConversationWrite { conversation, messages, audit };
        match self.platform.storage.save_conversation(&view.agent.id, &write).await {
            Ok(()) => {}
            Err(error) if error.kind == StorageErrorKind::Stale => return Ok(None),
            Err(error) if error.kind == StorageErrorKind::Missing => return Err(super::agent_not_available()),
            Err(error) => return Err(error.into()),
        }
        let conversation = write.conversation;
        let mut session = self.session(visit, &conversation, came, sent.is_session);
        session.identity = is_rejected.then_some("rejected");
        Ok(Some(Begun::New(Box::new(NewTurn { conversation, asked, session }))))
    }

    /// The conversation that a turn without a token begins: the same for the same turn of a page, so that a client whose
    /// first answer was lost finds its conversation instead of beginning a second one.
    fn first_conversation(
        &self,
        view: &AgentView,
        turn: &str,
        visit: &Visit,
        at: Timestamp,
    ) -> ConversationId {
        let message = format!("{}\n{turn}\n{}", view.agent.id, visit.origin);
        let tag = self.platform.ports.server_keys.tag("first turn", message.as_bytes());
        let mut octets = [0; 8];
        octets.copy_from_slice(&tag[..8]);
        let day = at.millis().div_euclid(DAY_MILLIS) * DAY_MILLIS;
        PlatformId::new(Timestamp::from_millis(day), octets).into()
    }

    /// The conversation that this turn has begun already, a little while ago.
    async fn begun_by(
        &self,
        view: &AgentView,
        sent: &SentTurn,
        visit: &Visit,
    ) -> Result<Option<Conversation>, ApiError> {
        if sent.id.is_empty() {
            return Ok(None);
        }
        for at in [visit.now, visit.now.plus_millis(-DAY_MILLIS)] {
            let id = self.first_conversation(view, &sent.id, visit, at);
            if let Some(stored) = self.platform.storage.conversation(&view.agent.id, id).await? {
                let is_recent = visit.now.millis_since(stored.created_at) < REPEATED_MILLIS;
                return Ok(Some(stored).filter(|_| is_recent));
            }
        }
        Ok(None)
    }

    /// Answers a turn that was stored, beside this call.
    async fn start(
        self: &Arc<Self>,
        visit: &Visit,
        view: Arc<AgentView>,
        new: NewTurn,
    ) -> Result<Answer, ApiError> {
        let NewTurn { conversation, asked, session } = new;
        let turn = asked.turn.clone().unwrap_or_default();
        let agent = view.agent.id.clone();
        let key = (agent.clone(), conversation.id, turn.clone());
        let live = self.turns.begin(key, session.token.clone(), visit.now);
        live.emit("session", &session);
        live.emit("ack", &Ack::of(&asked));
        let mut driver = None;
        if conversation.running.is_some() {
            let job = Job {
                view,
                conversation,
                asked,
                turn: turn.clone(),
                live: Arc::clone(&live),
                request_id: visit.request_id.clone(),
            };
            let inner = Arc::clone(self);
            let task: Task = Box::pin(async move { inner.run(job).await });
            match &self.platform.ports.tasks {
                Some(tasks) => tasks.spawn(task),
                None => driver = Some(task),
            }
        } else {
            live.emit("done", &Done { outcome: Outcome::Queued });
            live.end(visit.now);
        }
        self.listen(visit, &agent, live, turn, (0, 0), driver).await
    }

    /// The events of a turn, as a stream or, where that is wanted, as one document.
    pub(super) async fn listen(
        &self,
        visit: &Visit,
        agent: &crate::values::AgentId,
        live: Arc<LiveTurn>,
        turn: String,
        from: (usize, usize),
        driver: Option<Task>,
    ) -> Result<Answer, ApiError> {
        let open = self.open_stream(visit, agent)?;
        if visit.wants_document {
            if let Some(driver) = driver {
                driver.await;
            }
            return document(&live.whole().await);
        }
        let timer = Arc::clone(&self.platform.ports.timer);
        Ok(Answer::Events(EventStream::new(live, turn, from, timer, driver, open)))
    }

    /// Whether a turn of this name is there already.
    async fn known(
        self: &Arc<Self>,
        visit: &Visit,
        view: &Arc<AgentView>,
        conversation: &Conversation,
        came: Option<(&VisitorToken, &str)>,
        sent: &SentTurn,
    ) -> Result<Known, ApiError> {
        let agent = &view.agent.id;
        let is_session = sent.is_session || came.is_some_and(|(token, _)| token.is_session());
        let messages = self.messages_of_turn(agent, conversation.id, &sent.id).await?;
        let (asked, answered) = asked_and_answered(messages);
        let running = conversation.running.as_ref().filter(|running| running.lease_until > visit.now);
        let Some(asked) = asked else {
            return match running {
                Some(running) => {
                    Err(ApiError::new(ErrorCode::TurnInProgress, "An answer is still being written")
                        .with_detail("turn", running.turn.as_str())
                        .with_retry_after(2))
                }
                None => Ok(Known::Unknown),
            };
        };
        if asked.text != sent.text {
            return Err(ApiError::new(
                ErrorCode::IdempotencyKeyReused,
                "This turn was begun with another text",
            ));
        }
        if running.is_some_and(|running| running.turn == sent.id) {
            let key = (agent.clone(), conversation.id, sent.id.clone());
            if let Some(live) = self.turns.find(&key) {
                return Ok(Known::Answer(self.listen(visit, agent, live, key.2, (0, 0), None).await?));
            }
            let live = Arc::new(LiveTurn::default());
            live.emit("session", &self.new_session(visit, conversation, is_session));
            live.emit("ack", &Ack::of(&asked));
            let driver = self.follow(view, conversation, &sent.id, &live);
            return Ok(Known::Answer(
                self.listen(visit, agent, live, sent.id.clone(), (0, 0), Some(driver)).await?,
            ));
        }
        if is_answered(Some(&asked), answered.as_ref()) {
            let live = Arc::new(LiveTurn::default());
            live.emit("session", &self.new_session(visit, conversation, is_session));
            live.emit("ack", &Ack::of(&asked));
            self.tell_stored(view, &live, answered.as_ref()).await?;
            live.end(visit.now);
            return Ok(Known::Answer(self.listen(visit, agent, live, sent.id.clone(), (0, 0), None).await?));
        }
        match running {
            Some(running) => {
                Err(ApiError::new(ErrorCode::TurnInProgress, "An answer is still being written")
                    .with_detail("turn", running.turn.as_str())
                    .with_retry_after(2))
            }
            None => Ok(Known::Failed(asked)),
        }
    }

    /// The end of a turn that is stored.
    async fn tell_stored(
        &self,
        view: &AgentView,
        live: &LiveTurn,
        answered: Option<&Message>,
    ) -> Result<(), ApiError> {
        match answered {
            Some(answered) => {
                let form = self.lead_form(view).await?;
                tell(live, answered, form.as_ref(), view);
            }
            None => live.emit("done", &Done { outcome: Outcome::Queued }),
        }
        Ok(())
    }

    /// Follows a turn that another process answers, by what it stores.
    fn follow(
        self: &Arc<Self>,
        view: &Arc<AgentView>,
        conversation: &Conversation,
        turn: &str,
        live: &Arc<LiveTurn>,
    ) -> Task {
        let (inner, view, live) = (Arc::clone(self), Arc::clone(view), Arc::clone(live));
        let (id, turn) = (conversation.id, turn.to_owned());
        Box::pin(async move {
            let agent = &view.agent.id;
            let mut written = String::new();
            loop {
                let Ok(Some(stored)) = inner.platform.storage.conversation(agent, id).await else { break };
                let now = inner.platform.now();
                let Some(running) =
                    stored.running.filter(|running| running.turn == turn && running.lease_until > now)
                else {
                    break;
                };
                if running.text != written {
                    written = running.text;
                    live.emit("replace", &Text { text: &written });
                }
                inner.platform.ports.timer.sleep(FOLLOW_MILLIS).await;
            }
            let messages = inner.messages_of_turn(agent, id, &turn).await.unwrap_or_default();
            let (asked, answered) = asked_and_answered(messages);
            let is_told = is_answered(asked.as_ref(), answered.as_ref())
                && inner.tell_stored(&view, &live, answered.as_ref()).await.is_ok();
            if !is_told {
                live.emit("error", &Failure::unavailable());
            }
            live.end(inner.platform.now());
        })
    }

    pub(super) async fn resume(
        self: &Arc<Self>,
        visit: &Visit,
        view: Arc<AgentView>,
        token: &VisitorToken,
        body: &Object,
    ) -> Result<Answer, ApiError> {
        let mut members = Members::new(body);
        let turn = members.turn("turn");
        let after = members.number("after").unwrap_or(0);
        if !members.faults.is_empty() {
            return Err(members.faults.into());
        }
        let turn = turn.unwrap_or_default();
        let after = usize::try_from(after).unwrap_or(usize::MAX).min(1 << 20);
        let conversation = self.conversation_of(token).await?;
        let agent = &view.agent.id;
        let key = (agent.clone(), conversation.id, turn.clone());
        let text = body.get("token").and_then(Json::as_str).unwrap_or_default();
        // Other numbers than these were seen with another token, or nothing was.
        if let Some(live) = self.turns.find(&key).filter(|live| live.is_told_to(text) || after == 0) {
            return self.listen(visit, agent, live, turn, (0, after), None).await;
        }
        let live = Arc::new(LiveTurn::default());
        live.emit("session", &self.new_session(visit, &conversation, token.is_session()));
        let running = conversation.running.as_ref();
        if running.is_some_and(|running| running.turn == turn && running.lease_until > visit.now) {
            let driver = self.follow(&view, &conversation, &turn, &live);
            return self.listen(visit, agent, live, turn, (after, 0), Some(driver)).await;
        }
        let messages = self.messages_of_turn(agent, conversation.id, &turn).await?;
        let (asked, answered) = asked_and_answered(messages);
        if asked.is_none() {
            return Err(ApiError::new(ErrorCode::TurnNotFound, "There is no such turn"));
        }
        if is_answered(asked.as_ref(), answered.as_ref()) {
            if let Some(answered) = &answered {
                live.emit("replace", &Text { text: &answered.text });
            }
            self.tell_stored(&view, &live, answered.as_ref()).await?;
        } else {
            live.emit("error", &Failure::unavailable());
        }
        live.end(visit.now);
        self.listen(visit, agent, live, turn, (after, 0), None).await
    }

    pub(super) async fn cancel(
        &self,
        view: &AgentView,
        token: &VisitorToken,
        body: &Object,
    ) -> Result<Answer, ApiError> {
        let mut members = Members::new(body);
        let turn = members.turn("turn");
        if !members.faults.is_empty() {
            return Err(members.faults.into());
        }
        let turn = turn.unwrap_or_default();
        let conversation = self.conversation_of(token).await?;
        let agent = &view.agent.id;
        if let Some(live) = self.turns.find(&(agent.clone(), conversation.id, turn.clone())) {
            live.cancel();
            return Ok(Answer::Empty);
        }
        if self.messages_of_turn(agent, conversation.id, &turn).await?.is_empty() {
            return Err(ApiError::new(ErrorCode::TurnNotFound, "There is no such turn"));
        }
        // Another process answers it: it sees this when it stores what it has.
        self.change(agent, conversation.id, |conversation| {
            let running = conversation.running.as_mut().filter(|it| it.turn == turn && !it.cancelled)?;
            running.cancelled = true;
            Some(Vec::new())
        })
        .await?;
        Ok(Answer::Empty)
    }

    /// A conversation that is not stored yet: its version is 0.
    pub(super) fn new_conversation(
        &self,
        view: &AgentView,
        visitor: Option<VisitorId>,
        counted: crate::chat::Counted,
        visit: &Visit,
    ) -> Conversation {
        let now = visit.now;
        let ids = &self.platform.ports.ids;
        let mut octets = [0; 16];
        ids.fill(&mut octets);
        Conversation {
            id: ids.platform_id(now).into(),
            agent_id: view.agent.id.clone(),
            version: 0,
            visitor_id: visitor.unwrap_or(VisitorId(octets)),
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
            epoch: 1,
            network: truncated(visit.address),
            counted,
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
        message.state = crate::chat::MessageState::Incomplete;
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

    /// Whom the page's server vouches for, and whether it was tried in vain.
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
        if identity::vouches(&view.secrets, &view.agent.id, &claimed, hash, now) {
            (Some(claimed), false)
        } else {
            (None, true)
        }
    }

    /// Asks for a challenge where a limit is nearly reached.
    pub(super) fn challenge(
        &self,
        visit: &Visit,
        solution: Option<&(String, String)>,
        share: f64,
    ) -> Result<(), ApiError> {
        if share < CHALLENGED_SHARE {
            return Ok(());
        }
        let ports = &self.platform.ports;
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
    fn trapped(&self, visit: &Visit, view: &AgentView, sent: &SentTurn) -> Result<Answer, ApiError> {
        let conversation = self.new_conversation(view, None, Default::default(), visit);
        let live = Arc::new(LiveTurn::default());
        live.emit("session", &self.session(visit, &conversation, None, sent.is_session));
        let id = self.platform.ports.ids.platform_id(visit.now).into();
        live.emit("ack", &Ack { id, seq: 1, at: visit.now });
        live.emit("done", &Done { outcome: Outcome::Answered });
        live.end(visit.now);
        let open = self.open_stream(visit, &view.agent.id)?;
        let timer = Arc::clone(&self.platform.ports.timer);
        Ok(Answer::Events(EventStream::new(live, sent.id.clone(), (0, 0), timer, None, open)))
    }
}

/// What is known of a turn of some name.
enum Known {
    /// It runs or has ended: this is what is answered.
    Answer(Answer),
    /// It failed: its message is there, and it is to be answered anew.
    Failed(Message),
    /// Nothing.
    Unknown,
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

/// Data of the event `ack`.
#[derive(Serialize)]
struct Ack {
    id: crate::values::MessageId,
    seq: u64,
    at: Timestamp,
}

impl Ack {
    fn of(message: &Message) -> Self {
        Ack { id: message.id, seq: message.seq, at: message.at }
    }
}

/// Data of the events `delta` and `replace`.
#[derive(Serialize)]
pub(super) struct Text<'a> {
    pub(super) text: &'a str,
}

/// Data of the event `done`.
#[derive(Serialize)]
pub(super) struct Done {
    pub(super) outcome: Outcome,
}

/// Data of the event `error`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Failure {
    pub(super) code: &'static str,
    pub(super) message: &'static str,
    pub(super) retryable: bool,
    pub(super) retry_after_seconds: Option<u32>,
}

impl Failure {
    pub(super) fn unavailable() -> Self {
        Failure {
            code: "RESPONDER_UNAVAILABLE",
            message: "The answer could not be completed",
            retryable: true,
            retry_after_seconds: Some(5),
        }
    }
}

/// A turn that has ended as one document; one that failed is an error.
fn document(events: &[Sent]) -> Result<Answer, ApiError> {
    let read = |name: &str| {
        let event = events.iter().rev().find(|event| event.name == name)?;
        serde_json::from_str::<serde_json::Value>(&event.data).ok()
    };
    if let Some(failure) = read("error") {
        let code = match failure.get("code").and_then(|code| code.as_str()) {
            Some("INTERNAL_ERROR") => ErrorCode::InternalError,
            _ => ErrorCode::ServiceUnavailable,
        };
        return Err(ApiError::new(code, "The answer could not be completed").with_retry_after(5));
    }
    let or_null = |value: Option<serde_json::Value>| value.unwrap_or(serde_json::Value::Null);
    let items = read("suggestions").and_then(|data| data.get("items").cloned());
    let outcome = read("done").and_then(|data| data.get("outcome").cloned());
    let data = serde_json::json!({
        "session": or_null(read("session")),
        "ack": or_null(read("ack")),
        "message": or_null(read("message")),
        "suggestions": items.unwrap_or_else(|| serde_json::json!([])),
        "form": or_null(read("form")),
        "handoff": or_null(read("handoff")),
        "outcome": or_null(outcome),
    });
    Ok(Answer::Json { message: "The turn has ended", data })
}
