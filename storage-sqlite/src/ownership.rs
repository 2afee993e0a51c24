//! Ownership of a database file: an exclusive lock on the file `<database>-owner`, held by one process at a time.
//!
//! The system releases the lock when the process ends for any reason. The content of the file only describes the last
//! owner; the lock alone decides whether the database is owned. The file is never removed, because a process that waits
//! for the lock of a removed file would own nothing.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use openapi_core::values::Timestamp;

use crate::connect;
use crate::error::{OpenError, Owner};

/// The longest description of an owner that is read, in bytes.
const MAX_DESCRIPTION: u64 = 1_024;

/// The right to open a database file. At most one exists for a file at any time, across all processes.
#[derive(Debug)]
pub struct Ownership {
    database: PathBuf,
    /// Holds the lock. Closing the file releases it. A folder that cannot be written may have no such file.
    _file: Option<File>,
    is_read_only: bool,
}

impl Ownership {
    /// Takes the ownership of the database file at `path`, which need not exist. Its folder is created. `command`
    /// describes this process to others that want the file; it must contain no secret.
    ///
    /// # Errors
    /// [`OpenError::Owned`] when another process owns the file, or this one does already; other errors when the file
    /// next to the database cannot be created or locked.
    pub fn take(path: &Path, command: &str) -> Result<Self, OpenError> {
        connect::make_folder(path)?;
        let database = resolve(path)?;
        let name = connect::with_suffix(&database, "-owner");
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::ReadOnlyFilesystem => OpenError::ReadOnly { path: path.to_owned() },
            io::ErrorKind::StorageFull => OpenError::Full { path: path.to_owned() },
            _ => OpenError::File { path: name.clone(), source },
        };
        let mut file = connect::private_file(&name).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(OpenError::Owned { path: database, owner: describe(&mut file) });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let description = format!("{}\n{}\n", std::process::id(), command.replace('\n', " "));
        let written = file.set_len(0).and_then(|()| file.write_all(description.as_bytes()));
        if let Err(error) = written {
            // The owner must be able to start on a full disk, in order to free space.
            tracing::warn!(%error, "cannot describe the owner of the database file");
        }
        Ok(Ownership { database, _file: Some(file), is_read_only: false })
    }

    /// The same, for a process that also makes do with reading: where the file next to the database cannot be written,
    /// because the medium or the folder is read-only, the store is opened to be read. Nobody may change the database
    /// meanwhile.
    ///
    /// # Errors
    /// As [`Ownership::take`]; also when the file does not exist.
    pub fn take_for_reading(path: &Path, command: &str) -> Result<Self, OpenError> {
        let error = match Self::take(path, command) {
            Err(error) if path.is_file() && is_read_only(&error) => error,
            taken => return taken,
        };
        let database = resolve(path)?;
        let mut file = match File::open(connect::with_suffix(&database, "-owner")) {
            Ok(file) => file,
            Err(missing) if missing.kind() == io::ErrorKind::NotFound => {
                return Ok(Ownership { database, _file: None, is_read_only: true });
            }
            Err(_) => return Err(error),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(Ownership { database, _file: Some(file), is_read_only: true }),
            Err(TryLockError::WouldBlock) => {
                Err(OpenError::Owned { path: database, owner: describe(&mut file) })
            }
            Err(TryLockError::Error(_)) => Err(error),
        }
    }

    /// Whether the database can only be read.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// The canonical name of the database file.
    #[must_use]
    pub fn database(&self) -> &Path {
        &self.database
    }
}

/// Whether the file next to the database cannot be written.
fn is_read_only(error: &OpenError) -> bool {
    match error {
        OpenError::ReadOnly { .. } => true,
        OpenError::File { source, .. } => source.kind() == io::ErrorKind::PermissionDenied,
        _ => false,
    }
}

/// Reads the description of an owner. The time is that of the file, because this crate reads no clock.
fn describe(file: &mut File) -> Owner {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| Read::take(&mut *file, MAX_DESCRIPTION).read_to_string(&mut text));
    if read.is_err() {
        return Owner::default();
    }
    let mut lines = text.lines();
    let pid = lines.next().and_then(|line| line.parse().ok());
    let command = lines.next().filter(|line| !line.is_empty()).map(str::to_owned);
    let modified = file.metadata().and_then(|metadata| metadata.modified()).ok();
    let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let since = since.and_then(|time| i64::try_from(time.as_millis()).ok()).map(Timestamp::from_millis);
    Owner { pid, command, since: since.filter(|_| pid.is_some()) }
}

/// The canonical name of a database, without links and relative components. A file that does not exist yet has the name
/// that it will have.
fn resolve(path: &Path) -> Result<PathBuf, OpenError> {
    if let Ok(resolved) = std::fs::canonicalize(path) {
        return Ok(resolved);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let resolved = std::fs::canonicalize(folder)
        .map_err(|source| OpenError::Folder { folder: folder.to_owned(), source })?;
    Ok(resolved.join(path.file_name().map(OsString::from).unwrap_or_default()))
}
