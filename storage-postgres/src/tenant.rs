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

use openapi_core::audit::ChainHead;
use openapi_core::storage::StorageErrorKind;
use openapi_core::values::AgentId;
use sqlx::PgConnection;

use crate::connect::fetch_one;
use crate::error::Result;
use crate::rows::{RowReader, Statement};

/// A locked tenant.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Locked {
    /// The version of the contact schema.
    pub(crate) schema_version: u64,
    /// The end of the chain of its audit log.
    pub(crate) head: ChainHead,
}

impl Locked {
    /// Reads the columns `schema_version, audit_sequence, audit_mac`.
    pub(crate) fn read(columns: &mut RowReader<'_>) -> Result<Self> {
        let schema_version = columns.count()?;
        Ok(Locked { schema_version, head: ChainHead { sequence: columns.count()?, mac: columns.bytes()? } })
    }
}

/// Locks a tenant until the transaction ends.
///
/// # Errors
/// `Missing` for a tenant that is absent or deleted.
pub(crate) async fn lock(db: &mut PgConnection, agent: &AgentId) -> Result<Locked> {
    let statement = Statement::new(
        "SELECT schema_version, audit_sequence, audit_mac FROM agent WHERE id = $1 AND status <> 2 \
         FOR NO KEY UPDATE",
    );
    first(db, statement.bind(agent.as_str())?).await
}

/// The same for a tenant that may be deleted, and for the row of the entries without a tenant.
pub(crate) async fn lock_any(db: &mut PgConnection, agent: Option<&AgentId>) -> Result<Locked> {
    let statement = Statement::new(
        "SELECT schema_version, audit_sequence, audit_mac FROM agent WHERE id = $1 FOR NO KEY UPDATE",
    );
    first(db, statement.bind(agent.map_or("", AgentId::as_str))?).await
}

async fn first(db: &mut PgConnection, statement: Statement) -> Result<Locked> {
    let row = fetch_one(db, statement).await?.ok_or(StorageErrorKind::Missing)?;
    Locked::read(&mut RowReader::new(&row))
}
