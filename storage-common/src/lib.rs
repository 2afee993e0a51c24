//! What the stores of the Open API share: copying everything of an agent from one store to another, contacts in memory,
//! and single reads that share a statement.

mod contact_cache;
mod shared_reads;
pub mod transfer;

pub use contact_cache::{ContactCache, Kept};
pub use shared_reads::SharedReads;
