//! Replies: answers a turn. Retrieves passages, runs the responder within its budget, emits its events and stores the
//! reply.

mod context;
mod drive;
mod reply;
mod usage;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use openapi_core::events::EventActor;
use openapi_core::platform::Platform;
use openapi_core::ports::Task;
use openapi_core::storage::StorageError;
use openapi_core::values::PlatformId;
use serde_json::json;

pub(crate) use reply::Job;
pub(crate) use usage::{Budgets, Usages};

use super::agents::Agents;
use super::repository::Repository;
use super::streams::events::{Failure, emit_end};
use crate::ports::ChatPorts;
use crate::widget::TurnDeadlines;
use crate::widget::live::{EventName, LiveTurn};
use crate::widget::texts;
use crate::{
    ChatError, ChatResponder, ChatTurn, ConversationMode, ConversationStatus, Fallback, FollowUp, Message,
    MessageState, Outcome, Speaker, StatusKind,
};
use drive::{DRAFT_MILLIS, Step, next};
use reply::{Deadline, End, Reply, failure_of};

/// Answers turns.
pub(crate) struct Replies {
    pub(crate) ports: ChatPorts,
    pub(crate) deadlines: TurnDeadlines,
    pub(crate) repository: Arc<Repository>,
    pub(crate) agents: Arc<Agents>,
    pub(crate) budgets: Budgets,
    /// Identifies this process as the owner of the turns that it answers.
    pub(crate) server: PlatformId,
}

/// Ends the events of a turn even if its task is dropped or panics, so that no client waits for ever.
struct FinishOnDrop {
    platform: Arc<Platform>,
    live: Arc<LiveTurn>,
}

impl Drop for FinishOnDrop {
    fn drop(&mut self) {
        if !self.live.has_finished() {
            self.live.emit(EventName::Error, &Failure::unavailable());
        }
        self.live.end(self.platform.now());
    }
}

impl Replies {
    /// Answers a turn in a task of its own. Without a spawner it returns the task, for the response to drive.
    pub(crate) fn start(self: &Arc<Self>, job: Job) -> Option<Task> {
        let at_last =
            FinishOnDrop { platform: Arc::clone(&self.repository.platform), live: Arc::clone(&job.live) };
        let (replies, job) = (Arc::clone(self), Box::new(job));
        let task: Task = Box::pin(async move {
            replies.run(job).await;
            drop(at_last);
        });
        match &self.ports.tasks {
            Some(tasks) => tasks.spawn(task),
            None => return Some(task),
        }
        None
    }

