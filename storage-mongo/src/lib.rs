//! The store of the Open API on MongoDB 5.0 and later, for many servers: replica sets and sharded clusters.
//!
//! [`MongoStorage`] implements every port of [`openapi_core::storage`].
//!
//! - **An acknowledged write is on the disks of a majority** of the members that hold it (`w: "majority", j: true`): a
//!   fail-over does not take it back.
//! - **Reads see acknowledged writes only**: they go to the primary with the read concern `majority`, lists with
//!   `snapshot`, so that a page and its total belong together. A primary that was cut off from the others may for some
//!   seconds, until it notices, answer a read as things were when that happened. No write is decided by such a read:
//!   each looks again inside of its transaction, which only a majority can commit.
//! - **Writes of one agent go one after another.** Every transaction of an agent changes the agent's ledger first, so
//!   that two servers cannot decide by what the other is changing. Within a server, creations and changes of
//!   contacts that wait at the same time share a transaction.
//! - **Lists do not slow down as an agent grows.** One index for each sort, exact totals from counters kept in the same
//!   transaction, and a search index of the pieces of each contact's text.
//! - **The agent leads** every key, unique index and index, but for what must be global (`migrate`): collections can be
//!   sharded by `_id.agent`, and each transaction is about one agent.
//!
//! ```
//! use storage_mongo::{MongoConfig, MongoStorage};
//!
//! let config = MongoConfig::from_url("mongodb://db1.internal,db2.internal/crm?replicaSet=rs0")?;
//! assert_eq!(config.pool, 16);
//! assert!(MongoConfig::from_url("mongodb://db1.internal").is_err(), "a database must be named");
//!
//! async fn open(config: MongoConfig) -> Result<MongoStorage, storage_mongo::OpenError> {
//!     // Makes the collections and indexes, or brings them to this release.
//!     MongoStorage::open(config).await
//! }
//! # Ok::<(), storage_mongo::InvalidUrl>(())
//! ```
//!
//! # Runtime
//! The store needs the tokio runtime of its host, with time and network enabled: its methods are called from within,
//! and it lives no longer than the runtime. It starts tasks there and no threads of its own. Close it with
//! [`MongoStorage::close`] before the runtime ends.

mod agent_records;
mod agents;
mod audit;
mod config;
mod connect;
mod contact_schemas;
mod contacts;
mod conversations;
mod credits;
mod document;
mod documents;
mod error;
mod files;
mod forms;
mod health;
mod keys;
mod knowledge;
mod ledger;
mod migrate;
mod rate_windows;
mod replays;
#[cfg(test)]
mod tests;
mod transaction;
mod transfer;
mod writer;

// The tests' support names the crate as integration tests do.
#[cfg(test)]
extern crate self as storage_mongo;

use std::fmt;

pub use config::{InvalidUrl, MongoConfig};
pub use error::OpenError;
pub use migrate::Migration;

use connect::Handle;
use contacts::Points;
use writer::Writer;

/// A store in one MongoDB database. Share it behind an `Arc`.
pub struct MongoStorage {
    handle: Handle,
    writer: Writer,
    points: Points,
    config: MongoConfig,
}

impl MongoStorage {
    /// Connects to the database, and brings its collections and indexes to this release's version. Of several servers
    /// that start at once one does it, the others wait for it.
    ///
    /// # Errors
    /// [`OpenError`] says what is wrong with the deployment and what to do.
    pub async fn open(config: MongoConfig) -> Result<Self, OpenError> {
        let handle = connect::open(&config).await?;
        if let Err(error) = migrate::migrate(&handle).await {
            handle.client.clone().shutdown().immediate(true).await;
            return Err(error);
        }
        let (writer, points) = (Writer::new(handle.clone()), Points::new(&handle));
        Ok(MongoStorage { handle, writer, points, config })
    }

    /// The migrations that opening the database would apply, none when it is up to date. Changes nothing.
    ///
    /// # Errors
    /// As [`MongoStorage::open`], for a database that cannot be reached, or is newer.
    pub async fn pending_migrations(config: &MongoConfig) -> Result<&'static [Migration], OpenError> {
        let handle = connect::open(config).await?;
        let version = migrate::version(&handle).await;
        handle.client.clone().shutdown().immediate(true).await;
        version.map(migrate::pending)
    }

    /// Ends the connections. Writes that were accepted are finished first; whatever is asked afterwards is
    /// [`Unavailable`](openapi_core::storage::StorageErrorKind::Unavailable).
    pub async fn close(&self) {
        self.writer.close().await;
        self.handle.client.clone().shutdown().await;
    }

    /// The settings it was opened with.
    #[must_use]
    pub fn config(&self) -> &MongoConfig {
        &self.config
    }
}

impl fmt::Debug for MongoStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MongoStorage").field("database", &self.handle.db.name()).finish_non_exhaustive()
    }
}
