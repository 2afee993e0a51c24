//! Credits and documents: what a check finds and what a repair fixes.
#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod support;

use openapi_core::storage::{
    CreditStore, CreditWrite, DocumentStore, Effects, FileStore, LedgerQuery, StorageErrorKind,
};
use openapi_core::values::ContactId;
use rusqlite::Connection;
use storage_sqlite::{FindingKind, SqliteStorage};
use support::{Folder, agent_id, at, extraction, insert_agent, wait};

/// A store with an account, an entry of its ledger and two documents.
fn filled(folder: &Folder) -> SqliteStorage {
    let store = folder.open();
    let agent = agent_id("a");
    insert_agent(&store, &agent);
    let (account, entry) = (Some(extraction::account()), Some(extraction::entry()));
    let write = CreditWrite { at: at(60), account, entry, document: None, effects: Effects::default() };
    wait(store.save_credits(&agent, &write)).unwrap();
    for number in 1..=2 {
        wait(store.save_credits(&agent, &extraction::keeping(number))).unwrap();
    }
    store
}

fn bytes(store: &SqliteStorage) -> u64 {
    let contact = ContactId::from_bytes([1; 12]);
    wait(store.file_usage(&agent_id("a"), contact)).unwrap().bytes_of_agent
}

#[test]
fn what_does_not_agree_is_found() {
    use FindingKind as F;
    for (sql, kind, words) in [
        ("UPDATE file_total SET bytes = bytes - 1", F::Counter, "bytes of files and documents"),
        ("DELETE FROM file_total", F::Counter, "bytes of files and documents"),
        ("DELETE FROM blob_purge", F::Reference, "never falls due"),
        ("UPDATE document SET stored_size = stored_size + 1", F::Record, "found as another one"),
        (
            "UPDATE document SET id = zeroblob(12) WHERE id = x'010101010101010101010101'",
            F::Record,
            "another",
        ),
        ("UPDATE document SET body = '{}'", F::Record, "a document of agent a"),
        ("UPDATE credit_account SET version = 2", F::Record, "another version"),
        ("UPDATE credit_account SET body = '[]'", F::Record, "the credits of agent a"),
        ("DELETE FROM credit_account", F::Credits, "has 0 credits, and its ledger adds up to 1000"),
        ("DELETE FROM credit_entry", F::Credits, "has 1000 credits, and its ledger adds up to 0"),
        (
            "UPDATE credit_account SET body = json_set(body, '$.topUp', 101)",
            F::Credits,
            "has 1001 credits, and its ledger adds up to 1000",
        ),
        ("UPDATE credit_entry SET at = at + 1", F::Record, "another time or id"),
        ("UPDATE credit_entry SET body = ''", F::Record, "an entry of the ledger of agent a"),
    ] {
        let folder = Folder::new();
        let store = filled(&folder);
        assert_eq!(store.check().unwrap(), []);
        drop(store);
        Connection::open(folder.database()).unwrap().execute_batch(sql).unwrap();
        let store = folder.open();
        let findings = store.check().unwrap();
        let is_found = findings.iter().any(|it| it.kind == kind && it.detail.contains(words));
        assert!(is_found, "{sql}: {findings:?}");
        wait(store.repair()).unwrap();
        let left = store.check().unwrap();
        assert_eq!(left.iter().any(|it| it.kind == kind), !kind.is_repairable(), "{sql}: {left:?}");
        if kind == F::Counter {
            assert_eq!(bytes(&store), 10_000_000_000, "{sql}");
        }
    }
}

#[test]
fn reading_broken_records_fails() {
    let folder = Folder::new();
    drop(filled(&folder));
    let sql = "UPDATE document SET body = '{}'; UPDATE credit_account SET body = ''; UPDATE credit_entry SET body = ''";
    Connection::open(folder.database()).unwrap().execute_batch(sql).unwrap();
    let (store, agent) = (folder.open(), agent_id("a"));
    let ledger = LedgerQuery { agent: agent.clone(), before: None, limit: 1 };
    for kind in [
        wait(store.documents(&agent, None, 1)).unwrap_err().kind,
        wait(store.credit_account(&agent)).unwrap_err().kind,
        wait(store.credit_entries(&ledger)).unwrap_err().kind,
    ] {
        assert_eq!(kind, StorageErrorKind::Internal);
    }
}
