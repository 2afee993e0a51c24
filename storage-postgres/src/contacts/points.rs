//! Single contacts: reads that wait at the same time are one statement.

use std::time::Duration;

use openapi_core::contacts::{Contact, ContactRef};
use openapi_core::storage::{SharedReads, StorageError, StorageErrorKind};
use openapi_core::values::{AgentId, ContactId, ExternalId};
use sqlx::postgres::PgRow;
use tokio::time::timeout;

use super::row;
use crate::connect::Db;
use crate::error::{Result, corrupt};
use crate::rows::{Columns, Statement};

/// Statements of each kind that are under way at the most.
const LANES: usize = 2;

/// The most contacts of one statement.
const MOST: usize = 64;

/// The statement for keys of a type that stand in a column. Whether the agent is deleted is asked without a join:
/// PostgreSQL would be free to take the contacts of an agent by that, and to look among all of them for the one.
macro_rules! find {
    ($of:literal, $column:literal) => {
        concat!(
            "SELECT k.n, ",
            row::columns!(),
            " FROM unnest($1::text[], $2::",
            $of,
            "[]) WITH ORDINALITY k(agent, key, n) JOIN contact c ON c.agent = k.agent AND c.",
            $column,
            " = k.key WHERE (SELECT a.status FROM agent a WHERE a.id = k.agent) <> 2"
        )
    };
}

/// The statement that finds contacts by their ids.
pub(crate) fn by_ids(wanted: &[(AgentId, ContactId)]) -> Result<Statement> {
    let (agents, ids): (Vec<&str>, Vec<&[u8]>) =
        wanted.iter().map(|(agent, id)| (agent.as_str(), id.as_bytes().as_slice())).unzip();
    Statement::new(find!("bytea", "id")).bind(agents)?.bind(ids)
}

/// The statement that finds contacts by their external ids.
pub(crate) fn by_external_ids(wanted: &[(AgentId, ExternalId)]) -> Result<Statement> {
    let (agents, ids): (Vec<&str>, Vec<&str>) =
        wanted.iter().map(|(agent, id)| (agent.as_str(), id.as_str())).unzip();
    Statement::new(find!("text", "external_reference_id")).bind(agents)?.bind(ids)
}

type Found = Result<Option<PgRow>, StorageError>;

/// Reads of single contacts.
pub(crate) struct Points {
    by_id: SharedReads<(AgentId, ContactId), Found>,
    by_external_id: SharedReads<(AgentId, ExternalId), Found>,
    /// How long a read waits at the most: for a connection, and for an answer on it.
    patience: Duration,
}

impl Points {
    pub(crate) fn new(db: &Db) -> Self {
        Points {
            by_id: shared(db, by_ids),
            by_external_id: shared(db, by_external_ids),
            patience: db.patience_of_read(),
        }
    }

    /// One contact.
    pub(crate) async fn contact(
        &self,
        agent: &AgentId,
        contact: &ContactRef,
    ) -> Result<Option<Contact>, StorageError> {
        let reading = async {
            match contact {
                ContactRef::Id(id) => self.by_id.read((agent.clone(), *id)).await,
                ContactRef::External(id) => self.by_external_id.read((agent.clone(), id.clone())).await,
            }
        };
        let unavailable = |why: &str| StorageError::new(StorageErrorKind::Unavailable, why);
        let found = timeout(self.patience, reading)
            .await
            .map_err(|_| unavailable("a read waited too long for its turn"))?
            .ok_or_else(|| unavailable("a read ended without an outcome"))?;
        Ok(found?.map(|row| row::contact(agent, &mut Columns::from(&row, 1))).transpose()?)
    }
}

fn shared<K: Send + Sync + 'static>(
    db: &Db,
    statement: fn(&[K]) -> Result<Statement>,
) -> SharedReads<K, Found> {
    let (handle, db) = (db.handle().clone(), db.clone());
    let spawn = move |task| drop(handle.spawn(task));
    SharedReads::new(LANES, MOST, spawn, move |wanted: Vec<K>| {
        let db = db.clone();
        async move {
            match rows(&db, statement, &wanted).await {
                Ok(rows) => rows.into_iter().map(Ok).collect(),
                Err(fault) => {
                    let error = StorageError::from(fault);
                    wanted.iter().map(|_| Err(error.again())).collect()
                }
            }
        }
    })
}

/// The rows of what is wanted, each at its place.
async fn rows<K>(
    db: &Db,
    statement: fn(&[K]) -> Result<Statement>,
    wanted: &[K],
) -> Result<Vec<Option<PgRow>>> {
    let mut rows: Vec<Option<PgRow>> = wanted.iter().map(|_| None).collect();
    for row in db.read(statement(wanted)?).await? {
        let n = Columns::of(&row).integer()?;
        let place = usize::try_from(n - 1).ok().and_then(|at| rows.get_mut(at));
        *place.ok_or_else(|| corrupt("a row of what was not asked for"))? = Some(row);
    }
    Ok(rows)
}
