//! Document extraction (contract 4.5).

mod schema_examples;
mod shapes;

pub use schema_examples::SchemaExamples;

pub(crate) use shapes::components;
