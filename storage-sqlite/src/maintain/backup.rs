//! Backups: a copy of the whole store in one file, made while the store is in use.

use std::path::{Path, PathBuf};

use rusqlite::backup::{Backup as Copying, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::{refuse_damage, sync_file};
use crate::error::OpenError;
use crate::store::SqliteStorage;
use crate::{connect, migrate};

/// The pages copied between two reports of progress: 16 MiB.
const STEP_PAGES: i32 = 4_096;

/// A finished backup.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backup {
    /// The file.
    pub path: PathBuf,
    /// Its length in bytes.
    pub bytes: u64,
}

impl SqliteStorage {
    /// Writes a copy of the store to `to`: its state at one instant, while reads and writes continue. The copy is one
    /// file, readable by its owner only. It is checked completely and is on disk before it gets its name, so a file
    /// under that name is always a complete backup. `progress` gets the copied bytes and the total.
    ///
    /// # Errors
    /// When `to` exists, its folder cannot be written or is full, or the copy is damaged.
    pub fn backup(&self, to: &Path, mut progress: impl FnMut(u64, u64)) -> Result<Backup, OpenError> {
        if to.exists() {
            return Err(OpenError::Exists { path: to.to_owned() });
        }
        let source =
            connect::reader(&self.config).map_err(|error| OpenError::of(&self.config.path, error))?;
        let partial = connect::with_suffix(to, ".partial");
        let bytes = copy(&source, &self.config.path, &partial, &mut progress).and_then(|()| {
            // Not a rename, which would replace a file that has appeared there meanwhile.
            std::fs::hard_link(&partial, to).map_err(|error| match error.kind() {
                std::io::ErrorKind::AlreadyExists => OpenError::Exists { path: to.to_owned() },
                _ => OpenError::File { path: to.to_owned(), source: error },
            })?;
            connect::sync_folder(to)?;
            let file = std::fs::metadata(to);
            file.map(|file| file.len()).map_err(|source| OpenError::File { path: to.to_owned(), source })
        });
        let _ = std::fs::remove_file(&partial);
        Ok(Backup { path: to.to_owned(), bytes: bytes? })
    }
}

/// Copies a database into a new file at `to`, checks the copy and makes it durable.
pub(super) fn copy(
    source: &Connection,
    source_path: &Path,
    to: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), OpenError> {
    let of = |error| OpenError::of(to, error);
    let from = |error| OpenError::of(source_path, error);
    match std::fs::remove_file(to) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            return Err(OpenError::File { path: to.to_owned(), source });
        }
        _ => {}
    }
    connect::make_file(to)?;
    let mut copy = connect::bare(to, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(of)?;
    // The whole file is synced once at the end; nothing uses it before.
    copy.pragma_update(None, "synchronous", "OFF").map_err(of)?;
    // A read transaction holds the source at one state while others write.
    source.execute_batch("BEGIN; SELECT 1 FROM sqlite_schema LIMIT 1").map_err(from)?;
    {
        let copying = Copying::new(source, &mut copy).map_err(of)?;
        loop {
            let step = copying.step(STEP_PAGES).map_err(of)?;
            let pages = copying.progress();
            let bytes = |count: i32| u64::try_from(count).unwrap_or(0) * 4_096;
            progress(bytes(pages.pagecount - pages.remaining), bytes(pages.pagecount));
            match step {
                StepResult::Done => break,
                StepResult::More => {}
                _ => {
                    return Err(OpenError::Locked {
                        path: to.to_owned(),
                        reason: "it is being copied to at the same time",
                    });
                }
            }
        }
    }
    source.execute_batch("COMMIT").map_err(from)?;
    // One file, without a log.
    copy.pragma_update(None, "journal_mode", "DELETE").map_err(of)?;
    migrate::version(&copy, to)?;
    refuse_damage(&copy, to)?;
    copy.close().map_err(|(_, error)| of(error))?;
    sync_file(to)
}
