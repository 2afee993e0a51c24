//! Visitors: what they read and change of their conversation besides turns.

use std::sync::Arc;

use openapi_core::api::Outcome;
use openapi_core::events::EventActor;
use openapi_core::reply::{ApiError, ErrorCode, Reply};
use openapi_core::validation::{ValidationCode, ValidationIssue};
use openapi_core::values::MessageId;
use serde::Serialize;
use serde_json::json;

use super::agent_view::AgentView;
use super::agents::Agents;
use super::call::{Call, SentToken, WidgetRequest};
use super::errors::token_invalid;
use super::repository::{MessageView, Repository};
use super::session::Session;
use super::streams::Streams;
use crate::conversations::Conversations;
use crate::storage::MessageSelector;
use crate::widget::config::LeadForm;
use crate::widget::live::Ending;
use crate::widget::request::Members;
use crate::widget::texts;
use crate::{Conversation, ConversationMode, ConversationStatus, Message, ParticipantChange, Speaker};

/// The most messages of a response.
const PAGE: u32 = 50;
/// The most unread messages that are counted. The widget shows no number beyond.
const MAX_UNREAD: u32 = 100;

/// The data of `/sync`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct State<'a> {
    messages: Vec<MessageView<'a>>,
    more: bool,
    unread: u64,
    mode: ConversationMode,
    status: ConversationStatus,
    running: Option<&'a str>,
    next_poll_ms: Option<u32>,
    /// The lead form, if the last of the messages offers it.
    form: Option<LeadForm>,
    /// When persons joined and left.
    people: &'a [ParticipantChange],
    session: Session,
}

/// Serves visitors.
pub(super) struct Visitors {
    pub(super) conversations: Arc<Conversations>,
    pub(super) repository: Arc<Repository>,
    pub(super) agents: Arc<Agents>,
    pub(super) streams: Arc<Streams>,
}

impl Visitors {
    /// `POST /sync`.
    pub(super) async fn sync(&self, call: Call<'_, SentToken>) -> Result<Outcome, ApiError> {
        let mut conversation = self.repository.of_token(&call.token.token).await?;
        let Call { request, view, token, body, .. } = call;
        let mut members = Members::new(&body);
        let after = members.number("after").unwrap_or(0);
        let read = members.number("read");
        // Clients say whether the panel is open; nothing depends on it.
        members.flag("open");
        members.finish()?;
        if conversation.status_at(request.now) != conversation.status {
            // Nobody waits any more, so nothing is written that would open it again.
            conversation = self.repository.close_if_silent(&conversation, request.now).await?;
        }
        conversation = self.mark_read(request, &view, conversation, read).await?;
        let messages = self.repository.messages(&conversation, MessageSelector::After(after), PAGE + 1);
        let mut messages = messages.await?;
        let more = messages.len() > PAGE as usize;
        messages.truncate(PAGE as usize);
        let unread = self.unread(&conversation).await?;
        if unread > 0 && view.settings.email_replies {
            self.conversations.note_visitor(&view.agent.id, conversation.id).await?;
        }
        let offered = messages.last().map(|last| &last.after).filter(|after| after.form);
        let form = match offered.filter(|_| view.can_offer_form(&conversation)) {
            Some(after) => self.agents.lead_form(&view, &after.collected).await?,
            None => None,
        };
        let state = State {
            messages: messages.iter().map(MessageView::of).collect(),
            more,
            unread,
            mode: conversation.mode,
            status: conversation.status_at(request.now),
            running: conversation.running_at(request.now).map(|running| running.turn.as_str()),
            form,
            people: &conversation.participants,
            next_poll_ms: conversation.poll_after(request.now),
            session: self.repository.session(request, &conversation, Some(&token), false),
        };
        Outcome::success(Reply::ok("Conversation state", state))
    }

    /// `POST /links`.
    pub(super) async fn open_link(&self, call: Call<'_, Option<SentToken>>) -> Result<Outcome, ApiError> {
        let mut members = Members::new(&call.body);
        let link = members.line("link", 512);
        members.finish()?;
        let agent = &call.view.agent.id;
        let conversation = self.conversations.open_link(agent, &link.unwrap_or_default()).await?;
        let conversation = conversation.ok_or_else(token_invalid)?;
        let session = self.repository.new_session(call.request, &conversation, false);
        Outcome::success(Reply::ok("Conversation", json!({ "session": session })))
    }

