//! Computing the keys of everything again after an upgrade: all of them, in short transactions, also after an
//! interruption.

use rusqlite::Connection;

use super::support::{Folder, agent_id, wait};
use crate::FindingKind;
use storage_common::fixtures::{found, insert_folded};

/// More than two transactions.
const CONTACTS: u64 = 1_100;

/// Gives all contacts and the version the keys of an older release, and the work this position.
fn age(folder: &Folder, done: &str) {
    let db = Connection::open(folder.database()).unwrap();
    db.execute_batch(&format!(
        "UPDATE contact_key SET search = 'łukasz' || substr(search, 7), first_name = 'łukasz', digits = '4402079460958';
         DELETE FROM search_pending; INSERT INTO search_gram (search_gram) VALUES ('delete-all');
         INSERT INTO search_pending SELECT n, NULL, NULL FROM contact_key;
         UPDATE key_version SET version = 1, done = {done};"
    ))
    .unwrap();
}

#[test]
fn all_keys_are_computed_again_once() {
    let folder = Folder::new();
    let agents = [agent_id("a"), agent_id("b")];
    let store = folder.open();
    wait(insert_folded(&store, &agents[0], CONTACTS));
    wait(insert_folded(&store, &agents[1], 3));
    drop(store);
    age(&folder, "0");
    let store = folder.open();
    assert_eq!(store.check().unwrap(), []);
    for (agent, count) in agents.iter().zip([CONTACTS, 3]) {
        assert_eq!(wait(found(&store, agent, "lukasz +442079460958")), count);
    }
    drop(store);
    let db = Connection::open(folder.database()).unwrap();
    let version: i64 = db.query_row("SELECT version FROM key_version", (), |row| row.get(0)).unwrap();
    assert_eq!(version, openapi_core::contacts::ContactKeys::VERSION);
}

#[test]
fn an_interrupted_run_continues_where_it_stopped_and_a_check_sees_old_keys() {
    let folder = Folder::new();
    let agent = agent_id("a");
    let store = folder.open();
    wait(insert_folded(&store, &agent, CONTACTS));
    drop(store);
    // As if the first 600 had been computed; here they were not, so that the test sees where the work continues.
    age(&folder, "(SELECT n FROM contact ORDER BY n LIMIT 1 OFFSET 599)");
    let store = folder.open();
    assert_eq!(wait(found(&store, &agent, "lukasz")), CONTACTS - 600);
    let findings = store.check().unwrap();
    assert!(findings.iter().all(|finding| finding.kind == FindingKind::Keys), "{findings:?}");
    assert!(findings.last().unwrap().detail.contains("more"), "{findings:?}");
    wait(store.repair()).unwrap();
    assert_eq!(store.check().unwrap(), []);
    assert_eq!(wait(found(&store, &agent, "lukasz")), CONTACTS);
}
