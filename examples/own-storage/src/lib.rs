//! A storage backend that wraps another one and overrides one method: it counts the reads of contacts.

use std::sync::atomic::{AtomicU64, Ordering};

use openapi_core::contacts::{ContactRef, SharedContact};
use openapi_core::storage::{ContactStore, Result};
use openapi_core::values::AgentId;
use storage_memory::MemoryStorage;
use testkit::delegate::Delegate;

/// An in-memory store that counts the reads of single contacts.
#[derive(Default)]
pub struct CountingStorage {
    inner: MemoryStorage,
    reads: AtomicU64,
}

impl CountingStorage {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of reads so far.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    /// Overrides the method of [`ContactStore`].
    async fn contact(&self, agent: &AgentId, contact: &ContactRef) -> Result<Option<SharedContact>> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.inner.contact(agent, contact).await
    }
}

impl Delegate for CountingStorage {
    type Inner = MemoryStorage;

    fn inner(&self) -> &MemoryStorage {
        &self.inner
    }
}

testkit::delegate_storage!(CountingStorage);
