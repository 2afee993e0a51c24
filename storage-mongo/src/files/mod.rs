//! Files of contacts: their records, and contents that are due for deletion.

mod port;
mod read;
mod write;

#[cfg(test)]
pub(crate) use read::{due_by, find};
pub(crate) use read::{file_or_tombstone, of_contact};
pub(crate) use write::{document, erase_of, purge, tombstone};
