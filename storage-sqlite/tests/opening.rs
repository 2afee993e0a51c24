//! Opening: what the store creates, what it refuses, and the error texts.

mod support;

use std::path::PathBuf;

use rusqlite::Connection;
use storage_sqlite::{OpenError, Ownership, SqliteConfig, SqliteStorage};
use support::{Folder, agent_id, insert_agent};

fn open(path: PathBuf) -> Result<SqliteStorage, OpenError> {
    let mut config = SqliteConfig::new(path);
    config.busy_timeout = std::time::Duration::from_millis(100);
    SqliteStorage::open(config)
}

#[test]
fn folder_and_file_are_made_for_their_owner_alone() {
    let folder = Folder::new();
    let path = folder.path().join("data/deep/openapi.db");
    let store = open(path.clone()).unwrap();
    insert_agent(&store, &agent_id("a"));
    #[cfg(unix)]
    for (name, mode) in [
        ("data/deep", 0o700),
        ("data/deep/openapi.db", 0o600),
        ("data/deep/openapi.db-wal", 0o600),
        ("data/deep/openapi.db-owner", 0o600),
    ] {
        let permissions = std::fs::metadata(folder.path().join(name)).unwrap().permissions();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&permissions) & 0o777, mode, "{name}");
    }
    assert_eq!(SqliteStorage::pending_migrations(store.config()).unwrap(), []);
    drop(store);
    let absent = SqliteConfig::new(folder.path().join("absent.db"));
    assert!(!SqliteStorage::pending_migrations(&absent).unwrap().is_empty());
    assert!(!absent.path.exists());
}

#[test]
fn files_of_something_else_are_left_alone() {
    let folder = Folder::new();
    let path = folder.path().join("other.db");
    for (what, sql) in [
        ("a table", "CREATE TABLE t (x)"),
        ("a version", "PRAGMA user_version = 3"),
        ("an application", "PRAGMA application_id = 7"),
    ] {
        let _ = std::fs::remove_file(&path);
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let before = std::fs::read(&path).unwrap();
        let error = open(path.clone()).unwrap_err();
        assert!(matches!(error, OpenError::Foreign { .. }), "{what}: {error}");
        assert!(error.to_string().contains("name another file"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), before, "{what}");
    }
    std::fs::write(&path, "text, and no database, of some length".repeat(50)).unwrap();
    assert!(matches!(open(path), Err(OpenError::Foreign { .. })));
}

#[test]
fn a_newer_schema_is_refused() {
    let folder = Folder::new();
    drop(folder.open());
    Connection::open(folder.database()).unwrap().execute_batch("PRAGMA user_version = 1000").unwrap();
    let error = open(folder.database()).unwrap_err();
    assert!(matches!(error, OpenError::Newer { found: 1000, .. }), "{error}");
    assert!(error.to_string().contains("schema version 1000"), "{error}");
}

#[test]
fn damage_is_reported() {
    let folder = Folder::new();
    drop(folder.open());
    let mut file = std::fs::read(folder.database()).unwrap();
    // The page of the schema, but for the header of the file.
    file[100..4096].fill(0xa5);
    std::fs::write(folder.database(), file).unwrap();
    let error = open(folder.database()).unwrap_err();
    assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("restore"), "{error}");
}

#[test]
fn a_folder_instead_of_the_file_is_reported() {
    let folder = Folder::new();
    let error = open(folder.path().to_owned()).unwrap_err();
    assert!(matches!(error, OpenError::File { .. }), "{error}");
    std::fs::write(folder.path().join("file"), "").unwrap();
    let error = open(folder.path().join("file/openapi.db")).unwrap_err();
    assert!(matches!(error, OpenError::Folder { .. }), "{error}");
}

#[test]
fn a_locked_file_is_reported() {
    let folder = Folder::new();
    drop(folder.open());
    let other = Connection::open(folder.database()).unwrap();
    other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
    let error = open(folder.database()).unwrap_err();
    assert!(matches!(error, OpenError::Locked { .. }), "{error}");
    other.execute_batch("COMMIT; PRAGMA locking_mode = NORMAL; SELECT 1 FROM agent").unwrap();
    drop(other);
    open(folder.database()).unwrap();
}

#[test]
fn a_second_process_learns_who_owns_the_file() {
    let folder = Folder::new();
    let store = folder.open();
    let description = std::fs::read_to_string(folder.path().join("openapi.db-owner")).unwrap();
    assert_eq!(description, format!("{}\n\n", std::process::id()));
    let error = open(folder.database()).unwrap_err();
    let OpenError::Owned { path, owner } = &error else { panic!("{error}") };
    assert_eq!((path.as_path(), owner.pid), (store.ownership().database(), Some(std::process::id())));
    assert!(owner.since.is_some() && owner.command.is_none(), "{owner:?}");
    let text = error.to_string();
    assert!(text.contains(&std::process::id().to_string()) && text.contains("or stop it"), "{text}");
    drop(store);
    // The description stays and means nothing: the lock decides.
    let ownership = Ownership::take(&folder.database(), "contacts import").unwrap();
    let error = open(folder.database()).unwrap_err().to_string();
    assert!(error.contains(" (contacts import) since "), "{error}");
    SqliteStorage::open_owned(SqliteConfig::new(folder.database()), ownership).unwrap();
    open(folder.database()).unwrap();
}

#[test]
fn one_of_several_openers_owns_the_file() {
    let folder = Folder::new();
    let stores: Vec<Result<SqliteStorage, OpenError>> = std::thread::scope(|scope| {
        let open: Vec<_> = (0..8).map(|_| scope.spawn(|| open(folder.database()))).collect();
        open.into_iter().map(|store| store.join().unwrap()).collect()
    });
    let (owners, refused): (Vec<_>, Vec<_>) = stores.into_iter().partition(Result::is_ok);
    assert_eq!(owners.len(), 1);
    for error in refused.into_iter().map(Result::unwrap_err) {
        assert!(matches!(error, OpenError::Owned { .. }), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn every_name_of_a_database_leads_to_one_owner() {
    let folder = Folder::new();
    let store = folder.open();
    std::os::unix::fs::symlink(folder.database(), folder.path().join("link.db")).unwrap();
    std::os::unix::fs::symlink(folder.path(), folder.path().join("folder")).unwrap();
    for name in ["link.db", "./openapi.db", "folder/openapi.db", "folder/link.db"] {
        let error = open(folder.path().join(name)).unwrap_err();
        assert!(matches!(error, OpenError::Owned { .. }), "{name}: {error}");
    }
    drop(store);
    open(folder.path().join("folder/link.db")).unwrap();
}

/// The owner of a file that does not exist yet is the owner of the file that it creates.
#[test]
fn a_file_is_owned_before_it_exists() {
    let folder = Folder::new();
    let ownership = Ownership::take(&folder.database(), "").unwrap();
    assert!(!folder.database().exists());
    assert!(matches!(open(folder.database()), Err(OpenError::Owned { .. })));
    assert!(!folder.database().exists());
    let store = SqliteStorage::open_owned(SqliteConfig::new(folder.database()), ownership).unwrap();
    assert!(matches!(open(folder.database()), Err(OpenError::Owned { .. })));
    drop(store);
}
