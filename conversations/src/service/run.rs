//! Answers a turn: retrieves passages, runs the responder, emits its events and stores the reply.

use std::future::poll_fn;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use openapi_core::ports::Task;
use openapi_core::storage::{Effects, StorageError};
use openapi_core::values::Timestamp;

use super::context::can_offer_form;
use super::events::{Failure, Status, Text, tell};
use super::job::Job;
use super::sent::LEASE_MILLIS;
use super::state::Inner;
use super::store::asked_and_answered;
use crate::storage::ConversationWrite;
use crate::widget::live::{Ending, EventName, LiveTurn};
use crate::widget::texts;
use crate::{
    ChatError, ChatEvent, ChatEvents, ChatResponder, ChatTurn, ConversationMode, Fallback, FollowUp, Message,
    MessageState, Outcome, Source, Speaker, StatusKind, Usage,
};

/// The longest reply, in bytes.
const MAX_REPLY: usize = 64 * 1024;
/// The longest interval between drafts of a growing reply.
const DRAFT_MILLIS: u64 = 1_000;
/// The most text between two drafts, in bytes.
const DRAFT_BYTES: usize = 2 * 1024;
/// How often the lease is renewed.
const RENEW_MILLIS: i64 = 5_000;

/// Ends the events of a turn even if its task is dropped or panics, so that no client waits for ever.
pub(super) struct FinishOnDrop {
    pub(super) inner: Arc<Inner>,
    pub(super) live: Arc<LiveTurn>,
}

impl Drop for FinishOnDrop {
    fn drop(&mut self) {
        if !self.live.has_finished() {
            self.live.emit(EventName::Error, &Failure::unavailable());
        }
        self.live.end(self.inner.platform.now());
    }
}

/// The result of a turn.
#[derive(Default)]
struct Reply {
    text: String,
    sources: Vec<Source>,
    after: FollowUp,
    author: String,
    usage: Option<Usage>,
    credits: u64,
    end: End,
}

/// How it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum End {
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
    const fn by(by: Ending) -> Self {
        match by {
            Ending::Visitor => End::Stopped,
            Ending::Service => End::Failed(ChatError::Unavailable),
        }
    }
}

/// The deadline of a whole turn: the search and all attempts at an answer together.
struct Deadline {
    over: Task,
    is_over: bool,
}

impl Deadline {
    const fn new(over: Task) -> Self {
        Deadline { over, is_over: false }
    }

    /// Whether it has passed. If not, it wakes the task when it has.
    fn poll(&mut self, cx: &mut std::task::Context<'_>) -> bool {
        self.is_over = self.is_over || self.over.as_mut().poll(cx).is_ready();
        self.is_over
    }
}

/// The timers of an attempt, and how much of its text is stored.
struct Progress {
    /// The deadline of the next event.
    late: Task,
    /// When to store the text so far.
    draft: Task,
    saved: usize,
    saved_at: Timestamp,
}

/// What comes next while a responder works.
enum Step {
    Event(ChatEvent),
    Ended,
    Late,
    Cancelled(Ending),
    Draft,
}

impl Inner {
    /// Answers a turn to its end. The job and the steps before and after the responder are boxed, because this future
    /// lives as long as the reply and would be as large as its largest step.
    pub(super) async fn run(self: Arc<Self>, job: Box<Job>) {
        let reply = match self.reply(&job).await {
            Ok(reply) => reply,
            Err(error) => {
                tracing::warn!(kind = %error.kind, source = ?error.source, "the data store failed during a turn");
                Reply::default()
            }
        };
        Box::pin(self.finish(&job, reply)).await;
    }

