//! `conversations`: the messages of visitors and agents.

mod live;
mod read;
mod selection;

use clap::{Args, Subcommand};
use openapi_core::admin::Admin;
use openapi_core::audit::AuditAction;
use openapi_core::values::{AgentId, ConversationId};
use selection::{Mode, Selection};

use super::context::CommandContext;
use super::erasure;
use crate::assemble::Contents;
use crate::error::CliError;

#[derive(Debug, Subcommand)]
pub enum Conversations {
    /// List conversations, the newest message first
    #[command(after_help = "Examples:\n  \
        openapi-server conversations list --agent acme --status open\n  \
        openapi-server conversations list --agent acme --mode human --since 2026-01-31T00:00:00Z --limit 100 --json\n\n\
        A conversation is closed by its visitor, by an operator, or by a day of silence.")]
    List {
        #[command(flatten)]
        selection: Selection,
        /// Page number, from 1
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
        page: u64,
        /// Conversations per page
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
        limit: u32,
    },
    /// Show a conversation with its messages
    #[command(after_help = "Examples:\n  \
        openapi-server conversations show \"$CONVERSATION\" --agent acme\n  \
        openapi-server conversations show \"$CONVERSATION\" --agent acme --json\n\n\
        This does not mark it as read: `conversations take` and `reply` do that.")]
    Show(Named),
    /// Print each new message of a visitor as one JSON line, until Ctrl-C
    #[command(after_help = "Examples:\n  \
        openapi-server conversations watch --agent acme\n  \
        openapi-server conversations watch --agent acme --mode human\n\n\
        It polls every 2 s, starting with messages that arrive from now on.")]
    Watch {
        /// The agent
        #[arg(long)]
        agent: AgentId,
        /// Only messages of conversations in this mode
        #[arg(long)]
        mode: Option<Mode>,
    },
    /// Take a conversation over: the visitor's messages wait for a person
    #[command(after_help = "Examples:\n  \
        openapi-server conversations take \"$CONVERSATION\" --agent acme\n  \
        openapi-server conversations take \"$CONVERSATION\" --agent acme --name Ada\n\n\
        The visitor reads that this person has joined. Its messages then count as read. The agent answers again after \
        `release`, or when a visitor has waited for chat.handoff.timeoutMinutes.")]
    Take {
        #[command(flatten)]
        named: Named,
        /// Name of the person, up to 100 characters; an empty one shows none [default: your user name, unless it is root]
        #[arg(long)]
        name: Option<String>,
    },
    /// Write to the visitor, and take the conversation over
    #[command(after_help = "Examples:\n  \
        openapi-server conversations reply \"$CONVERSATION\" \"Hello, this is Ada. Which day suits you?\" --agent acme --name Ada")]
    Reply {
        #[command(flatten)]
        named: Named,
        /// The message, 1 to 4,000 characters
        text: String,
        /// Name of the author, up to 100 characters
        #[arg(long, default_value = "", hide_default_value = true)]
        name: String,
    },
    /// Return a conversation to the agent
    #[command(
        after_help = "Examples:\n  openapi-server conversations release \"$CONVERSATION\" --agent acme"
    )]
    Release(Named),
    /// Close a conversation: the visitor can read it, and the next message starts another one
    #[command(after_help = "Examples:\n  openapi-server conversations close \"$CONVERSATION\" --agent acme")]
    Close(Named),
    /// Revoke all tokens of a conversation: their holders can neither read nor continue it
    #[command(after_help = "Examples:\n  \
        openapi-server conversations revoke \"$CONVERSATION\" --agent acme\n\n\
        Use it when a token has leaked. The messages stay; the visitor starts another conversation.")]
    Revoke(Named),
    /// Print conversations with their messages as NDJSON, the newest message first
    #[command(after_help = "Examples:\n  \
        openapi-server conversations export --agent acme > conversations.ndjson\n  \
        openapi-server conversations export --agent acme --status closed --since 2026-01-01T00:00:00Z > closed.ndjson")]
    Export {
        #[command(flatten)]
        selection: Selection,
    },
    /// Permanently erase a conversation with its messages
    #[command(after_help = "Examples:\n  \
        openapi-server conversations erase \"$CONVERSATION\" --agent acme\n\n\
        The visitor's browser can neither read nor continue it any more. `contacts erase` includes the conversations of \
        a contact.")]
    Erase(Named),
}

/// One conversation.
#[derive(Debug, Args)]
pub struct Named {
    /// The conversation
    conversation: ConversationId,
    /// The agent
    #[arg(long)]
    agent: AgentId,
}

impl Conversations {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let json = context.json();
        context.with_conversations(Contents::Closed, async |chat| {
            let by = context.operator();
            let changed = match self {
                Conversations::List { selection, page, limit } => {
                    return read::list(context, chat, json, &selection, page, limit).await;
                }
                Conversations::Show(Named { conversation, agent }) => {
                    return read::show(context, chat, json, &agent, conversation).await;
                }
                Conversations::Export { selection } => {
                    return read::export_all(context, chat, &selection).await;
                }
                Conversations::Watch { agent, mode } => {
                    chat.platform().agent(&agent).await?;
                    let (platform, action) = (chat.platform(), AuditAction::ConversationRead);
                    context.note(platform, action, Some(&agent), agent.as_str(), []).await?;
                    return live::watch(context, chat, &agent, mode.map(Mode::of_library)).await;
                }
                Conversations::Reply { named: Named { conversation, agent }, text, name } => {
                    let message = chat.reply_to_conversation(&by, &agent, conversation, &name, &text).await?;
                    let said = read::Said::of(&message);
                    if json {
                        return context.print_json(&said);
                    }
                    context.info(
                        "the visitor sees the message; from now on the conversation waits for a person",
                    );
                    let lines = [("message", said.id.to_string()), ("number", said.seq.to_string())];
                    return context.print_record(false, &said, &lines);
                }
                Conversations::Take { named: Named { conversation, agent }, name } => {
                    let name = name.or_else(|| context.person());
                    chat.take_conversation(&by, &agent, conversation, name.as_deref()).await?
                }
                Conversations::Release(Named { conversation, agent }) => {
                    chat.release_conversation(&by, &agent, conversation).await?
                }
                Conversations::Close(Named { conversation, agent }) => {
                    chat.close_conversation(&by, &agent, conversation).await?
                }
                Conversations::Revoke(Named { conversation, agent }) => {
                    chat.revoke_conversation(&by, &agent, conversation).await?
                }
                Conversations::Erase(Named { conversation, agent }) => {
                    let erased = chat.erase_conversation(&by, &agent, conversation).await?;
                    let lines =
                        [("erased", erased.id.to_string()), ("messages", erased.message_count.to_string())];
                    context.print_record(json, &read::Shown::of(&erased), &lines)?;
                    return erasure::wait(context, &**chat.platform()).await;
                }
            };
            read::print_one(context, json, &changed)
        })
    }
}
