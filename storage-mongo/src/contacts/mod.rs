//! Contacts.
//!
//! | File | Contents |
//! |---|---|
//! | `port.rs` | the implementation of `ContactStore` |
//! | `row.rs`, `stored.rs` | a contact as a document; what writes need to know of a stored one |
//! | `list.rs`, `index_scan.rs`, `filter_scan.rs` | lists: the choice of the method, scans of an index, several filters |
//! | `candidates.rs`, `grams.rs` | searches: the choice of grams, and the grams of a text |
//! | `loader.rs` | single reads that share a command |
//! | `decide.rs`, `write.rs` | which writes of a batch are stored; a batch as few commands |
//! | `counters.rs` | counters, which change with contacts |
//! | `duplicates.rs` | which contact has a unique value |
//! | `erase.rs`, `reindex.rs` | removing contacts; computing their keys again under another schema |

mod candidates;
mod counters;
mod decide;
mod duplicates;
mod erase;
mod filter_scan;
mod grams;
mod index_scan;
mod list;
mod loader;
mod port;
mod reindex;
pub(crate) mod row;
mod stored;
mod write;

#[cfg(test)]
pub(crate) use candidates::count_of_search;
pub(crate) use erase::purge;
#[cfg(test)]
pub(crate) use list::plan_of;
pub(crate) use loader::ContactLoader;
#[cfg(test)]
pub(crate) use loader::find_by_external_ids;
pub(crate) use reindex::{Pass, reindex};
pub(crate) use row::without_keys;
pub(crate) use stored::{every, external_ids, refuse_stale};
pub(crate) use write::{insert, store_batch};
