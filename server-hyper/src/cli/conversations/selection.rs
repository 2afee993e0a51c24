//! The flags that select conversations.

use ::conversations::storage::ConversationFilter;
use ::conversations::{ConversationMode, ConversationStatus};
use clap::{Args, ValueEnum};
use openapi_core::values::{AgentId, ContactId, Timestamp};

/// Which conversations.
#[derive(Debug, Args)]
pub struct Selection {
    /// The agent
    #[arg(long)]
    pub agent: AgentId,
    /// Only open or only closed ones
    #[arg(long)]
    pub status: Option<Status>,
    /// Only those that this one answers
    #[arg(long)]
    mode: Option<Mode>,
    /// Only those of this contact, by its platform id
    #[arg(long)]
    contact: Option<ContactId>,
    /// Only those with a message then or later
    #[arg(long, value_name = "RFC3339")]
    since: Option<Timestamp>,
}

/// Whether a conversation goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Status {
    /// The visitor's next message belongs to it
    Open,
    /// It can be read only
    Closed,
}

impl Status {
    /// The same to the library.
    pub fn of_library(self) -> ConversationStatus {
        match self {
            Status::Open => ConversationStatus::Open,
            Status::Closed => ConversationStatus::Closed,
        }
    }
}

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// The AI chat agent
    Ai,
    /// A person
    Human,
}

impl Mode {
    /// The same to the library.
    pub fn of_library(self) -> ConversationMode {
        match self {
            Mode::Ai => ConversationMode::Ai,
            Mode::Human => ConversationMode::Human,
        }
    }
}

impl Selection {
    /// What the store can tell apart. The status is not among it: it changes with time alone.
    pub fn filter(&self) -> ConversationFilter {
        ConversationFilter {
            status: None,
            mode: self.mode.map(Mode::of_library),
            contact: self.contact,
            since: self.since,
        }
    }
}
