//! JSON as the contract defines it (contract 5.3): numbers keep their text, member names never repeat, nesting is
//! bounded.
//!
//! `serde_json::Value` rounds numbers and lets the last of two equal names win; the contract promises numbers back
//! "exactly as written" and refuses repeated names. The switch that would keep the text there
//! (`arbitrary_precision`) changes `serde_json` for the whole program that embeds this crate, so the small tree
//! needed here is this crate's own.

mod parse;
mod raw;
mod schema;
mod value;

pub use parse::{MAX_DEPTH, ParseError, parse};
pub use raw::RawObject;
pub use schema::JsonSchema;
pub(crate) use schema::{
    Constant, OnceStored, json_object, object, object_schema, preview_of, same_schema, schemas, without,
};
pub use value::{Json, Number, Object};
