//! The first check of every method: whether the agent exists, and its number.

use openapi_core::agents::AgentStatus;
use openapi_core::values::AgentId;
use rusqlite::{Connection, OptionalExtension};

use crate::contacts::Columns;
use crate::error::{Result, corrupt};

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
    let mut statement =
        db.prepare_cached("SELECT n, schema_version FROM agent WHERE id = ?1 AND status <> 2")?;
    let mut rows = statement.query([id.as_str()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let mut columns = Columns::of(row);
    Ok(Some(Living { number: columns.integer()?, schema_version: columns.count()? }))
}

/// The number of an agent, deleted or not.
pub(crate) fn number(db: &Connection, id: &AgentId) -> Result<Option<i64>> {
    let mut statement = db.prepare_cached("SELECT n FROM agent WHERE id = ?1")?;
    Ok(statement.query_row([id.as_str()], |row| row.get(0)).optional()?)
}

pub(crate) const fn status_number(status: AgentStatus) -> i64 {
    match status {
        AgentStatus::Active => 0,
        AgentStatus::Disabled => 1,
        AgentStatus::Deleted => 2,
    }
}

/// The status of a stored number.
pub(crate) fn status(number: i64) -> Result<AgentStatus> {
    match number {
        0 => Ok(AgentStatus::Active),
        1 => Ok(AgentStatus::Disabled),
        2 => Ok(AgentStatus::Deleted),
        other => Err(corrupt(format_args!("{other} is no status of an agent"))),
    }
}
