//! Tampering with the audit log by SQL: each changed, removed or inserted entry is found.

use sqlx::{AssertSqlSafe, raw_sql};
use testkit::SplitMix64;

use super::support::{Database, runtime};
use storage_common::fixtures::{agent_id, insert_chain, two_entries, verify_chain};

/// Statements that tamper with the entry `{1}`, or with it and the entry `{2}`.
const TAMPERINGS: [&str; 14] = [
    "UPDATE audit SET at = at + 1 WHERE sequence = {1}",
    "UPDATE audit SET resource = 'other' WHERE sequence = {1}",
    "UPDATE audit SET action = 'contact.create' WHERE sequence = {1}",
    "UPDATE audit SET actor = '{\"type\":\"operator\",\"id\":\"other\"}' WHERE sequence = {1}",
    "UPDATE audit SET address = '192.0.2.99' WHERE sequence = {1}",
    "UPDATE audit SET request_id = NULL WHERE sequence = {1}",
    "UPDATE audit SET details = '{\"fields\":[]}' WHERE sequence = {1}",
    "UPDATE audit SET details = NULL, salt = NULL WHERE sequence = {1}",
    "UPDATE audit SET mac = decode(repeat('5a', 32), 'hex') WHERE sequence = {1}",
    "DELETE FROM audit WHERE sequence = {1}",
    "CREATE TEMP TABLE other AS SELECT * FROM audit WHERE sequence = {1}; \
     UPDATE other SET id = decode(repeat('5a', 12), 'hex'); INSERT INTO audit SELECT * FROM other",
    "CREATE TEMP TABLE other AS SELECT * FROM audit WHERE sequence = {1}; \
     UPDATE other SET id = decode(repeat('5a', 12), 'hex'), sequence = 0, server_key = NULL, salt = NULL, \
     digest = NULL, mac = NULL; INSERT INTO audit SELECT * FROM other",
    // Two entries swap their numbers.
    "UPDATE audit SET sequence = CASE sequence WHEN {1} THEN {2} ELSE {1} END WHERE sequence IN ({1}, {2})",
    // An entry disappears, and the later ones close the gap.
    "UPDATE audit SET sequence = CASE WHEN sequence = {1} THEN 1000 ELSE sequence - 1 END WHERE sequence >= {1}",
];

#[test]
fn a_hundred_random_tamperings_are_found() {
    let database = Database::new();
    runtime().block_on(async {
        let agent = agent_id("a");
        let store = database.open().await;
        insert_chain(&store, &agent).await;
        let mut db = database.connect().await;
        let mut run = async |sql: String| {
            raw_sql(AssertSqlSafe(sql)).execute(&mut db).await.unwrap();
        };
        run("SET search_path = openapi; CREATE TABLE sound AS TABLE audit".to_owned()).await;
        let mut random = SplitMix64(7);
        for tampering in 0..100 {
            assert_eq!(verify_chain(&store, &agent).await, Ok(()));
            let [one, other] = two_entries(|bound| random.below(bound));
            let statement = TAMPERINGS[tampering % TAMPERINGS.len()];
            run(statement.replace("{1}", &one.to_string()).replace("{2}", &other.to_string())).await;
            assert!(
                verify_chain(&store, &agent).await.is_err(),
                "not found: {statement} of {one} and {other}"
            );
            run("DROP TABLE IF EXISTS other; TRUNCATE audit; INSERT INTO audit SELECT * FROM sound"
                .to_owned())
            .await;
        }
        store.close().await;
    });
}