    async fn reply(&self, job: &Job) -> Result<Reply, StorageError> {
        let chat = &job.view.settings.chat;
        let mut whole = Deadline::new(self.platform.ports().timer.sleep(self.settings.deadlines.whole));
        let millis = i64::try_from(self.settings.deadlines.whole).unwrap_or(i64::MAX);
        let deadline = self.platform.now().plus_millis(millis);
        let Some(budget) = Box::pin(self.count_turn(job)).await? else { return Ok(self.limited(job)) };
        job.live.emit(EventName::Status, &Status { kind: StatusKind::Searching });
        let work = Box::pin(self.chat_turn(job, budget, deadline));
        let turn = match self.run_until_cancelled(job, &mut whole, work).await {
            Ok(turn) => turn?,
            Err(end) => return Ok(Reply { end, ..Reply::default() }),
        };
        let find = |name: &str| self.ports.responders.iter().find(|it| it.name() == name).cloned();
        let first = find(&chat.responder);
        if first.is_none() {
            let (agent, responder) = (&job.view.agent.id, &chat.responder);
            tracing::warn!(%agent, responder, "the configured responder does not exist");
        }
        let mut reply = match &first {
            Some(responder) => self.attempt(job, &**responder, &turn, &mut whole).await?,
            None => Reply { end: End::Failed(ChatError::Unavailable), ..Reply::default() },
        };
        let End::Failed(error) = reply.end else { return Ok(reply) };
        let may_fall_back = reply.text.is_empty() && chat.fallback == Fallback::Knowledge && !whole.is_over;
        const KNOWLEDGE: &str = "knowledge";
        if may_fall_back
            && chat.responder != KNOWLEDGE
            && let Some(knowledge) = find(KNOWLEDGE)
        {
            let (used, credits) = (reply.usage, reply.credits);
            reply = self.attempt(job, &*knowledge, &turn, &mut whole).await?;
            reply.usage = used.or(reply.usage);
            reply.credits += credits;
        } else if error == ChatError::Budget && reply.text.is_empty() {
            reply = self.limited(job);
        }
        Ok(reply)
    }

    /// The reply of an agent at its limit: a fixed sentence and the lead form.
    fn limited(&self, job: &Job) -> Reply {
        let form = can_offer_form(&job.view, &job.conversation);
        let text = texts::limited(&job.conversation.locale).to_owned();
        let after = FollowUp { form, ..FollowUp::default() };
        job.live.delta(&text);
        Reply { text, after, end: End::Done(Outcome::Limited), ..Reply::default() }
    }

    /// Runs the work that precedes a responder, such as a search that first builds its index. Meanwhile it watches for
    /// cancellation and renews the lease of the turn.
    async fn run_until_cancelled<T>(
        &self,
        job: &Job,
        whole: &mut Deadline,
        work: impl Future<Output = T> + Send,
    ) -> Result<T, End> {
        enum Waited<T> {
            Done(T),
            Ended(End),
            Draft,
        }
        let timer = &self.platform.ports().timer;
        let mut work = std::pin::pin!(work);
        let mut draft = timer.sleep(DRAFT_MILLIS);
        loop {
            let waited = poll_fn(|cx| {
                if let Some(by) = job.live.poll_cancelled(cx) {
                    return Poll::Ready(Waited::Ended(End::by(by)));
                }
                if let Poll::Ready(done) = work.as_mut().poll(cx) {
                    return Poll::Ready(Waited::Done(done));
                }
                if whole.poll(cx) {
                    return Poll::Ready(Waited::Ended(End::Failed(ChatError::Timeout)));
                }
                draft.as_mut().poll(cx).map(|()| Waited::Draft)
            });
            match waited.await {
                Waited::Done(done) => return Ok(done),
                Waited::Ended(end) => return Err(end),
                Waited::Draft => {
                    draft = timer.sleep(DRAFT_MILLIS);
                    if !Box::pin(self.save_draft(job, "", false, self.platform.now())).await {
                        return Err(End::Stopped);
                    }
                }
            }
        }
    }

