//! Single contacts kept in memory, as long as the file says the same: a read that finds its contact here asks SQLite
//! nothing, which is a third of what it costs the server.
//!
//! [`Changes`] tells whether that is so, whichever process changes something. What this process changes it forgets row by
//! row; a change by another process makes it forget everything, because it does not know what changed. Absent contacts
//! are not kept, so that a new one needs no word.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use openapi_core::contacts::{Contact, ContactRef};
use openapi_core::values::AgentId;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, Equivalent, OptionsBuilder, Weighter};
use rusqlite::{Connection, Row};

use super::row::{self, Columns};
use crate::changes::{Change, Changes};
use crate::error::Result;

/// What an entry takes besides what it holds, in octets: places in tables and lists, the counter of its owners.
const ENTRY: u64 = 96;

/// What a contact of usual size takes, in octets.
const USUAL: u64 = 640;

/// Parts of the room that can be used at the same time.
const SHARDS: usize = 16;

/// Row numbers share so many stamps. Those that share one are forgotten together.
const STAMPS: usize = 1 << 14;

/// How a contact was asked for.
#[derive(PartialEq, Eq, Hash)]
struct Reference {
    agent: AgentId,
    contact: ContactRef,
}

/// The same without owning it.
struct Asked<'a> {
    agent: &'a AgentId,
    contact: &'a ContactRef,
}

impl Hash for Asked<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // As `Reference` derives it.
        self.agent.hash(state);
        self.contact.hash(state);
    }
}

impl Equivalent<Reference> for Asked<'_> {
    fn equivalent(&self, reference: &Reference) -> bool {
        *self.agent == reference.agent && *self.contact == reference.contact
    }
}

/// A contact as it was read.
struct Entry {
    /// Its row number.
    n: i64,
    /// The stamp of its row number at that time.
    stamp: u32,
    /// What [`row::pack`] has made of it.
    packed: Box<[u8]>,
}

#[derive(Clone)]
struct Octets;

impl Weighter<Reference, Arc<Entry>> for Octets {
    fn weight(&self, reference: &Reference, entry: &Arc<Entry>) -> u64 {
        let contact = match &reference.contact {
            ContactRef::Id(_) => 0,
            ContactRef::External(id) => id.as_str().len(),
        };
        ENTRY + (size_of::<Reference>() + size_of::<Entry>() + contact + entry.packed.len()) as u64
    }
}

type Entries =
    Cache<Reference, Arc<Entry>, Octets, DefaultHashBuilder, DefaultLifecycle<Reference, Arc<Entry>>>;

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
    entries: Entries,
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
    /// Keeps contacts in about so many octets; 0 keeps none.
    pub(crate) fn new(changes: Changes, octets: u64) -> Self {
        let items = usize::try_from(octets / USUAL).unwrap_or(usize::MAX).max(SHARDS * 32);
        let (hasher, lifecycle) = (DefaultHashBuilder::default(), DefaultLifecycle::default());
        let entries = match OptionsBuilder::new()
            .shards(SHARDS)
            // So many keys of what was dropped are remembered, half of it.
            .estimated_items_capacity(items)
            .weight_capacity(octets)
            .build()
        {
            Ok(options) => Cache::with_options(options, Octets, hasher, lifecycle),
            // Both numbers are given.
            Err(_) => Cache::with(items, octets, Octets, hasher, lifecycle),
        };
        Kept {
            changes,
            entries,
            stamps: (0..STAMPS).map(|_| AtomicU32::new(0)).collect(),
            // No even number, so that whatever the file says is taken up first.
            known: AtomicU64::new(1),
            turn: Mutex::new(()),
            keeps: octets > 0,
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
    pub(crate) fn find(&self, number: u64, agent: &AgentId, contact: &ContactRef) -> Result<Option<Contact>> {
        if self.known.load(Ordering::Acquire) != number {
            self.take_up();
            return Ok(None);
        }
        let Some(entry) = self.entries.get(&Asked { agent, contact }) else { return Ok(None) };
        if !self.is_right(&entry) {
            return Ok(None);
        }
        row::of_columns(agent, Columns::packed(&entry.packed)).map(Some)
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
        row: &Row<'_>,
    ) -> Result<()> {
        // Copied into octets of its own: cutting off what is too much would leave the allocator small pieces.
        let packed = Box::from(&*row::pack(row)?);
        let _turn = self.turn();
        // What changes here until then makes the row forgotten, behind this turn or before it with a later number. What
        // changed elsewhere makes all rows forgotten before the next one is used.
        if self.known.load(Ordering::Acquire) == number {
            let stamp = self.stamp(n).load(Ordering::Acquire);
            let reference = Reference { agent: agent.clone(), contact: contact.clone() };
            self.entries.insert(reference, Arc::new(Entry { n, stamp, packed }));
        }
        Ok(())
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
                self.kept.entries.retain(|_, entry| self.kept.is_right(entry));
            }
        }
        self.kept.known.store(self.change.after, Ordering::Release);
    }
}
