//! The shapes that carry what is not a resource of its own: records, and the event log of each tenant.

pub(crate) mod log;
pub(crate) mod records;
