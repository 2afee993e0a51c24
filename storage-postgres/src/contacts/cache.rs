//! The cache of single contacts, which the database validates on each read.
//!
//! Each change or removal of a contact stores a random id as the tenant's last change, in the same transaction; the
//! tenant's lock orders them. A cached contact has the last change that its statement saw. A later reader that sees the
//! same last change therefore sees the same contact. The ids never repeat, whereas a counter may repeat a number that a
//! fail-over lost. Absent contacts are not cached, so a creation changes nothing here.

use std::collections::HashMap;

use openapi_core::contacts::SharedContact;
use openapi_core::values::AgentId;
use sqlx::PgConnection;
use storage_common::CacheEntry;

use crate::connect::{Db, execute};
use crate::error::Result;
use crate::rows::{RowReader, Statement};

/// The id of the last change of a tenant's contacts; `None` before the first.
pub(super) type LastChange = Option<[u8; 12]>;

/// A contact with the last change that its statement saw.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) contact: SharedContact,
    pub(super) last_change: LastChange,
}

impl CacheEntry for Entry {
    fn bytes(&self) -> usize {
        self.contact.bytes()
    }
}

impl Entry {
    /// Whether the contact is unchanged, given the tenant's last change.
    pub(super) fn is_valid(&self, last_change: &LastChange) -> bool {
        self.last_change == *last_change
    }
}

/// The statement that finds the last changes of tenants that are not deleted. The array is in a subquery, which hides its
/// length from the planner: otherwise PostgreSQL plans the statement for each length, at a quarter of its cost.
pub(crate) fn last_changes(agents: Vec<&str>) -> Result<Statement> {
    Statement::new(
        "SELECT k.agent, (SELECT h.entry FROM contact_change h WHERE h.agent = k.agent) \
         FROM unnest((SELECT $1::text[])) AS k (agent) WHERE (SELECT a.status FROM agent a WHERE a.id = k.agent) <> 2",
    )
    .bind(agents)
}

/// The last changes of tenants, in order; `None` for one that is absent or deleted.
pub(super) async fn read_last_changes(db: &Db, wanted: &[AgentId]) -> Result<Vec<Option<LastChange>>> {
    // Concurrent reads are often of the same tenant.
    let mut agents: Vec<&str> = wanted.iter().map(AgentId::as_str).collect();
    agents.sort_unstable();
    agents.dedup();
    let rows = db.read(last_changes(agents)?).await?;
    let mut found = HashMap::with_capacity(rows.len());
    for row in &rows {
        let mut columns = RowReader::new(row);
        found.insert(columns.str()?, columns.optional_bytes()?);
    }
    Ok(wanted.iter().map(|agent| found.get(agent.as_str()).copied()).collect())
}

/// Notes a change of contacts of tenants, in order. Runs in a transaction that has locked them.
pub(super) async fn note(db: &mut PgConnection, agents: &[&str]) -> Result<()> {
    let statement = Statement::new(
        "INSERT INTO contact_change (agent, entry) \
         SELECT agent, substr(uuid_send(gen_random_uuid()), 1, 12) FROM unnest($1::text[]) AS u (agent) \
         ON CONFLICT (agent) DO UPDATE SET entry = excluded.entry",
    )
    .bind(agents)?;
    execute(db, statement).await.map(drop)
}
