//! An agent as the widget sees it.

use openapi_core::agents::Agent;

use crate::{AgentSettings, Conversation};

/// An agent with its settings.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AgentView {
    pub(super) agent: Agent,
    pub(super) settings: AgentSettings,
    /// The secrets with which the page's server may sign the identity of a visitor.
    pub(super) secrets: Vec<String>,
}

impl AgentView {
    /// Whether the agent has a lead form that this visitor has not filled in.
    pub(super) fn can_offer_form(&self, conversation: &Conversation) -> bool {
        !self.settings.lead.fields.is_empty() && conversation.lead.is_none()
    }
}