    /// Records what the visitor has read, and returns the conversation to the agent if no operator answered in time.
    async fn mark_read(
        &self,
        request: &WidgetRequest,
        view: &AgentView,
        conversation: Conversation,
        read: Option<u64>,
    ) -> Result<Conversation, ApiError> {
        let minutes = view.settings.chat.handoff.timeout_minutes;
        let read = read.map_or(0, |read| read.min(conversation.message_count));
        let is_back = conversation.clone().end_handoff(minutes, request.now);
        if !is_back && read <= conversation.visitor_read {
            return Ok(conversation);
        }
        let changed =
            self.repository.change(&EventActor::Visitor, &view.agent.id, conversation.id, |stored| {
                let is_back = stored.end_handoff(minutes, request.now);
                let read = read.min(stored.message_count);
                let is_read = read > stored.visitor_read;
                stored.visitor_read = stored.visitor_read.max(read);
                let apology = is_back.then(|| self.apology(request, view, stored)).flatten();
                (is_back || is_read).then(|| apology.into_iter().collect())
            });
        changed.await?.ok_or_else(token_invalid)
    }

    /// How many messages the visitor has not read.
    async fn unread(&self, conversation: &Conversation) -> Result<u64, ApiError> {
        let read = conversation.visitor_read;
        if read >= conversation.message_count {
            return Ok(0);
        }
        let unread = self.repository.messages(conversation, MessageSelector::After(read), MAX_UNREAD).await?;
        Ok(unread.iter().filter(|message| message.role != Speaker::Visitor).count() as u64)
    }

    /// The message that no operator answered in time; none if it can offer no lead form.
    fn apology(
        &self,
        request: &WidgetRequest,
        view: &AgentView,
        conversation: &mut Conversation,
    ) -> Option<Message> {
        if !view.can_offer_form(conversation) {
            return None;
        }
        let text = texts::nobody_came(&conversation.locale).to_owned();
        let (now, days) = (request.now, view.settings.retention_days);
        let mut message = conversation.append(self.repository.next_id(now), Speaker::Agent, text, now, days);
        message.after.form = true;
        Some(message)
    }

    /// `POST /history`.
    pub(super) async fn history(&self, call: Call<'_, SentToken>) -> Result<Outcome, ApiError> {
        let conversation = self.repository.of_token(&call.token.token).await?;
        let mut members = Members::new(&call.body);
        let before = members.number("before");
        let limit = members.number("limit").unwrap_or(u64::from(PAGE));
        if !(1..=u64::from(PAGE)).contains(&limit) {
            let rule = if limit == 0 { ValidationCode::Minimum } else { ValidationCode::Maximum };
            members.fault("limit", ValidationIssue::new(rule, "must be from 1 to 50"));
        }
        members.finish()?;
        let limit = u32::try_from(limit).unwrap_or(PAGE);
        let which = MessageSelector::Before(before.unwrap_or(u64::MAX).min(i64::MAX as u64));
        let mut messages = self.repository.messages(&conversation, which, limit + 1).await?;
        let more = messages.len() > limit as usize;
        if more {
            messages.remove(0);
        }
        let messages: Vec<_> = messages.iter().map(MessageView::of).collect();
        Outcome::success(Reply::ok("Earlier messages", json!({ "messages": messages, "more": more })))
    }

    /// `POST /feedback`.
    pub(super) async fn feedback(&self, call: Call<'_, SentToken>) -> Result<Outcome, ApiError> {
        let conversation = self.repository.of_token(&call.token.token).await?;
        let mut members = Members::new(&call.body);
        let message = members.id::<MessageId>("message");
        let value = members.opinion("value");
        let comment = members.line("comment", 500);
        let (Some(message), Some(value), true) = (message, value, members.faults.is_empty()) else {
            return Err(members.faults.into());
        };
        let found = self.repository.messages(&conversation, MessageSelector::Id(message), 1).await?;
        let Some(mut message) = found.into_iter().next().filter(|message| message.role != Speaker::Visitor)
        else {
            return Err(ApiError::new(ErrorCode::MessageNotFound, "There is no such message"));
        };
        if !call.view.settings.feedback || message.feedback == value && message.comment == comment {
            return Ok(Outcome::no_content());
        }
        message.feedback = value;
        message.comment = comment;
        // A turn that runs again may replace this reply. Feedback on the old text is dropped then.
        let version = conversation.version;
        self.repository
            .change(&EventActor::Visitor, &call.view.agent.id, conversation.id, |stored| {
                let is_same = stored.version == version || stored.running.is_none();
                is_same.then(|| vec![message.clone()])
            })
            .await?;
        Ok(Outcome::no_content())
    }

    /// `POST /close`.
    pub(super) async fn close(&self, call: Call<'_, SentToken>) -> Result<Outcome, ApiError> {
        let conversation = self.repository.of_token(&call.token.token).await?;
        let agent = &call.view.agent.id;
        if let Some(running) = &conversation.running
            && let Some(live) = self.streams.find(agent, &conversation, &running.turn)
        {
            live.cancel(Ending::Visitor);
        }
        self.repository
            .change(&EventActor::Visitor, agent, conversation.id, |stored| {
                let is_open = stored.status == ConversationStatus::Open;
                stored.end(call.request.now);
                if let Some(running) = &mut stored.running {
                    running.cancelled = true;
                }
                is_open.then(Vec::new)
            })
            .await?;
        Ok(Outcome::no_content())
    }
}
