//! Opening: the folder, the file, the lock beside it, and connections set up alike.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::config::SqliteConfig;
use crate::error::{OpenError, is_busy};
use crate::migrate;

/// How long a reading connection waits for a lock. In WAL mode readers wait for nobody but a process that recovers or
/// removes the log, so that this is short: the reads of a server may run on the threads of its executor.
const READ_TIMEOUT: Duration = Duration::from_millis(500);

/// How long a start waits before it asks again for what SQLite does not wait for itself.
const PAUSE: Duration = Duration::from_millis(5);

/// How many pages of log are written before they are moved into the file: 64 MiB. Few moves make writes cheap, since a
/// page that changes often is moved once; a start after a crash reads the log once.
pub(crate) const CHECKPOINT_PAGES: u32 = 16_384;

/// How many prepared statements a connection keeps.
const STATEMENTS: usize = 96;

/// The lock that every process holds while it uses the file: shared by those that read and write it, exclusive for one
/// that puts another file in its place.
#[derive(Debug)]
pub(crate) struct FileLock {
    _file: File,
}

/// Whether others may hold the lock as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    Shared,
    Exclusive,
}

/// `path` with `suffix` behind its last component, as SQLite names the files beside its own.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Opens a file that only its owner may read, and makes it if it is not there.
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    private(OpenOptions::new().create(true).truncate(false).read(true).write(true)).open(path)
}

/// Makes the folder of `path`, readable by its owner only, unless it is there. What is made stays after a power cut.
pub(crate) fn make_folder(path: &Path) -> Result<(), OpenError> {
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return Ok(()) };
    let failed = |source| OpenError::Folder { folder: folder.to_owned(), source };
    #[cfg(unix)]
    let missing: Vec<&Path> = folder
        .ancestors()
        .take_while(|ancestor| !ancestor.as_os_str().is_empty() && !ancestor.exists())
        .collect();
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(failed)?;
    #[cfg(unix)]
    for made in missing {
        sync_folder(made)?;
    }
    Ok(())
}

/// Makes what happened to the names in the folder of `path` durable.
pub(crate) fn sync_folder(path: &Path) -> Result<(), OpenError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // A folder that may be written and not listed cannot be opened, nor can any on some systems.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        synced => synced.map_err(|source| OpenError::Folder { folder: folder.to_owned(), source }),
    }
}

/// Takes the lock of the database at `path`.
pub(crate) fn lock(path: &Path, sharing: Sharing) -> Result<FileLock, OpenError> {
    let name = beside(path, "-lock");
    let file = private_file(&name).map_err(|source| OpenError::File { path: name.clone(), source })?;
    let taken = match sharing {
        Sharing::Shared => file.try_lock_shared(),
        Sharing::Exclusive => file.try_lock(),
    };
    match taken {
        Ok(()) => Ok(FileLock { _file: file }),
        Err(TryLockError::WouldBlock) => Err(OpenError::Locked {
            path: path.to_owned(),
            reason: match sharing {
                Sharing::Shared => "it is putting a backup in place; try again when it has finished",
                Sharing::Exclusive => "a server or another command has it open; stop it first",
            },
        }),
        // Some network file systems know no locks; SQLite's own then are all there is.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
            Ok(FileLock { _file: file })
        }
        Err(TryLockError::Error(source)) => Err(OpenError::File { path: name, source }),
    }
}

/// Makes an empty file, readable by its owner only, unless there is one.
pub(crate) fn make_file(path: &Path) -> Result<(), OpenError> {
    private_file(path).map(drop).map_err(|source| match source.kind() {
        io::ErrorKind::ReadOnlyFilesystem => OpenError::ReadOnly { path: path.to_owned() },
        io::ErrorKind::StorageFull => OpenError::Full { path: path.to_owned() },
        _ => OpenError::File { path: path.to_owned(), source },
    })
}

/// Opens without setting anything. The file must be there.
pub(crate) fn bare(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    // Each connection is used by one thread at a time, so that SQLite's own mutexes are not needed.
    let db = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    #[cfg(test)]
    let db = crate::tests::statements::remembering(db, path);
    Ok(db)
}

fn settings(db: &Connection, config: &SqliteConfig, cache_kib: u32) -> rusqlite::Result<()> {
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    // Without it SQLite prepares a statement anew each time other values are bound to it, in the hope of a better plan.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.pragma_update(None, "foreign_keys", true)?;
    db.pragma_update(None, "temp_store", "FILE")?;
    db.pragma_update(None, "cache_size", -i64::from(cache_kib))?;
    db.pragma_update(None, "mmap_size", i64::from(config.mapped_mib) << 20)?;
    db.pragma_update(None, "trusted_schema", false)?;
    // Nothing that was erased stays readable in the file.
    db.pragma_update(None, "secure_delete", true)
}

/// Turns the write-ahead log on, and tells the mode that the file is in now. Of several processes that start at once on a
/// new or restored file one turns it on; SQLite refuses the others without its busy timeout, because they hold a read lock
/// by then, so that they wait here.
#[expect(clippy::disallowed_methods, reason = "a span of this machine's time, of which no caller learns")]
fn write_ahead(db: &Connection, patience: Duration) -> rusqlite::Result<String> {
    // By the clock: where SQLite does wait, an attempt takes long itself.
    let start = Instant::now();
    loop {
        match db.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0)) {
            Err(error) if is_busy(&error) && start.elapsed() < patience => std::thread::sleep(PAUSE),
            turned => return turned,
        }
    }
}

/// Opens the connection that writes, makes the file if needed and brings its schema to this release's version.
pub(crate) fn writer(config: &SqliteConfig) -> Result<Connection, OpenError> {
    let path = &config.path;
    let of = |error| OpenError::of(path, error);
    make_file(path)?;
    let mut db = bare(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(of)?;
    db.busy_timeout(config.busy_timeout).map_err(of)?;
    // SQLite opens a file that it may not write for reading alone.
    if db.is_readonly("main").map_err(of)? {
        return Err(OpenError::ReadOnly { path: path.clone() });
    }
    migrate::version(&db, path)?;
    let mode = write_ahead(&db, config.busy_timeout).map_err(of)?;
    if mode != "wal" {
        return Err(OpenError::File {
            path: path.clone(),
            source: io::Error::other("its file system has no shared memory, which the write-ahead log needs"),
        });
    }
    settings(&db, config, config.write_cache_kib).map_err(of)?;
    // An acknowledged write is on disk: with NORMAL a power cut takes the last ones.
    db.pragma_update(None, "synchronous", "FULL").map_err(of)?;
    #[cfg(test)]
    crate::tests::power_cuts::weaken(&db).map_err(of)?;
    db.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES).map_err(of)?;
    db.pragma_update(None, "journal_size_limit", i64::from(CHECKPOINT_PAGES) * 4_096).map_err(of)?;
    migrate::migrate(&mut db, path)?;
    // The log is there by now. SQLite syncs the folder of a new one as it syncs data, and not every file system then
    // makes its name durable.
    sync_folder(path)?;
    Ok(db)
}

/// Opens a connection that reads.
pub(crate) fn reader(config: &SqliteConfig) -> rusqlite::Result<Connection> {
    // Read-write, because a reader of the log may be the first to make its shared memory.
    let db = bare(&config.path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    db.busy_timeout(READ_TIMEOUT)?;
    settings(&db, config, config.read_cache_kib)?;
    db.pragma_update(None, "query_only", true)?;
    Ok(db)
}
