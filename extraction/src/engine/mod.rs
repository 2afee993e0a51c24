//! From a document's text to the values of a schema's fields.

pub mod builtin;
#[cfg(feature = "model")]
pub mod model;
