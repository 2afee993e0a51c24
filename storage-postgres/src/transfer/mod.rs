//! Moving records: reading them in the order of their keys, and storing them unchanged.

mod port;
mod put;
pub(crate) mod read;
