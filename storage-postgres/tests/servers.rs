//! Several servers on one database: a unique value goes to one of them, counters stay exact, and nobody waits for
//! another agent's lock.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]
#![expect(clippy::disallowed_methods, reason = "what is held is time")]

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use openapi_core::contacts::{Contact, ContactRef};
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{
    AuditQuery, AuditStore, ContactFilter, ContactQuery, ContactSort, ContactStore, ContactWrite,
    IdempotencyKey, IdempotencyRecord, Order, StorageError, StorageErrorKind, Window,
};
use openapi_core::values::{AgentId, ContactStatus, Tag, TextValue};
use sqlx::Row;
use storage_common::fixtures::{agent_id, at, contact, contact_id, insert_agent, write};
use storage_postgres::PostgresStorage;
use support::{Database, runtime};
use testkit::SplitMix64;

/// One store for each server, and one agent.
async fn servers(database: &Database, count: usize) -> (Vec<Arc<PostgresStorage>>, AgentId, ContactSchema) {
    let mut stores = Vec::new();
    for _ in 0..count {
        stores.push(Arc::new(database.open().await));
    }
    let agent = agent_id("a");
    let schema = insert_agent(&*stores[0], &agent).await;
    (stores, agent, schema)
}

/// The outcomes of writes that all servers run at the same time, each its share.
async fn race(
    stores: &[Arc<PostgresStorage>],
    writes: Vec<(Option<u64>, ContactWrite)>,
) -> Vec<Result<(), StorageError>> {
    let tasks: Vec<_> = writes
        .into_iter()
        .enumerate()
        .map(|(number, (expected, write))| {
            let store = Arc::clone(&stores[number % stores.len()]);
            tokio::spawn(async move {
                let agent = &write.contact.agent_id;
                match expected {
                    None => store.insert_contact(agent, &write).await,
                    Some(version) => store.update_contact(agent, version, &write).await,
                }
            })
        })
        .collect();
    let mut results = Vec::new();
    for task in tasks {
        results.push(task.await.unwrap());
    }
    results
}

fn count(results: &[Result<(), StorageError>], is: impl Fn(&StorageErrorKind) -> bool) -> usize {
    results.iter().filter(|result| matches!(result, Err(error) if is(&error.kind))).count()
}

async fn close(stores: Vec<Arc<PostgresStorage>>) {
    for store in stores {
        store.close().await;
    }
}

#[test]
fn of_equals_one_wins_across_servers() {
    let database = Database::new();
    runtime().block_on(async {
        let (stores, agent, schema) = servers(&database, 3).await;
        for round in 0..12_u64 {
            let new = |n: u64| {
                let mut contact = contact(&agent, round * 1_000 + n);
                contact.external_reference_id = format!("same-{round}").parse().ok();
                (None, write(&contact, &schema, round * 1_000 + n + 1))
            };
            let results = race(&stores, (0..30).map(new).collect()).await;
            let duplicates = count(&results, |kind| matches!(kind, StorageErrorKind::Duplicate(_)));
            assert_eq!(duplicates, 29, "{results:?}");

            let answered = |n: u64| {
                let contact = contact(&agent, round * 1_000 + 100 + n);
                let mut write = write(&contact, &schema, round * 1_000 + 100 + n);
                write.effects.replay = Some(IdempotencyRecord {
                    key: IdempotencyKey([round as u8; 32]),
                    fingerprint: [0; 32],
                    status: 201,
                    location: None,
                    body: "{}".into(),
                    resource: Some(contact.id),
                    expires_at: at(i64::MAX / 4),
                });
                (None, write)
            };
            let results = race(&stores, (0..30).map(answered).collect()).await;
            assert_eq!(count(&results, |kind| *kind == StorageErrorKind::ReplayExists), 29, "{results:?}");

            let winner = results.iter().position(Result::is_ok).unwrap() as u64;
            let changed = |n: u64| {
                let mut changed: Contact = contact(&agent, round * 1_000 + 100 + winner);
                (changed.first_name, changed.version) = (TextValue::parse(&format!("n{n}")).ok(), 2);
                (Some(1), write(&changed, &schema, round * 1_000 + 200 + n))
            };
            let results = race(&stores, (0..30).map(changed).collect()).await;
            assert_eq!(count(&results, |kind| *kind == StorageErrorKind::Stale), 29, "{results:?}");
        }
        let query = AuditQuery { agent: Some(agent.clone()), limit: u32::MAX, ..AuditQuery::default() };
        assert_eq!(stores[0].audit_entries(&query).await.unwrap().len(), 1 + 12 * 3);
        close(stores).await;
    });
}

