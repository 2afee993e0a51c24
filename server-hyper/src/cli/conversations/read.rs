//! `conversations list`, `show` and `export`: stored conversations.

use std::cmp::Reverse;
use std::collections::HashSet;

use ::conversations::storage::{ConversationFilter, ConversationQuery};
use ::conversations::{
    ChatPage, Claims, Conversation, ConversationMode, ConversationStatus, Conversations, FollowUp, Lead,
    Message, MessageState, Outcome, Source, Speaker, UploadRef, VisitorId,
};
use openapi_core::admin::Admin;
use openapi_core::audit::AuditAction;
use openapi_core::json::RawObject;
use openapi_core::ports::Clock;
use openapi_core::reply::Pagination;
use openapi_core::values::{AgentId, ContactId, ConversationId, MessageId, Timestamp};
use serde::Serialize;

use super::selection::{Selection, Status};
use crate::cli::characters::on_one_line;
use crate::cli::context::CommandContext;
use crate::cli::export;
use crate::cli::output::{indented, optional};
use crate::error::CliError;
use crate::ports::SystemClock;

/// Conversations or messages read at a time.
const PAGE: u32 = 200;
/// How long a conversation without messages stays open.
const SILENCE_MILLIS: i64 = 24 * 3_600_000;
/// An export reads conversations again at its end if their last message is at most this much older than its start.
const OVERLAP_MILLIS: i64 = 60_000;

/// The printed form of a conversation.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Shown {
    id: ConversationId,
    agent_id: AgentId,
    visitor_id: VisitorId,
    level: u8,
    contact_id: Option<ContactId>,
    claims: Claims,
    lead: Option<Lead>,
    status: ConversationStatus,
    mode: ConversationMode,
    locale: String,
    page: Option<ChatPage>,
    metadata: RawObject,
    message_count: u64,
    operator_unread: u64,
    last_message_at: Timestamp,
    closed_at: Option<Timestamp>,
    created_at: Timestamp,
    updated_at: Timestamp,
    expires_at: Timestamp,
}

impl Shown {
    /// The printed form of this conversation, at this time.
    pub fn of(conversation: &Conversation) -> Self {
        let now = SystemClock.now();
        let Conversation { id, mode, visitor_id, contact_id, .. } = *conversation;
        Shown {
            id,
            agent_id: conversation.agent_id.clone(),
            visitor_id,
            level: conversation.level_at(now),
            contact_id,
            claims: conversation.claims.clone(),
            lead: conversation.lead.clone(),
            status: conversation.status_at(now),
            mode,
            locale: conversation.locale.clone(),
            page: conversation.page.clone(),
            metadata: conversation.metadata.clone(),
            message_count: conversation.message_count,
            operator_unread: conversation.operator_unread,
            last_message_at: conversation.last_message_at,
            closed_at: conversation.closed_at,
            created_at: conversation.created_at,
            updated_at: conversation.updated_at,
            expires_at: conversation.erased_at(),
        }
    }

    /// The visitor's claims in one line.
    fn visitor(&self) -> String {
        let Claims { name, email, external_reference_id, .. } = &self.claims;
        let known: Vec<&str> =
            [name, email, external_reference_id].into_iter().flatten().map(String::as_str).collect();
        if known.is_empty() { "anonymous".to_owned() } else { known.join(", ") }
    }

    fn lines(&self) -> Vec<(&'static str, String)> {
        let level = match self.level {
            0 => "anonymous",
            1 => "not verified",
            _ => "verified",
        };
        let lead = self.lead.as_ref();
        vec![
            ("id", self.id.to_string()),
            ("status", self.status.as_str().to_owned()),
            ("mode", self.mode.as_str().to_owned()),
            ("visitor", format!("{} ({level})", self.visitor())),
            ("phone", optional(self.claims.phone.as_ref())),
            ("contact", optional(self.contact_id.as_ref())),
            ("lead", lead.map_or_else(String::new, |lead| lead.fields.as_str().to_owned())),
            ("contact error", optional(lead.and_then(|lead| lead.hint.as_ref()))),
            ("page", optional(self.page.as_ref().and_then(|page| page.url.as_ref()))),
            ("language", self.locale.clone()),
            ("messages", self.message_count.to_string()),
            ("unread", self.operator_unread.to_string()),
            ("created", self.created_at.to_string()),
            ("last message", self.last_message_at.to_string()),
            ("closed", optional(self.closed_at.as_ref())),
            ("expires", self.expires_at.to_string()),
        ]
    }
}

