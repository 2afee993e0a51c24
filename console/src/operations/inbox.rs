//! Conversations with visitors.

use conversations::storage::{ConversationFilter, ConversationQuery};
use conversations::{
    Conversation, ConversationMode, ConversationStatus, Message, Participation, Source, Speaker,
};
use openapi_core::audit::AuditAction;
use openapi_core::json::{Json, Object, json_object};
use openapi_core::operation::Method;
use openapi_core::reply::{ApiError, ErrorCode, Pagination, Reply};
use openapi_core::values::{AgentId, Block, ContactId, ConversationId, MessageId, Timestamp};

use super::types::OneAgent;
use crate::capability::{Capability, Reach};
use crate::context::{Context, Proof};
use crate::errors::{failed, lacks};
use crate::input::{Limit, input};
use crate::operation::{Access, Metadata, Operation, Traits};

/// How much of a message the list shows.
const PREVIEW_CHARS: usize = 160;

/// What is known of a visitor; nothing of it is shown to operators with a masked inbox.
pub struct Visitor {
    level: u8,
    name: Option<String>,
    email: Option<String>,
    phone: Option<String>,
    verified: Option<String>,
}

json_object! { Visitor as "Visitor" = |visitor| {
    "level": u16 {
        "description": "0 anonymous, 1 has given an address, 2 signed by the page's server."
    } = u16::from(visitor.level),
    "name": Option<String> = visitor.name,
    "email": Option<String> = visitor.email,
    "phone": Option<String> = visitor.phone,
    "verifiedAs": Option<String> = visitor.verified,
} }

/// Who joined or left.
pub struct Participant {
    change: Participation,
    name: Option<String>,
    after: u64,
    at: Timestamp,
}

json_object! { Participant as "Participant" = |participant| {
    "change": &'static str { "enum": ["joined", "left", "closed"] } = participant.change.as_str(),
    "name": Option<String> = participant.name,
    "after": u64 { "description": "The number of the message before it." } = participant.after,
    "at": Timestamp = participant.at,
} }

/// The begin of a message.
pub struct Preview {
    role: &'static str,
    text: String,
}

json_object! { Preview as "MessagePreview" = |preview| {
    "role": &'static str { "enum": ["visitor", "agent", "human"] } = preview.role,
    "text": String = preview.text,
} }

/// A conversation as operators see it.
pub struct ConversationView {
    conversation: Conversation,
    visitor: Visitor,
    last: Option<Preview>,
    page: Option<String>,
    participants: Vec<Participant>,
    now: Timestamp,
    is_masked: bool,
}

json_object! { ConversationView as "Conversation" = |view| {
    "id": ConversationId = view.conversation.id,
    "status": &'static str { "enum": ["open", "closed"] } = view.conversation.status_at(view.now).as_str(),
    "mode": &'static str { "enum": ["ai", "human"] } = view.conversation.mode.as_str(),
    "waitingSince": Option<Timestamp> {
        "description": "Since when the visitor waits for a person."
    } = view.conversation.waiting_since,
    "visitor": Visitor = view.visitor,
    "contactId": Option<ContactId> = view.conversation.contact_id.filter(|_| !view.is_masked),
    "isMasked": bool { "description": "Whether the visitor's data are left out." } = view.is_masked,
    "locale": String = view.conversation.locale,
    "timeZone": Option<String> = view.conversation.time_zone,
    "pageUrl": Option<String> = view.page,
    "messageCount": u64 = view.conversation.message_count,
    "unread": u64 { "description": "Messages of the visitor that no operator has read." } =
        view.conversation.operator_unread,
    "lastMessage": Option<Preview> = view.last,
    "lastMessageAt": Timestamp = view.conversation.last_message_at,
    "participants": Vec<Participant> = view.participants,
    "closedAt": Option<Timestamp> = view.conversation.closed_at,
    "createdAt": Timestamp = view.conversation.created_at,
    "updatedAt": Timestamp = view.conversation.updated_at,
    "expiresAt": Timestamp { "description": "When it is erased." } = view.conversation.erased_at(),
} }

const fn role(speaker: Speaker) -> &'static str {
    match speaker {
        Speaker::Visitor => "visitor",
        Speaker::Agent => "agent",
        Speaker::Human => "human",
    }
}

