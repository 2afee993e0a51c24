//! Tests that need more than the public interface.

#[path = "../../tests/support/mod.rs"]
pub(crate) mod support;

#[cfg(unix)]
mod kept;
mod latest;
mod migrations;
mod model;
mod plans;
pub(crate) mod power_cuts;
mod searching;
pub(crate) mod statements;
mod writing;