    /// Runs one responder. Reserves what it may use beforehand, and charges what it used afterwards.
    async fn attempt(
        &self,
        job: &Job,
        responder: &dyn ChatResponder,
        turn: &ChatTurn,
        whole: &mut Deadline,
    ) -> Result<Reply, StorageError> {
        let Ok(most) = catch_unwind(AssertUnwindSafe(|| responder.most(turn))) else {
            tracing::error!(responder = responder.name(), "a responder panicked");
            return Ok(Reply { end: End::Failed(ChatError::Internal), ..Reply::default() });
        };
        let id = self.platform.ports().ids.platform_id(self.platform.now());
        let is_paid = most.tokens() > 0;
        if is_paid && !Box::pin(self.set_aside(job, id, most)).await? {
            return Ok(Reply { end: End::Failed(ChatError::Budget), ..Reply::default() });
        }
        let mut reply = self.drive(job, responder, turn, whole).await;
        responder.name().clone_into(&mut reply.author);
        if is_paid {
            let used = match (reply.usage, reply.end) {
                (Some(used), End::Done(_)) => used,
                // A stopped reply is charged for its input and for the text that was written.
                (_, End::Stopped) => stopped(most, &reply.text),
                _ => Usage::default(),
            };
            reply.usage = Some(used);
            // The reply goes out even if charging fails. The reservation then lasts until it expires.
            reply.credits = match Box::pin(self.settle(job, id, used)).await {
                Ok(credits) => credits,
                Err(error) => {
                    tracing::error!(agent = %job.view.agent.id, %error, "failed to charge the usage of a reply");
                    0
                }
            };
        }
        Ok(reply)
    }

    /// Runs one responder until its last event, a deadline or a cancellation.
    async fn drive(
        &self,
        job: &Job,
        responder: &dyn ChatResponder,
        turn: &ChatTurn,
        whole: &mut Deadline,
    ) -> Reply {
        let timer = &self.platform.ports().timer;
        let deadlines = self.settings.deadlines;
        let mut reply = Reply::default();
        let begun_at = self.platform.now();
        let Ok(mut events) = catch_unwind(AssertUnwindSafe(|| responder.respond(turn.clone()))) else {
            tracing::error!(responder = responder.name(), "a responder panicked");
            return Reply { end: End::Failed(ChatError::Internal), ..reply };
        };
        let mut progress = Progress {
            late: timer.sleep(deadlines.first_event),
            draft: timer.sleep(DRAFT_MILLIS),
            saved: 0,
            saved_at: self.platform.now(),
        };
        let mut has_event = false;
        loop {
            let Progress { late, draft, .. } = &mut progress;
            let step = next(&mut events, late, whole, draft, &job.live).await;
            if matches!(step, Step::Event(_)) && !has_event {
                has_event = true;
                let passed = u64::try_from(self.platform.now().millis_since(begun_at)).unwrap_or(0);
                progress.late = timer.sleep(deadlines.first_delta.saturating_sub(passed));
            }
            let flow = match step {
                Step::Event(event) => self.apply(job, event, &mut reply, &mut progress),
                Step::Ended => {
                    tracing::error!(responder = responder.name(), "a responder ended without its last event");
                    ControlFlow::Break(End::Failed(ChatError::Internal))
                }
                Step::Late => ControlFlow::Break(End::Failed(ChatError::Timeout)),
                Step::Cancelled(by) => ControlFlow::Break(End::by(by)),
                Step::Draft => {
                    progress.draft = timer.sleep(DRAFT_MILLIS);
                    // Saves even without new text, because another process may have received the cancellation.
                    let has_grown = reply.text.len() > progress.saved;
                    let now = self.platform.now();
                    (progress.saved, progress.saved_at) = (reply.text.len(), now);
                    match Box::pin(self.save_draft(job, &reply.text, has_grown, now)).await {
                        true => ControlFlow::Continue(()),
                        false => ControlFlow::Break(End::Stopped),
                    }
                }
            };
            if let ControlFlow::Break(end) = flow {
                reply.end = end;
                return reply;
            }
            let now = self.platform.now();
            let grown = reply.text.len().saturating_sub(progress.saved);
            let is_due = now.millis_since(progress.saved_at) >= i64::try_from(DRAFT_MILLIS).unwrap_or(0);
            if grown >= DRAFT_BYTES || is_due {
                (progress.saved, progress.saved_at) = (reply.text.len(), now);
                if !Box::pin(self.save_draft(job, &reply.text, grown > 0, now)).await {
                    reply.end = End::Stopped;
                    return reply;
                }
            }
        }
    }