    /// Answers a turn to its end. The job and the steps before and after the responder are boxed, because this future
    /// lives as long as the reply and would be as large as its largest step.
    async fn run(&self, job: Box<Job>) {
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
        let mut whole = Deadline::new(self.repository.platform.ports().timer.sleep(self.deadlines.whole));
        let millis = i64::try_from(self.deadlines.whole).unwrap_or(i64::MAX);
        let deadline = self.repository.platform.now().plus_millis(millis);
        let Some(budget) = Box::pin(self.budgets.count_turn(job)).await? else {
            return Ok(self.limited(job));
        };
        if job.question.text.is_empty() {
            return Ok(acknowledge(job));
        }
        job.live.emit(EventName::Status, &json!({ "kind": StatusKind::Searching }));
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
        let form = job.view.can_offer_form(&job.conversation);
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
        let timer = &self.repository.platform.ports().timer;
        let mut work = std::pin::pin!(work);
        let mut draft = timer.sleep(DRAFT_MILLIS);
        loop {
            let step = next(&job.live, |cx| work.as_mut().poll(cx), |cx| whole.poll(cx), &mut draft);
            match step.await {
                Step::Work(done) => return Ok(done),
                Step::End(end) => return Err(end),
                Step::Draft => {
                    draft = timer.sleep(DRAFT_MILLIS);
                    if !Box::pin(self.save_draft(job, "", false, self.repository.platform.now())).await {
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
        let id = self.repository.platform.ports().ids.platform_id(self.repository.platform.now());
        let is_paid = most.tokens() > 0;
        if is_paid && !Box::pin(self.budgets.reserve(job, id, most)).await? {
            return Ok(Reply { end: End::Failed(ChatError::Budget), ..Reply::default() });
        }
        let mut reply = self.drive(job, responder, turn, whole).await;
        responder.name().clone_into(&mut reply.author);
        if is_paid {
            let used = reply.used(most);
            reply.usage = Some(used);
            // The reply goes out even if charging fails. The reservation is then charged when it expires.
            reply.credits = match Box::pin(self.budgets.settle(job, id, used)).await {
                Ok(credits) => credits,
                Err(error) => {
                    tracing::error!(agent = %job.view.agent.id, %error, "failed to charge the usage of a reply");
                    0
                }
            };
        }
        Ok(reply)
    }

    /// Stores the result of a turn and emits its last event.
    async fn finish(&self, job: &Job, mut reply: Reply) {
        let agent = &job.view.agent.id;
        let known = self.repository.turn(&job.conversation, &job.turn).await.unwrap_or_default();
        let (state, outcome) = match reply.end {
            End::Done(outcome) => (MessageState::Complete, Some(outcome)),
            End::Stopped => (MessageState::Stopped, Some(Outcome::Stopped)),
            End::Failed(_) | End::Lost => (MessageState::Incomplete, None),
        };
        let is_stored = outcome.is_some() || !reply.text.is_empty();
        let mut stored: Option<Message> = None;
        let now = self.repository.platform.now();
        let days = job.view.settings.retention_days;
        let form = (reply.after.form || job.offers_form) && job.view.can_offer_form(&job.conversation);
        reply.after.form = form;
        if !form {
            reply.after.collected.clear();
        }
        let saved = self.repository.change(&EventActor::System, agent, job.conversation.id, |conversation| {
            stored = None;
            conversation.running.as_ref().filter(|it| it.turn == job.turn && it.owner == self.server)?;
            conversation.running = None;
            if !is_stored {
                return Some(Vec::new());
            }
            if reply.after.handoff.is_some() && conversation.status == ConversationStatus::Open {
                conversation.mode = ConversationMode::Human;
                conversation.waiting_since = Some(now);
            }
            // A new reply replaces one that had failed.
            let mut message = known.reply.clone().unwrap_or_else(|| {
                let id = self.repository.next_id(now);
                conversation.append(id, Speaker::Agent, String::new(), now, days)
            });
            message.text.clone_from(&reply.text);
            message.state = state;
            message.at = now;
            message.turn = Some(job.turn.clone());
            message.author = Some(reply.author.clone());
            message.sources.clone_from(&reply.sources);
            message.outcome = outcome;
            message.after = reply.after.clone();
            let used = [message.usage, reply.usage].into_iter().flatten().reduce(|one, other| one + other);
            message.usage = used.filter(|usage| usage.tokens() > 0);
            message.credits += reply.credits;
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
                        true => {
                            self.agents.lead_form(&job.view, &message.after.collected).await.ok().flatten()
                        }
                        false => None,
                    };
                    return emit_end(&job.live, message, form.as_ref(), &job.view);
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

/// The reply to a form or to files without a message: there is nothing to search for. The first questions stay.
fn acknowledge(job: &Job) -> Reply {
    let locale = &job.conversation.locale;
    let is_file = !job.question.uploads.is_empty();
    let text = if is_file { texts::file_arrived(locale) } else { texts::greeting(locale) };
    let mut after = FollowUp::default();
    if !is_file {
        after.suggestions.clone_from(&job.view.settings.appearance.suggestions);
    }
    job.live.delta(text);
    Reply { text: text.to_owned(), after, end: End::Done(Outcome::Answered), ..Reply::default() }
}
