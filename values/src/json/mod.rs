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

pub use crate::{json_object, object_schema, same_schema, schemas};
pub use parse::{MAX_DEPTH, ParseError, parse};
pub use raw::RawObject;
pub use schema::JsonSchema;
pub use schema::{Constant, OnceStored, object, preview_of, without};
pub use value::{Json, Number, Object};