    /// Applies an event of a responder to its reply; breaks if it ends the reply.
    fn apply(
        &self,
        job: &Job,
        event: ChatEvent,
        reply: &mut Reply,
        progress: &mut Progress,
    ) -> ControlFlow<End> {
        let timer = &self.platform.ports().timer;
        let between_deltas = self.settings.deadlines.between_deltas;
        match event {
            ChatEvent::Status(kind) => job.live.emit(EventName::Status, &Status { kind }),
            ChatEvent::Delta(text) => {
                progress.late = timer.sleep(between_deltas);
                let room = MAX_REPLY - reply.text.len();
                let piece = &text[..text.floor_char_boundary(room)];
                reply.text.push_str(piece);
                job.live.delta(piece);
                if piece.len() < text.len() {
                    return ControlFlow::Break(End::Done(Outcome::Answered));
                }
            }
            ChatEvent::Replace(text) => {
                progress.late = timer.sleep(between_deltas);
                reply.text = text[..text.floor_char_boundary(MAX_REPLY)].to_owned();
                job.live.emit(EventName::Replace, &Text { text: &reply.text });
                progress.saved = 0;
            }
            ChatEvent::Suggestions(mut items) => {
                items.truncate(6);
                reply.after.suggestions = items;
            }
            ChatEvent::Form => reply.after.form = can_offer_form(&job.view, &job.conversation),
            ChatEvent::Handoff(handoff) => {
                if job.view.settings.chat.handoff.enabled {
                    reply.after.handoff = Some(handoff);
                }
            }
            ChatEvent::Error(error) => return ControlFlow::Break(End::Failed(error)),
            ChatEvent::Done { outcome, sources, usage } => {
                reply.sources = sources;
                reply.usage = Some(usage);
                return ControlFlow::Break(End::Done(outcome));
            }
        }
        ControlFlow::Continue(())
    }

    /// Stores the text so far and renews the lease. Returns whether the turn continues.
    async fn save_draft(&self, job: &Job, text: &str, has_grown: bool, now: Timestamp) -> bool {
        // With a thousand concurrent replies, this runs a thousand times a second, so it avoids reading the
        // conversation.
        if has_grown && let Some(goes_on) = self.save_known(job, text, now).await {
            return goes_on;
        }
        let mut goes_on = true;
        let saved = self.change(&job.view.agent.id, job.conversation.id, |stored| {
            let running =
                stored.running.as_mut().filter(|it| it.turn == job.turn && it.owner == self.shared.server);
            goes_on = running.as_ref().is_some_and(|running| !running.cancelled);
            let running = running.filter(|running| !running.cancelled)?;
            if running.text == text && running.lease_until.millis_since(now) > LEASE_MILLIS - RENEW_MILLIS {
                return None;
            }
            text.clone_into(&mut running.text);
            running.lease_until = now.plus_millis(LEASE_MILLIS);
            Some(Vec::new())
        });
        match saved.await {
            Ok(Some(_)) => goes_on,
            // The conversation is gone.
            Ok(None) => false,
            // The store may have recovered by the end of the reply, which stores all of it.
            Err(_) => true,
        }
    }

    /// As [`Inner::save_draft`], for a conversation that only this turn has changed; `None` if another writer changed
    /// it.
    async fn save_known(&self, job: &Job, text: &str, now: Timestamp) -> Option<bool> {
        let version = job.version.load(Ordering::Relaxed);
        if version == 0 {
            return None;
        }
        let mut conversation = job.conversation.clone();
        let running = conversation.running.as_mut()?;
        text.clone_into(&mut running.text);
        running.lease_until = now.plus_millis(LEASE_MILLIS);
        conversation.version = version + 1;
        conversation.updated_at = now;
        let write = ConversationWrite {
            conversation,
            messages: Vec::new(),
            keep: Vec::new(),
            effects: Effects::default(),
            deferrable: true,
        };
        match self.storage.save_conversation(&job.view.agent.id, &write).await {
            Ok(()) => {
                job.version.store(version + 1, Ordering::Relaxed);
                Some(true)
            }
            // Another writer changed or deleted it, or the outcome of the write is unknown.
            Err(_) => {
                job.version.store(0, Ordering::Relaxed);
                None
            }
        }
    }

