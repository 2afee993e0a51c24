//! Contacts.
//!
//! | File | Contents |
//! |---|---|
//! | `port.rs` | the implementation of `ContactStore` |
//! | `row.rs`, `stored.rs` | a contact as columns; what writes need to know of a stored one |
//! | `list.rs`, `index_scan.rs` | lists: the choice of the statement, and scans of an index |
//! | `loader.rs`, `cache.rs` | single reads that share a statement, and the cache of contacts |
//! | `decide.rs`, `write.rs` | which writes of a batch are stored; a batch as few statements |
//! | `counters.rs` | counters, tags and unique values, which change with contacts |
//! | `duplicates.rs` | which contact has a unique value |
//! | `erase.rs`, `reindex.rs` | removing contacts; computing their keys again under another schema |

pub(crate) mod cache;
mod counters;
pub(crate) mod decide;
mod duplicates;
mod erase;
mod index_scan;
pub(crate) mod list;
pub(crate) mod loader;
mod port;
mod reindex;
pub(crate) mod row;
mod stored;
mod write;

pub(crate) use duplicates::refuse as refuse_duplicates;
#[cfg(test)]
pub(crate) use erase::REMOVE;
pub(crate) use erase::purge;
pub(crate) use loader::ContactLoader;
pub(crate) use reindex::{after, keyed, reindex, write_keys};
pub(crate) use stored::refuse_stale;
pub(crate) use write::{insert, store_batch};
