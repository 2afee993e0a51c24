//! The writer: one commit for many writes, each with its own outcome, even if one of them fails.

use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc;
use std::task::{Context, Waker};
use std::time::Duration;

use openapi_core::contacts::ContactRef;
use openapi_core::storage::{ContactStore, HealthProbe, StorageErrorKind};
use rusqlite::Connection;

use super::support::{Folder, agent_id, contact, contact_id, insert, insert_agent, wait, write};
use crate::error::Result;
use crate::{SqliteConfig, SqliteStorage};

type Writing<'a, T> = Pin<Box<dyn Future<Output = openapi_core::storage::Result<T>> + 'a>>;

/// Queues a write without waiting for it.
fn queue<'a, T: Send + 'static>(
    store: &'a SqliteStorage,
    work: impl FnMut(&Connection) -> Result<T> + Send + 'static,
) -> Writing<'a, T> {
    let mut writing: Writing<'a, T> = Box::pin(store.writer.write(work));
    assert!(writing.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    writing
}

/// Keeps the writer busy until the sender sends or goes away.
fn hold(store: &SqliteStorage) -> (mpsc::Sender<()>, Writing<'_, ()>) {
    let (release, released) = mpsc::channel();
    let (begin, begun) = mpsc::channel();
    let holding = queue(store, move |_| {
        let _ = begin.send(());
        let _ = released.recv();
        Ok(())
    });
    begun.recv().unwrap();
    (release, holding)
}

fn note(db: &Connection, number: i64) -> Result<()> {
    db.execute("INSERT INTO note (number) VALUES (?1)", [number])?;
    Ok(())
}

fn store_with_notes(folder: &Folder) -> SqliteStorage {
    let store = folder.open();
    wait(store.writer.write(|db| Ok(db.execute_batch("CREATE TABLE note (number INTEGER PRIMARY KEY)")?)))
        .unwrap();
    store
}

fn notes(folder: &Folder) -> Vec<i64> {
    let db = Connection::open(folder.database()).unwrap();
    let mut statement = db.prepare("SELECT number FROM note ORDER BY number").unwrap();
    statement.query_map((), |row| row.get(0)).unwrap().map(std::result::Result::unwrap).collect()
}

