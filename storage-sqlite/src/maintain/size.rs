//! How large the store is.

use openapi_core::storage::StorageError;

use crate::connect;
use crate::error::Result;
use crate::store::SqliteStorage;

/// The size of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Size {
    /// The length of the file in bytes.
    pub file_bytes: u64,
    /// Its free bytes, which the next writes use. The file does not shrink.
    pub free_bytes: u64,
    /// The length of its log in bytes.
    pub log_bytes: u64,
    /// Agents that are not deleted.
    pub agents: u64,
    /// Contacts, archived ones included.
    pub contacts: u64,
    /// Contacts that the search index does not contain yet; searches read them one by one.
    pub unindexed_contacts: u64,
}

impl SqliteStorage {
    /// The size of the store; takes a few milliseconds.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn size(&self) -> Result<Size, StorageError> {
        let log = std::fs::metadata(connect::with_suffix(&self.config.path, "-wal"));
        self.readers.read_blocking(|db| {
            let number = |sql: &str| -> Result<u64> {
                let number: i64 = db.query_row(sql, (), |row| row.get(0))?;
                Ok(u64::try_from(number).unwrap_or(0))
            };
            let page = number("PRAGMA page_size")?;
            Ok(Size {
                file_bytes: number("PRAGMA page_count")? * page,
                free_bytes: number("PRAGMA freelist_count")? * page,
                log_bytes: log.as_ref().map_or(0, std::fs::Metadata::len),
                agents: number("SELECT count(*) FROM agent WHERE status <> 2")?,
                contacts: number("SELECT coalesce(sum(total), 0) FROM contact_count")?,
                unindexed_contacts: number("SELECT count(*) FROM search_pending")?,
            })
        })
    }
}
