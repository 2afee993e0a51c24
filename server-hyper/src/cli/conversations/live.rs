//! `conversations watch`: the messages of visitors as they arrive.

use std::collections::HashMap;
use std::time::Duration;

use ::conversations::storage::{ConversationFilter, ConversationQuery};
use ::conversations::{Claims, Conversation, ConversationMode, Conversations, Speaker};
use openapi_core::ports::Clock;
use openapi_core::values::{AgentId, ContactId, ConversationId, Timestamp};
use serde::Serialize;

use super::read::Said;
use crate::cli::context::CommandContext;
use crate::error::CliError;
use crate::ports::SystemClock;

/// Polling interval.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Overlap of two polls: the largest tolerated difference between the clocks of the servers and this one.
const OVERLAP_MILLIS: i64 = 60_000;
/// Conversations or messages read at a time.
const PAGE: u32 = 200;

/// A new message of a visitor.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct VisitorMessage<'a> {
    conversation_id: ConversationId,
    agent_id: &'a AgentId,
    mode: ConversationMode,
    contact_id: Option<ContactId>,
    claims: &'a Claims,
    locale: &'a str,
    operator_unread: u64,
    message: Said,
}

/// Prints a line for each new message of a visitor, until it is interrupted or its output is closed.
pub async fn watch(
    context: &CommandContext,
    chat: &Conversations,
    agent: &AgentId,
    mode: Option<ConversationMode>,
) -> Result<(), CliError> {
    let mut watch = Watch { context, chat, agent, mode, begun: poll_start(), known: HashMap::new() };
    let begun = watch.begun;
    for conversation in watch.active_since(begun).await? {
        watch.known.insert(conversation.id, conversation.message_count);
    }
    let polling = async {
        loop {
            let since = poll_start();
            tokio::time::sleep(POLL_INTERVAL).await;
            if !watch.poll(since).await? {
                return Ok(());
            }
        }
    };
    tokio::select! {
        ended = polling => ended,
        interrupted = context.caller().interrupted() => Ok(interrupted?),
    }
}

fn poll_start() -> Timestamp {
    SystemClock.now().plus_millis(-OVERLAP_MILLIS)
}

struct Watch<'a> {
    context: &'a CommandContext,
    chat: &'a Conversations,
    agent: &'a AgentId,
    mode: Option<ConversationMode>,
    /// In a conversation that was unknown at this time, messages since then are new.
    begun: Timestamp,
    /// The number of messages seen in each conversation.
    known: HashMap<ConversationId, u64>,
}

impl Watch<'_> {
    /// Prints new messages; `false` when the output is closed.
    async fn poll(&mut self, since: Timestamp) -> Result<bool, CliError> {
        let mut conversations = self.active_since(since).await?;
        conversations.reverse();
        for conversation in conversations {
            let known = self.known.get(&conversation.id).copied();
            let mut seq = known.unwrap_or(0);
            while seq < conversation.message_count {
                let more = self.chat.messages(self.agent, conversation.id, seq, PAGE).await?;
                let Some(last) = more.last() else { break };
                seq = last.seq;
                for message in &more {
                    let is_new = known.is_some() || message.at >= self.begun;
                    let is_wanted = self.mode.is_none_or(|mode| conversation.mode == mode);
                    if message.role != Speaker::Visitor || !is_new || !is_wanted {
                        continue;
                    }
                    let line = serde_json::to_string(&VisitorMessage {
                        conversation_id: conversation.id,
                        agent_id: self.agent,
                        mode: conversation.mode,
                        contact_id: conversation.contact_id,
                        claims: &conversation.claims,
                        locale: &conversation.locale,
                        operator_unread: conversation.operator_unread,
                        message: Said::of(message),
                    })?;
                    if !self.context.print_unless_closed(&format!("{line}\n"))? {
                        return Ok(false);
                    }
                }
            }
            self.known.insert(conversation.id, seq);
        }
        Ok(true)
    }

    /// Conversations with a message since then, the newest first.
    async fn active_since(&self, since: Timestamp) -> Result<Vec<Conversation>, CliError> {
        let filter = ConversationFilter { since: Some(since), ..ConversationFilter::default() };
        let mut found = Vec::new();
        loop {
            let query = ConversationQuery { filter: filter.clone(), offset: found.len() as u64, limit: PAGE };
            let page = self.chat.conversations(self.agent, &query).await?.conversations;
            let is_last = page.len() < PAGE as usize;
            found.extend(page);
            if is_last {
                return Ok(found);
            }
        }
    }
}
