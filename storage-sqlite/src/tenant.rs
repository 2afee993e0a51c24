//! The first check of every method: whether the agent exists, and its number.

use openapi_core::values::AgentId;
use rusqlite::Connection;

use crate::error::Result;
use crate::rows;

/// An agent that exists and is not deleted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Living {
    /// The number that the agent's rows begin with.
    pub(crate) number: i64,
    /// The version of the current contact schema.
    pub(crate) schema_version: u64,
}

/// The agent, unless it is absent or deleted.
pub(crate) fn living(db: &Connection, id: &AgentId) -> Result<Option<Living>> {
    let sql = "SELECT n, schema_version FROM agent WHERE id = ?1 AND status <> 2";
    rows::first(db, sql, [id.as_str()], |r| Ok(Living { number: r.integer()?, schema_version: r.count()? }))
}

/// The number of an agent, deleted or not.
pub(crate) fn number(db: &Connection, id: &AgentId) -> Result<Option<i64>> {
    rows::first(db, "SELECT n FROM agent WHERE id = ?1", [id.as_str()], |r| r.integer())
}