/// The printed form of a message.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Said {
    /// The message's id.
    pub id: MessageId,
    /// The message's number in the conversation.
    pub seq: u64,
    role: Speaker,
    text: String,
    state: MessageState,
    at: Timestamp,
    /// The author of a human's message.
    name: Option<String>,
    /// The responder of an agent's reply.
    responder: Option<String>,
    outcome: Option<Outcome>,
    sources: Vec<Source>,
    uploads: Vec<UploadRef>,
    #[serde(flatten)]
    after: FollowUp,
    tokens: u64,
    cost: f64,
    credits: u64,
    feedback: i8,
    comment: Option<String>,
    turn: Option<String>,
}

impl Said {
    /// The printed form of this message.
    pub fn of(message: &Message) -> Self {
        let author = message.author.clone();
        let usage = message.usage.unwrap_or_default();
        Said {
            id: message.id,
            seq: message.seq,
            role: message.role,
            text: message.text.clone(),
            state: message.state,
            at: message.at,
            name: author.clone().filter(|_| message.role == Speaker::Human),
            responder: author.filter(|_| message.role == Speaker::Agent),
            outcome: message.outcome,
            sources: message.sources.clone(),
            uploads: message.uploads.clone(),
            after: message.after.clone(),
            tokens: usage.tokens(),
            cost: usage.cost,
            credits: message.credits,
            feedback: message.feedback,
            comment: message.comment.clone(),
            turn: message.turn.clone(),
        }
    }

    /// Several lines of text.
    fn block(&self) -> String {
        let who = match self.role {
            Speaker::Visitor => "visitor",
            Speaker::Agent => "agent",
            Speaker::Human => "human",
        };
        let name = self.name.as_ref().or(self.responder.as_ref());
        let mut head = format!("{}  {who}", self.seq);
        let mut add = |part: String| {
            head.push_str("  ");
            head.push_str(&part);
        };
        if let Some(name) = name {
            add(format!("({name})"));
        }
        add(self.at.to_string());
        if self.state != MessageState::Complete {
            add(self.state.as_str().to_owned());
        }
        if let Some(outcome) = self.outcome {
            add(word(outcome).to_owned());
        }
        if self.tokens > 0 || self.credits > 0 {
            add(format!("{} tokens, {} credits", self.tokens, self.credits));
        }
        if self.feedback != 0 {
            add(format!("feedback {:+}", self.feedback));
        }
        let mut text = format!("{}\n{}", on_one_line(&head), indented(&self.text, "   "));
        for source in &self.sources {
            let page = source.page.map_or_else(String::new, |page| format!(", page {page}"));
            let url = source.url.as_ref().map_or_else(String::new, |url| format!(", {url}"));
            text.push_str(&indented(&format!("[{}] {}{page}{url}", source.n, source.title), "   "));
        }
        for upload in &self.uploads {
            let UploadRef { id, name, media_type, size } = upload;
            let line = format!("file {id}: {name}, {media_type}, {size} bytes");
            text.push_str(&indented(&line, "   "));
        }
        if let Some(comment) = &self.comment {
            text.push_str(&indented(&format!("feedback: {comment}"), "   "));
        }
        text.push('\n');
        text
    }
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Answered => "answered",
        Outcome::Unsure => "unsure",
        Outcome::SmallTalk => "small talk",
        Outcome::Unknown => "unknown",
        Outcome::Stopped => "stopped",
        Outcome::Queued => "queued",
        Outcome::Limited => "limited",
    }
}

/// Prints one conversation without its messages.
pub fn print_one(context: &CommandContext, json: bool, conversation: &Conversation) -> Result<(), CliError> {
    let shown = Shown::of(conversation);
    context.print_record(json, &shown, &shown.lines())
}

