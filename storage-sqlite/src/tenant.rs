//! What every method asks first: whether an agent is there, and its number.

use openapi_core::agents::AgentStatus;
use openapi_core::values::AgentId;
use rusqlite::Connection;

use crate::contacts::Columns;
use crate::error::{Result, corrupt};

/// An agent that is there and not deleted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Living {
    /// The number that leads the agent's rows.
    pub(crate) number: i64,
    /// The version of the contact schema in force.
    pub(crate) schema_version: u64,
}

/// The agent, unless it is absent or deleted.
pub(crate) fn living(db: &Connection, id: &AgentId) -> Result<Option<Living>> {
    let mut statement =
        db.prepare_cached("SELECT n, schema_version FROM agent WHERE id = ?1 AND status <> 2")?;
    let mut rows = statement.query([id.as_str()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let mut columns = Columns::of(row);
    Ok(Some(Living { number: columns.integer()?, schema_version: columns.count()? }))
}

pub(crate) const fn status_number(status: AgentStatus) -> i64 {
    match status {
        AgentStatus::Active => 0,
        AgentStatus::Disabled => 1,
        AgentStatus::Deleted => 2,
    }
}

/// The status that a number stands for.
pub(crate) fn status(number: i64) -> Result<AgentStatus> {
    match number {
        0 => Ok(AgentStatus::Active),
        1 => Ok(AgentStatus::Disabled),
        2 => Ok(AgentStatus::Deleted),
        other => Err(corrupt(format_args!("{other} is no status of an agent"))),
    }
}
