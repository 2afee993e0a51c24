//! Files of contacts: their records, and contents that are due for deletion.

mod port;
mod read;
mod write;

#[cfg(test)]
pub(crate) use read::page;
pub(crate) use read::{ALL_COLUMNS, booleans, file_or_tombstone, of_contact};
pub(crate) use write::{bury, erase_of, insert, purge};
