//! Turns that exist already: resubmitted, resumed or ended. Their events come from memory or, if another process
//! answers them, from the store.

use std::sync::Arc;

use openapi_core::json::{Json, Object};
use openapi_core::ports::Task;
use openapi_core::reply::{ApiError, ErrorCode};

use super::agent_view::AgentView;
use super::call::{WidgetRequest, WidgetResponse};
use super::events::{Ack, Done, Failure, Text, tell};
use super::sent::SentTurn;
use super::state::Inner;
use super::store::{asked_and_answered, is_answered};
use crate::widget::live::{Ending, EventName, LiveTurn};
use crate::widget::request::Members;
use crate::widget::token::VisitorToken;
use crate::{Conversation, Message, Outcome};

/// How soon what another process has written is looked for again: it stores that once a second or every 2 KiB. While
/// there is nothing new the wait doubles.
const FOLLOW_MILLIS: u64 = 250;
/// The longest such wait.
const MOST_FOLLOW_MILLIS: u64 = 2_000;

/// What is known of a turn of some name.
pub(super) enum Known {
    /// It runs or has ended: this is what is answered.
    WidgetResponse(WidgetResponse),
    /// It failed: its message is there, and it is to be answered again.
    Failed(Message),
    /// It cannot begin: another one runs, or this one was begun with another text.
    Refused(ApiError),
    /// Nothing.
    Unknown,
}

impl Inner {
    /// Whether a turn of this name is there already.
    pub(super) async fn known(
        self: &Arc<Self>,
        visit: &mut WidgetRequest,
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
            return Ok(running.map_or(Known::Unknown, |running| Known::Refused(in_progress(&running.turn))));
        };
        if asked.text != sent.text {
            let message = "This turn was begun with another text";
            return Ok(Known::Refused(ApiError::new(ErrorCode::IdempotencyKeyReused, message)));
        }
        if running.is_some_and(|running| running.turn == sent.id) {
            let key = (agent.clone(), conversation.id, sent.id.clone());
            if let Some(live) = self.shared.turns.find(&key) {
                return Ok(Known::WidgetResponse(self.listen(visit, live, key.2, (0, 0), None).await?));
            }
            let live = Arc::new(LiveTurn::default());
            live.emit(EventName::Session, &self.new_session(visit, conversation, is_session));
            live.emit(EventName::Ack, &Ack::of(&asked));
            let driver = self.follow(view, conversation, &sent.id, &live);
            return Ok(Known::WidgetResponse(
                self.listen(visit, live, sent.id.clone(), (0, 0), Some(driver)).await?,
            ));
        }
        if is_answered(Some(&asked), answered.as_ref()) {
            let live = Arc::new(LiveTurn::default());
            live.emit(EventName::Session, &self.new_session(visit, conversation, is_session));
            live.emit(EventName::Ack, &Ack::of(&asked));
            self.tell_stored(view, &live, answered.as_ref()).await?;
            live.end(visit.now);
            return Ok(Known::WidgetResponse(self.listen(visit, live, sent.id.clone(), (0, 0), None).await?));
        }
        Ok(match running {
            Some(running) => Known::Refused(in_progress(&running.turn)),
            None => Known::Failed(asked),
        })
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
            None => live.emit(EventName::Done, &Done { outcome: Outcome::Queued }),
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
            let mut wait = FOLLOW_MILLIS;
            loop {
                let Ok(Some(stored)) = inner.storage.conversation(agent, id).await else { break };
                let now = inner.platform.now();
                let Some(running) =
                    stored.running.filter(|running| running.turn == turn && running.lease_until > now)
                else {
                    break;
                };
                wait = if running.text == written { MOST_FOLLOW_MILLIS.min(wait * 2) } else { FOLLOW_MILLIS };
                match running.text.strip_prefix(&written) {
                    Some("") => {}
                    Some(more) if !written.is_empty() => live.delta(more),
                    _ => live.emit(EventName::Replace, &Text { text: &running.text }),
                }
                written = running.text;
                inner.platform.ports().timer.sleep(wait).await;
            }
            let messages = inner.messages_of_turn(agent, id, &turn).await.unwrap_or_default();
            let (asked, answered) = asked_and_answered(messages);
            let has_ended = is_answered(asked.as_ref(), answered.as_ref())
                && inner.tell_stored(&view, &live, answered.as_ref()).await.is_ok();
            if !has_ended {
                live.emit(EventName::Error, &Failure::unavailable());
            }
            live.end(inner.platform.now());
        })
    }

    pub(super) async fn resume(
        self: &Arc<Self>,
        visit: &mut WidgetRequest,
        view: Arc<AgentView>,
        token: &VisitorToken,
        body: &Object,
    ) -> Result<WidgetResponse, ApiError> {
        let conversation = self.conversation_of(token).await?;
        let mut members = Members::new(body);
        let turn = members.turn("turn");
        let after = members.number("after").unwrap_or(0);
        if !members.faults.is_empty() {
            return Err(members.faults.into());
        }
        let turn = turn.unwrap_or_default();
        let after = usize::try_from(after).unwrap_or(usize::MAX).min(1 << 20);
        let agent = &view.agent.id;
        let key = (agent.clone(), conversation.id, turn.clone());
        let text = body.get("token").and_then(Json::as_str).unwrap_or_default();
        // Other numbers than these were seen with another token, or nothing was.
        if let Some(live) = self.shared.turns.find(&key).filter(|live| live.has_token(text) || after == 0) {
            return self.listen(visit, live, turn, (0, after), None).await;
        }
        let live = Arc::new(LiveTurn::default());
        live.emit(EventName::Session, &self.new_session(visit, &conversation, token.is_session()));
        let running = conversation.running.as_ref();
        if running.is_some_and(|running| running.turn == turn && running.lease_until > visit.now) {
            let driver = self.follow(&view, &conversation, &turn, &live);
            return self.listen(visit, live, turn, (after, 0), Some(driver)).await;
        }
        let messages = self.messages_of_turn(agent, conversation.id, &turn).await?;
        let (asked, answered) = asked_and_answered(messages);
        if asked.is_none() {
            return Err(ApiError::new(ErrorCode::TurnNotFound, "There is no such turn"));
        }
        if is_answered(asked.as_ref(), answered.as_ref()) {
            if let Some(answered) = &answered {
                live.emit(EventName::Replace, &Text { text: &answered.text });
            }
            self.tell_stored(&view, &live, answered.as_ref()).await?;
        } else {
            live.emit(EventName::Error, &Failure::unavailable());
        }
        live.end(visit.now);
        self.listen(visit, live, turn, (after, 0), None).await
    }

    pub(super) async fn cancel(
        &self,
        view: &AgentView,
        token: &VisitorToken,
        body: &Object,
    ) -> Result<WidgetResponse, ApiError> {
        let conversation = self.conversation_of(token).await?;
        let mut members = Members::new(body);
        let turn = members.turn("turn");
        if !members.faults.is_empty() {
            return Err(members.faults.into());
        }
        let turn = turn.unwrap_or_default();
        let agent = &view.agent.id;
        if let Some(live) = self.shared.turns.find(&(agent.clone(), conversation.id, turn.clone())) {
            live.cancel(Ending::Visitor);
            return Ok(WidgetResponse::Empty);
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
        Ok(WidgetResponse::Empty)
    }
}

fn in_progress(turn: &str) -> ApiError {
    ApiError::new(ErrorCode::TurnInProgress, "An answer is still being written")
        .with_detail("turn", turn)
        .with_retry_after(2)
}
