//! Files of contacts: their records, and contents that are due for deletion.

mod port;
mod read;
mod write;

pub(crate) use read::of_contact;
#[cfg(test)]
pub(crate) use read::page;
pub(crate) use write::{bury, erase_of, insert, purge};
