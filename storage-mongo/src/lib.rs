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

mod agents;
mod audit;
mod chat;
mod config;
mod connect;
mod contact_schemas;
mod contacts;
mod content;
mod credits;
mod document;
mod documents;
mod error;
mod files;
mod forms;
mod health;
mod keys;
mod migrate;
mod open;
mod purge;
mod rate_windows;
mod replays;
mod store;
mod tenant;
#[cfg(test)]
mod tests;
mod transaction;
mod transfer;
mod writer;

// The tests' support names the crate as integration tests do.
#[cfg(test)]
extern crate self as storage_mongo;

pub use config::{InvalidUrl, MongoConfig};
pub use error::OpenError;
pub use migrate::Migration;
pub use store::MongoStorage;
