//! Document extraction (contract 4.5).

mod extract;
mod schema_examples;
mod shapes;

pub use extract::{Extract, Outcome};
pub use schema_examples::SchemaExamples;

pub(crate) use shapes::components;
