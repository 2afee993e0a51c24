//! Tests that need more than the public interface.

#[path = "../../tests/support/mod.rs"]
pub(crate) mod support;

mod backfill;
mod cache;
mod latest;
mod migrations;
mod model;
mod plans;
pub(crate) mod power_cuts;
mod searching;
pub(crate) mod statements;
mod tampering;
mod writing;

/// A store whose query plans change at the sizes of a test.
pub(crate) fn open_small(folder: &support::Folder) -> crate::SqliteStorage {
    let mut config = crate::SqliteConfig::new(folder.database());
    config.thresholds = crate::thresholds::Thresholds::SMALL;
    crate::SqliteStorage::open(config).expect("test support")
}
