//! Runs a responder, event by event, and stores drafts of its reply.

use std::future::poll_fn;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use openapi_core::events::EventActor;
use openapi_core::ports::Task;
use openapi_core::values::Timestamp;
use serde_json::json;

use super::Replies;
use super::reply::{Deadline, End, Job, Reply};
use crate::conversation::LEASE_MILLIS;
use crate::storage::ConversationWrite;
use crate::widget::live::{EventName, LiveTurn, Text};
use crate::{ChatError, ChatEvent, ChatEvents, ChatResponder, ChatTurn, Conversation, Outcome};

/// The longest reply, in bytes.
const MAX_REPLY: usize = 64 * 1024;
/// Characters of a value for a field of the lead form.
const MAX_COLLECTED: usize = 200;
/// The longest interval between drafts of a growing reply.
pub(super) const DRAFT_MILLIS: u64 = 1_000;
/// How often the lease is renewed.
const RENEW_MILLIS: i64 = 5_000;
/// The most text between two drafts, in bytes.
const DRAFT_BYTES: usize = 2 * 1024;

/// The timers of an attempt, and how much of its text is stored.
struct Progress {
    /// The deadline of the next event.
    late: Task,
    /// When to store the text so far.
    draft: Task,
    saved: usize,
    saved_at: Timestamp,
}

/// What ends a wait.
pub(super) enum Step<T> {
    /// The result of the work.
    Work(T),
    /// A cancellation or a deadline.
    End(End),
    /// The time to store the text so far.
    Draft,
}

