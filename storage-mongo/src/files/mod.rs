//! Files of contacts: their records, and contents that are due for deletion.

mod port;
mod read;
mod write;

pub(crate) use read::of_contact;
#[cfg(test)]
pub(crate) use read::{due_by, find};
pub(crate) use write::{document, erase_of, purge, tombstone};
