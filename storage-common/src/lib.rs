//! What the stores of the Open API share: copying everything of an agent from one store to another, contacts in memory,
//! and single reads that share a statement.

mod kept_contacts;
mod shared_reads;
pub mod transfer;

pub use kept_contacts::{Kept, KeptContacts};
pub use shared_reads::SharedReads;