fn view(cx: &Context<'_>, conversation: Conversation, last: Option<&Message>) -> ConversationView {
    let is_masked = cx.reach == Reach::Masked;
    let now = cx.platform().now();
    let lead = |name: &str| {
        let lead = conversation.lead.as_ref()?;
        lead.fields.get(name).and_then(|value| value.as_str().map(str::to_owned))
    };
    let name = || {
        let parts = [lead("firstName"), lead("lastName")].into_iter().flatten();
        Some(parts.collect::<Vec<_>>().join(" ")).filter(|name| !name.is_empty())
    };
    let claims = &conversation.claims;
    let verified = conversation.verified_as.as_ref();
    let visitor = Visitor {
        level: conversation.level_at(now),
        name: name().or_else(|| claims.name.clone()).filter(|_| !is_masked),
        email: verified
            .and_then(|user| user.email.clone())
            .or_else(|| lead("primaryEmail"))
            .or_else(|| claims.email.clone())
            .filter(|_| !is_masked),
        phone: lead("primaryPhone").or_else(|| claims.phone.clone()).filter(|_| !is_masked),
        verified: verified.and_then(|user| user.external_reference_id.clone()).filter(|_| !is_masked),
    };
    let last = last.map(|message| Preview {
        role: role(message.role),
        text: message.text.chars().take(PREVIEW_CHARS).collect(),
    });
    let page = conversation.page.as_ref().and_then(|page| page.url.clone());
    // What follows `?` and `#` may name a person.
    let page = page
        .map(|url| if is_masked { url.split(['?', '#']).next().unwrap_or_default().to_owned() } else { url });
    let participants = conversation.participants.iter().map(|change| Participant {
        change: change.change,
        name: change.name.clone(),
        after: change.after,
        at: change.at,
    });
    let participants = participants.collect();
    ConversationView { conversation, visitor, last, page, participants, now, is_masked }
}

