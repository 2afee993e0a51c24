//! Shared by the tests: a folder that is removed, an executor, contacts.
#![allow(dead_code, unused_imports, reason = "each test uses a part")]
#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

pub mod backend;
pub mod chat;
pub mod extraction;
pub mod forms;

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use openapi_core::contacts::Contact;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{AgentStore, ContactStore};
use openapi_core::values::AgentId;
use storage_common::fixtures;
pub use storage_common::fixtures::{agent, agent_id, at, contact, contact_id, entry, verify_chain, write};
use storage_sqlite::{SqliteConfig, SqliteStorage};

/// Runs a future on this thread.
pub fn wait<T>(future: impl Future<Output = T>) -> T {
    pollster::block_on(future)
}

/// A folder of one test.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("storage-sqlite-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("test support");
        Folder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn database(&self) -> PathBuf {
        self.0.join("openapi.db")
    }

    pub fn open(&self) -> SqliteStorage {
        SqliteStorage::open(SqliteConfig::new(self.database())).expect("test support")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Stores an agent with the built-in schema.
pub fn insert_agent(store: &(impl AgentStore + ?Sized), id: &AgentId) -> ContactSchema {
    wait(fixtures::insert_agent(store, id))
}

pub fn insert(store: &(impl ContactStore + ?Sized), contact: &Contact, schema: &ContactSchema) {
    let number = u64::from_be_bytes(contact.id.as_bytes()[4..].try_into().expect("test support"));
    wait(store.insert_contact(&contact.agent_id, &write(contact, schema, number + 1))).expect("test support");
}
