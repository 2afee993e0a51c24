//! Tampering with the audit log by SQL: each changed, removed or inserted entry is found.

use rusqlite::Connection;
use storage_common::fixtures::{insert_chain, two_entries, verify_chain};
use testkit::SplitMix64;

use super::support::{Folder, agent_id, wait};
use crate::{SqliteConfig, SqliteStorage};

/// Statements that tamper with the entry `?1`, or with it and the entry `?2`.
const TAMPERINGS: [&str; 14] = [
    "UPDATE audit SET at = at + 1 WHERE sequence = ?1 AND ?2",
    "UPDATE audit SET resource = 'other' WHERE sequence = ?1 AND ?2",
    "UPDATE audit SET action = 'contact.create' WHERE sequence = ?1 AND ?2",
    "UPDATE audit SET actor = '{\"type\":\"operator\",\"id\":\"other\"}' WHERE sequence = ?1 AND ?2",
    "UPDATE audit SET address = '192.0.2.99' WHERE sequence = ?1 AND ?2",
    "UPDATE audit SET request_id = NULL WHERE sequence = ?1 AND ?2",
    "UPDATE audit SET details = '{\"fields\":[]}' WHERE sequence = ?1 AND ?2",
    "UPDATE audit SET details = NULL, salt = NULL WHERE sequence = ?1 AND ?2",
    "UPDATE audit SET mac = randomblob(32) WHERE sequence = ?1 AND ?2",
    "DELETE FROM audit WHERE sequence = ?1 AND ?2",
    "INSERT INTO audit SELECT at, randomblob(12), agent, resource, action, actor, address, request_id, details, \
     contact, sequence, server_key, salt, digest, mac FROM audit WHERE sequence = ?1 AND ?2",
    "INSERT INTO audit SELECT at, randomblob(12), agent, resource, action, actor, address, request_id, details, \
     contact, 0, NULL, NULL, NULL, NULL FROM audit WHERE sequence = ?1 AND ?2",
    // Two entries swap their numbers.
    "UPDATE audit SET sequence = CASE sequence WHEN ?1 THEN ?2 ELSE ?1 END WHERE sequence IN (?1, ?2)",
    // An entry disappears, and the later ones close the gap.
    "UPDATE audit SET sequence = CASE WHEN sequence = ?1 THEN 1000 ELSE sequence - 1 END WHERE sequence >= ?1 AND ?2",
];

#[test]
fn a_hundred_random_tamperings_are_found() {
    let folder = Folder::new();
    let agent = agent_id("a");
    {
        let store = folder.open();
        wait(insert_chain(&store, &agent));
        assert_eq!(wait(verify_chain(&store, &agent)), Ok(()));
    }
    let mut random = SplitMix64(7);
    for tampering in 0..100 {
        let copy = folder.path().join(format!("copy-{tampering}.db"));
        std::fs::copy(folder.database(), &copy).unwrap();
        let statement = TAMPERINGS[tampering % TAMPERINGS.len()];
        let [one, other] = two_entries(|bound| random.below(bound));
        let db = Connection::open(&copy).unwrap();
        assert!(
            db.execute(statement, [one as i64, other as i64]).unwrap() > 0,
            "{statement} of {one} and {other}"
        );
        drop(db);
        let store = SqliteStorage::open(SqliteConfig::new(copy)).unwrap();
        assert!(wait(verify_chain(&store, &agent)).is_err(), "not found: {statement} of {one} and {other}");
    }
}