/// The last message of a conversation.
async fn last_message(
    cx: &Context<'_>,
    agent: &AgentId,
    conversation: &Conversation,
) -> Result<Option<Message>, ApiError> {
    let Some(before) = conversation.message_count.checked_sub(1) else { return Ok(None) };
    let found = cx.console.chat.messages(agent, conversation.id, before, 1).await;
    match found {
        Ok(messages) => Ok(messages.into_iter().next()),
        // It was erased in the meantime.
        Err(openapi_core::admin::AdminError::NotFound { .. }) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// A file that a visitor has sent.
pub struct Attachment {
    name: String,
    size: u64,
    media_type: String,
}

json_object! { Attachment as "Attachment" = |attachment| {
    "name": String = attachment.name,
    "size": u64 = attachment.size,
    "type": String = attachment.media_type,
} }

/// A source that a reply cites.
pub struct Cited {
    n: u32,
    title: String,
    url: Option<String>,
}

json_object! { Cited as "CitedSource" = |cited| {
    "n": u32 = cited.n,
    "title": String = cited.title,
    "url": Option<String> = cited.url,
} }

impl Cited {
    pub(super) fn of(source: &Source) -> Self {
        Cited { n: source.n, title: source.title.clone(), url: source.url.clone() }
    }
}

/// A message as operators see it.
pub struct MessageView {
    message: Message,
    sources: Vec<Cited>,
    uploads: Vec<Attachment>,
    outcome: Option<Json>,
}

json_object! { MessageView as "Message" = |view| {
    "id": MessageId = view.message.id,
    "seq": u64 { "description": "Its number in the conversation, from 1 without gaps." } = view.message.seq,
    "role": &'static str { "enum": ["visitor", "agent", "human"] } = role(view.message.role),
    "author": Option<String> { "description": "The person who replied." } = view.message.author.clone().filter(|_| view.message.role == Speaker::Human),
    "text": String { "description": "Plain text of a visitor, else Markdown." } = view.message.text,
    "state": &'static str { "enum": ["complete", "stopped", "incomplete"] } = view.message.state.as_str(),
    "sources": Vec<Cited> = view.sources,
    "uploads": Vec<Attachment> = view.uploads,
    "feedback": i64 { "description": "-1, 0 or 1." } = i64::from(view.message.feedback),
    "comment": Option<String> = view.message.comment,
    "outcome": Option<Json> { "type": ["string", "null"] } = view.outcome,
    "at": Timestamp = view.message.at,
} }

fn message_view(message: Message, is_masked: bool) -> MessageView {
    let sources = message.sources.iter().map(Cited::of).collect();
    let uploads = message.uploads.iter().filter(|_| !is_masked);
    let uploads = uploads.map(|it| Attachment {
        name: it.name.clone(),
        size: it.size,
        media_type: it.media_type.clone(),
    });
    let uploads = uploads.collect();
    let outcome = message.outcome.and_then(|it| serde_json::to_value(it).ok()).map(|it| Json::from(&it));
    MessageView { message, sources, uploads, outcome }
}

const fn metadata(
    name: &'static str,
    summary: &'static str,
    (method, path): (Method, &'static str),
    needs: Capability,
    audit: &'static [AuditAction],
    command: &'static str,
) -> Metadata {
    let access = Access::Agent(needs);
    Metadata { name, summary, method, path, access, step_up: false, audit, command, traits: Traits::NONE }
}

const CHANGE: &[AuditAction] = &[AuditAction::ConversationChange];

input! {
    /// Which conversations.
    ListConversations {
        "agent" Path agent: AgentId,
        "status" Query status: Option<ConversationStatus>,
        "mode" Query mode: Option<ConversationMode> { "description": "`human`: taken over, or waiting for a person." },
        "contact" Query contact: Option<ContactId>,
        "since" Query since: Option<Timestamp> { "description": "Whose last message came then or later." },
        "page" Query page: Option<u32> { "minimum": 1 },
        "limit" Query limit: Limit,
    }
}

/// `inbox.list`
pub struct List;

/// The most conversations that a list passes over.
const MOST_OFFSET: u64 = 1_000_000;

impl Operation for List {
    const METADATA: Metadata = metadata(
        "inbox.list",
        "Lists conversations, the newest message first, with exact totals.",
        (Method::Get, "/agents/{agent}/conversations"),
        Capability::InboxRead,
        &[],
        "conversations list --agent AGENT",
    );
    type Input = ListConversations;
    type Output = Vec<ConversationView>;

    async fn run(
        cx: Context<'_>,
        input: ListConversations,
    ) -> Result<Reply<Vec<ConversationView>>, ApiError> {
        let limit = input.limit.0;
        let page = u64::from(input.page.unwrap_or(1).max(1));
        let offset = (page - 1).saturating_mul(u64::from(limit));
        if offset > MOST_OFFSET {
            return Err(ApiError::new(ErrorCode::NotPossible, "This page is too far; narrow the list"));
        }
        if input.contact.is_some() && cx.reach == Reach::Masked {
            return Err(lacks(Capability::SensitiveRead));
        }
        let filter = ConversationFilter {
            status: input.status,
            mode: input.mode,
            contact: input.contact,
            since: input.since,
        };
        let query = ConversationQuery { filter, offset, limit };
        let found = cx.console.chat.conversations(&input.agent, &query).await.map_err(failed)?;
        let mut views = Vec::with_capacity(found.conversations.len());
        for conversation in found.conversations {
            let last = last_message(&cx, &input.agent, &conversation).await?;
            views.push(view(&cx, conversation, last.as_ref()));
        }
        let total_pages = found.total.div_ceil(u64::from(limit));
        let mut reply = Reply::ok("Conversations retrieved successfully", views);
        reply.pagination = Some(Pagination {
            current_page: page,
            total_pages,
            total_items: found.total,
            items_per_page: limit,
            has_next_page: page < total_pages,
            has_previous_page: page > 1,
            next_cursor: None,
        });
        Ok(reply)
    }
}

/// How many conversations there are.
pub struct Totals {
    open: u64,
    human: u64,
    closed: u64,
    all: u64,
}

json_object! { Totals as "ConversationCounts" = |totals| {
    "open": u64 = totals.open,
    "human": u64 { "description": "Open ones that a person has taken over, or that wait for a person." } = totals.human,
    "closed": u64 = totals.closed,
    "all": u64 = totals.all,
} }

/// `inbox.counts`
pub struct Counts;

impl Operation for Counts {
    const METADATA: Metadata = metadata(
        "inbox.counts",
        "Counts conversations by view.",
        (Method::Get, "/agents/{agent}/conversations/counts"),
        Capability::InboxRead,
        &[],
        "",
    );
    type Input = OneAgent;
    type Output = Totals;

    async fn run(cx: Context<'_>, input: OneAgent) -> Result<Reply<Totals>, ApiError> {
        let count = async |status, mode| {
            let filter = ConversationFilter { status, mode, ..ConversationFilter::default() };
            let query = ConversationQuery { filter, offset: 0, limit: 1 };
            let found = cx.console.chat.conversations(&input.agent, &query).await;
            found.map(|page| page.total).map_err(failed)
        };
        let (open, closed) = (Some(ConversationStatus::Open), Some(ConversationStatus::Closed));
        let totals = Totals {
            open: count(open, None).await?,
            human: count(open, Some(ConversationMode::Human)).await?,
            closed: count(closed, None).await?,
            all: count(None, None).await?,
        };
        Ok(Reply::ok("Conversations counted successfully", totals))
    }
}

input! {
    /// A conversation.
    OneConversation {
        "agent" Path agent: AgentId,
        "conversation" Path conversation: ConversationId,
    }
}

async fn reply_with(
    cx: &Context<'_>,
    agent: &AgentId,
    message: &'static str,
    conversation: Conversation,
) -> Result<Reply<ConversationView>, ApiError> {
    let last = last_message(cx, agent, &conversation).await?;
    let etag = format!("\"{}\"", conversation.version);
    Ok(Reply::ok(message, view(cx, conversation, last.as_ref())).with_etag(etag))
}

/// `inbox.show`
pub struct Show;

impl Operation for Show {
    const METADATA: Metadata = metadata(
        "inbox.show",
        "Shows a conversation.",
        (Method::Get, "/agents/{agent}/conversations/{conversation}"),
        Capability::InboxRead,
        &[],
        "conversations show ID --agent AGENT",
    );
    type Input = OneConversation;
    type Output = ConversationView;

    async fn run(cx: Context<'_>, input: OneConversation) -> Result<Reply<ConversationView>, ApiError> {
        let found = cx.console.chat.conversation(&input.agent, input.conversation).await.map_err(failed)?;
        reply_with(&cx, &input.agent, "Conversation retrieved successfully", found).await
    }
}

input! {
    /// Messages of a conversation.
    ReadThread {
        "agent" Path agent: AgentId,
        "conversation" Path conversation: ConversationId,
        "after" Query after: Option<u64> {
            "description": "Only messages after this number. Without it, the last ones."
        },
        "before" Query before: Option<u64> { "description": "The last messages before this number." },
        "limit" Query limit: Limit,
    }
}

/// `inbox.thread`
pub struct Thread;

impl Operation for Thread {
    const METADATA: Metadata = metadata(
        "inbox.thread",
        "Lists messages of a conversation, in order.",
        (Method::Get, "/agents/{agent}/conversations/{conversation}/thread"),
        Capability::InboxRead,
        &[],
        "conversations show ID --agent AGENT",
    );
    type Input = ReadThread;
    type Output = Vec<MessageView>;

    async fn run(cx: Context<'_>, input: ReadThread) -> Result<Reply<Vec<MessageView>>, ApiError> {
        let (agent, id, limit) = (&input.agent, input.conversation, input.limit.0);
        let conversation = cx.console.chat.conversation(agent, id).await.map_err(failed)?;
        // Numbers are without gaps, so the last ones before a number are those after another one.
        let (after, limit) = match (input.after, input.before) {
            (Some(after), _) => (after, limit),
            (None, before) => {
                let before = before.unwrap_or(conversation.message_count.saturating_add(1)).max(1);
                let after = (before - 1).saturating_sub(u64::from(limit));
                (after, u32::try_from(before - 1 - after).unwrap_or(limit))
            }
        };
        if limit == 0 {
            return Ok(Reply::ok("Messages retrieved successfully", Vec::new()));
        }
        let messages = cx.console.chat.messages(agent, id, after, limit).await.map_err(failed)?;
        let is_masked = cx.reach == Reach::Masked;
        let views = messages.into_iter().map(|message| message_view(message, is_masked)).collect();
        Ok(Reply::ok("Messages retrieved successfully", views))
    }
}

/// An operation that changes who answers.
macro_rules! on_conversation {
    ($(#[$doc:meta])* $name:ident: $metadata:expr, $method:ident, $message:literal) => {
        $(#[$doc])*
        pub struct $name;

        impl Operation for $name {
            const METADATA: Metadata = $metadata;
            type Input = OneConversation;
            type Output = ConversationView;

            async fn run(cx: Context<'_>, input: OneConversation) -> Result<Reply<ConversationView>, ApiError> {
                let changed = cx.console.chat.$method(cx.actor, &input.agent, input.conversation).await;
                reply_with(&cx, &input.agent, $message, changed.map_err(failed)?).await
            }
        }
    };
}

/// The name under which visitors see the caller; empty for a service token, whose name is for operators.
fn visible_name<'a>(cx: &Context<'a>) -> &'a str {
    if matches!(cx.proof, Some(Proof::Token(_))) {
        return "";
    }
    let own = cx.signed_in().and_then(|signed_in| signed_in.account.body.display_name.as_deref());
    own.unwrap_or(&cx.operator.name)
}

/// `inbox.take`
pub struct Take;

impl Operation for Take {
    const METADATA: Metadata = metadata(
        "inbox.take",
        "Takes a conversation over under the operator's name: the visitor's messages wait for a person.",
        (Method::Post, "/agents/{agent}/conversations/{conversation}/take"),
        Capability::InboxReply,
        CHANGE,
        "conversations take ID --agent AGENT",
    );
    type Input = OneConversation;
    type Output = ConversationView;

    async fn run(cx: Context<'_>, input: OneConversation) -> Result<Reply<ConversationView>, ApiError> {
        let (agent, id) = (&input.agent, input.conversation);
        let name = Some(visible_name(&cx));
        let taken = cx.console.chat.take_conversation(cx.actor, agent, id, name).await.map_err(failed)?;
        reply_with(&cx, agent, "Conversation taken over successfully", taken).await
    }
}

on_conversation! {
    /// `inbox.release`
    Release: metadata(
        "inbox.release",
        "Lets the agent answer again.",
        (Method::Post, "/agents/{agent}/conversations/{conversation}/release"),
        Capability::InboxReply,
        CHANGE,
        "conversations release ID --agent AGENT",
    ), release_conversation, "Conversation released successfully"
}

on_conversation! {
    /// `inbox.close`
    Close: metadata(
        "inbox.close",
        "Closes a conversation. The visitor can still read it; the next message begins another one.",
        (Method::Post, "/agents/{agent}/conversations/{conversation}/close"),
        Capability::InboxReply,
        CHANGE,
        "conversations close ID --agent AGENT",
    ), close_conversation, "Conversation closed successfully"
}

input! {
    /// A reply to a visitor.
    WriteReply {
        "agent" Path agent: AgentId,
        "conversation" Path conversation: ConversationId,
        "text" Body text: Block<4000>,
        "afterReply" Body after_reply: Option<u64> {
            "description": "The number of the last reply of a person that was seen, 0 for none. When a colleague has \
                replied since, nothing is sent: 409 CONVERSATION_MOVED."
        },
    }
}

/// `inbox.reply`
pub struct SendReply;

/// How many messages are looked at for a colleague's reply.
const LOOK_BACK: u32 = 100;

impl Operation for SendReply {
    const METADATA: Metadata = metadata(
        "inbox.reply",
        "Writes to the visitor, and takes the conversation over.",
        (Method::Post, "/agents/{agent}/conversations/{conversation}/replies"),
        Capability::InboxReply,
        CHANGE,
        "conversations reply ID TEXT --agent AGENT",
    );
    type Input = WriteReply;
    type Output = MessageView;

    async fn run(cx: Context<'_>, input: WriteReply) -> Result<Reply<MessageView>, ApiError> {
        let (chat, agent, id) = (&cx.console.chat, &input.agent, input.conversation);
        if let Some(seen) = input.after_reply {
            let newer = chat.messages(agent, id, seen, LOOK_BACK).await.map_err(failed)?;
            if let Some(moved) = newer.iter().rev().find(|message| message.role == Speaker::Human) {
                let mut last = Object::new();
                last.insert("seq", Json::Number(moved.seq.into()));
                last.insert("author", Json::from(moved.author.as_deref().unwrap_or_default()));
                let text = "A colleague has replied in the meantime. Read it, then send again";
                let error = ApiError::new(ErrorCode::ConversationMoved, text);
                return Err(error.with_detail("lastReply", Json::Object(last)));
            }
        }
        let name = visible_name(&cx);
        let message = chat.reply_to_conversation(cx.actor, agent, id, name, input.text.as_str()).await;
        let mut reply = Reply::ok("Reply sent successfully", message_view(message.map_err(failed)?, false));
        reply.status = 201;
        Ok(reply)
    }
}
