//! Turns: takes a visitor's message, starts its reply and streams the events.

mod attempt;
mod repeated;
mod stages;

use std::sync::Arc;

use openapi_core::api::Outcome as CallOutcome;
use openapi_core::platform::concurrent_update;
use openapi_core::reply::ApiError;
use openapi_core::storage::retry::{MAX_ATTEMPTS, retry_with};
use serde_json::json;

use super::admission::Admission;
use super::agent_view::AgentView;
use super::call::{Call, SentToken, WidgetRequest};
use super::leads::Leads;
use super::replies::{Job, Replies};
use super::repository::Repository;
use super::streams::events::Ack;
use super::streams::{Playback, Streams};
use super::uploads::Uploads;
use crate::Outcome;
use crate::widget::live::{EventName, LiveTurn};
use attempt::{Attempt, SentTurn, verify};
use stages::{Begun, NewTurn};

/// Takes turns.
pub(crate) struct Turns {
    pub(crate) admission: Arc<Admission>,
    pub(crate) repository: Arc<Repository>,
    pub(crate) leads: Arc<Leads>,
    pub(crate) uploads: Arc<Uploads>,
    pub(crate) streams: Arc<Streams>,
    pub(crate) replies: Arc<Replies>,
}

impl Turns {
    /// `POST /turns`.
    pub(crate) async fn take(&self, call: Call<'_, Option<SentToken>>) -> Result<CallOutcome, ApiError> {
        let Call { request, view, token, body, share, stream, .. } = call;
        let slot = stream.ok_or_else(ApiError::internal)?;
        let sent = SentTurn::read(&body);
        let (verified, is_rejected) = verify(&view, sent.user.as_ref(), request.now);
        let token = token.as_ref();
        let attempt = Attempt { request, view: &view, token, sent: &sent, share, verified, is_rejected };
        let begun =
            retry_with(MAX_ATTEMPTS, false, concurrent_update, |is_counted| self.begin(&attempt, is_counted));
        let playback = match begun.await? {
            Begun::Known(playback) => playback,
            Begun::New(new) => self.start(request, &view, *new),
        };
        self.streams.open(request, slot, playback).await
    }

    /// Starts the reply to a stored turn.
    fn start(&self, request: &WidgetRequest, view: &Arc<AgentView>, new: NewTurn) -> Playback {
        let NewTurn { conversation, question, session, offers_form } = new;
        let turn = question.turn.clone().unwrap_or_default();
        let key = (view.agent.id.clone(), conversation.id, turn.clone());
        let live = self.streams.live.begin(key, &session.token, request.now);
        live.emit(EventName::Session, &session);
        live.emit(EventName::Ack, &Ack::of(&question));
        let mut playback = Playback::whole(Arc::clone(&live), &turn);
        if conversation.running.is_some() {
            playback.driver = self.replies.start(Job {
                view: Arc::clone(view),
                version: conversation.version.into(),
                conversation,
                question,
                turn,
                offers_form,
                live,
                request_id: request.summary.request_id.clone(),
            });
        } else {
            live.emit(EventName::Done, &json!({ "outcome": Outcome::Queued }));
            live.end(request.now);
        }
        playback
    }

    /// The response to a filled-in honeypot. It looks like any other, but nothing is stored.
    fn honeypot_filled(&self, attempt: &Attempt<'_>) -> Playback {
        let &Attempt { request, view, sent, .. } = attempt;
        let conversation = self.repository.create(view, None, Default::default(), request);
        let live = Arc::new(LiveTurn::default());
        let session = self.repository.session(request, &conversation, None, sent.is_session);
        live.emit(EventName::Session, &session);
        let id = self.repository.next_id(request.now);
        live.emit(EventName::Ack, &Ack { id, seq: 1, at: request.now });
        live.emit(EventName::Done, &json!({ "outcome": Outcome::Answered }));
        live.end(request.now);
        Playback::whole(live, &sent.id)
    }
}
