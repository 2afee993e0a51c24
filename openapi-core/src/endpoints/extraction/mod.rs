//! Document extraction (contract 4.5).

mod extract;
mod schema_examples;

pub use extract::{Extract, Outcome};
pub use schema_examples::SchemaExamples;
