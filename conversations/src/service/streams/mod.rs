//! Streams: the events of turns. They come from memory, or from the store if the turn has ended or another process
//! answers it.

pub(crate) mod events;

use std::sync::Arc;

use openapi_core::api::Outcome as CallOutcome;
use openapi_core::events::EventActor;
use openapi_core::ports::Task;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::values::AgentId;
use serde_json::json;

use super::agent_view::AgentView;
use super::agents::Agents;
use super::call::{Call, SentToken, WidgetRequest};
use super::repository::{Repository, StoredTurn};
use crate::widget::OpenSlot;
use crate::widget::live::{Ending, EventName, EventStream, LiveTurn, LiveTurns, Text};
use crate::widget::request::Members;
use crate::{Conversation, Message, Outcome};
use events::{Ack, Failure, document, emit_end};

/// The first wait between two reads of a turn that another process answers. That process stores its text every second
/// or 2 KiB. While there is no new text, the wait doubles.
const MIN_POLL_MILLIS: u64 = 250;
/// The longest such wait.
const MAX_POLL_MILLIS: u64 = 2_000;

/// Serves the events of turns.
pub(crate) struct Streams {
    pub(crate) live: Arc<LiveTurns>,
    pub(crate) repository: Arc<Repository>,
    pub(crate) agents: Arc<Agents>,
}

/// The events of a turn, from one of them on.
pub(crate) struct Playback {
    pub(crate) live: Arc<LiveTurn>,
    pub(crate) turn: String,
    /// The number of events that earlier streams had, and the number of events to skip.
    pub(crate) from: (usize, usize),
    /// The task that emits the events, if the response must drive it.
    pub(crate) driver: Option<Task>,
}

impl Playback {
    /// All events of a turn that something else drives.
    pub(crate) fn whole(live: Arc<LiveTurn>, turn: &str) -> Self {
        Playback { live, turn: turn.to_owned(), from: (0, 0), driver: None }
    }
}

impl Streams {
    /// The response with the events of a turn: a stream or, if the client wants that, one document.
    pub(crate) async fn open(
        &self,
        request: &WidgetRequest,
        slot: OpenSlot,
        playback: Playback,
    ) -> Result<CallOutcome, ApiError> {
        let Playback { live, turn, from, driver } = playback;
        if request.wants_document {
            if let Some(driver) = driver {
                driver.await;
            }
            return document(&live.whole().await);
        }
        let timer = Arc::clone(&self.repository.platform.ports().timer);
        Ok(events::stream(EventStream::new(live, turn, from, timer, driver, slot)))
    }

    /// A turn that this process answers, or has answered within the last minutes.
    pub(crate) fn find(
        &self,
        agent: &AgentId,
        conversation: &Conversation,
        turn: &str,
    ) -> Option<Arc<LiveTurn>> {
        self.live.find(&(agent.clone(), conversation.id, turn.to_owned()))
    }

    /// The first events of a replayed turn.
    pub(crate) fn replay(
        &self,
        request: &WidgetRequest,
        conversation: &Conversation,
        question: &Message,
        is_session: bool,
    ) -> Arc<LiveTurn> {
        let live = Arc::new(LiveTurn::default());
        live.emit(EventName::Session, &self.repository.new_session(request, conversation, is_session));
        live.emit(EventName::Ack, &Ack::of(question));
        live
    }

    /// Emits the end of a stored turn.
    pub(crate) async fn emit_stored(
        &self,
        view: &AgentView,
        live: &LiveTurn,
        reply: Option<&Message>,
    ) -> Result<(), ApiError> {
        match reply {
            Some(reply) => {
                let form = self.agents.lead_form(view, &reply.after.collected).await?;
                emit_end(live, reply, form.as_ref(), view);
            }
            None => live.emit(EventName::Done, &json!({ "outcome": Outcome::Queued })),
        }
        Ok(())
    }

