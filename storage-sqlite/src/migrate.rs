//! The schema of the file: numbered, append-only migrations, each applied in a transaction of its own.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};
use storage_common::migrations;
pub use storage_common::migrations::Migration;

use crate::error::OpenError;

/// Marks a file as this service's: `PRAGMA application_id`, the letters `OAPI`.
pub(crate) const APPLICATION_ID: i64 = 0x4f41_5049;

/// Every migration, in order; `version` is the position in the list, counted from 1.
pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration::new(1, "contacts", include_str!("migrations/0001_contacts.sql")),
    Migration::new(2, "files", include_str!("migrations/0002_files.sql")),
    Migration::new(3, "forms", include_str!("migrations/0003_forms.sql")),
    Migration::new(4, "rate_shares", include_str!("migrations/0004_rate_shares.sql")),
    Migration::new(5, "extraction", include_str!("migrations/0005_extraction.sql")),
    Migration::new(6, "chat", include_str!("migrations/0006_chat.sql")),
    Migration::new(7, "audit chain", include_str!("migrations/0007_audit_chain.sql")),
    Migration::new(8, "key version", include_str!("migrations/0008_key_version.sql")),
    Migration::new(9, "sealed contents", include_str!("migrations/0009_sealed_contents.sql")),
    Migration::new(10, "shapes", include_str!("migrations/0010_shapes.sql")),
    Migration::new(11, "queue", include_str!("migrations/0011_queue.sql")),
];

/// The migration that begins the chains of the audit log.
const AUDIT_CHAIN: i64 = 7;

/// The version of this release.
pub(crate) const KNOWN: i64 = MIGRATIONS.len() as i64;

/// The version of the schema in the file, 0 for an empty one.
///
/// # Errors
/// When the file belongs to something else or to a newer release.
pub(crate) fn version(db: &Connection, path: &Path) -> Result<i64, OpenError> {
    let of = |error| OpenError::of(path, error);
    let pragma = |name: &str| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(of);
    let foreign = |found: String| OpenError::Foreign { path: path.to_owned(), found };
    let found = pragma("user_version")?;
    match pragma("application_id")? {
        APPLICATION_ID => {}
        0 => {
            let object = db
                .query_row("SELECT name FROM sqlite_schema LIMIT 1", (), |row| row.get::<_, String>(0))
                .optional()
                .map_err(of)?;
            match object {
                Some(object) => {
                    return Err(foreign(format!("it holds a table or index '{object}' of something else")));
                }
                None if found != 0 => {
                    return Err(foreign(format!("it is marked with version {found} of something else")));
                }
                None => return Ok(0),
            }
        }
        other => return Err(foreign(format!("it is marked as belonging to application {other:#x}"))),
    }
    if found > KNOWN {
        return Err(OpenError::Newer { path: path.to_owned(), found, known: KNOWN });
    }
    Ok(found)
}

/// The migrations that a file of `version` lacks.
pub(crate) fn pending(version: i64) -> &'static [Migration] {
    migrations::pending(MIGRATIONS, version)
}

/// Migrates the file to the version of this release. No migration may change the content of a row of `contact`.
pub(crate) fn migrate(db: &mut Connection, path: &Path) -> Result<(), OpenError> {
    let of = |error| OpenError::of(path, error);
    for next in pending(version(db, path)?) {
        let step = db.transaction_with_behavior(TransactionBehavior::Exclusive).map_err(of)?;
        step.execute_batch(next.sql).map_err(of)?;
        if next.version == AUDIT_CHAIN {
            crate::audit_chain::begin_chains(&step).map_err(|error| OpenError::of_migration(path, error))?;
        }
        step.pragma_update(None, "application_id", APPLICATION_ID).map_err(of)?;
        step.pragma_update(None, "user_version", next.version).map_err(of)?;
        step.commit().map_err(of)?;
        tracing::info!(version = next.version, name = next.name, "migrated the database");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_count_from_one() {
        migrations::assert_numbered(MIGRATIONS);
    }
}