/// A conversation with its messages.
#[derive(Serialize)]
struct WithMessages {
    #[serde(flatten)]
    conversation: Shown,
    messages: Vec<Said>,
}

impl WithMessages {
    async fn read(chat: &Conversations, conversation: &Conversation) -> Result<Self, CliError> {
        let mut messages: Vec<Said> = Vec::new();
        loop {
            let after = messages.last().map_or(0, |last| last.seq);
            let more = chat.messages(&conversation.agent_id, conversation.id, after, PAGE).await?;
            let is_last = more.len() < PAGE as usize;
            messages.extend(more.iter().map(Said::of));
            if is_last {
                return Ok(WithMessages { conversation: Shown::of(conversation), messages });
            }
        }
    }
}

/// Prints a conversation with its messages.
pub async fn show(
    context: &CommandContext,
    chat: &Conversations,
    json: bool,
    agent: &AgentId,
    conversation: ConversationId,
) -> Result<(), CliError> {
    let conversation = chat.conversation(agent, conversation).await?;
    let resource = conversation.id.to_string();
    context.note(chat.platform(), AuditAction::ConversationRead, Some(agent), &resource, []).await?;
    let read = WithMessages::read(chat, &conversation).await?;
    if json {
        return context.print_json(&read);
    }
    context.print_record(false, &read.conversation, &read.conversation.lines())?;
    context.print("\n")?;
    context.print(&read.messages.iter().map(Said::block).collect::<String>())
}

/// A page of conversations.
#[derive(Serialize)]
struct Listed {
    conversations: Vec<Shown>,
    pagination: Pagination,
}

/// Prints a page of conversations.
pub async fn list(
    context: &CommandContext,
    chat: &Conversations,
    json: bool,
    selection: &Selection,
    page: u64,
    limit: u32,
) -> Result<(), CliError> {
    let offset = (page - 1) * u64::from(limit);
    let (found, total) = found(chat, selection, offset, limit).await?;
    let conversations: Vec<Shown> = found.iter().map(Shown::of).collect();
    let pages = total.div_ceil(u64::from(limit));
    if json {
        let pagination = Pagination {
            current_page: page,
            total_pages: pages,
            total_items: total,
            items_per_page: limit,
            has_next_page: page < pages,
            has_previous_page: page > 1 && total > 0,
            next_cursor: None,
        };
        return context.print_json(&Listed { conversations, pagination });
    }
    let heads = ["id", "status", "mode", "visitor", "contact", "messages", "unread", "last message"];
    context.print_table(false, &conversations, &heads, |shown| {
        vec![
            shown.id.to_string(),
            shown.status.as_str().to_owned(),
            shown.mode.as_str().to_owned(),
            shown.visitor(),
            optional(shown.contact_id.as_ref()),
            shown.message_count.to_string(),
            shown.operator_unread.to_string(),
            shown.last_message_at.to_string(),
        ]
    })?;
    if pages > 1 {
        context.info(&format!("page {page} of {pages}, {total} conversations"));
    }
    Ok(())
}

/// A page of the selected conversations, and their total number.
async fn found(
    chat: &Conversations,
    selection: &Selection,
    offset: u64,
    limit: u32,
) -> Result<(Vec<Conversation>, u64), CliError> {
    let agent = &selection.agent;
    let any = selection.filter();
    // A silent conversation is open in the store until a server closes it: only those with a message since then are open.
    let heard = SystemClock.now().plus_millis(1 - SILENCE_MILLIS);
    let stored = |status: ConversationStatus| ConversationFilter { status: Some(status), ..any.clone() };
    let open = ConversationFilter {
        since: Some(any.since.map_or(heard, |since| since.max(heard))),
        ..stored(ConversationStatus::Open)
    };
    match selection.status {
        None => rows(chat, agent, &any, offset, limit.into()).await,
        Some(Status::Open) => rows(chat, agent, &open, offset, limit.into()).await,
        Some(Status::Closed) => {
            // The silent conversations follow the open ones, because the newest message comes first.
            let (_, awake) = rows(chat, agent, &open, 0, 1).await?;
            let end = offset + u64::from(limit);
            let (mut found, closed) = rows(chat, agent, &stored(ConversationStatus::Closed), 0, end).await?;
            let (silent, all) = rows(chat, agent, &stored(ConversationStatus::Open), awake, end).await?;
            found.extend(silent);
            found.sort_by_key(|it| Reverse((it.last_message_at, it.id)));
            let page = found.into_iter().skip(usize::try_from(offset).unwrap_or(usize::MAX));
            Ok((page.take(limit as usize).collect(), closed + all.saturating_sub(awake)))
        }
    }
}

