//! `conversations watch`: what visitors write, as they write it.

use std::collections::HashMap;
use std::time::Duration;

use ::conversations::admin::ChatAdmin;
use ::conversations::storage::{ConversationFilter, ConversationQuery};
use ::conversations::{Claims, Conversation, ConversationMode, Conversations, Speaker};
use openapi_core::ports::Clock;
use openapi_core::values::{AgentId, ContactId, ConversationId, Timestamp};
use serde::Serialize;

use super::read::Said;
use crate::cli::context::CommandContext;
use crate::error::CliError;
use crate::ports::SystemClock;

/// How often it is looked.
const EVERY: Duration = Duration::from_secs(2);
/// How far back it is looked each time: the clocks of servers may differ from this one by as much.
const OVERLAP_MILLIS: i64 = 60_000;
/// Conversations or messages read at a time.
const PAGE: u32 = 200;

/// A new message of a visitor.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Heard<'a> {
    conversation_id: ConversationId,
    agent_id: &'a AgentId,
    mode: ConversationMode,
    contact_id: Option<ContactId>,
    claims: &'a Claims,
    locale: &'a str,
    operator_unread: u64,
    message: Said,
}

/// Prints a line for each message that a visitor writes from now on, until it is interrupted or nobody reads any more.
pub async fn watch(
    context: &CommandContext,
    chat: &Conversations,
    agent: &AgentId,
    mode: Option<ConversationMode>,
) -> Result<(), CliError> {
    let mut watch = Watch { context, chat, agent, mode, begun: look_back(), known: HashMap::new() };
    let begun = watch.begun;
    for conversation in watch.spoken_since(begun).await? {
        watch.known.insert(conversation.id, conversation.message_count);
    }
    let looking = async {
        loop {
            let since = look_back();
            tokio::time::sleep(EVERY).await;
            if !watch.look(since).await? {
                return Ok(());
            }
        }
    };
    tokio::select! {
        ended = looking => ended,
        interrupted = context.caller().interrupted() => Ok(interrupted?),
    }
}

fn look_back() -> Timestamp {
    SystemClock.now().plus_millis(-OVERLAP_MILLIS)
}

struct Watch<'a> {
    context: &'a CommandContext,
    chat: &'a Conversations,
    agent: &'a AgentId,
    mode: Option<ConversationMode>,
    /// Conversations that were not known then are new with all they said since.
    begun: Timestamp,
    /// How many messages of each conversation were seen.
    known: HashMap<ConversationId, u64>,
}

impl Watch<'_> {
    /// Prints what is new; `false` when nobody reads it any more.
    async fn look(&mut self, since: Timestamp) -> Result<bool, CliError> {
        let mut heard = self.spoken_since(since).await?;
        heard.reverse();
        for conversation in heard {
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
                    let line = serde_json::to_string(&Heard {
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
    async fn spoken_since(&self, since: Timestamp) -> Result<Vec<Conversation>, CliError> {
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
