//! Contacts.

pub(crate) mod cache;
mod candidates;
mod counts;
mod erase;
mod filter_scan;
mod grams;
pub(crate) mod index;
mod index_scan;
mod keys;
mod list;
mod offset_seek;
mod query_context;
mod row;
pub(crate) mod row_number;
mod tag_plan;
mod write;

use async_trait::async_trait;
use openapi_core::contacts::{Contact, ContactRef, SharedContact, UniqueValue};
use openapi_core::storage::{
    ContactPage, ContactQuery, ContactStore, ContactWrite, Duplicate, Effects, ErasureState, LogStore as _,
    StorageError,
};
use openapi_core::values::{AgentId, ContactId, ExternalId, Timestamp};
use rusqlite::{Connection, OptionalExtension, ToSql, params};
use storage_common::{contact_columns, records};

#[cfg(test)]
pub(crate) use candidates::select as candidates;
#[cfg(test)]
pub(crate) use index_scan::{IndexScan, ScanOrder, ScanPart, View, column as sort_column};
pub(crate) use keys::{Derived, insert as insert_derived, renew as renew_keys};
pub(crate) use row::broken_rule;
pub(crate) use write::{duplicate, purge, put_new, refuse_stale, rekey};

/// Reads all contacts of an agent, each after its row number.
pub(crate) const EVERY_OF_AGENT: &str =
    concat!("SELECT c.n, ", contact_columns!(), " FROM contact c WHERE c.n BETWEEN ?1 AND ?2");

/// The tokens of a contact in the search index, with blanks between them.
pub(crate) fn tokens(agent: i64, search: &str, digits: &str) -> String {
    grams::difference(agent, grams::Searched::default(), grams::Searched { search, digits }).1
}

/// The text of a contact that the search index currently contains.
pub(crate) fn indexed(db: &Connection, n: i64) -> Result<(String, String)> {
    let waiting = db
        .prepare_cached("SELECT coalesce(search, ''), coalesce(digits, '') FROM search_pending WHERE n = ?1")?
        .query_row([n], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match waiting {
        Some(indexed) => Ok(indexed),
        None => Ok(db
            .prepare_cached("SELECT search, digits FROM contact_key WHERE n = ?1")?
            .query_row([n], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?
            .unwrap_or_default()),
    }
}

use crate::error::{Result, corrupt};
use crate::readers::{CancellationToken, snapshot};
use crate::store::SqliteStorage;
use crate::{rows, tenant};
use query_context::QueryContext;

/// How many events a write looks at when the logs are scrubbed; it bounds how long other writes wait.
const SCRUBBED_AT_ONCE: u32 = 10_000;

#[async_trait]
impl ContactStore for SqliteStorage {
    async fn contact(
        &self,
        agent: &AgentId,
        contact: &ContactRef,
    ) -> Result<Option<SharedContact>, StorageError> {
        if let Some(found) = self.cache.get(agent, contact) {
            return Ok(Some(found));
        }
        let epoch = self.cache.epoch();
        self.readers.read_blocking(|db| {
            let (sql, key): (_, &dyn ToSql) = match contact {
                ContactRef::External(id) => (BY_EXTERNAL_REFERENCE_ID, &id.as_str()),
                ContactRef::Id(id) => (BY_ID, &id.as_bytes()),
            };
            rows::first(db, sql, params![agent.as_str(), key], |r| {
                let n = r.integer()?;
                let read = records::contact(agent, r)?;
                if self.config.contact_cache_kib == 0 {
                    return Ok(read.into());
                }
                let read = SharedContact::written(read);
                self.cache.insert(epoch, agent, contact, n, read.clone());
                Ok(read)
            })
        })
    }

    async fn contacts(&self, agent: &AgentId, query: &ContactQuery) -> Result<ContactPage, StorageError> {
        let thresholds = self.config.thresholds;
        let inline = QueryContext { thresholds: &thresholds, cancelled: &CancellationToken::NEVER };
        if list::is_short(query) {
            return self.readers.read_blocking(|db| snapshot(db, |db| list::page(db, agent, query, inline)));
        }
        if list::may_be_rare(query)
            && let Some(page) =
                self.readers.read_blocking(|db| snapshot(db, |db| list::rare(db, agent, query, inline)))?
        {
            return Ok(page);
        }
        let (agent, query) = (agent.clone(), query.clone());
        let (page, unsettled) = self
            .readers
            .read(move |db, cancelled| {
                let context = QueryContext { thresholds: &thresholds, cancelled };
                snapshot(db, |db| {
                    let page = list::page(db, &agent, &query, context)?;
                    Ok((page, !query.filter.search.is_empty() && index::is_out_of_date(db)?))
                })
            })
            .await?;
        if unsettled {
            self.writer.settle();
        }
        Ok(page)
    }

    async fn duplicate_contact(
        &self,
        agent: &AgentId,
        except: Option<ContactId>,
        external_reference_id: Option<&ExternalId>,
        unique: &[UniqueValue],
    ) -> Result<Option<Duplicate>, StorageError> {
        self.readers.read_blocking(|db| {
            snapshot(db, |db| match tenant::living(db, agent)? {
                Some(agent) => duplicate(db, agent.number, except, external_reference_id, unique),
                None => Ok(None),
            })
        })
    }

    async fn insert_contact(&self, agent: &AgentId, write: &ContactWrite) -> Result<(), StorageError> {
        let (agent, write) = (agent.clone(), write.clone());
        self.writer.write(move |db| write::insert(db, &agent, &write)).await
    }

    async fn update_contact(
        &self,
        agent: &AgentId,
        expected_version: u64,
        write: &ContactWrite,
    ) -> Result<(), StorageError> {
        let (agent, write) = (agent.clone(), write.clone());
        self.writer.write(move |db| write::update(db, &agent, expected_version, &write)).await
    }

    async fn erase_contact(
        &self,
        agent: &AgentId,
        contact: ContactId,
        at: Timestamp,
        effects: &Effects,
    ) -> Result<(), StorageError> {
        let (agent, effects) = (agent.clone(), effects.clone());
        self.writer.write_erasure(move |db| erase::erase(db, &agent, contact, at, &effects)).await
    }

    async fn complete_erasures(&self) -> Result<ErasureState, StorageError> {
        // The events of erased contacts first.
        while self.scrub_logs(SCRUBBED_AT_ONCE).await? > 0 {}
        Ok(self.writer.complete_erasures().await)
    }
}

const BY_ID: &str = concat!(
    "SELECT c.n, ",
    contact_columns!(),
    " FROM agent a CROSS JOIN contact c ON c.agent = a.n WHERE a.id = ?1 AND a.status <> 2 AND c.id = ?2"
);

const BY_EXTERNAL_REFERENCE_ID: &str = concat!(
    "SELECT c.n, ",
    contact_columns!(),
    " FROM agent a CROSS JOIN contact c ON c.agent = a.n",
    " WHERE a.id = ?1 AND a.status <> 2 AND c.external_reference_id = ?2"
);

/// The contacts with these row numbers, in the given order.
fn numbered(db: &Connection, agent: &AgentId, numbers: &[i64]) -> Result<Vec<Contact>> {
    const SQL: &str = concat!("SELECT ", contact_columns!(), " FROM contact c WHERE c.n = ?1");
    let numbered = |n: &i64| {
        rows::first(db, SQL, [n], |r| records::contact(agent, r))?
            .ok_or_else(|| corrupt(format_args!("contact {n} has keys and no record")))
    };
    numbers.iter().map(numbered).collect()
}
