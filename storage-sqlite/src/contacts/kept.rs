//! Single contacts kept in memory, as long as the file says the same: a read that finds its contact here asks SQLite
//! nothing, which is a third of what it costs the server.
//!
//! [`Changes`] tells whether that is so, whichever process changes something. What this process changes it forgets row by
//! row; a change by another process makes it forget everything, because it does not know what changed. Absent contacts
//! are not kept, so that a new one needs no word.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use openapi_core::contacts::{ContactRef, SharedContact};
use openapi_core::values::AgentId;
use rusqlite::Connection;
use storage_common::ContactCache;

use crate::changes::{Change, Changes};

/// Row numbers share so many stamps. Those that share one are forgotten together.
const STAMPS: usize = 1 << 14;

/// A contact as it was read.
#[derive(Clone)]
struct Entry {
    /// Its row number.
    n: i64,
    /// The stamp of its row number at that time.
    stamp: u32,
    contact: SharedContact,
}

impl storage_common::Kept for Entry {
    fn bytes(&self) -> usize {
        self.contact.bytes()
    }
}

/// Rows of contacts that a transaction changes or removes.
#[derive(Clone, Default)]
pub(crate) struct Touched(Arc<Mutex<Rows>>);

#[derive(Default)]
struct Rows {
    numbers: Vec<i64>,
    /// Whether one of them was removed.
    removed: bool,
}

impl Touched {
    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes from now on what is changed on this connection.
    pub(crate) fn watch(&self, db: &mut Connection) -> rusqlite::Result<()> {
        use rusqlite::hooks::Action;
        let touched = self.clone();
        db.update_hook(Some(move |action: Action, _: &str, table: &str, n: i64| {
            if table == "contact" && action != Action::SQLITE_INSERT {
                let mut rows = touched.rows();
                rows.numbers.push(n);
                rows.removed |= action == Action::SQLITE_DELETE;
            }
        }))
    }

    /// Forgets what a transaction before has done.
    pub(crate) fn clear(&self) {
        *self.rows() = Rows::default();
    }
}

/// Contacts in memory.
pub(crate) struct Kept {
    changes: Changes,
    entries: ContactCache<Entry>,
    /// An entry is right as long as its row number has the stamp that it has noted.
    stamps: Box<[AtomicU32]>,
    /// The number of changes for which that holds.
    known: AtomicU64,
    /// Held by whoever puts something in or brings `known` forward.
    turn: Mutex<()>,
    /// Whether anything is kept. If nothing is, others are told of changes nevertheless.
    keeps: bool,
}

/// A commit that changes kept contacts. Its end makes them forgotten.
pub(crate) struct Forgetting<'k> {
    kept: &'k Kept,
    touched: &'k Touched,
    everything: bool,
    change: Change<'k>,
}

impl Kept {
    /// Keeps contacts in about so many bytes; 0 keeps none.
    pub(crate) fn new(changes: Changes, bytes: u64) -> Self {
        Kept {
            changes,
            entries: ContactCache::new(bytes),
            stamps: (0..STAMPS).map(|_| AtomicU32::new(0)).collect(),
            // No even number, so that whatever the file says is taken up first.
            known: AtomicU64::new(1),
            turn: Mutex::new(()),
            keeps: bytes > 0,
        }
    }

    fn stamp(&self, n: i64) -> &AtomicU32 {
        // The remainder is a place in the table.
        &self.stamps[n as usize % STAMPS]
    }

    /// Whether the row of an entry has not changed since.
    fn is_right(&self, entry: &Entry) -> bool {
        self.stamp(entry.n).load(Ordering::Acquire) == entry.stamp
    }

    fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of changes at this moment, for [`Kept::find`] and [`Kept::keep`]; none while something changes, and
    /// where nothing is kept.
    pub(crate) fn now(&self) -> Option<u64> {
        if self.keeps { self.changes.now() } else { None }
    }

    /// A kept contact. `number` was asked for just before.
    pub(crate) fn find(&self, number: u64, agent: &AgentId, contact: &ContactRef) -> Option<SharedContact> {
        if self.known.load(Ordering::Acquire) != number {
            self.take_up();
            return None;
        }
        let entry = self.entries.get(agent, contact)?;
        self.is_right(&entry).then_some(entry.contact)
    }

    /// Forgets what was right before another process changed something.
    fn take_up(&self) {
        let _turn = self.turn();
        if let Some(number) = self.changes.now()
            && self.known.load(Ordering::Acquire) != number
        {
            self.entries.clear();
            self.known.store(number, Ordering::Release);
        }
    }

    /// Keeps a contact that was read from row `n` after `number` was asked for.
    pub(crate) fn keep(
        &self,
        number: u64,
        agent: &AgentId,
        contact: &ContactRef,
        n: i64,
        read: SharedContact,
    ) {
        let _turn = self.turn();
        // What changes here until then makes the row forgotten, behind this turn or before it with a later number. What
        // changed elsewhere makes all rows forgotten before the next one is used.
        if self.known.load(Ordering::Acquire) == number {
            let stamp = self.stamp(n).load(Ordering::Acquire);
            self.entries.insert(agent, contact, Entry { n, stamp, contact: read });
        }
    }

    /// How many entries there are, for contacts that were read by either of their ids.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.entries.len()
    }

    /// To be called inside a transaction, just before it is committed; none when it changes nothing that may be kept,
    /// here or elsewhere. `everything`: whether more than the touched rows is to be forgotten.
    pub(crate) fn before_commit<'k>(
        &'k self,
        touched: &'k Touched,
        everything: bool,
        patience: Duration,
    ) -> std::io::Result<Option<Forgetting<'k>>> {
        if !everything && touched.rows().numbers.is_empty() {
            return Ok(None);
        }
        let change = self.changes.begin(patience)?;
        Ok(Some(Forgetting { kept: self, touched, everything, change }))
    }
}

impl Drop for Forgetting<'_> {
    fn drop(&mut self) {
        // Whether the transaction was committed or not. Then `change` ends, and the number is even again.
        let _turn = self.kept.turn();
        let is_known = self.change.before == Some(self.kept.known.load(Ordering::Acquire));
        if self.everything || !is_known {
            self.kept.entries.clear();
        } else {
            let rows = self.touched.rows();
            for n in &rows.numbers {
                self.kept.stamp(*n).fetch_add(1, Ordering::AcqRel);
            }
            // What was erased does not stay in memory either.
            if rows.removed {
                self.kept.entries.retain(|entry| self.kept.is_right(entry));
            }
        }
        self.kept.known.store(self.change.after, Ordering::Release);
    }
}
