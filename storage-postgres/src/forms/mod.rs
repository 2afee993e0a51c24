//! Form templates and submissions.

mod port;
pub(crate) mod read;
pub(crate) mod row;
pub(crate) mod templates;
pub(crate) mod write;

pub(crate) use write::{erase_of, purge};
