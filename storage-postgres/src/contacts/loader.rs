//! Reads of single contacts: concurrent ones share a statement. For a cached contact the statement only validates it.

use std::future::Future;
use std::time::Duration;

use openapi_core::contacts::{ContactRef, SharedContact};
use openapi_core::storage::{StorageError, StorageErrorKind};
use openapi_core::values::{AgentId, ContactId, ExternalId};
use sqlx::postgres::PgRow;
use storage_common::batch_loader::{BatchLoader, spawn_last};
use storage_common::{ContactCache, contact_columns, records};
use tokio::time::timeout;

use super::cache::{Entry, LastChange, read_last_changes};
use crate::connect::Db;
use crate::error::{Result, corrupt};
use crate::rows::{RowReader, Statement};

/// The most concurrent statements of each kind.
const MAX_CONCURRENCY: usize = 2;

/// The most contacts of one statement.
const MAX_BATCH_SIZE: usize = 64;

/// The statement that finds contacts by a column of a type. The arrays are in subqueries, as in `cache::last_changes`. The
/// tenant's status is a subquery and no join: a join would let PostgreSQL scan all contacts of the tenant.
macro_rules! find {
    ($of:literal, $column:literal) => {
        concat!(
            "SELECT k.n, ",
            contact_columns!(),
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

/// The first column of the contact in a row of `find!`.
const CONTACT: usize = 1;

type Found<T> = Result<Option<T>, StorageError>;

/// Reads of single contacts.
pub(crate) struct ContactLoader {
    by_id: BatchLoader<(AgentId, ContactId), Found<PgRow>>,
    by_external_id: BatchLoader<(AgentId, ExternalId), Found<PgRow>>,
    /// `None` for a tenant that is absent or deleted.
    last_change: BatchLoader<AgentId, Found<LastChange>>,
    /// `None` when the cache is off.
    cache: Option<ContactCache<Entry>>,
    /// How long a read may take: for a connection, and for its response.
    timeout: Duration,
}

fn unavailable(why: &str) -> StorageError {
    StorageError::new(StorageErrorKind::Unavailable, why)
}

impl ContactLoader {
    pub(crate) fn new(db: &Db) -> Self {
        let bytes = db.config().contact_cache;
        ContactLoader {
            by_id: loader(db, |db, wanted| async move { rows(&db, by_ids(&wanted)?, wanted.len()).await }),
            by_external_id: loader(db, |db, wanted| async move {
                rows(&db, by_external_ids(&wanted)?, wanted.len()).await
            }),
            last_change: loader(db, |db, wanted| async move { read_last_changes(&db, &wanted).await }),
            cache: (bytes > 0).then(|| ContactCache::new(bytes)),
            timeout: db.read_timeout(),
        }
    }

    /// One contact.
    pub(crate) async fn contact(
        &self,
        agent: &AgentId,
        contact: &ContactRef,
    ) -> Result<Option<SharedContact>, StorageError> {
        let reading = async {
            match self.cached(agent, contact).await? {
                Some(known) => Ok(known),
                None => self.stored(agent, contact).await,
            }
        };
        timeout(self.timeout, reading)
            .await
            .unwrap_or_else(|_| Err(unavailable("the read timed out in the queue")))
    }

    /// The cached contact, if it is valid, or `None` inside for an absent tenant; `None` when the database must be read.
    async fn cached(
        &self,
        agent: &AgentId,
        contact: &ContactRef,
    ) -> Result<Option<Option<SharedContact>>, StorageError> {
        let Some(entry) = self.cache.as_ref().and_then(|cache| cache.get(agent, contact)) else {
            return Ok(None);
        };
        match complete(self.last_change.read(agent.clone()).await)? {
            None => Ok(Some(None)),
            Some(last_change) if entry.is_valid(&last_change) => Ok(Some(Some(entry.contact))),
            Some(_) => Ok(None),
        }
    }

    /// The stored contact, which it adds to the cache.
    async fn stored(
        &self,
        agent: &AgentId,
        contact: &ContactRef,
    ) -> Result<Option<SharedContact>, StorageError> {
        let found = match contact {
            ContactRef::Id(id) => self.by_id.read((agent.clone(), *id)).await,
            ContactRef::External(id) => self.by_external_id.read((agent.clone(), id.clone())).await,
        };
        let Some(row) = complete(found)? else { return Ok(None) };
        let mut columns = RowReader::at(&row, CONTACT);
        let read = records::contact(agent, &mut columns)?;
        let Some(cache) = &self.cache else { return Ok(Some(read.into())) };
        let read = SharedContact::written(read);
        let last_change = columns.optional_bytes()?;
        cache.insert(agent, contact, Entry { contact: read.clone(), last_change });
        Ok(Some(read))
    }

    /// Removes an erased contact from the cache. It is already invalid; this frees its content.
    pub(crate) fn forget(&self, id: ContactId) {
        if let Some(cache) = &self.cache {
            cache.retain(|entry| entry.contact.id != id);
        }
    }

    /// How many entries the cache has.
    #[cfg(test)]
    pub(crate) fn cached_entries(&self) -> usize {
        self.cache.as_ref().map_or(0, ContactCache::len)
    }
}

fn complete<T>(found: Option<Found<T>>) -> Found<T> {
    found.unwrap_or_else(|| Err(unavailable("a read ended without an outcome")))
}

/// A loader whose batches `read` runs: it returns the value of each key, in order.
fn loader<K, V, F>(db: &Db, read: fn(Db, Vec<K>) -> F) -> BatchLoader<K, Found<V>>
where
    K: Send + Sync + 'static,
    V: Send + 'static,
    F: Future<Output = Result<Vec<Option<V>>>> + Send + 'static,
{
    let (spawn, db) = (spawn_last(db.handle().clone()), db.clone());
    BatchLoader::new(MAX_CONCURRENCY, MAX_BATCH_SIZE, spawn, move |wanted: Vec<K>| {
        let count = wanted.len();
        let reading = read(db.clone(), wanted);
        async move {
            match reading.await {
                Ok(found) => found.into_iter().map(Ok).collect(),
                Err(error) => {
                    let error = StorageError::from(error);
                    (0..count).map(|_| Err(error.again())).collect()
                }
            }
        }
    })
}

/// The rows of the wanted keys, in order.
async fn rows(db: &Db, statement: Statement, wanted: usize) -> Result<Vec<Option<PgRow>>> {
    let mut rows: Vec<Option<PgRow>> = (0..wanted).map(|_| None).collect();
    for row in db.read(statement).await? {
        let n = RowReader::new(&row).integer()?;
        let slot = usize::try_from(n - 1).ok().and_then(|at| rows.get_mut(at));
        *slot.ok_or_else(|| corrupt("a row with an unknown key number"))? = Some(row);
    }
    Ok(rows)
}
