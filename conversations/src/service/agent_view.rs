//! An agent as the widget sees it.

use openapi_core::agents::Agent;

use crate::AgentSettings;

/// An agent with its settings.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AgentView {
    pub(super) agent: Agent,
    pub(super) settings: AgentSettings,
    /// Under which the page's server may vouch for visitors.
    pub(super) secrets: Vec<String>,
}
