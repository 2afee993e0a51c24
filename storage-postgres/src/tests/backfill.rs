//! Computing the keys of everything again after an upgrade: all of them, in short transactions, also after an
//! interruption, and by several servers at once.

use super::support::{Database, runtime};
use crate::PostgresStorage;
use storage_common::fixtures::{agent_id, contact_id, found, insert_folded};

/// Gives all contacts and the version the keys of an older release.
async fn age(database: &Database, state: &str) {
    let sql = format!(
        "UPDATE openapi.contact_search SET search = 'łukasz' || substr(search, 7), digits = '4402079460958'; \
         UPDATE openapi.contact SET first_name_key = 'łukasz'; UPDATE openapi.key_version SET version = 1, {state}"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut database.connect().await).await.unwrap();
}

#[test]
fn all_keys_are_computed_again_by_servers_that_take_turns() {
    let database = Database::new();
    runtime().block_on(async {
        let agents = [agent_id("a"), agent_id("b"), agent_id("c")];
        let store = database.open().await;
        for (agent, count) in agents.iter().zip([7, 2, 1]) {
            insert_folded(&store, agent, count).await;
        }
        store.close().await;
        age(&database, "agent = '', contact = NULL").await;
        let mut starting = tokio::task::JoinSet::new();
        for _ in 0..4 {
            let mut config = database.config();
            config.thresholds.reindex_chunk = 2;
            starting.spawn(async move { PostgresStorage::open(config).await.unwrap() });
        }
        while let Some(store) = starting.join_next().await {
            let store = store.unwrap();
            for (agent, count) in agents.iter().zip([7, 2, 1]) {
                assert_eq!(found(&store, agent, "lukasz +442079460958").await, count);
            }
            store.close().await;
        }
    });
}

#[test]
fn an_interrupted_run_continues_where_it_stopped() {
    let database = Database::new();
    runtime().block_on(async {
        let agents = [agent_id("a"), agent_id("b"), agent_id("c")];
        let store = database.open().await;
        for agent in &agents {
            insert_folded(&store, agent, 5).await;
        }
        store.close().await;
        // Here the keys before the position are old as well, so that the test sees where the work continues.
        let third: String = contact_id(3).as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        age(&database, &format!("agent = 'b', contact = '\\x{third}'")).await;
        let store = database.open().await;
        for (agent, count) in agents.iter().zip([0, 2, 5]) {
            assert_eq!(found(&store, agent, "lukasz").await, count, "{agent}");
        }
        store.close().await;
    });
}
