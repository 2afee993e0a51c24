//! The scope of records and jobs: an agent, or the installation.

use openapi_core::values::AgentId;
use rusqlite::Connection;

use crate::error::Result;
use crate::tenant;

/// The number by which rows name the installation.
pub(crate) const INSTALLATION: i64 = 0;

/// The number of a scope, unless its agent is absent or deleted.
pub(crate) fn number_of(db: &Connection, scope: Option<&AgentId>) -> Result<Option<i64>> {
    match scope {
        Some(agent) => Ok(tenant::living(db, agent)?.map(|living| living.number)),
        None => Ok(Some(INSTALLATION)),
    }
}
