//! Conversations of the widget, with their messages.

mod port;
pub(crate) mod read;
pub(crate) mod write;

pub(crate) use write::erase_of;
