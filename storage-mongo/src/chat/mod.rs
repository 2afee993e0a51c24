//! The chat of the widget: conversations and knowledge.

pub(crate) mod conversations;
pub(crate) mod knowledge;
