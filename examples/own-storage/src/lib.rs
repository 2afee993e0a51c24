//! A storage backend of one's own: every port of [`Storage`](conversations::storage::ConversationStorage) over maps.
//!
//! One lock makes each method atomic. Within it, a write first checks all that may refuse it and then changes the
//! tables, so that nothing is stored after an error; no method waits for anything while it holds the lock, so that a
//! dropped future has changed everything or nothing.

mod access;
mod chat;
mod contacts;
mod credits;
mod files;
mod forms;
mod tables;

use std::sync::{Mutex, MutexGuard, PoisonError};

use openapi_core::storage::{Result, StorageErrorKind};
use openapi_core::values::AgentId;

use tables::Tables;

/// The store. Nothing outlives the value.
#[derive(Debug, Default)]
pub struct MapStorage(Mutex<Tables>);

impl MapStorage {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        MapStorage::default()
    }

    /// The tables, for what needs no agent.
    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tables for reading what belongs to an agent; none when there is no such agent or it is deleted: everything
    /// of it is absent then.
    fn of(&self, agent: &AgentId) -> Option<MutexGuard<'_, Tables>> {
        Some(self.tables()).filter(|tables| tables.is_living(agent))
    }

    /// The tables for writing what belongs to an agent.
    fn change(&self, agent: &AgentId) -> Result<MutexGuard<'_, Tables>> {
        self.of(agent).ok_or(StorageErrorKind::Missing.into())
    }
}
