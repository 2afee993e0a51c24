//! The embedded default store of the Open API: one durable SQLite file, without a server.
//!
//! [`SqliteStorage`] implements every port of [`openapi_core::storage`].
//!
//! - **An acknowledged write is on disk.** The file is in WAL mode with `synchronous=FULL`. Writes that arrive at the
//!   same time share one sync (group commit), and each completes only after the commit.
//! - **Lists do not slow down as an agent grows.** Each sort has a composite index, counters in the same transaction
//!   give exact totals, and a search index covers the text of each agent separately.
//! - **One process owns the file** as long as the store is open ([`Ownership`]); a second one gets an error that names
//!   the owner. The file must be on a local disk. The store caches contacts, so no other program may write to the file
//!   meanwhile.
//!
//! ```
//! use openapi_core::storage::HealthProbe as _;
//! use storage_sqlite::{SqliteConfig, SqliteStorage};
//!
//! # let folder = std::env::temp_dir().join(format!("storage-sqlite-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let config = SqliteConfig::new(folder.join("openapi.db"));
//! assert!(!SqliteStorage::pending_migrations(&config)?.is_empty(), "there is no file yet");
//! let store = SqliteStorage::open(config.clone())?;
//! pollster::block_on(store.probe())?;
//! assert!(SqliteStorage::pending_migrations(&config)?.is_empty());
//! # drop(store);
//! # std::fs::remove_dir_all(folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Threads
//! Opening a store starts its threads: one that writes, and [`reader_threads`](SqliteConfig::reader_threads) for long
//! reads. The store needs no async runtime, and its futures run under any executor. Reads of a few microseconds (one
//! contact, one key) run on the calling thread. Closing or dropping the store waits until every accepted write is
//! stored, and ends the threads.
//!
//! # Erasure
//! The file is in `secure_delete` mode: erased data is overwritten with zeros, in the tables and in the search index.
//! Erased contacts also leave the cache. The write-ahead log, which contains earlier states of pages, is truncated within
//! a minute of an erasure; `complete_erasures` does it at once and waits. A reader of an older state, such as a running
//! backup, delays it.

mod agents;
mod appended;
mod audit;
mod audit_chain;
mod backfill;
mod chat;
mod config;
mod connect;
mod contact_schemas;
mod contacts;
mod credits;
mod documents;
mod effects;
mod erasures;
mod error;
mod files;
mod forms;
mod health;
mod keys;
mod maintain;
mod migrate;
mod open;
mod ownership;
mod readers;
mod replays;
mod rows;
mod shapes;
mod store;
mod tenant;
#[cfg(test)]
mod tests;
mod thresholds;
mod transfer;
mod writer;

// The tests' support names the crate as integration tests do.
#[cfg(test)]
extern crate self as storage_sqlite;

pub use config::{InvalidUrl, SqliteConfig};
pub use error::{OpenError, Owner};
pub use maintain::{Backup, Finding, FindingKind, Repair, Size};
pub use migrate::Migration;
pub use ownership::Ownership;
pub use store::SqliteStorage;
