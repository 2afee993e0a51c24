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

mod agent_records;
mod agents;
mod audit;
mod config;
mod connect;
mod contact_schemas;
mod contacts;
mod conversations;
mod credits;
mod documents;
mod error;
mod files;
mod forms;
mod health;
mod keys;
mod knowledge;
mod migrate;
mod rate_windows;
mod replays;
mod rows;
#[cfg(test)]
mod tests;
mod transfer;
mod writer;

// The tests' support names the crate as integration tests do.
#[cfg(test)]
extern crate self as storage_postgres;

use std::fmt;

pub use config::{InvalidUrl, PostgresConfig};
pub use error::OpenError;
pub use migrate::Migration;

use connect::Db;
use contacts::Points;
use writer::Writer;

/// A store in a PostgreSQL database. Share it behind an `Arc`.
pub struct PostgresStorage {
    db: Db,
    writer: Writer,
    points: Points,
}

impl PostgresStorage {
    /// Connects, makes the tables if they are not there, and brings them to this release's version. Of several servers
    /// that start at once one does that, the others wait for it.
    ///
    /// # Errors
    /// [`OpenError`] says what is wrong with the database and what to do.
    pub async fn open(config: PostgresConfig) -> Result<Self, OpenError> {
        let mut db = connect::single(&config).await?;
        migrate::check_server(&mut db, &config).await?;
        migrate::migrate(&mut db, &config).await?;
        drop(db);
        let db = Db::new(config);
        Ok(PostgresStorage { writer: Writer::start(&db), points: Points::new(&db), db })
    }

    /// The migrations that opening the database would apply, none when it is up to date. Changes nothing.
    ///
    /// # Errors
    /// As [`PostgresStorage::open`].
    pub async fn pending_migrations(config: &PostgresConfig) -> Result<&'static [Migration], OpenError> {
        let mut db = connect::single(config).await?;
        migrate::check_server(&mut db, config).await?;
        Ok(migrate::pending(migrate::version(&mut db, config).await?))
    }

    /// The settings it was opened with.
    #[must_use]
    pub fn config(&self) -> &PostgresConfig {
        self.db.config()
    }

    /// Writes what was accepted, and closes the connections. Everything asked for later is
    /// [`Unavailable`](openapi_core::storage::StorageErrorKind::Unavailable).
    pub async fn close(&self) {
        self.writer.close().await;
        self.db.close().await;
    }
}

impl fmt::Debug for PostgresStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStorage").field("config", self.config()).finish_non_exhaustive()
    }
}
