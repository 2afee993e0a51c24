//! Opening: the folder, the file, and connections with the same settings.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::config::SqliteConfig;
use crate::error::OpenError;
use crate::migrate;

/// How long a reading connection waits for a lock. In WAL mode a reader waits only while the log is recovered or removed.
/// The timeout is short because reads may run on the threads of the host's executor.
const READ_TIMEOUT: Duration = Duration::from_millis(500);

/// The length of the log, in pages, at which it is checkpointed: 64 MiB. Rare checkpoints make writes cheap, because a page
/// that changes often is copied once; a start after a crash reads the log once.
pub(crate) const CHECKPOINT_PAGES: u32 = 16_384;

/// The most prepared statements that a connection caches.
const STATEMENTS: usize = 96;

/// `path` with `suffix` appended to its last component, as SQLite names its own files.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Opens a file that only its owner may read, and creates it if it does not exist.
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    private(OpenOptions::new().create(true).truncate(false).read(true).write(true)).open(path)
}

/// Creates the folder of `path`, readable by its owner only, unless it exists. A new folder survives a power cut.
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

/// Syncs the folder of `path`, which makes changes of the names in it durable.
pub(crate) fn sync_folder(path: &Path) -> Result<(), OpenError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // A folder that is writable but not readable cannot be opened, and some systems cannot open any.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        synced => synced.map_err(|source| OpenError::Folder { folder: folder.to_owned(), source }),
    }
}

/// Creates an empty file, readable by its owner only, unless it exists.
pub(crate) fn make_file(path: &Path) -> Result<(), OpenError> {
    private_file(path).map(drop).map_err(|source| match source.kind() {
        io::ErrorKind::ReadOnlyFilesystem => OpenError::ReadOnly { path: path.to_owned() },
        io::ErrorKind::StorageFull => OpenError::Full { path: path.to_owned() },
        _ => OpenError::File { path: path.to_owned(), source },
    })
}

/// Opens a connection without changing any setting. The file must exist.
pub(crate) fn bare(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    // Only one thread at a time uses a connection, so SQLite's own mutexes are unnecessary.
    let db = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    #[cfg(test)]
    let db = crate::tests::statements::remembering(db, path);
    Ok(db)
}

fn settings(db: &Connection, config: &SqliteConfig, cache_kib: u32) -> rusqlite::Result<()> {
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    // Otherwise SQLite prepares a statement again whenever other values are bound to it.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.pragma_update(None, "foreign_keys", true)?;
    // Where the database cannot be written, temporary files may have no folder either.
    db.pragma_update(None, "temp_store", if config.is_read_only { "MEMORY" } else { "FILE" })?;
    db.pragma_update(None, "cache_size", -i64::from(cache_kib))?;
    db.pragma_update(None, "mmap_size", i64::from(config.mapped_mib) << 20)?;
    db.pragma_update(None, "trusted_schema", false)?;
    // Erased data does not stay readable in the file.
    db.pragma_update(None, "secure_delete", true)
}

/// Opens the connection that writes. Creates the file if it does not exist, and migrates its schema.
pub(crate) fn writer(config: &SqliteConfig) -> Result<Connection, OpenError> {
    let path = &config.path;
    let of = |error| OpenError::of(path, error);
    if config.is_read_only {
        return unwritable(config);
    }
    make_file(path)?;
    let mut db = bare(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(of)?;
    db.busy_timeout(config.busy_timeout).map_err(of)?;
    // SQLite silently opens a file that it may not write as read-only.
    if db.is_readonly("main").map_err(of)? {
        return Err(OpenError::ReadOnly { path: path.clone() });
    }
    migrate::version(&db, path)?;
    let mode: String =
        db.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0)).map_err(of)?;
    if mode != "wal" {
        return Err(OpenError::File {
            path: path.clone(),
            source: io::Error::other("its file system has no shared memory, which the write-ahead log needs"),
        });
    }
    settings(&db, config, config.write_cache_kib).map_err(of)?;
    // An acknowledged write is on disk: with NORMAL a power cut would lose the last ones.
    db.pragma_update(None, "synchronous", "FULL").map_err(of)?;
    #[cfg(test)]
    crate::tests::power_cuts::weaken(&db).map_err(of)?;
    db.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES).map_err(of)?;
    db.pragma_update(None, "journal_size_limit", i64::from(CHECKPOINT_PAGES) * 4_096).map_err(of)?;
    migrate::migrate(&mut db, path)?;
    // The log exists now. SQLite syncs the folder of a new log like data, and not every file system then makes the name
    // of the log durable.
    sync_folder(path)?;
    Ok(db)
}

/// Opens the connection that writes, to a file that cannot be written: it takes the place of one, and its writes fail.
fn unwritable(config: &SqliteConfig) -> Result<Connection, OpenError> {
    let path = &config.path;
    let db = immutable(config)?;
    if migrate::version(&db, path)? < migrate::KNOWN {
        let reason = "it has the schema of an older release";
        return Err(OpenError::NeedsWriting { path: path.clone(), reason });
    }
    settings(&db, config, config.write_cache_kib).map_err(|error| OpenError::of(path, error))?;
    Ok(db)
}

/// Opens a file that nobody changes, and whose log has nothing that it lacks.
pub(crate) fn immutable(config: &SqliteConfig) -> Result<Connection, OpenError> {
    let path = &config.path;
    if std::fs::metadata(with_suffix(path, "-wal")).is_ok_and(|log| log.len() > 0) {
        let reason = "the log next to it has writes that are not in it yet";
        return Err(OpenError::NeedsWriting { path: path.clone(), reason });
    }
    without_log(config).map_err(|error| OpenError::of(path, error))
}

/// SQLite needs neither locks nor the shared memory of the log of a file that nobody changes.
fn without_log(config: &SqliteConfig) -> rusqlite::Result<Connection> {
    let path = std::path::absolute(&config.path).unwrap_or_else(|_| config.path.clone());
    let mut uri = "file://".to_owned();
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'\\' if cfg!(windows) => uri.push('/'),
            b'/' | b'-' | b'_' | b'.' => uri.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    bare(Path::new(&uri), OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI)
}

/// Opens a connection that reads.
pub(crate) fn reader(config: &SqliteConfig) -> rusqlite::Result<Connection> {
    if config.is_read_only {
        let db = without_log(config)?;
        settings(&db, config, config.read_cache_kib)?;
        return Ok(db);
    }
    // Read-write, because a reader of the log may be the first to make its shared memory.
    let db = bare(&config.path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    db.busy_timeout(READ_TIMEOUT)?;
    settings(&db, config, config.read_cache_kib)?;
    db.pragma_update(None, "query_only", true)?;
    Ok(db)
}
