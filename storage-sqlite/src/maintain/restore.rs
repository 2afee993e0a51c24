//! Putting a backup in place.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::backup::copy;
use super::refuse_damage;
use crate::connect::{self, Sharing};
use crate::error::{OpenError, is_busy};
use crate::{SqliteConfig, SqliteStorage, migrate};

impl SqliteStorage {
    /// Puts a copy of the backup `from` in the place of the store that `config` names, which need not exist. Nothing is
    /// replaced before the copy was found to be whole and of a known version, and until then, and if the process ends at
    /// any moment, the old store stays as it is. An older version is brought up to date at the next open.
    ///
    /// `progress` is told the bytes copied and the bytes in all.
    ///
    /// # Errors
    /// When a process has the store open, when `from` is no backup of this service, is damaged or of a newer release, and
    /// when the folder of the store cannot be written or is full.
    pub fn restore(
        from: &Path,
        config: &SqliteConfig,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<(), OpenError> {
        let source = open_backup(from)?;
        let to = &config.path;
        connect::make_folder(to)?;
        let lock = connect::lock(to, Sharing::Exclusive)?;
        let old = exclusive(to)?;
        let copied = connect::beside(to, ".restoring");
        let replaced = copy(&source, from, &copied, &mut progress).and_then(|()| {
            // The old file with its log in it is closed only now, so that its log is gone before its name is another's.
            drop(old);
            for suffix in ["-wal", "-shm"] {
                let _ = std::fs::remove_file(connect::beside(to, suffix));
            }
            std::fs::rename(&copied, to).map_err(|source| OpenError::File { path: to.clone(), source })?;
            connect::sync_folder(to)
        });
        if replaced.is_err() {
            let _ = std::fs::remove_file(&copied);
        }
        drop(lock);
        replaced
    }
}

/// Opens a backup and refuses what is none.
fn open_backup(from: &Path) -> Result<Connection, OpenError> {
    // SQLite would say no more than that it cannot open it.
    std::fs::File::open(from).map_err(|source| OpenError::File { path: from.to_owned(), source })?;
    let of = |error| OpenError::of(from, error);
    let db = connect::bare(from, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(of)?;
    if migrate::version(&db, from)? == 0 {
        return Err(OpenError::Foreign { path: from.to_owned(), found: "it is empty".to_owned() });
    }
    refuse_damage(&db, from)?;
    Ok(db)
}

/// Makes sure that nobody uses the store, even a program that knows nothing of the lock beside it, and moves its log into
/// the file. A store that is not there or damaged is in nobody's use.
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
