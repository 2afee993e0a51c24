//! Restore: replaces the store with a backup.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::backup::copy;
use super::refuse_damage;
use crate::connect;
use crate::error::{OpenError, is_busy};
use crate::migrate;
use crate::ownership::Ownership;
use crate::store::SqliteStorage;

impl SqliteStorage {
    /// Replaces the store that this process owns, which need not exist, with a copy of the backup `from`. The copy is
    /// checked before anything is replaced. Until then, and if the process ends at any moment, the old store is
    /// unchanged. The next open migrates an older version.
    ///
    /// `progress` gets the copied bytes and the total.
    ///
    /// # Errors
    /// When another program has the store open, when `from` is no backup of this service, is damaged or of a newer release, and
    /// when the folder of the store cannot be written or is full.
    pub fn restore(
        from: &Path,
        ownership: &Ownership,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<(), OpenError> {
        let source = open_backup(from)?;
        // The canonical name: a link to the database stays a link.
        let to = ownership.database();
        let old = exclusive(to)?;
        let copied = connect::with_suffix(to, ".restoring");
        let replaced = copy(&source, from, &copied, &mut progress).and_then(|()| {
            // The old file with its log is closed only now, so that its log is removed before another file takes its
            // name.
            drop(old);
            for suffix in ["-wal", "-shm"] {
                let _ = std::fs::remove_file(connect::with_suffix(to, suffix));
            }
            std::fs::rename(&copied, to).map_err(|source| OpenError::File { path: to.to_owned(), source })?;
            connect::sync_folder(to)
        });
        if replaced.is_err() {
            let _ = std::fs::remove_file(&copied);
        }
        replaced
    }
}

/// Opens a backup. Refuses any other file.
fn open_backup(from: &Path) -> Result<Connection, OpenError> {
    // SQLite's own error says only that it cannot open the file.
    std::fs::File::open(from).map_err(|source| OpenError::File { path: from.to_owned(), source })?;
    let of = |error| OpenError::of(from, error);
    let db = connect::bare(from, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(of)?;
    if migrate::version(&db, from)? == 0 {
        return Err(OpenError::Foreign { path: from.to_owned(), found: "it is empty".to_owned() });
    }
    refuse_damage(&db, from)?;
    Ok(db)
}

/// Excludes programs that do not respect ownership, and moves the log into the file. An absent or damaged store has no
/// users.
fn exclusive(path: &Path) -> Result<Option<Connection>, OpenError> {
    let Ok(db) = connect::bare(path, OpenFlags::SQLITE_OPEN_READ_WRITE) else { return Ok(None) };
    let locked = db.busy_timeout(Duration::from_millis(200)).and_then(|()| {
        db.execute_batch(
            "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT; PRAGMA wal_checkpoint(TRUNCATE)",
        )
    });
    match locked {
        Ok(()) => Ok(Some(db)),
        Err(error) if is_busy(&error) => Err(OpenError::Locked {
            path: path.to_owned(),
            reason: "a server or another program has it open; stop it first",
        }),
        Err(_) => Ok(None),
    }
}
