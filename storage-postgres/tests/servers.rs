//! Several servers on one database: a unique value goes to one of them, counters stay exact, and nobody waits for
//! another agent's lock.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]
#![expect(clippy::disallowed_methods, reason = "what is held is time")]

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use openapi_core::contacts::{Contact, ContactRef};
use openapi_core::events::{EventActor, EventData, NewEvent};
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{
    AuditQuery, AuditStore, ChangeSource, ContactFilter, ContactQuery, ContactSort, ContactStore,
    ContactWrite, Effects, IdempotencyKey, IdempotencyRecord, LogStore, Order, RecordStore, RecordsWrite,
    StorageError, StorageErrorKind, Window,
};
use openapi_core::values::{AgentId, ContactStatus, PlatformId, Tag, TextValue};
use sqlx::Row;
use storage_common::fixtures::{agent_id, at, contact, contact_id, insert_agent, write};
use storage_postgres::PostgresStorage;
use support::{Database, runtime};
use testkit::SplitMix64;
use testkit::queue_race::QueueRace;

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

/// An event of a contact whose id is that of the event.
fn event(number: u64) -> NewEvent {
    let contact = contact_id(number);
    NewEvent {
        id: PlatformId::from_bytes(*contact.as_bytes()),
        at: at(number as i64),
        actor: EventActor::Operator,
        contact: Some(contact),
        data: EventData::ContactCreated { contact_id: contact },
    }
}

/// Appends an event without another change.
async fn append(store: &PostgresStorage, agent: &AgentId, number: u64) {
    let effects = Effects::default().with_event(event(number));
    let write = RecordsWrite { changes: Vec::new(), effects };
    store.save_records(Some(agent), &write).await.unwrap();
}

/// Readers that follow the log meanwhile see each number once, in order: none appears after a greater one.
#[test]
fn events_of_several_servers_have_no_gap() {
    const EACH: u64 = 60;
    let database = Database::new();
    runtime().block_on(async {
        let (stores, agent, schema) = servers(&database, 3).await;
        let reading = stores.iter().map(|store| {
            let (store, agent) = (Arc::clone(store), agent.clone());
            tokio::spawn(async move {
                let mut followed = Vec::new();
                while followed.len() < 3 * EACH as usize {
                    let page = store.log(&agent, followed.len() as u64, 50).await.unwrap();
                    for entry in page.entries {
                        assert_eq!(entry.seq, followed.len() as u64 + 1);
                        followed.push(entry.contact.unwrap());
                    }
                }
                followed
            })
        });
        let reading = Vec::from_iter(reading);
        let writing: Vec<_> = stores
            .iter()
            .enumerate()
            .map(|(server, store)| {
                let (store, agent, schema) = (Arc::clone(store), agent.clone(), schema.clone());
                tokio::spawn(async move {
                    for n in 0..EACH {
                        let number = server as u64 * 1_000 + n;
                        let new = contact(&agent, number);
                        // Contacts share batches and tenants' locks with other writes; some are refused.
                        if n % 3 == 0 {
                            append(&store, &agent, number).await;
                        } else {
                            let mut write = write(&new, &schema, number + 1);
                            write.effects.events = vec![event(number)];
                            store.insert_contact(&agent, &write).await.unwrap();
                            assert!(store.insert_contact(&agent, &write).await.is_err());
                        }
                    }
                })
            })
            .collect();
        for writer in writing {
            writer.await.unwrap();
        }
        let mut logs = Vec::new();
        for reader in reading {
            logs.push(reader.await.unwrap());
        }
        assert!(logs.iter().all(|log| *log == logs[0]));
        // The events of each server are in the order of its writes.
        for server in 0..3 {
            let own = (0..EACH).map(|n| contact_id(server * 1_000 + n));
            let positions = own.map(|id| logs[0].iter().position(|logged| *logged == id).unwrap());
            assert!(positions.collect::<Vec<_>>().is_sorted());
        }
        assert_eq!(stores[0].log_heads(&[agent]).await.unwrap(), [3 * EACH]);
        close(stores).await;
    });
}

#[test]
fn readers_on_other_servers_are_woken() {
    let database = Database::new();
    runtime().block_on(async {
        let (stores, agent, _) = servers(&database, 2).await;
        let other = agent_id("other");
        insert_agent(&*stores[0], &other).await;
        // Until a store is connected, it hears nothing.
        let heard = async |from: &PostgresStorage, to: &PostgresStorage, agent: &AgentId| {
            let mut subscription = to.notifier().subscribe(agent);
            for number in 0..200 {
                append(from, agent, number).await;
                let waiting = tokio::time::timeout(Duration::from_millis(200), subscription.changed());
                if waiting.await.is_ok() {
                    return;
                }
            }
            panic!("nothing was heard");
        };
        heard(&stores[0], &stores[1], &agent).await;
        heard(&stores[1], &stores[0], &other).await;
        // A store does not hear itself: what it announced before the other one's announcement wakes nobody again.
        let mut own = stores[0].notifier().subscribe(&agent);
        append(&stores[0], &agent, 900).await;
        own.changed().await;
        heard(&stores[0], &stores[1], &agent).await;
        own.changed().await;
        heard(&stores[1], &stores[0], &other).await;
        let again = tokio::time::timeout(Duration::ZERO, own.changed()).await;
        assert!(again.is_err(), "an announcement of its own woke a reader");
        drop(own);
        close(stores).await;
    });
}

#[test]
fn a_queue_of_several_servers_does_each_job_once() {
    let database = Database::new();
    runtime().block_on(async {
        let (stores, a, _) = servers(&database, 3).await;
        let b = agent_id("b");
        insert_agent(&*stores[0], &b).await;
        let race = QueueRace::new(&[a, b], 3, 60);
        let serving: Vec<_> = stores
            .iter()
            .zip(1..)
            .map(|(store, server)| tokio::spawn(Arc::clone(&race).serve(Arc::clone(store) as _, server)))
            .collect();
        for server in serving {
            server.await.unwrap();
        }
        assert!(race.verify(&*stores[0]).await > 0, "no lease ended while its server still worked");
        close(stores).await;
    });
}
