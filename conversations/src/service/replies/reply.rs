//! A turn that an agent answers, its reply, and how that ended.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use openapi_core::ports::Task;

use crate::service::agent_view::AgentView;
use crate::service::streams::events::Failure;
use crate::widget::live::{Ending, LiveTurn};
use crate::{ChatError, Conversation, FollowUp, Message, Outcome, Source, Usage};

/// A turn that an agent answers.
pub(crate) struct Job {
    pub(crate) view: Arc<AgentView>,
    pub(crate) conversation: Conversation,
    /// The stored version of the conversation while only this turn changes it; 0 after another writer has.
    pub(crate) version: AtomicU64,
    pub(crate) question: Message,
    pub(crate) turn: String,
    /// Whether the reply offers the lead form whatever the responder says, because no operator answered in time.
    pub(crate) offers_form: bool,
    pub(crate) live: Arc<LiveTurn>,
    pub(crate) request_id: String,
}

/// The reply to a turn.
#[derive(Default)]
pub(super) struct Reply {
    pub(super) text: String,
    pub(super) sources: Vec<Source>,
    pub(super) after: FollowUp,
    pub(super) author: String,
    pub(super) usage: Option<Usage>,
    pub(super) credits: u64,
    pub(super) end: End,
}

/// How it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum End {
    /// With an answer or a substitute for one.
    Done(Outcome),
    /// The visitor stopped it, or another process has taken it over.
    Stopped,
    /// The responder failed.
    Failed(ChatError),
    /// The store failed.
    #[default]
    Lost,
}

impl End {
    /// The end of a cancelled turn.
    pub(super) const fn by(by: Ending) -> Self {
        match by {
            Ending::Visitor => End::Stopped,
            Ending::Service => End::Failed(ChatError::Unavailable),
        }
    }
}

/// The deadline of a whole turn: the search and all attempts at an answer together.
pub(super) struct Deadline {
    over: Task,
    pub(super) is_over: bool,
}

impl Deadline {
    pub(super) const fn new(over: Task) -> Self {
        Deadline { over, is_over: false }
    }

    /// Whether it has passed. If not, it wakes the task when it has.
    pub(super) fn poll(&mut self, cx: &mut std::task::Context<'_>) -> bool {
        self.is_over = self.is_over || self.over.as_mut().poll(cx).is_ready();
        self.is_over
    }
}

/// The event of a failed reply.
pub(super) fn failure_of(error: ChatError) -> Failure {
    let message = "The answer could not be completed";
    match error {
        ChatError::Unavailable | ChatError::Budget => Failure::unavailable(),
        ChatError::Timeout => {
            Failure { code: "RESPONDER_TIMEOUT", message, retryable: true, retry_after_seconds: Some(5) }
        }
        ChatError::Refused => {
            Failure { code: "RESPONDER_UNAVAILABLE", message, retryable: false, retry_after_seconds: None }
        }
        ChatError::Internal => {
            Failure { code: "INTERNAL_ERROR", message, retryable: true, retry_after_seconds: Some(5) }
        }
    }
}

impl Reply {
    /// What the reply has used, however it ended: what its responder has reported or, if that reports nothing, all of
    /// the input and an estimate of the output that was written. A responder that fails without having written anything
    /// has used nothing.
    pub(super) fn used(&self, most: Usage) -> Usage {
        match (self.usage, self.end) {
            (Some(used), _) => used,
            (None, End::Failed(error)) if self.text.is_empty() && error != ChatError::Timeout => {
                Usage::default()
            }
            (None, _) => usage_of_text(most, &self.text),
        }
    }
}

/// All of the input, and an estimate of the output that was written.
fn usage_of_text(most: Usage, text: &str) -> Usage {
    let output_tokens = (text.len() as u64).div_ceil(3).min(most.output_tokens);
    let share = if most.tokens() == 0 {
        0.0
    } else {
        (most.input_tokens + output_tokens) as f64 / most.tokens() as f64
    };
    Usage { input_tokens: most.input_tokens, output_tokens, cost: most.cost * share }
}
