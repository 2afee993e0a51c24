//! The flags that select conversations.

use ::conversations::storage::ConversationFilter;
use ::conversations::{ConversationMode, ConversationStatus};
use clap::{Args, ValueEnum};
use openapi_core::values::{AgentId, ContactId, Timestamp};

/// The selected conversations.
#[derive(Debug, Args)]
pub struct Selection {
    /// The agent
    #[arg(long)]
    pub agent: AgentId,
    /// Only open or only closed conversations
    #[arg(long)]
    pub status: Option<Status>,
    /// Only conversations in this mode
    #[arg(long)]
    mode: Option<Mode>,
    /// Only conversations of this contact, by its platform id
    #[arg(long)]
    contact: Option<ContactId>,
    /// Only conversations with a message at or after this time
    #[arg(long, value_name = "RFC3339")]
    since: Option<Timestamp>,
}

/// The status of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Status {
    /// The visitor's next message belongs to it
    Open,
    /// It is read-only
    Closed,
}

impl Status {
    /// Converts to the type of the library.
    pub fn of_library(self) -> ConversationStatus {
        match self {
            Status::Open => ConversationStatus::Open,
            Status::Closed => ConversationStatus::Closed,
        }
    }
}

/// Who replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// The AI chat agent
    Ai,
    /// A person
    Human,
}

impl Mode {
    /// Converts to the type of the library.
    pub fn of_library(self) -> ConversationMode {
        match self {
            Mode::Ai => ConversationMode::Ai,
            Mode::Human => ConversationMode::Human,
        }
    }
}

impl Selection {
    /// The filter for the store. It has no status, because the status changes with time alone.
    pub fn filter(&self) -> ConversationFilter {
        ConversationFilter {
            status: None,
            mode: self.mode.map(Mode::of_library),
            contact: self.contact,
            since: self.since,
        }
    }
}
