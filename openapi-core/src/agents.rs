//! Agents: the tenants. Every contact, key and schema belongs to exactly one.

use serde::{Deserialize, Serialize};

use crate::values::{AgentId, Line, Timestamp};

/// An agent as the operator sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    /// The id, chosen by the operator or generated.
    pub id: AgentId,
    /// The name, 1 to 100 characters.
    pub name: Line<100>,
    /// The status.
    pub status: AgentStatus,
    /// When the agent was created.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// Whether an agent's keys work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentStatus {
    /// The keys work.
    Active,
    /// Switched off: every key is answered INVALID_CREDENTIALS.
    Disabled,
    /// Deleted: a tombstone, so that the id is never given to another agent.
    Deleted,
}
