//! The store of the Open API on MongoDB 5.0 and later, for many servers: replica sets and sharded clusters.
//!
//! [`MongoStorage`] implements every port of [`openapi_core::storage`].
//!
//! - **An acknowledged write is on the disks of a majority** of the members that hold it (`w: "majority", j: true`), so
//!   a fail-over does not revert it.
//! - **Reads see acknowledged writes only**: they go to the primary with the read concern `majority`, lists with
//!   `snapshot`, so that a page matches its total. A primary that loses contact with the others may return stale data
//!   for the seconds until it notices. No write depends on such a read: each write reads again inside its transaction,
//!   which only a majority can commit.
//! - **Writes of one tenant run one after another.** Every transaction of a tenant changes the tenant's state first, so
//!   no server decides by data that another server is changing. Within a server, creations and changes of contacts that
//!   wait at the same time share a transaction.
//! - **Lists do not slow down as a tenant grows.** Each sort has an index, counters in the same transaction give exact
//!   totals, and a search index contains the grams of each contact's text.
//! - **Every key, unique index and index starts with the tenant**, except the global ones (`migrate`): collections can
//!   be sharded by `_id.agent`, and each transaction concerns one tenant.
//!
//! ```
//! use storage_mongo::{MongoConfig, MongoStorage};
//!
//! let config = MongoConfig::from_url("mongodb://db1.internal,db2.internal/crm?replicaSet=rs0")?;
//! assert_eq!(config.pool, 16);
//! assert!(MongoConfig::from_url("mongodb://db1.internal").is_err(), "a database must be named");
//!
//! async fn open(config: MongoConfig) -> Result<MongoStorage, storage_mongo::OpenError> {
//!     // Creates the collections and indexes, or migrates them to this release.
//!     MongoStorage::open(config).await
//! }
//! # Ok::<(), storage_mongo::InvalidUrl>(())
//! ```
//!
//! # Runtime
//! The store needs the tokio runtime of its host, with time and network enabled: call its methods on that runtime, and
//! drop the store before it. The store starts tasks there and no threads of its own. Close it with
//! [`MongoStorage::close`] before the runtime ends.

mod agents;
mod audit;
mod backfill;
mod chat;
mod config;
mod connect;
mod contact_schemas;
mod contacts;
mod content;
mod credits;
mod document;
mod documents;
mod effects;
mod error;
mod files;
mod forms;
mod health;
mod keys;
mod migrate;
mod open;
mod purge;
mod replays;
mod shapes;
mod store;
mod tenant;
#[cfg(test)]
mod tests;
mod transaction;
mod transfer;
mod watch;
mod writer;

// The tests' support names the crate as integration tests do.
#[cfg(test)]
extern crate self as storage_mongo;

pub use config::{InvalidUrl, MongoConfig};
pub use error::OpenError;
pub use migrate::Migration;
pub use store::MongoStorage;
