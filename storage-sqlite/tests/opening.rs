//! Opening: what is made, what is refused, and with which words.

mod support;

use std::path::PathBuf;

use rusqlite::Connection;
use storage_sqlite::{OpenError, SqliteConfig, SqliteStorage};
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
    for (name, mode) in
        [("data/deep", 0o700), ("data/deep/openapi.db", 0o600), ("data/deep/openapi.db-wal", 0o600)]
    {
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
fn damage_is_told() {
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
fn a_folder_in_the_place_of_the_file_is_told() {
    let folder = Folder::new();
    let error = open(folder.path().to_owned()).unwrap_err();
    assert!(matches!(error, OpenError::File { .. }), "{error}");
    std::fs::write(folder.path().join("file"), "").unwrap();
    let error = open(folder.path().join("file/openapi.db")).unwrap_err();
    assert!(matches!(error, OpenError::Folder { .. }), "{error}");
}

#[test]
fn a_locked_file_is_told() {
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
fn a_start_waits_for_another_that_makes_the_file() {
    let folder = Folder::new();
    let other = Connection::open(folder.database()).unwrap();
    // What the other does while it turns the write-ahead log on. SQLite's busy timeout does not cover it.
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::scope(|scope| {
        let store = scope.spawn(|| folder.open());
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(!store.is_finished());
        other.execute_batch("COMMIT").unwrap();
        store.join().unwrap();
    });
    // It does not wait for ever.
    let folder = Folder::new();
    let other = Connection::open(folder.database()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = open(folder.database()).unwrap_err();
    assert!(matches!(error, OpenError::Locked { .. }), "{error}");
}

#[test]
fn several_processes_may_start_at_once() {
    let folder = Folder::new();
    let stores: Vec<SqliteStorage> = std::thread::scope(|scope| {
        let open: Vec<_> = (0..8).map(|_| scope.spawn(|| folder.open())).collect();
        open.into_iter().map(|store| store.join().unwrap()).collect()
    });
    insert_agent(&stores[3], &agent_id("a"));
    for store in &stores {
        assert!(
            support::wait(openapi_core::storage::AgentStore::agent(store, &agent_id("a"))).unwrap().is_some()
        );
    }
}
