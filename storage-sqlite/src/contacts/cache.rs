//! Contacts in memory as they were last read: a bounded cache in front of the reading connections.
//!
//! The writer invalidates the rows that a transaction changes before it commits, and no read fills the cache while such a
//! commit runs. A read therefore never returns a contact that is older than an acknowledged change.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use openapi_core::contacts::{ContactRef, SharedContact};
use openapi_core::values::AgentId;
use parking_lot::{Mutex, MutexGuard};
use rusqlite::Connection;
use storage_common::ContactCache;

/// The number of version counters. Rows that share a counter are invalidated together.
const COUNTERS: usize = 1 << 14;

/// A contact as it was read.
#[derive(Clone)]
struct Entry {
    /// Its row number.
    n: i64,
    /// The counter of its row number when it was read.
    version: u32,
    contact: SharedContact,
}

impl storage_common::CacheEntry for Entry {
    fn bytes(&self) -> usize {
        self.contact.bytes()
    }
}

/// Rows of contacts that a transaction changes or removes.
#[derive(Clone, Default)]
pub(crate) struct ChangedRows(Arc<Mutex<Rows>>);

#[derive(Default)]
struct Rows {
    numbers: Vec<i64>,
    /// Whether one of them was removed.
    removed: bool,
}

impl ChangedRows {
    /// Records what is changed on this connection from now on.
    pub(crate) fn watch(&self, db: &mut Connection) -> rusqlite::Result<()> {
        use rusqlite::hooks::Action;
        let changed = self.clone();
        db.update_hook(Some(move |action: Action, _: &str, table: &str, n: i64| {
            if table == "contact" && action != Action::SQLITE_INSERT {
                let mut rows = changed.0.lock();
                rows.numbers.push(n);
                rows.removed |= action == Action::SQLITE_DELETE;
            }
        }))
    }

    /// Discards the records of an earlier transaction.
    pub(crate) fn clear(&self) {
        *self.0.lock() = Rows::default();
    }
}

/// The cache.
pub(crate) struct Cache {
    entries: ContactCache<Entry>,
    /// An entry is valid as long as the counter of its row number is the one that it was read with.
    versions: Box<[AtomicU32]>,
    /// Counts commits that change contacts: odd while one runs.
    epoch: AtomicU64,
    /// Held while an entry is inserted and while a commit begins or ends.
    filling: Mutex<()>,
}

/// A commit that changes contacts. Reads fill the cache again when it is dropped.
pub(crate) struct InvalidationGuard<'c> {
    cache: &'c Cache,
}

impl Cache {
    /// A cache of about `bytes` bytes; 0 caches nothing.
    pub(crate) fn new(bytes: u64) -> Self {
        Cache {
            entries: ContactCache::new(bytes),
            versions: (0..COUNTERS).map(|_| AtomicU32::new(0)).collect(),
            epoch: AtomicU64::new(0),
            filling: Mutex::default(),
        }
    }

    fn version(&self, n: i64) -> &AtomicU32 {
        // The remainder is an index of the table.
        &self.versions[n as usize % COUNTERS]
    }

    fn is_valid(&self, entry: &Entry) -> bool {
        self.version(entry.n).load(Ordering::Acquire) == entry.version
    }

    /// A cached contact.
    pub(crate) fn get(&self, agent: &AgentId, contact: &ContactRef) -> Option<SharedContact> {
        let entry = self.entries.get(agent, contact)?;
        self.is_valid(&entry).then_some(entry.contact)
    }

    /// The current epoch. Read it before the contact that [`Cache::insert`] is to store.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Stores a contact that was read from row `n` after `epoch` was read, unless a commit ran since.
    pub(crate) fn insert(
        &self,
        epoch: u64,
        agent: &AgentId,
        contact: &ContactRef,
        n: i64,
        read: SharedContact,
    ) {
        if !epoch.is_multiple_of(2) {
            return;
        }
        let _filling = self.filling.lock();
        if self.epoch() == epoch {
            let version = self.version(n).load(Ordering::Acquire);
            self.entries.insert(agent, contact, Entry { n, version, contact: read });
        }
    }

    /// The number of entries; a contact that was read by both of its ids has two.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.entries.len()
    }

    /// Invalidates the changed rows, or every entry, just before they are committed. Returns `None` for a transaction
    /// that changes nothing that may be cached.
    pub(crate) fn invalidate(
        &self,
        changed: &ChangedRows,
        everything: bool,
    ) -> Option<InvalidationGuard<'_>> {
        let rows = changed.0.lock();
        if !everything && rows.numbers.is_empty() {
            return None;
        }
        let _filling: MutexGuard<'_, ()> = self.filling.lock();
        self.epoch.fetch_add(1, Ordering::AcqRel);
        if everything {
            self.entries.clear();
        } else {
            for n in &rows.numbers {
                self.version(*n).fetch_add(1, Ordering::AcqRel);
            }
            // The content of an erased contact must not stay in memory.
            if rows.removed {
                self.entries.retain(|entry| self.is_valid(entry));
            }
        }
        Some(InvalidationGuard { cache: self })
    }
}

impl Drop for InvalidationGuard<'_> {
    /// The transaction was committed or rolled back.
    fn drop(&mut self) {
        let _filling = self.cache.filling.lock();
        self.cache.epoch.fetch_add(1, Ordering::AcqRel);
    }
}
