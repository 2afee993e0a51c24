//! Tests that need more than the public interface.
#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod backfill;
mod cache;
mod chat_plans;
mod deep;
mod look_ups;
mod migrations;
mod plans;
mod shapes;
#[path = "../../tests/support/mod.rs"]
pub(crate) mod support;
mod tampering;
pub(crate) mod writing;
