//! Tests that look inside: plans of lists, the writer.

mod plans;
#[path = "../../tests/support/mod.rs"]
mod support;
mod writing;
