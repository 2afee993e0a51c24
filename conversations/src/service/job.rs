//! A turn to be answered.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::agent_view::AgentView;
use crate::widget::live::LiveTurn;
use crate::{Conversation, Message};

/// A turn to be answered.
pub(super) struct Job {
    pub(super) view: Arc<AgentView>,
    pub(super) conversation: Conversation,
    /// The version of the conversation that is stored, for as long as nobody but this turn has changed it; else 0.
    pub(super) version: AtomicU64,
    pub(super) asked: Message,
    pub(super) turn: String,
    /// Whether the reply offers the lead form whatever the responder says, because no operator answered in time.
    pub(super) offers_form: bool,
    pub(super) live: Arc<LiveTurn>,
    pub(super) request_id: String,
}
