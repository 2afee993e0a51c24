//! What is generated from the table.

mod openapi;
mod page;
mod typescript;

pub use openapi::openapi;
pub use page::reference;
pub use typescript::typescript;

use std::collections::BTreeMap;

use openapi_core::json::JsonSchema;
use openapi_core::reply::Pagination;
use serde_json::Value;

use crate::operations::OPERATIONS;

/// The schemas with names that the table's answers use.
fn named() -> BTreeMap<String, Value> {
    let mut named = crate::operations::named_schemas();
    for entry in OPERATIONS {
        if let (schema, Some(name)) = (entry.output)() {
            named.insert(name.to_owned(), schema);
        }
    }
    named.insert("Pagination".to_owned(), Pagination::schema());
    named
}
