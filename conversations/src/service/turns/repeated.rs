//! Turns that the client has sent before.

use openapi_core::reply::{ApiError, ErrorCode};

use super::Turns;
use super::attempt::Attempt;
use crate::service::streams::Playback;
use crate::{Conversation, Message};

/// What the service knows of a turn.
pub(super) enum Known {
    /// It runs or has ended: its events.
    Playback(Playback),
    /// It failed: its stored message, which gets another answer.
    Failed(Box<Message>),
    /// It cannot begin, because another turn runs or its id was used with another text.
    Refused(ApiError),
    /// Nothing.
    Unknown,
}

impl Turns {
    /// Looks a turn up in its conversation.
    pub(super) async fn known(
        &self,
        attempt: &Attempt<'_>,
        conversation: &Conversation,
    ) -> Result<Known, ApiError> {
        let &Attempt { request, view, token, sent, .. } = attempt;
        let is_session = sent.is_session || token.is_some_and(|sent| sent.token.is_session());
        let stored = self.repository.turn(conversation, &sent.id).await?;
        let running = conversation.running_at(request.now);
        let Some(question) = stored.question.as_ref() else {
            return Ok(running.map_or(Known::Unknown, |running| Known::Refused(in_progress(&running.turn))));
        };
        if question.text != sent.text {
            let message = "This turn was begun with another text";
            return Ok(Known::Refused(ApiError::new(ErrorCode::IdempotencyKeyReused, message)));
        }
        if running.is_some_and(|running| running.turn == sent.id) {
            if let Some(live) = self.streams.find(&view.agent.id, conversation, &sent.id) {
                return Ok(Known::Playback(Playback::whole(live, &sent.id)));
            }
            let live = self.streams.replay(request, conversation, question, is_session);
            let driver = Some(self.streams.follow(view, conversation, &sent.id, &live));
            return Ok(Known::Playback(Playback { driver, ..Playback::whole(live, &sent.id) }));
        }
        if stored.is_answered() {
            let live = self.streams.replay(request, conversation, question, is_session);
            self.streams.emit_stored(view, &live, stored.reply.as_ref()).await?;
            live.end(request.now);
            return Ok(Known::Playback(Playback::whole(live, &sent.id)));
        }
        Ok(match running {
            Some(running) => Known::Refused(in_progress(&running.turn)),
            None => Known::Failed(Box::new(question.clone())),
        })
    }
}

fn in_progress(turn: &str) -> ApiError {
    ApiError::new(ErrorCode::TurnInProgress, "An answer is still being written")
        .with_detail("turn", turn)
        .with_retry_after(2)
}
