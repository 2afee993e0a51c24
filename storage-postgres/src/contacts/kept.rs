//! Single contacts kept in memory, as long as the database says that the agent's contacts are as they were.
//!
//! Each change or removal of a contact notes its audit entry as the agent's last change, in the same transaction; those
//! of an agent come one after another, because each holds the agent. A contact is kept with the last change that the
//! statement has seen which read it. Whoever reads the same last change later therefore sees the same contact. Ids do not
//! come twice, unlike a count that goes on from an older number where a fail-over has lost its last steps. Absent contacts
//! are not kept, so that a new one needs no word.

use std::collections::{BTreeMap, HashMap};

use openapi_core::contacts::SharedContact;
use openapi_core::values::AgentId;
use sqlx::PgConnection;
use storage_common::Kept;

use crate::connect::{Db, execute};
use crate::error::Result;
use crate::rows::{Columns, Statement};

/// The last change of an agent's contacts, by an id that does not come again; none before the first.
pub(super) type LastChange = Option<[u8; 12]>;

/// A contact as it was read.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) contact: SharedContact,
    pub(super) last_change: LastChange,
}

impl Kept for Entry {
    fn bytes(&self) -> usize {
        self.contact.bytes()
    }
}

impl Entry {
    /// Whether the contact is as it was, when this is the agent's last change.
    pub(super) fn is_right(&self, last_change: &LastChange) -> bool {
        self.last_change == *last_change
    }
}

/// The statement that finds the last changes of agents that are not deleted. How many they are is kept from PostgreSQL:
/// it would plan the statement anew for each number, at a quarter of what the statement then costs.
pub(crate) fn last_changes(agents: Vec<&str>) -> Result<Statement> {
    Statement::new(
        "SELECT k.agent, (SELECT h.entry FROM contact_change h WHERE h.agent = k.agent) \
         FROM unnest((SELECT $1::text[])) AS k (agent) WHERE (SELECT a.status FROM agent a WHERE a.id = k.agent) <> 2",
    )
    .bind(agents)
}

/// The last changes of agents, each at its place; none for one that is absent or deleted.
pub(super) async fn read_last_changes(db: &Db, wanted: &[AgentId]) -> Result<Vec<Option<LastChange>>> {
    // Many of those that ask at the same time ask for the same agent.
    let mut agents: Vec<&str> = wanted.iter().map(AgentId::as_str).collect();
    agents.sort_unstable();
    agents.dedup();
    let rows = db.read(last_changes(agents)?).await?;
    let mut found = HashMap::with_capacity(rows.len());
    for row in &rows {
        let mut columns = Columns::of(row);
        found.insert(columns.str()?, columns.optional_bytes()?);
    }
    Ok(wanted.iter().map(|agent| found.get(agent.as_str()).copied()).collect())
}

/// Notes the last changes of agents. Runs inside a transaction that holds them.
pub(super) async fn note(db: &mut PgConnection, changes: &BTreeMap<&str, [u8; 12]>) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let statement = Statement::new(
        "INSERT INTO contact_change (agent, entry) SELECT * FROM unnest($1::text[], $2::bytea[]) \
         ON CONFLICT (agent) DO UPDATE SET entry = excluded.entry",
    )
    .bind(changes.keys().copied().collect::<Vec<_>>())?
    .bind(changes.values().map(<[u8; 12]>::as_slice).collect::<Vec<_>>())?;
    execute(db, statement).await.map(drop)
}
