//! A write that panics fails only the writes of its batch.

use std::sync::Arc;
use std::time::Duration;

use openapi_core::schema::ContactSchema;
use openapi_core::storage::{ContactStore, ContactWrite, StorageError, StorageErrorKind};
use openapi_core::values::{AgentId, TextValue};
use sqlx::Connection;

use super::support::{Database, runtime};
use crate::contacts::decide::Pending;
use crate::store::PostgresStorage;
use storage_common::fixtures::{agent_id, contact, insert_agent, write};

/// The origin of contacts whose batch panics.
const PANICS: &str = "panics";

/// Panics for a batch with such a contact. The writer calls it before it stores a batch.
pub(crate) fn planted_panic<'w>(mut batch: impl Iterator<Item = &'w Pending>) {
    let is_planted = |pending: &Pending| pending.write.contact.source.as_str() == PANICS;
    assert!(!batch.any(is_planted), "a planted panic");
}

fn planted(agent: &AgentId, schema: &ContactSchema, number: u64) -> ContactWrite {
    let mut contact = contact(agent, number);
    contact.source = TextValue::parse(PANICS).unwrap();
    write(&contact, schema, number + 1)
}

type Writing = tokio::task::JoinHandle<Result<(), StorageError>>;

fn begin(store: &Arc<PostgresStorage>, agent: &AgentId, write: ContactWrite) -> Writing {
    let (store, agent) = (Arc::clone(store), agent.clone());
    tokio::spawn(async move { store.insert_contact(&agent, &write).await })
}

#[test]
fn a_write_that_panics_takes_no_other_with_it() {
    let database = Database::new();
    runtime().block_on(async {
        let store = Arc::new(database.open().await);
        let agent = agent_id("a");
        let schema = insert_agent(&*store, &agent).await;
        let mut stored = 0;
        for round in 0..4 {
            let number = round * 100;
            let outcome = begin(&store, &agent, planted(&agent, &schema, number)).await.unwrap();
            assert_eq!(outcome.unwrap_err().kind, StorageErrorKind::Internal);
            // Afterwards everything continues, on the existing connections.
            let new = |n| write(&contact(&agent, number + n), &schema, number + n + 1);
            let writing: Vec<Writing> = (1..=20).map(|n| begin(&store, &agent, new(n))).collect();
            for write in writing {
                write.await.unwrap().unwrap();
                stored += 1;
            }
        }
        // A task waits for an agent that another transaction locks; it survives a panic too.
        let mut other = database.connect().await;
        let hold = "BEGIN; SELECT 1 FROM openapi.agent WHERE id = 'a' FOR UPDATE";
        sqlx::raw_sql(hold).execute(&mut other).await.unwrap();
        let first = begin(&store, &agent, write(&contact(&agent, 900), &schema, 901));
        tokio::time::sleep(Duration::from_millis(300)).await;
        let panicking = begin(&store, &agent, planted(&agent, &schema, 901));
        tokio::time::sleep(Duration::from_millis(300)).await;
        sqlx::raw_sql("COMMIT").execute(&mut other).await.unwrap();
        first.await.unwrap().unwrap();
        assert_eq!(panicking.await.unwrap().unwrap_err().kind, StorageErrorKind::Internal);
        begin(&store, &agent, write(&contact(&agent, 902), &schema, 903)).await.unwrap().unwrap();
        other.close().await.unwrap();
        let mut db = database.connect().await;
        let rows: i64 = sqlx::Row::get(
            &sqlx::query("SELECT count(*) FROM openapi.contact").fetch_one(&mut db).await.unwrap(),
            0,
        );
        assert_eq!(rows, stored + 2);
        db.close().await.unwrap();
        tokio::time::timeout(Duration::from_secs(10), store.close()).await.unwrap();
    });
}