impl Replies {
    /// Runs one responder until its last event, a deadline or a cancellation.
    pub(super) async fn drive(
        &self,
        job: &Job,
        responder: &dyn ChatResponder,
        turn: &ChatTurn,
        whole: &mut Deadline,
    ) -> Reply {
        let timer = &self.repository.platform.ports().timer;
        let deadlines = self.deadlines;
        let mut reply = Reply::default();
        let begun_at = self.repository.platform.now();
        let Ok(mut events) = catch_unwind(AssertUnwindSafe(|| responder.respond(turn.clone()))) else {
            tracing::error!(responder = responder.name(), "a responder panicked");
            return Reply { end: End::Failed(ChatError::Internal), ..reply };
        };
        let mut progress = Progress {
            late: timer.sleep(deadlines.first_event),
            draft: timer.sleep(DRAFT_MILLIS),
            saved: 0,
            saved_at: self.repository.platform.now(),
        };
        let mut has_event = false;
        loop {
            let Progress { late, draft, .. } = &mut progress;
            let is_late = |cx: &mut Context<'_>| whole.poll(cx) || late.as_mut().poll(cx).is_ready();
            let step = next(&job.live, |cx| poll_event(&mut events, cx), is_late, draft).await;
            let is_tick = matches!(step, Step::Draft);
            let flow = match step {
                Step::Work(Some(event)) => {
                    if !std::mem::replace(&mut has_event, true) {
                        let passed =
                            u64::try_from(self.repository.platform.now().millis_since(begun_at)).unwrap_or(0);
                        progress.late = timer.sleep(deadlines.first_delta.saturating_sub(passed));
                    }
                    self.apply(job, event, &mut reply, &mut progress)
                }
                Step::Work(None) => {
                    tracing::error!(responder = responder.name(), "a responder ended without its last event");
                    ControlFlow::Break(End::Failed(ChatError::Internal))
                }
                Step::End(end) => ControlFlow::Break(end),
                Step::Draft => {
                    progress.draft = timer.sleep(DRAFT_MILLIS);
                    ControlFlow::Continue(())
                }
            };
            if let ControlFlow::Break(end) = flow {
                return Reply { end, ..reply };
            }
            let now = self.repository.platform.now();
            let grown = reply.text.len().saturating_sub(progress.saved);
            let is_due = now.millis_since(progress.saved_at) >= i64::try_from(DRAFT_MILLIS).unwrap_or(0);
            // A tick saves even without new text, because another process may have received the cancellation.
            if is_tick || is_due || grown >= DRAFT_BYTES {
                (progress.saved, progress.saved_at) = (reply.text.len(), now);
                if !Box::pin(self.save_draft(job, &reply.text, grown > 0, now)).await {
                    return Reply { end: End::Stopped, ..reply };
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
        let timer = &self.repository.platform.ports().timer;
        let between_deltas = self.deadlines.between_deltas;
        match event {
            ChatEvent::Status(kind) => job.live.emit(EventName::Status, &json!({ "kind": kind })),
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
            ChatEvent::Collected { field, value } => {
                let is_asked = job.view.settings.lead.fields.contains(&field);
                if is_asked && value.chars().count() <= MAX_COLLECTED {
                    reply.after.collected.insert(field, value);
                }
            }
            ChatEvent::Form => reply.after.form = job.view.can_offer_form(&job.conversation),
            ChatEvent::Handoff(handoff) => {
                if job.view.settings.chat.handoff.enabled {
                    reply.after.handoff = Some(handoff);
                }
            }
            ChatEvent::Usage(usage) => reply.usage = Some(usage),
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
    pub(super) async fn save_draft(&self, job: &Job, text: &str, has_grown: bool, now: Timestamp) -> bool {
        // With a thousand concurrent replies, this runs a thousand times a second, so it avoids reading the
        // conversation.
        if has_grown && let Some(goes_on) = self.save_known(job, text, now).await {
            return goes_on;
        }
        let mut goes_on = true;
        let saved =
            self.repository.change(&EventActor::System, &job.view.agent.id, job.conversation.id, |stored| {
                let running =
                    stored.running.as_mut().filter(|it| it.turn == job.turn && it.owner == self.server);
                goes_on = running.as_ref().is_some_and(|running| !running.cancelled);
                let running = running.filter(|running| !running.cancelled)?;
                if running.text == text && running.lease_until.millis_since(now) > LEASE_MILLIS - RENEW_MILLIS
                {
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

    /// As [`Replies::save_draft`], for a conversation that only this turn has changed; `None` if another writer changed
    /// it.
    async fn save_known(&self, job: &Job, text: &str, now: Timestamp) -> Option<bool> {
        let version = job.version.load(Ordering::Relaxed);
        if version == 0 {
            return None;
        }
        let mut conversation = Conversation { version, ..job.conversation.clone() };
        let running = conversation.running.as_mut()?;
        text.clone_into(&mut running.text);
        running.lease_until = now.plus_millis(LEASE_MILLIS);
        let write = ConversationWrite { deferrable: true, ..ConversationWrite::next(conversation, now) };
        match self.repository.storage.save_conversation(&job.view.agent.id, &write).await {
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
}

/// Waits for the first of these: a cancellation, the work, a deadline, the time to store the text so far.
pub(super) async fn next<T>(
    live: &LiveTurn,
    mut work: impl FnMut(&mut Context<'_>) -> Poll<T>,
    mut is_late: impl FnMut(&mut Context<'_>) -> bool,
    draft: &mut Task,
) -> Step<T> {
    poll_fn(|cx| {
        if let Some(by) = live.poll_cancelled(cx) {
            return Poll::Ready(Step::End(End::by(by)));
        }
        if let Poll::Ready(done) = work(cx) {
            return Poll::Ready(Step::Work(done));
        }
        if is_late(cx) {
            return Poll::Ready(Step::End(End::Failed(ChatError::Timeout)));
        }
        draft.as_mut().poll(cx).map(|()| Step::Draft)
    })
    .await
}

/// The next event of a responder; one that panics has failed.
fn poll_event(events: &mut ChatEvents, cx: &mut Context<'_>) -> Poll<Option<ChatEvent>> {
    catch_unwind(AssertUnwindSafe(|| events.as_mut().poll_next(cx))).unwrap_or_else(|_| {
        tracing::error!("a responder panicked");
        Poll::Ready(Some(ChatEvent::Error(ChatError::Internal)))
    })
}