/// Up to `count` conversations after the first `offset`, and their total number.
async fn rows(
    chat: &Conversations,
    agent: &AgentId,
    filter: &ConversationFilter,
    offset: u64,
    count: u64,
) -> Result<(Vec<Conversation>, u64), CliError> {
    let mut found: Vec<Conversation> = Vec::new();
    loop {
        let limit = u32::try_from(count - found.len() as u64).unwrap_or(PAGE).min(PAGE);
        let query = ConversationQuery { filter: filter.clone(), offset: offset + found.len() as u64, limit };
        let page = chat.conversations(agent, &query).await?;
        let is_last = page.conversations.len() < limit as usize;
        found.extend(page.conversations);
        if is_last || found.len() as u64 >= count {
            return Ok((found, page.total));
        }
    }
}

/// Prints all selected conversations with their messages.
pub async fn export_all(
    context: &CommandContext,
    chat: &Conversations,
    selection: &Selection,
) -> Result<(), CliError> {
    let agent = &selection.agent;
    chat.platform().agent(agent).await?;
    context.note(chat.platform(), AuditAction::ConversationExport, Some(agent), agent.as_str(), []).await?;
    let mut filter = selection.filter();
    let wanted = selection.status.map(Status::of_library);
    // A message that arrives during the export moves its conversation to the front, past the export's position.
    // Conversations with a message since the start are therefore read again at the end.
    let mut again = Some(SystemClock.now().plus_millis(-OVERLAP_MILLIS));
    let mut seen = HashSet::new();
    let mut offset = 0;
    let page = async |_: Option<&WithMessages>| {
        loop {
            let query = ConversationQuery { filter: filter.clone(), offset, limit: PAGE };
            let found = chat.conversations(agent, &query).await?.conversations;
            offset += found.len() as u64;
            if found.is_empty() {
                let Some(since) = again.take() else { return Ok(Vec::new()) };
                filter.since = Some(filter.since.map_or(since, |given| given.max(since)));
                offset = 0;
                continue;
            }
            let now = SystemClock.now();
            let mut read = Vec::new();
            for conversation in found {
                let is_wanted = wanted.is_none_or(|wanted| conversation.status_at(now) == wanted);
                if is_wanted && seen.insert(conversation.id) {
                    read.push(WithMessages::read(chat, &conversation).await?);
                }
            }
            if !read.is_empty() {
                return Ok(read);
            }
        }
    };
    export::run(context, None, page, &[], |_| Ok(Vec::new())).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_its_files() {
        let said: Vec<UploadRef> = vec![UploadRef {
            id: "697dc8165d4ffa83cfc35cfc".parse().unwrap(),
            name: "referral\u{202e}fdp.exe".to_owned(),
            size: 1_204,
            media_type: "application/pdf".to_owned(),
        }];
        let message = Said {
            id: "697dc8165d4ffa83cfc35cfd".parse().unwrap(),
            seq: 1,
            role: Speaker::Visitor,
            text: "Here it is.".to_owned(),
            state: MessageState::Complete,
            at: Timestamp::from_millis(0),
            name: None,
            responder: None,
            outcome: None,
            sources: Vec::new(),
            uploads: said,
            after: FollowUp::default(),
            tokens: 0,
            cost: 0.0,
            credits: 0,
            feedback: 0,
            comment: None,
            turn: None,
        };
        let shown = message.block();
        let line = "   file 697dc8165d4ffa83cfc35cfc: referralfdp.exe, application/pdf, 1204 bytes";
        assert!(shown.lines().any(|shown| shown == line), "{shown}");
    }
}
