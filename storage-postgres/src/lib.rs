//! The store of the Open API on PostgreSQL, 13 and later: any number of servers on one database.
//!
//! [`PostgresStorage`] implements every port of [`openapi_core::storage`].
//!
//! - **A write is one transaction**, with everything that belongs to it. Writes of contacts that wait at the same time
//!   share one (group commit), and each is told its own outcome only after the commit. A write is as durable as the
//!   server's `synchronous_commit` promises; by default an acknowledged one is on its disk.
//! - **Lists do not slow down as an agent grows.** One composite index for each sort, exact totals from counters that are
//!   kept in the same transaction, and a trigram index over the text of each agent.
//! - **A lost or hanging database** makes requests fail with
//!   [`Unavailable`](openapi_core::storage::StorageErrorKind::Unavailable) within seconds, and is used again as soon as
//!   it answers, without a restart.
//!
//! ```
//! use storage_postgres::{PostgresConfig, PostgresStorage};
//!
//! let config = PostgresConfig::from_url("postgres://openapi@db.internal/crm?schema=agents&max_connections=16")?;
//! assert_eq!(config.max_connections, 16);
//! assert!(PostgresConfig::from_url("postgres://db.internal/crm?max_conections=16").is_err(), "a slip is told");
//!
//! async fn open(config: PostgresConfig) -> Result<PostgresStorage, storage_postgres::OpenError> {
//!     // Makes the tables, or brings them to this release.
//!     PostgresStorage::open(config).await
//! }
//! # Ok::<(), storage_postgres::InvalidUrl>(())
//! ```
//!
//! # Runtime
//! The store needs a tokio runtime: the one it is opened on. Its futures must be polled there, and writes run on tasks of
//! it. It starts no thread. [`PostgresStorage::close`] waits until everything accepted is written.
//!
//! # The database
//! It must have the encoding UTF8, and the user must own it, or have been granted `CREATE` on it and have the extensions
//! `pg_trgm` and `btree_gin` made by somebody else. The tables lie in a PostgreSQL schema of their own.

mod agents;
mod audit;
mod chat;
mod config;
mod connect;
mod contact_schemas;
mod contacts;
mod content;
mod credits;
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
mod rows;
mod store;
mod tenant;
#[cfg(test)]
mod tests;
mod transfer;
mod writer;

// The tests' support names the crate as integration tests do.
#[cfg(test)]
extern crate self as storage_postgres;

pub use config::{InvalidUrl, PostgresConfig};
pub use error::OpenError;
pub use migrate::Migration;
pub use store::PostgresStorage;
