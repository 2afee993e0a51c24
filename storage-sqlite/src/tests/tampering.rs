//! Tampering with the audit log by SQL: each changed, removed or inserted entry is found.

use openapi_core::audit::{AuditAction, ChainBreak, ChainVerifier};
use openapi_core::storage::{AuditStore, ChainQuery};
use openapi_core::values::AgentId;
use rusqlite::Connection;
use storage_common::fixtures::{entry, server_keys};
use testkit::SplitMix64;

use super::support::{Folder, agent_id, insert_agent, wait};
use crate::{SqliteConfig, SqliteStorage};

const ENTRIES: u64 = 12;

pub(super) fn verify(store: &SqliteStorage, agent: &AgentId) -> Result<(), ChainBreak> {
    let keys = server_keys();
    let mut verifier = ChainVerifier::new(&keys, Some(agent.clone()), None, []);
    let query = ChainQuery { chain: Some(agent.clone()), after: None, limit: 1_000 };
    for entry in wait(store.audit_chain(&query)).unwrap() {
        verifier.push(&entry)?;
    }
    verifier.finish(wait(store.audit_head(Some(agent))).unwrap()).map(drop)
}

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
        insert_agent(&store, &agent);
        for number in 1..ENTRIES {
            let noted = entry(&agent, number, AuditAction::AuthenticationFailure, "resource");
            wait(store.append_audit(&noted)).unwrap();
        }
        assert_eq!(verify(&store, &agent), Ok(()));
    }
    let mut random = SplitMix64(7);
    let mut below = |bound: u64| random.next_u64() % bound;
    for tampering in 0..100 {
        let copy = folder.path().join(format!("copy-{tampering}.db"));
        std::fs::copy(folder.database(), &copy).unwrap();
        let statement = TAMPERINGS[tampering % TAMPERINGS.len()];
        let one = 1 + below(ENTRIES);
        let other = 1 + (one + below(ENTRIES - 1)) % ENTRIES;
        let other = if other == one { 1 + one % ENTRIES } else { other };
        let db = Connection::open(&copy).unwrap();
        assert!(
            db.execute(statement, [one as i64, other as i64]).unwrap() > 0,
            "{statement} of {one} and {other}"
        );
        drop(db);
        let store = SqliteStorage::open(SqliteConfig::new(copy)).unwrap();
        assert!(verify(&store, &agent).is_err(), "not found: {statement} of {one} and {other}");
    }
}