#[test]
fn writes_that_wait_share_a_commit() {
    let folder = Folder::new();
    let store = store_with_notes(&folder);
    let (release, holding) = hold(&store);
    let mut writings: Vec<_> = (0..50).map(|number| queue(&store, move |db| note(db, number))).collect();
    let (release_last, released_last) = mpsc::channel::<()>();
    let (begin, begun) = mpsc::channel();
    let last = queue(&store, move |db| {
        let _ = begin.send(());
        let _ = released_last.recv();
        note(db, 50)
    });
    drop(release);
    wait(holding).unwrap();
    begun.recv().unwrap();
    // The fifty have run and are not committed: they are invisible and not acknowledged.
    assert!(notes(&folder).is_empty());
    for writing in &mut writings {
        assert!(writing.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    drop(release_last);
    wait(last).unwrap();
    assert_eq!(notes(&folder).len(), 51);
    for writing in writings {
        wait(writing).unwrap();
    }
}

#[test]
fn a_failure_or_panic_costs_nobody_else_anything() {
    for batch in [256, 1] {
        let folder = Folder::new();
        drop(store_with_notes(&folder));
        let store =
            SqliteStorage::open(SqliteConfig { write_batch: batch, ..SqliteConfig::new(folder.database()) })
                .unwrap();
        let (release, holding) = hold(&store);
        let good: Vec<_> = (0..10).map(|number| queue(&store, move |db| note(db, number))).collect();
        let refused = queue(&store, |_| Err::<(), _>(StorageErrorKind::Stale.into()));
        let failed = queue(&store, |db| {
            note(db, 100)?;
            Err::<(), _>(StorageErrorKind::Missing.into())
        });
        let invalid = queue(&store, |db| {
            note(db, 101)?;
            Ok(db.execute_batch("INSERT INTO nowhere VALUES (1)")?)
        });
        let panicked = queue(&store, |db| -> Result<()> {
            note(db, 102)?;
            panic!("planted");
        });
        let more: Vec<_> = (10..20).map(|number| queue(&store, move |db| note(db, number))).collect();
        drop(release);
        wait(holding).unwrap();
        for writing in good.into_iter().chain(more) {
            wait(writing).unwrap();
        }
        assert_eq!(wait(refused).unwrap_err().kind, StorageErrorKind::Stale);
        assert_eq!(wait(failed).unwrap_err().kind, StorageErrorKind::Missing);
        assert_eq!(wait(invalid).unwrap_err().kind, StorageErrorKind::Internal);
        let panic = wait(panicked).unwrap_err();
        assert_eq!(panic.kind, StorageErrorKind::Internal);
        assert!(panic.source.unwrap().to_string().contains("planted"));
        assert_eq!(notes(&folder), (0..20).collect::<Vec<_>>());
    }
}

#[test]
fn a_write_whose_future_is_dropped_before_its_turn_is_not_done() {
    let folder = Folder::new();
    let store = store_with_notes(&folder);
    let (release, holding) = hold(&store);
    drop(queue(&store, |db| note(db, 1)));
    let accepted = queue(&store, |db| note(db, 2));
    drop(release);
    wait(holding).unwrap();
    wait(accepted).unwrap();
    assert_eq!(notes(&folder), [2]);
}

#[test]
fn a_full_queue_refuses_at_once_and_works_again() {
    let folder = Folder::new();
    drop(store_with_notes(&folder));
    let store =
        SqliteStorage::open(SqliteConfig { write_queue: 3, ..SqliteConfig::new(folder.database()) }).unwrap();
    let (release, holding) = hold(&store);
    let waiting: Vec<_> = (0..3).map(|number| queue(&store, move |db| note(db, number))).collect();
    let refused = wait(store.writer.write(|db| note(db, 3))).unwrap_err();
    assert_eq!(refused.kind, StorageErrorKind::Unavailable);
    assert_eq!(wait(store.probe()).unwrap_err().kind, StorageErrorKind::Unavailable);
    drop(release);
    wait(holding).unwrap();
    for writing in waiting {
        wait(writing).unwrap();
    }
    wait(store.writer.write(|db| note(db, 4))).unwrap();
    wait(store.probe()).unwrap();
    assert_eq!(notes(&folder), [0, 1, 2, 4]);
}

#[test]
fn closing_waits_for_what_was_accepted() {
    let folder = Folder::new();
    let store = store_with_notes(&folder);
    let agent = agent_id("a");
    let schema = insert_agent(&store, &agent);
    let (release, holding) = hold(&store);
    let writing: Vec<_> = (0..20).map(|number| queue(&store, move |db| note(db, number))).collect();
    drop(release);
    drop(holding);
    // The futures stay alive beyond the store's last use; the store is dropped with them still waiting.
    let outcomes: Vec<_> = writing.into_iter().map(wait).collect();
    assert!(outcomes.iter().all(std::result::Result::is_ok));
    insert(&store, &contact(&agent, 1), &schema);
    drop(store);
    assert_eq!(notes(&folder).len(), 20);
    // The search index is up to date in a file that was closed.
    let db = Connection::open(folder.database()).unwrap();
    let pending: i64 = db.query_row("SELECT count(*) FROM search_pending", (), |row| row.get(0)).unwrap();
    assert_eq!(pending, 0);
}

#[test]
fn a_full_disk_fails_writes_and_nothing_else() {
    let folder = Folder::new();
    let store = folder.open();
    let agent = agent_id("a");
    let schema = insert_agent(&store, &agent);
    insert(&store, &contact(&agent, 1), &schema);
    std::thread::sleep(Duration::from_millis(400));
    let limit = |pages: &'static str| {
        wait(
            store.writer.write(move |db| Ok(db.execute_batch(&format!("PRAGMA max_page_count = {pages}"))?)),
        )
        .unwrap();
    };
    // SQLite never goes below the value in the file.
    limit("1");
    let mut stored = Vec::new();
    let mut refused = Vec::new();
    for number in 2..400 {
        match wait(store.insert_contact(&agent, &write(&contact(&agent, number), &schema, number))) {
            Ok(()) => stored.push(number),
            Err(error) => {
                assert_eq!(error.kind, StorageErrorKind::Unavailable, "{error:?}");
                refused.push(number);
            }
        }
    }
    assert!(!refused.is_empty());
    let is_there =
        |number| wait(store.contact(&agent, &ContactRef::Id(contact_id(number)))).unwrap().is_some();
    assert!(is_there(1) && stored.iter().all(|number| is_there(*number)));
    assert!(!refused.iter().any(|number| is_there(*number)));
    limit("1000000");
    for number in refused {
        insert(&store, &contact(&agent, number), &schema);
    }
    wait(store.probe()).unwrap();
    assert_eq!(store.check().unwrap(), []);
    drop(store);
    assert_eq!(folder.open().size().unwrap().contacts, 399);
}

#[test]
fn a_write_waits_for_a_lock_of_another_program() {
    let folder = Folder::new();
    drop(store_with_notes(&folder));
    let config =
        SqliteConfig { busy_timeout: Duration::from_millis(300), ..SqliteConfig::new(folder.database()) };
    let store = SqliteStorage::open(config).unwrap();
    let other = Connection::open(folder.database()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(wait(store.writer.write(|db| note(db, 1))).unwrap_err().kind, StorageErrorKind::Unavailable);
    assert_eq!(wait(store.probe()).unwrap_err().kind, StorageErrorKind::Unavailable);
    let waiting = queue(&store, |db| note(db, 2));
    std::thread::sleep(Duration::from_millis(50));
    other.execute_batch("INSERT INTO note VALUES (3); COMMIT").unwrap();
    wait(waiting).unwrap();
    wait(store.probe()).unwrap();
    assert_eq!(notes(&folder), [2, 3]);
}

#[test]
fn writes_that_may_linger_wait_for_others_until_one_is_hurried() {
    let folder = Folder::new();
    drop(store_with_notes(&folder));
    let an_hour = Duration::from_secs(3_600);
    let store = SqliteStorage::open(SqliteConfig { linger: an_hour, ..SqliteConfig::new(folder.database()) })
        .unwrap();
    let mut lingering: Vec<Writing<'_, ()>> = Vec::new();
    for number in 0..3 {
        let mut writing: Writing<'_, ()> = Box::pin(store.writer.write_lingering(move |db| note(db, number)));
        assert!(writing.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        lingering.push(writing);
        std::thread::sleep(Duration::from_millis(10));
        assert!(notes(&folder).is_empty());
    }
    wait(store.writer.write(|db| note(db, 3))).unwrap();
    lingering.into_iter().for_each(|writing| wait(writing).unwrap());
    assert_eq!(notes(&folder), [0, 1, 2, 3]);
    // Closing does not wait for further writes. The caller of this write is gone, so it does not run.
    let mut last: Writing<'_, ()> = Box::pin(store.writer.write_lingering(|db| note(db, 4)));
    assert!(last.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(last);
    drop(store);
    assert_eq!(notes(&folder).last(), Some(&3));
}

#[test]
fn writes_that_linger_are_written_after_a_while_or_when_they_are_a_batch() {
    let folder = Folder::new();
    let store = store_with_notes(&folder);
    wait(store.writer.write_lingering(|db| note(db, 0))).unwrap();
    drop(store);
    let config = SqliteConfig {
        linger: Duration::from_secs(3_600),
        write_batch: 4,
        ..SqliteConfig::new(folder.database())
    };
    let store = SqliteStorage::open(config).unwrap();
    let writings: Vec<Writing<'_, ()>> = (1..=4)
        .map(|number| {
            let mut writing: Writing<'_, ()> =
                Box::pin(store.writer.write_lingering(move |db| note(db, number)));
            assert!(writing.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            writing
        })
        .collect();
    writings.into_iter().for_each(|writing| wait(writing).unwrap());
    assert_eq!(notes(&folder), [0, 1, 2, 3, 4]);
}

/// The log does not grow for ever: SQLite's own checkpoints are off on the writer's connection.
#[test]
fn the_log_is_moved_into_the_file_as_it_grows() {
    let folder = Folder::new();
    let store = folder.open();
    wait(store.writer.write(|db| Ok(db.execute_batch("CREATE TABLE large (bytes BLOB)")?))).unwrap();
    let log = crate::connect::with_suffix(&folder.database(), "-wal");
    let mut longest = 0;
    for _ in 0..40 {
        wait(store.writer.write(|db| {
            db.execute("INSERT INTO large VALUES (zeroblob(8 << 20))", ())?;
            db.execute("DELETE FROM large", ())?;
            Ok(())
        }))
        .unwrap();
        longest = longest.max(std::fs::metadata(&log).unwrap().len());
    }
    let limit = u64::from(crate::connect::CHECKPOINT_PAGES) * 4_096;
    assert!((limit..2 * limit).contains(&longest), "{longest} bytes");
}