#[test]
fn counters_stay_exact_across_servers() {
    let database = Database::new();
    runtime().block_on(async {
        let (stores, agent, schema) = servers(&database, 2).await;
        for round in 0..6_u64 {
            let mut rng = SplitMix64(round);
            let mut writes = Vec::new();
            for number in 0..120 {
                let mut contact = contact(&agent, number);
                contact.version = round + 1;
                contact.status = ContactStatus::ALL[rng.below(3) as usize];
                contact.archived_at = (rng.below(4) == 0).then(|| at(1));
                contact.tags = ["red", "blue", "green"]
                    .iter()
                    .filter(|_| rng.below(2) == 0)
                    .map(|tag| Tag::parse(tag).unwrap())
                    .collect();
                let expected = (round > 0).then_some(round);
                writes.push((expected, write(&contact, &schema, round * 1_000 + number)));
            }
            assert!(race(&stores, writes).await.iter().all(Result::is_ok));
        }
        let mut db = database.connect().await;
        for sql in [
            "SELECT count(*) FROM (SELECT archived, status, count(*) AS total FROM openapi.contact GROUP BY 1, 2) c \
             FULL JOIN (SELECT * FROM openapi.contact_count WHERE total <> 0) n USING (archived, status) \
             WHERE c.total IS DISTINCT FROM n.total",
            "SELECT count(*) FROM (SELECT tag, archived, status, count(*) AS total FROM openapi.contact_tag \
             GROUP BY 1, 2, 3) c FULL JOIN openapi.tag_count n USING (tag, archived, status) \
             WHERE c.total IS DISTINCT FROM n.total",
            "SELECT count(*) FROM openapi.contact_tag t LEFT JOIN openapi.contact c \
             USING (agent, id, archived, status, created_at) WHERE c.id IS NULL OR c.tags NOT LIKE '%' || t.tag || '%'",
        ] {
            let wrong: i64 = sqlx::query(sql).fetch_one(&mut db).await.unwrap().get(0);
            assert_eq!(wrong, 0, "{sql}");
        }
        close(stores).await;
    });
}

#[test]
fn writes_that_wait_share_a_transaction() {
    let database = Database::new();
    runtime().block_on(async {
        let (stores, agent, schema) = servers(&database, 1).await;
        let new = |n: u64| (None, write(&contact(&agent, n), &schema, n + 1));
        assert!(race(&stores, (0..600).map(new).collect()).await.iter().all(Result::is_ok));
        let mut db = database.connect().await;
        let transactions: i64 = sqlx::query("SELECT count(DISTINCT xmin::text) FROM openapi.contact")
            .fetch_one(&mut db)
            .await
            .unwrap()
            .get(0);
        assert!(transactions < 100, "{transactions} transactions of 600 writes");
        close(stores).await;
    });
}

#[test]
fn an_agent_that_is_held_delays_nobody_else() {
    let database = Database::new();
    runtime().block_on(async {
        let (stores, held, schema) = servers(&database, 1).await;
        let free = agent_id("free");
        let free_schema = insert_agent(&*stores[0], &free).await;
        let mut other = database.connect().await;
        sqlx::raw_sql("BEGIN; SELECT 1 FROM openapi.agent WHERE id = 'a' FOR UPDATE")
            .execute(&mut other)
            .await
            .unwrap();
        let begin = Instant::now();
        let waiting: Vec<_> = (0..10)
            .map(|n| {
                let (store, held, schema) = (Arc::clone(&stores[0]), held.clone(), schema.clone());
                tokio::spawn(async move {
                    store.insert_contact(&held, &write(&contact(&held, n), &schema, n + 1)).await
                })
            })
            .collect();
        for n in 0..20 {
            let new = write(&contact(&free, n), &free_schema, n + 100);
            stores[0].insert_contact(&free, &new).await.unwrap();
        }
        assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
        assert!(!waiting.iter().any(tokio::task::JoinHandle::is_finished));
        sqlx::raw_sql("COMMIT").execute(&mut other).await.unwrap();
        for write in waiting {
            write.await.unwrap().unwrap();
        }
        let query = ContactQuery {
            filter: ContactFilter::default(),
            sort: ContactSort::CreatedAt,
            order: Order::Ascending,
            window: Window::Page { offset: 0, limit: 1 },
        };
        assert_eq!(stores[0].contacts(&held, &query).await.unwrap().total, 10);
        assert!(stores[0].contact(&held, &ContactRef::Id(contact_id(3))).await.unwrap().is_some());
        close(stores).await;
    });
}
