//! Turns: starts a turn for a visitor's message and streams its events.

use std::sync::Arc;

use openapi_core::json::{Json, Object};
use openapi_core::platform::concurrent_update;
use openapi_core::ports::Task;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::values::Timestamp;

use super::agent_view::AgentView;
use super::begin::{Attempt, Begun, NewTurn, Once};
use super::call::{WidgetRequest, WidgetResponse};
use super::events::{Ack, Done, document};
use super::job::Job;
use super::run::FinishOnDrop;
use super::sent::{FIRST_EPOCH, SentTurn};
use super::state::Inner;
use crate::conversations::ATTEMPTS;
use crate::widget::challenge::{Challenge, is_solved};
use crate::widget::identity;
use crate::widget::live::{EventName, EventStream, LiveTurn};
use crate::widget::request::SentUser;
use crate::widget::token::VisitorToken;
use crate::{Conversation, ConversationMode, ConversationStatus, Outcome, VerifiedUser, VisitorId};

const DAY_MILLIS: i64 = 86_400_000;
/// The share of a limit from which on a turn needs a solved challenge.
const CHALLENGED_SHARE: f64 = 0.8;

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
        let (verified, is_rejected) = self.verify(&view, sent.user.as_ref(), visit.now);
        let came = token.as_ref().map(|token| (token, text));
        let attempt = Attempt { view: &view, came, sent: &sent, address_share, verified, is_rejected };
        let mut once = Once::default();
        for _ in 0..ATTEMPTS {
            match self.begin(visit, &attempt, &mut once).await? {
                Some(Begun::Known(response)) => return Ok(response),
                Some(Begun::New(new)) => return self.start(visit, Arc::clone(&view), *new).await,
                // Another writer changed the conversation: read it again.
                None => {}
            }
        }
        Err(concurrent_update())
    }

    /// Starts the answer to a stored turn in a task of its own. Without a spawner, the response drives it.
    async fn start(
        self: &Arc<Self>,
        visit: &mut WidgetRequest,
        view: Arc<AgentView>,
        new: NewTurn,
    ) -> Result<WidgetResponse, ApiError> {
        let NewTurn { conversation, asked, session, offers_form } = new;
        let turn = asked.turn.clone().unwrap_or_default();
        let key = (view.agent.id.clone(), conversation.id, turn.clone());
        let live = self.shared.turns.begin(key, &session.token, visit.now);
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

    /// The events of a turn as a stream or, if the client wants that, as one document.
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

    /// A conversation that is not stored yet, of version 0.
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

    /// Returns the conversation to the agent if no operator has answered in time.
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

    /// The user whose signature is valid, and whether an invalid one was sent.
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

    /// Requires a solved challenge if a limit is nearly reached.
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

    /// The response to a filled-in honeypot: it looks like any other, but nothing is stored.
    pub(super) async fn honeypot_filled(
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

/// A network too large to identify a single subscriber: /24, IPv6 /48.
fn truncated(address: std::net::IpAddr) -> Option<String> {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
    match address.to_canonical() {
        IpAddr::V4(address) if address.is_unspecified() => None,
        IpAddr::V4(address) => Some(format!("{}/24", Ipv4Addr::from_bits(address.to_bits() >> 8 << 8))),
        IpAddr::V6(address) => Some(format!("{}/48", Ipv6Addr::from_bits(address.to_bits() >> 80 << 80))),
    }
}
