//! The store of the Open API on PostgreSQL, 13 and later: any number of servers on one database.
//!
//! [`PostgresStorage`] implements every port of [`openapi_core::storage`].
//!
//! - **A write is one transaction**, with everything that belongs to it. Writes of contacts that wait at the same time
//!   share one (group commit), and each receives its own outcome only after the commit. A write is as durable as the
//!   server's `synchronous_commit` setting; by default an acknowledged write is on its disk.
//! - **Lists do not slow down as a tenant grows.** Each sort has a composite index, counters in the same transaction
//!   give exact totals, and a trigram index covers the text of each tenant.
//! - **A lost or hanging database** makes requests fail with
//!   [`Unavailable`](openapi_core::storage::StorageErrorKind::Unavailable) within seconds. The store uses it again as
//!   soon as it responds, without a restart.
//!
//! ```
//! use storage_postgres::{PostgresConfig, PostgresStorage};
//!
//! let config = PostgresConfig::from_url("postgres://openapi@db.internal/crm?schema=agents&max_connections=16")?;
//! assert_eq!(config.max_connections, 16);
//! assert!(PostgresConfig::from_url("postgres://db.internal/crm?max_conections=16").is_err(), "a misspelt parameter is rejected");
//!
//! async fn open(config: PostgresConfig) -> Result<PostgresStorage, storage_postgres::OpenError> {
//!     // Creates the tables, or migrates them to this release.
//!     PostgresStorage::open(config).await
//! }
//! # Ok::<(), storage_postgres::InvalidUrl>(())
//! ```
//!
//! # Runtime
//! The store needs the tokio runtime that it is opened on. Its futures must be polled there, and writes run on its
//! tasks. The store starts no thread. [`PostgresStorage::close`] waits until every accepted write is stored.
//!
//! # The database
//! The database must have the encoding UTF8. The user must own it, or must have `CREATE` on it while another role has
//! created the extensions `pg_trgm` and `btree_gin`. The tables are in a PostgreSQL schema of their own.

mod agents;
mod announcements;
mod audit;
mod backfill;
mod changes;
mod chat;
mod config;
mod connect;
mod contact_schemas;
mod contacts;
mod content;
mod credits;
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
mod rows;
mod shapes;
mod store;
mod tenant;
#[cfg(test)]
mod tests;
mod transfer;
mod url;
mod writer;

// The tests' support names the crate as integration tests do.
#[cfg(test)]
extern crate self as storage_postgres;

pub use config::PostgresConfig;
pub use error::OpenError;
pub use migrate::Migration;
pub use store::PostgresStorage;
pub use url::InvalidUrl;
