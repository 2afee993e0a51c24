//! Tests that look inside: plans of lists, the writer.

mod backfill;
mod blocks;
mod chat_plans;
mod job_plans;
mod plans;
mod searching;
#[path = "../../tests/support/mod.rs"]
mod support;
mod tampering;
mod writing;

/// A database whose store uses small thresholds, so that few contacts reach every method.
fn small() -> support::Database {
    let mut database = support::Database::new();
    database.config.thresholds = crate::config::Thresholds { few_matches: 2, reindex_chunk: 2 };
    database
}