    /// Emits what another process stores of a turn that it answers.
    pub(crate) fn follow(
        self: &Arc<Self>,
        view: &Arc<AgentView>,
        conversation: &Conversation,
        turn: &str,
        live: &Arc<LiveTurn>,
    ) -> Task {
        let (streams, view, live) = (Arc::clone(self), Arc::clone(view), Arc::clone(live));
        let (conversation, turn) = (conversation.clone(), turn.to_owned());
        Box::pin(async move {
            let (platform, storage) = (&streams.repository.platform, &streams.repository.storage);
            let mut written = String::new();
            let mut wait = MIN_POLL_MILLIS;
            loop {
                let stored = storage.conversation(&view.agent.id, conversation.id).await;
                let Ok(Some(stored)) = stored else { break };
                let Some(running) = stored.running_at(platform.now()).filter(|it| it.turn == turn) else {
                    break;
                };
                wait = if running.text == written { MAX_POLL_MILLIS.min(wait * 2) } else { MIN_POLL_MILLIS };
                match running.text.strip_prefix(&written) {
                    Some("") => {}
                    Some(more) if !written.is_empty() => live.delta(more),
                    _ => live.emit(EventName::Replace, &Text { text: &running.text }),
                }
                written.clone_from(&running.text);
                platform.ports().timer.sleep(wait).await;
            }
            let stored = streams.repository.turn(&conversation, &turn).await.unwrap_or_default();
            let has_ended = stored.is_answered()
                && streams.emit_stored(&view, &live, stored.reply.as_ref()).await.is_ok();
            if !has_ended {
                live.emit(EventName::Error, &Failure::unavailable());
            }
            live.end(platform.now());
        })
    }

    /// `POST /turns/resume`.
    pub(crate) async fn resume(self: &Arc<Self>, call: Call<'_, SentToken>) -> Result<CallOutcome, ApiError> {
        let Call { request, view, token: SentToken { token, text }, body, stream, .. } = call;
        let slot = stream.ok_or_else(ApiError::internal)?;
        let conversation = self.repository.of_token(&token).await?;
        let mut members = Members::new(&body);
        let turn = members.turn("turn").unwrap_or_default();
        let after = members.number("after").unwrap_or(0);
        members.finish()?;
        let after = usize::try_from(after).unwrap_or(usize::MAX).min(1 << 20);
        let live = self.find(&view.agent.id, &conversation, &turn);
        // A client with another token has received other numbers, or none.
        if let Some(live) = live.filter(|live| live.has_token(&text) || after == 0) {
            let playback = Playback { live, turn, from: (0, after), driver: None };
            return self.open(request, slot, playback).await;
        }
        let live = Arc::new(LiveTurn::default());
        live.emit(
            EventName::Session,
            &self.repository.new_session(request, &conversation, token.is_session()),
        );
        let is_running = conversation.running_at(request.now).is_some_and(|running| running.turn == turn);
        let driver = match is_running {
            true => Some(self.follow(&view, &conversation, &turn, &live)),
            false => {
                let stored = self.repository.turn(&conversation, &turn).await?;
                self.emit_text_and_end(&view, &live, &stored).await?;
                live.end(request.now);
                None
            }
        };
        self.open(request, slot, Playback { live, turn, from: (after, 0), driver }).await
    }

    /// Emits the text of a stored turn and its end, or the failure of one that has no answer.
    async fn emit_text_and_end(
        &self,
        view: &AgentView,
        live: &LiveTurn,
        stored: &StoredTurn,
    ) -> Result<(), ApiError> {
        if stored.question.is_none() {
            return Err(turn_not_found());
        }
        if !stored.is_answered() {
            live.emit(EventName::Error, &Failure::unavailable());
            return Ok(());
        }
        if let Some(reply) = &stored.reply {
            live.emit(EventName::Replace, &Text { text: &reply.text });
        }
        self.emit_stored(view, live, stored.reply.as_ref()).await
    }

    /// `POST /turns/cancel`.
    pub(crate) async fn cancel(&self, call: Call<'_, SentToken>) -> Result<CallOutcome, ApiError> {
        let conversation = self.repository.of_token(&call.token.token).await?;
        let mut members = Members::new(&call.body);
        let turn = members.turn("turn").unwrap_or_default();
        members.finish()?;
        let agent = &call.view.agent.id;
        if let Some(live) = self.find(agent, &conversation, &turn) {
            live.cancel(Ending::Visitor);
            return Ok(CallOutcome::no_content());
        }
        let stored = self.repository.turn(&conversation, &turn).await?;
        if !stored.exists() {
            return Err(turn_not_found());
        }
        // The process that answers the turn sees this when it stores its next draft.
        self.repository
            .change(&EventActor::Visitor, agent, conversation.id, |conversation| {
                let running = conversation.running.as_mut().filter(|it| it.turn == turn && !it.cancelled)?;
                running.cancelled = true;
                Some(Vec::new())
            })
            .await?;
        Ok(CallOutcome::no_content())
    }
}

fn turn_not_found() -> ApiError {
    ApiError::new(ErrorCode::TurnNotFound, "There is no such turn")
}
