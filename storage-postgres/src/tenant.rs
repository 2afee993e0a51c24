//! The lock of a tenant, which every write takes first.
//!
//! A write locks the row of its tenant and thereby waits for every other write of the tenant, on any server. Each later
//! statement sees what the last write stored (`READ COMMITTED` takes a snapshot for each statement), and nothing changes
//! between the checks of a write and its changes. One lock therefore excludes the races that the port describes, no write
//! waits on a unique index, and no two writes deadlock: work on several tenants locks them in the order of their ids.
//! Writes of one tenant run one after another, as its counters require anyway; the [writer](crate::writer) lets many of
//! them share a transaction.
//!
//! `FOR NO KEY UPDATE` is the lock that an update of the row takes; it does not block reads.

use openapi_core::storage::StorageErrorKind;
use openapi_core::values::AgentId;
use sqlx::PgConnection;

use crate::connect::fetch_version;
use crate::error::Result;
use crate::rows::Statement;

/// Locks a tenant until the transaction ends and returns the version of its contact schema.
///
/// # Errors
/// `Missing` for a tenant that is absent or deleted.
pub(crate) async fn lock(db: &mut PgConnection, agent: &AgentId) -> Result<u64> {
    let statement =
        Statement::new("SELECT schema_version FROM agent WHERE id = $1 AND status <> 2 FOR NO KEY UPDATE")
            .bind(agent.as_str())?;
    Ok(fetch_version(db, statement).await?.ok_or(StorageErrorKind::Missing)?)
}
