//! The calls of the widget besides turns: sync, history, feedback and close.

use openapi_core::json::{Json, Object};
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::validation::ValidationIssue;
use openapi_core::values::MessageId;
use serde::Serialize;

use super::agent_view::AgentView;
use super::call::{WidgetRequest, WidgetResponse};
use super::context::can_offer_form;
use super::errors::too_many;
use super::state::Inner;
use super::store::{Session, Shown, shown};
use crate::storage::{MessageQuery, MessageSelector};
use crate::widget::config::LeadForm;
use crate::widget::live::Ending;
use crate::widget::request::Members;
use crate::widget::texts;
use crate::widget::token::VisitorToken;
use crate::{Conversation, ConversationMode, ConversationStatus, Message, Speaker};

/// Messages of one answer.
const PAGE: u32 = 50;
/// Beyond so many unread messages the widget shows no number.
const MOST_UNREAD: u32 = 100;
/// How often a widget asks for what a human writes, while it is open and while it is closed.
const POLL_OPEN_MILLIS: u32 = 3_000;
const POLL_CLOSED_MILLIS: u32 = 10_000;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct State<'a> {
    messages: Vec<Shown<'a>>,
    more: bool,
    unread: u64,
    mode: ConversationMode,
    status: ConversationStatus,
    running: Option<&'a str>,
    next_poll_ms: Option<u32>,
    /// The lead form, where the last of the messages offers it.
    form: Option<LeadForm>,
    session: Session,
}

#[derive(Serialize)]
struct History<'a> {
    messages: Vec<Shown<'a>>,
    more: bool,
}

impl Inner {
    fn admit_visitor(&self, visit: &WidgetRequest, token: &VisitorToken) -> Result<(), ApiError> {
        let windows = &self.settings.limits.syncs;
        self.shared
            .visitors
            .admit(token.visitor, windows, visit.now)
            .map(|_| ())
            .map_err(|full| too_many("visitor", full))
    }

    async fn read_messages(
        &self,
        conversation: &Conversation,
        which: MessageSelector,
        limit: u32,
    ) -> Result<Vec<Message>, ApiError> {
        let query = MessageQuery { conversation: conversation.id, which, limit };
        Ok(self.storage.messages(&conversation.agent_id, &query).await?)
    }

    pub(super) async fn sync(
        &self,
        visit: &WidgetRequest,
        view: &AgentView,
        token: &VisitorToken,
        body: &Object,
    ) -> Result<WidgetResponse, ApiError> {
        let mut conversation = self.conversation_of(token).await?;
        self.admit_visitor(visit, token)?;
        let mut members = Members::new(body);
        let after = members.number("after").unwrap_or(0);
        let read = members.number("read");
        let is_open = members.flag("open").unwrap_or(false);
        if !members.faults.is_empty() {
            return Err(members.faults.into());
        }
        let newly_read = read.map(|read| read.min(conversation.message_count));
        let mut is_changed = newly_read.is_some_and(|read| read > conversation.visitor_read);
        is_changed |= self.back_to_ai(view, &mut conversation.clone(), visit.now);
        if is_changed {
            let changed = self.change(&view.agent.id, conversation.id, |stored| {
                let is_back = self.back_to_ai(view, stored, visit.now);
                let read = newly_read.unwrap_or(0).min(stored.message_count);
                let is_read = read > stored.visitor_read;
                stored.visitor_read = stored.visitor_read.max(read);
                let apology = is_back.then(|| self.nobody_came(visit, view, stored)).flatten();
                (is_back || is_read).then(|| apology.into_iter().collect())
            });
            conversation = changed.await?.ok_or_else(super::errors::token_invalid)?;
        }
        let mut messages = self.read_messages(&conversation, MessageSelector::After(after), PAGE + 1).await?;
        let more = messages.len() > PAGE as usize;
        messages.truncate(PAGE as usize);
        let read = conversation.visitor_read;
        let unread = if read >= conversation.message_count {
            0
        } else {
            let unread = self.read_messages(&conversation, MessageSelector::After(read), MOST_UNREAD).await?;
            unread.iter().filter(|message| message.role != Speaker::Visitor).count() as u64
        };
        let offers_form = messages.last().is_some_and(|last| last.after.form);
        let form = match offers_form && can_offer_form(view, &conversation) {
            true => self.lead_form(view).await?,
            false => None,
        };
        let running = conversation.running.as_ref().filter(|running| running.lease_until > visit.now);
        let text = body.get("token").and_then(Json::as_str).unwrap_or_default();
        let is_polled = conversation.mode == ConversationMode::Human;
        let state = State {
            messages: messages.iter().map(shown).collect(),
            more,
            unread,
            mode: conversation.mode,
            status: conversation.status_at(visit.now),
            running: running.map(|running| running.turn.as_str()),
            form,
            next_poll_ms: is_polled.then_some(if is_open { POLL_OPEN_MILLIS } else { POLL_CLOSED_MILLIS }),
            session: self.session(visit, &conversation, Some((token, text)), false),
        };
        WidgetResponse::json("Conversation state", &state)
    }

