//! Tests that look inside: plans of lists, the writer.

mod blocks;
mod chat_plans;
mod plans;
mod searching;
#[path = "../../tests/support/mod.rs"]
mod support;
mod writing;
