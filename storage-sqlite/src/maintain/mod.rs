//! Operator tasks: check, repair, backup, restore, size.
//!
//! These functions block until they are done, which takes minutes on a large file; call them on a separate thread.

mod backup;
mod check;
mod repair;
mod restore;
mod size;

pub use backup::Backup;
pub use check::{Finding, FindingKind};
pub use repair::Repair;
pub use size::Size;

use std::fs::File;
use std::path::Path;

use rusqlite::Connection;

use crate::error::OpenError;

/// SQLite's own check of pages, indexes and the search index; the first few errors that it finds.
fn integrity(db: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = db.prepare("PRAGMA integrity_check(20)")?;
    let lines =
        statement.query_map((), |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(lines.into_iter().filter(|line| line != "ok").collect())
}

/// Refuses a damaged copy.
fn refuse_damage(db: &Connection, path: &Path) -> Result<(), OpenError> {
    match integrity(db).map_err(|error| OpenError::of(path, error))?.first() {
        Some(error) => Err(OpenError::Damaged { path: path.to_owned(), detail: error.clone() }),
        None => Ok(()),
    }
}

/// Makes the contents of a file durable.
fn sync_file(path: &Path) -> Result<(), OpenError> {
    let synced = File::open(path).and_then(|file| file.sync_all());
    synced.map_err(|source| OpenError::File { path: path.to_owned(), source })
}
