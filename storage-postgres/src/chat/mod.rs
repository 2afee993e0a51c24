//! The chat of the widget: conversations, knowledge, and small records of tenants.

pub(crate) mod conversations;
pub(crate) mod knowledge;
