//! Single contacts: reads that wait at the same time are one statement; of a contact that is in memory only whether it
//! is still right.

use std::future::Future;
use std::time::Duration;

use openapi_core::contacts::{ContactRef, SharedContact};
use openapi_core::storage::{StorageError, StorageErrorKind};
use openapi_core::values::{AgentId, ContactId, ExternalId};
use sqlx::postgres::PgRow;
use storage_common::{ContactCache, SharedReads};
use tokio::time::timeout;

use super::kept::{Entry, LastChange, read_last_changes};
use super::row;
use crate::connect::Db;
use crate::error::{Result, corrupt};
use crate::rows::{Columns, Statement};

/// Statements of each kind that are under way at the most.
const LANES: usize = 2;

/// The most contacts of one statement.
const MOST: usize = 64;

/// The statement for keys of a type that stand in a column. How many they are is kept from PostgreSQL, as by
/// `kept::last_changes`. Whether the agent is deleted is asked without a join:
/// PostgreSQL would be free to take the contacts of an agent by that, and to look among all of them for the one.
macro_rules! find {
    ($of:literal, $column:literal) => {
        concat!(
            "SELECT k.n, ",
            row::columns!(),
            ", (SELECT h.entry FROM contact_change h WHERE h.agent = k.agent)",
            " FROM unnest((SELECT $1::text[]), (SELECT $2::",
            $of,
            "[])) WITH ORDINALITY k(agent, key, n) JOIN contact c ON c.agent = k.agent AND c.",
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

/// Where the columns of a contact begin in what `find!` finds.
const CONTACT: usize = 1;

type Found<T> = Result<Option<T>, StorageError>;

/// Reads of single contacts.
pub(crate) struct Points {
    by_id: SharedReads<(AgentId, ContactId), Found<PgRow>>,
    by_external_id: SharedReads<(AgentId, ExternalId), Found<PgRow>>,
    /// None for an agent that is absent or deleted.
    last_change: SharedReads<AgentId, Found<LastChange>>,
    /// None when nothing is to be kept.
    kept: Option<ContactCache<Entry>>,
    /// How long a read waits at the most: for a connection, and for an answer on it.
    patience: Duration,
}

fn unavailable(why: &str) -> StorageError {
    StorageError::new(StorageErrorKind::Unavailable, why)
}

impl Points {
    pub(crate) fn new(db: &Db) -> Self {
        let bytes = db.config().contact_cache;
        Points {
            by_id: shared(db, |db, wanted| async move { rows(&db, by_ids(&wanted)?, wanted.len()).await }),
            by_external_id: shared(db, |db, wanted| async move {
                rows(&db, by_external_ids(&wanted)?, wanted.len()).await
            }),
            last_change: shared(db, |db, wanted| async move { read_last_changes(&db, &wanted).await }),
            kept: (bytes > 0).then(|| ContactCache::new(bytes)),
            patience: db.patience_of_read(),
        }
    }

    /// One contact.
    pub(crate) async fn contact(
        &self,
        agent: &AgentId,
        contact: &ContactRef,
    ) -> Result<Option<SharedContact>, StorageError> {
        let reading = async {
            match self.in_memory(agent, contact).await? {
                Some(known) => Ok(known),
                None => self.stored(agent, contact).await,
            }
        };
        timeout(self.patience, reading)
            .await
            .unwrap_or_else(|_| Err(unavailable("a read waited too long for its turn")))
    }

    /// What memory says of a contact; none when it says nothing.
    async fn in_memory(
        &self,
        agent: &AgentId,
        contact: &ContactRef,
    ) -> Result<Option<Option<SharedContact>>, StorageError> {
        let Some(entry) = self.kept.as_ref().and_then(|kept| kept.get(agent, contact)) else {
            return Ok(None);
        };
        match ended(self.last_change.read(agent.clone()).await)? {
            None => Ok(Some(None)),
            Some(last_change) if entry.is_right(&last_change) => Ok(Some(Some(entry.contact))),
            Some(_) => Ok(None),
        }
    }

    /// What the database says of a contact.
    async fn stored(
        &self,
        agent: &AgentId,
        contact: &ContactRef,
    ) -> Result<Option<SharedContact>, StorageError> {
        let found = match contact {
            ContactRef::Id(id) => self.by_id.read((agent.clone(), *id)).await,
            ContactRef::External(id) => self.by_external_id.read((agent.clone(), id.clone())).await,
        };
        let Some(row) = ended(found)? else { return Ok(None) };
        let mut columns = Columns::from(&row, CONTACT);
        let read = row::contact(agent, &mut columns)?;
        let Some(kept) = &self.kept else { return Ok(Some(read.into())) };
        let read = SharedContact::written(read);
        let last_change = columns.optional_bytes()?;
        kept.insert(agent, contact, Entry { contact: read.clone(), last_change });
        Ok(Some(read))
    }

    /// Lets go of a contact that was erased; it is not answered with any more as it is.
    pub(crate) fn forget(&self, id: ContactId) {
        if let Some(kept) = &self.kept {
            kept.retain(|entry| entry.contact.id != id);
        }
    }

    /// How many entries are in memory.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> usize {
        self.kept.as_ref().map_or(0, ContactCache::len)
    }
}

fn ended<T>(found: Option<Found<T>>) -> Found<T> {
    found.unwrap_or_else(|| Err(unavailable("a read ended without an outcome")))
}

/// Reads that share a statement, which `read` runs: what belongs to each of those that are wanted, in their order.
fn shared<K, V, F>(db: &Db, read: fn(Db, Vec<K>) -> F) -> SharedReads<K, Found<V>>
where
    K: Send + Sync + 'static,
    V: Send + 'static,
    F: Future<Output = Result<Vec<Option<V>>>> + Send + 'static,
{
    let (handle, db) = (db.handle().clone(), db.clone());
    let spawn = move |task| {
        // Behind what is ready now: it may ask for a contact as well.
        drop(handle.spawn(async move {
            tokio::task::yield_now().await;
            task.await;
        }));
    };
    SharedReads::new(LANES, MOST, spawn, move |wanted: Vec<K>| {
        let count = wanted.len();
        let reading = read(db.clone(), wanted);
        async move {
            match reading.await {
                Ok(found) => found.into_iter().map(Ok).collect(),
                Err(fault) => {
                    let error = StorageError::from(fault);
                    (0..count).map(|_| Err(error.again())).collect()
                }
            }
        }
    })
}

/// The rows of what is wanted, each at its place.
async fn rows(db: &Db, statement: Statement, wanted: usize) -> Result<Vec<Option<PgRow>>> {
    let mut rows: Vec<Option<PgRow>> = (0..wanted).map(|_| None).collect();
    for row in db.read(statement).await? {
        let n = Columns::of(&row).integer()?;
        let place = usize::try_from(n - 1).ok().and_then(|at| rows.get_mut(at));
        *place.ok_or_else(|| corrupt("a row of what was not asked for"))? = Some(row);
    }
    Ok(rows)
}