    /// Stores the result of a turn and emits its last event.
    async fn finish(&self, job: &Job, mut reply: Reply) {
        let agent = &job.view.agent.id;
        let known = self.messages_of_turn(agent, job.conversation.id, &job.turn).await.unwrap_or_default();
        let (_, before) = asked_and_answered(known);
        let (state, outcome) = match reply.end {
            End::Done(outcome) => (MessageState::Complete, Some(outcome)),
            End::Stopped => (MessageState::Stopped, Some(Outcome::Stopped)),
            End::Failed(_) | End::Lost => (MessageState::Incomplete, None),
        };
        let is_stored = outcome.is_some() || !reply.text.is_empty();
        let mut stored: Option<Message> = None;
        let now = self.platform.now();
        let days = job.view.settings.retention_days;
        let form = (reply.after.form || job.offers_form) && can_offer_form(&job.view, &job.conversation);
        reply.after.form = form;
        let saved = self.change(agent, job.conversation.id, |conversation| {
            stored = None;
            conversation
                .running
                .as_ref()
                .filter(|it| it.turn == job.turn && it.owner == self.shared.server)?;
            conversation.running = None;
            if !is_stored {
                return Some(Vec::new());
            }
            if reply.after.handoff.is_some() {
                conversation.mode = ConversationMode::Human;
                conversation.waiting_since = Some(now);
            }
            let mut message = match &before {
                // A new reply replaces one that had failed.
                Some(before) => before.clone(),
                None => self.append(conversation, Speaker::Agent, String::new(), now, days),
            };
            message.text.clone_from(&reply.text);
            message.state = state;
            message.at = now;
            message.turn = Some(job.turn.clone());
            message.author = Some(reply.author.clone());
            message.sources.clone_from(&reply.sources);
            message.outcome = outcome;
            message.after = reply.after.clone();
            message.usage = reply.usage.filter(|usage| usage.tokens() > 0);
            message.credits = reply.credits;
            stored = Some(message.clone());
            Some(vec![message])
        });
        let failure = match (saved.await, reply.end) {
            (Err(error), _) => {
                tracing::warn!(%error, "failed to store a reply");
                Failure::unavailable()
            }
            (Ok(_), End::Done(_) | End::Stopped) => match &stored {
                Some(message) => {
                    let form = match form {
                        true => self.lead_form(&job.view).await.ok().flatten(),
                        false => None,
                    };
                    return tell(&job.live, message, form.as_ref(), &job.view);
                }
                // Another process has taken the turn over.
                None => Failure::unavailable(),
            },
            (Ok(_), End::Failed(error)) => failure_of(error),
            (Ok(_), End::Lost) => Failure::unavailable(),
        };
        job.live.emit(EventName::Error, &failure);
    }
}

fn failure_of(error: ChatError) -> Failure {
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

/// The usage of a stopped turn: all of its input, and an estimate of the output that was written.
fn stopped(most: Usage, text: &str) -> Usage {
    let output_tokens = (text.len() as u64).div_ceil(3).min(most.output_tokens);
    let share = if most.tokens() == 0 {
        0.0
    } else {
        (most.input_tokens + output_tokens) as f64 / most.tokens() as f64
    };
    Usage { input_tokens: most.input_tokens, output_tokens, cost: most.cost * share }
}

/// Waits for the first of these: a cancellation, an event, a deadline, the time to store the text so far.
async fn next(
    events: &mut ChatEvents,
    late: &mut Task,
    whole: &mut Deadline,
    draft: &mut Task,
    live: &LiveTurn,
) -> Step {
    poll_fn(|cx| {
        if let Some(by) = live.poll_cancelled(cx) {
            return Poll::Ready(Step::Cancelled(by));
        }
        let polled = catch_unwind(AssertUnwindSafe(|| events.as_mut().poll_next(cx)));
        match polled {
            Ok(Poll::Ready(Some(event))) => return Poll::Ready(Step::Event(event)),
            Ok(Poll::Ready(None)) => return Poll::Ready(Step::Ended),
            Ok(Poll::Pending) => {}
            Err(_) => {
                tracing::error!("a responder panicked");
                return Poll::Ready(Step::Event(ChatEvent::Error(ChatError::Internal)));
            }
        }
        if whole.poll(cx) || late.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Step::Late);
        }
        draft.as_mut().poll(cx).map(|()| Step::Draft)
    })
    .await
}