    /// The message to a visitor whom no operator answered in time; none if no form can be offered.
    fn nobody_came(
        &self,
        visit: &WidgetRequest,
        view: &AgentView,
        conversation: &mut Conversation,
    ) -> Option<Message> {
        if !can_offer_form(view, conversation) {
            return None;
        }
        let text = texts::nobody_came(&conversation.locale).to_owned();
        let days = view.settings.retention_days;
        let mut message = self.append(conversation, Speaker::Agent, text, visit.now, days);
        message.after.form = true;
        Some(message)
    }

    pub(super) async fn history(
        &self,
        visit: &WidgetRequest,
        _: &AgentView,
        token: &VisitorToken,
        body: &Object,
    ) -> Result<WidgetResponse, ApiError> {
        let conversation = self.conversation_of(token).await?;
        self.admit_visitor(visit, token)?;
        let mut members = Members::new(body);
        let before = members.number("before");
        let limit = members.number("limit").unwrap_or(u64::from(PAGE));
        if !(1..=u64::from(PAGE)).contains(&limit) {
            let rule = if limit == 0 {
                openapi_core::validation::ValidationCode::Minimum
            } else {
                openapi_core::validation::ValidationCode::Maximum
            };
            members.fault("limit", ValidationIssue::new(rule, "must be from 1 to 50"));
        }
        if !members.faults.is_empty() {
            return Err(members.faults.into());
        }
        let limit = u32::try_from(limit).unwrap_or(PAGE);
        let which = MessageSelector::Before(before.unwrap_or(u64::MAX).min(i64::MAX as u64));
        let mut messages = self.read_messages(&conversation, which, limit + 1).await?;
        let more = messages.len() > limit as usize;
        if more {
            messages.remove(0);
        }
        let messages = messages.iter().map(shown).collect();
        WidgetResponse::json("Earlier messages", &History { messages, more })
    }

    pub(super) async fn feedback(
        &self,
        visit: &WidgetRequest,
        view: &AgentView,
        token: &VisitorToken,
        body: &Object,
    ) -> Result<WidgetResponse, ApiError> {
        let conversation = self.conversation_of(token).await?;
        self.admit_visitor(visit, token)?;
        let mut members = Members::new(body);
        let message = members.id::<MessageId>("message");
        let value = members.opinion("value");
        let comment = members.line("comment", 500);
        let (Some(message), Some(value), true) = (message, value, members.faults.is_empty()) else {
            return Err(members.faults.into());
        };
        let found = self.read_messages(&conversation, MessageSelector::Id(message), 1).await?;
        let Some(mut message) = found.into_iter().next().filter(|message| message.role != Speaker::Visitor)
        else {
            return Err(ApiError::new(ErrorCode::MessageNotFound, "There is no such message"));
        };
        if !view.settings.feedback || message.feedback == value && message.comment == comment {
            return Ok(WidgetResponse::Empty);
        }
        message.feedback = value;
        message.comment = comment;
        // A reply that is repeated meanwhile is another one: then the opinion is about what is gone.
        let version = conversation.version;
        self.change(&view.agent.id, conversation.id, |stored| {
            let is_same = stored.version == version || stored.running.is_none();
            is_same.then(|| vec![message.clone()])
        })
        .await?;
        Ok(WidgetResponse::Empty)
    }

    pub(super) async fn close(
        &self,
        visit: &WidgetRequest,
        view: &AgentView,
        token: &VisitorToken,
    ) -> Result<WidgetResponse, ApiError> {
        let conversation = self.conversation_of(token).await?;
        if let Some(running) = &conversation.running {
            let key = (view.agent.id.clone(), conversation.id, running.turn.clone());
            if let Some(live) = self.shared.turns.find(&key) {
                live.cancel(Ending::Visitor);
            }
        }
        self.change(&view.agent.id, conversation.id, |stored| {
            let is_open = stored.status == ConversationStatus::Open;
            stored.status = ConversationStatus::Closed;
            stored.closed_at.get_or_insert(visit.now);
            if let Some(running) = &mut stored.running {
                running.cancelled = true;
            }
            is_open.then(Vec::new)
        })
        .await?;
        Ok(WidgetResponse::Empty)
    }
}
