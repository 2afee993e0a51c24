//! Form templates and submissions.

mod port;
pub(crate) mod read;
pub(crate) mod row;
pub(crate) mod templates;
pub(crate) mod write;

#[cfg(test)]
pub(crate) use read::{find as find_submissions, newest};
#[cfg(test)]
pub(crate) use templates::find as find_templates;
pub(crate) use write::{erase_of, purge};
