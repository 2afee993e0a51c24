//! Requests while the database dies, hangs or is unreachable: acknowledged writes are stored, the others are stored
//! completely or not at all and fail with `Unavailable` in time, and the same store continues once the database does.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]
#![expect(clippy::disallowed_methods, reason = "what is held is time")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use openapi_core::contacts::ContactRef;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{
    AuditQuery, AuditStore, ContactFilter, ContactQuery, ContactSort, ContactStore, HealthProbe, Order,
    StorageErrorKind, Window,
};
use openapi_core::values::AgentId;
use storage_common::fixtures::{agent_id, contact, contact_id, insert_agent, write};
use storage_postgres::{PostgresConfig, PostgresStorage};
use support::proxy::{Proxy, Weather};
use support::{Database, runtime};

/// No request may take longer, whatever happens: a connection and a statement, each with its timeout.
const TIMEOUT: Duration = Duration::from_secs(9);

async fn open(url: &str) -> Arc<PostgresStorage> {
    Arc::new(PostgresStorage::open(PostgresConfig::from_url(url).unwrap()).await.unwrap())
}

async fn total(store: &PostgresStorage, agent: &AgentId) -> u64 {
    let query = ContactQuery {
        filter: ContactFilter::default(),
        sort: ContactSort::CreatedAt,
        order: Order::Ascending,
        window: Window::Page { offset: 0, limit: 1 },
    };
    store.contacts(agent, &query).await.unwrap().total
}

/// Waits until the store serves again, without being reopened.
async fn recovered(store: &PostgresStorage) {
    let begin = Instant::now();
    while let Err(error) = store.probe().await {
        assert_eq!(error.kind, StorageErrorKind::Unavailable, "{error:?}");
        assert!(begin.elapsed() < Duration::from_secs(30), "{error:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The outcomes of writers that continue through every failure.
#[derive(Default)]
struct Outcomes {
    next: AtomicU64,
    stop: AtomicBool,
    stored: std::sync::Mutex<Vec<u64>>,
    failed: std::sync::Mutex<Vec<u64>>,
}

async fn writer(store: Arc<PostgresStorage>, agent: AgentId, schema: ContactSchema, outcomes: Arc<Outcomes>) {
    while !outcomes.stop.load(Ordering::SeqCst) {
        let number = outcomes.next.fetch_add(1, Ordering::SeqCst);
        let begin = Instant::now();
        let done = store.insert_contact(&agent, &write(&contact(&agent, number), &schema, number + 1)).await;
        assert!(begin.elapsed() < TIMEOUT, "{:?}", begin.elapsed());
        match done {
            Ok(()) => outcomes.stored.lock().unwrap().push(number),
            Err(error) => {
                assert_eq!(error.kind, StorageErrorKind::Unavailable, "{error:?}");
                outcomes.failed.lock().unwrap().push(number);
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

/// Kills the server under load several times.
async fn kill(server: &mut database_servers::postgres::Server, rounds: u32) {
    let store = open(&format!("{}?connect_timeout=1", server.url())).await;
    let agent = agent_id("a");
    let schema = insert_agent(&*store, &agent).await;
    let outcomes = Arc::new(Outcomes::default());
    let writers: Vec<_> = (0..16)
        .map(|_| {
            tokio::spawn(writer(Arc::clone(&store), agent.clone(), schema.clone(), Arc::clone(&outcomes)))
        })
        .collect();
    for round in 0..rounds {
        let before = outcomes.stored.lock().unwrap().len();
        let begin = Instant::now();
        while outcomes.stored.lock().unwrap().len() < before + 50 {
            assert!(begin.elapsed() < Duration::from_secs(30), "nothing is stored in round {round}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // While requests are running.
        tokio::time::sleep(Duration::from_millis(u64::from(round * 7 % 40))).await;
        tokio::task::block_in_place(|| {
            if round % 3 == 2 {
                server.stop();
            } else {
                server.kill();
            }
            // Sometimes for longer than the timeout of a write.
            if round % 4 == 1 {
                std::thread::sleep(Duration::from_secs(3));
            }
            server.start_again();
        });
    }
    recovered(&store).await;
    outcomes.stop.store(true, Ordering::SeqCst);
    for writer in writers {
        writer.await.unwrap();
    }
    let (stored, failed) = (outcomes.stored.lock().unwrap().clone(), outcomes.failed.lock().unwrap().clone());
    for number in &stored {
        let found = store.contact(&agent, &ContactRef::Id(contact_id(*number))).await.unwrap();
        assert_eq!(found, Some(contact(&agent, *number).into()), "acknowledged and lost");
    }
    let mut there = stored.len() as u64;
    for number in &failed {
        there +=
            u64::from(store.contact(&agent, &ContactRef::Id(contact_id(*number))).await.unwrap().is_some());
    }
    // Counters, entries and contacts agree, so nothing is stored in part.
    assert_eq!(total(&store, &agent).await, there);
    let query = AuditQuery { agent: Some(agent.clone()), limit: u32::MAX, ..AuditQuery::default() };
    assert_eq!(store.audit_entries(&query).await.unwrap().len() as u64, there + 1);
    println!(
        "{rounds} times killed, {} acknowledged, {} failed, of which {} are there",
        stored.len(),
        failed.len(),
        there - stored.len() as u64
    );
    assert!(!failed.is_empty(), "no write met a dead server");
    store.close().await;
}

#[test]
fn acknowledged_writes_outlive_the_server() {
    let mut server = database_servers::postgres::Server::start();
    runtime().block_on(kill(&mut server, 4));
}

#[test]
#[ignore = "takes minutes; a campaign for releases"]
fn acknowledged_writes_outlive_fifty_kills() {
    let mut server = database_servers::postgres::Server::start();
    runtime().block_on(kill(&mut server, 50));
}

#[test]
fn an_idle_store_does_not_notice_a_restart() {
    let mut server = database_servers::postgres::Server::start();
    runtime().block_on(async {
        let store = open(&server.url()).await;
        let agent = agent_id("a");
        let schema = insert_agent(&*store, &agent).await;
        for round in 0..3 {
            let busy: Vec<_> = (0..8)
                .map(|_| {
                    let (store, agent) = (Arc::clone(&store), agent.clone());
                    tokio::spawn(async move { total(&store, &agent).await })
                })
                .collect();
            for task in busy {
                task.await.unwrap();
            }
            tokio::task::block_in_place(|| {
                server.kill();
                server.start_again();
            });
            // Every connection of the pool is dead; the first read and the first write succeed nevertheless.
            if round % 2 == 0 {
                assert_eq!(total(&store, &agent).await, round);
            }
            store.insert_contact(&agent, &write(&contact(&agent, round), &schema, round + 1)).await.unwrap();
        }
        assert_eq!(total(&store, &agent).await, 3);
        store.close().await;
    });
}

/// A store that is reached over a network that can fail.
async fn through_proxy(database: &Database, parameters: &str) -> (Proxy, Arc<PostgresStorage>) {
    let (proxy, config) = proxied(database, parameters).await;
    (proxy, Arc::new(PostgresStorage::open(config).await.unwrap()))
}

/// The same, not yet opened.
async fn proxied(database: &Database, parameters: &str) -> (Proxy, PostgresConfig) {
    let url: url::Url = database.url(parameters).parse().unwrap();
    let server = (url.host_str().unwrap(), url.port().unwrap_or(5432));
    let address = tokio::net::lookup_host(server).await.unwrap().next().unwrap();
    let proxy = Proxy::start(address).await;
    let mut near = url.clone();
    near.set_host(Some("127.0.0.1")).unwrap();
    near.set_port(Some(proxy.port())).unwrap();
    (proxy, PostgresConfig::from_url(near.as_str()).unwrap())
}

#[test]
fn a_hanging_database_is_given_up_in_time() {
    let database = Database::new();
    runtime().block_on(async {
        let (proxy, store) = through_proxy(&database, "connect_timeout=1&statement_timeout=1").await;
        let agent = agent_id("a");
        let schema = insert_agent(&*store, &agent).await;
        for round in 0..2 {
            proxy.set(Weather::Frozen);
            let begin = Instant::now();
            let mut hanging = Vec::new();
            for number in 0..40 {
                let (store, agent, schema) = (Arc::clone(&store), agent.clone(), schema.clone());
                hanging.push(tokio::spawn(async move {
                    if number % 2 == 0 {
                        store.contact(&agent, &ContactRef::Id(contact_id(number))).await.map(drop)
                    } else {
                        let number = round * 100 + number;
                        store
                            .insert_contact(&agent, &write(&contact(&agent, number), &schema, number + 1))
                            .await
                    }
                }));
            }
            for request in hanging {
                let error = request.await.unwrap().unwrap_err();
                assert_eq!(error.kind, StorageErrorKind::Unavailable, "{error:?}");
            }
            assert!(begin.elapsed() < TIMEOUT, "{:?}", begin.elapsed());
            proxy.set(Weather::Fair);
            recovered(&store).await;
            // The pool still has all of its connections.
            let again: Vec<_> = (0..64)
                .map(|number| {
                    let (store, agent) = (Arc::clone(&store), agent.clone());
                    tokio::spawn(
                        async move { store.contact(&agent, &ContactRef::Id(contact_id(number))).await },
                    )
                })
                .collect();
            for read in again {
                read.await.unwrap().unwrap();
            }
        }
        store.close().await;
    });
}

/// Each of them alone would take seconds.
#[test]
fn no_write_waits_for_all_before_it_when_the_database_hangs() {
    let database = Database::new();
    runtime().block_on(async {
        let (proxy, mut config) = proxied(&database, "connect_timeout=1&statement_timeout=1").await;
        config.write_batch = 1;
        let store = Arc::new(PostgresStorage::open(config).await.unwrap());
        let agent = agent_id("a");
        let schema = insert_agent(&*store, &agent).await;
        proxy.set(Weather::Frozen);
        let begin = Instant::now();
        let hanging: Vec<_> = (0..20)
            .map(|number| {
                let (store, agent) = (Arc::clone(&store), agent.clone());
                let write = write(&contact(&agent, number), &schema, number + 1);
                tokio::spawn(async move { store.insert_contact(&agent, &write).await })
            })
            .collect();
        for request in hanging {
            let error = request.await.unwrap().unwrap_err();
            assert_eq!(error.kind, StorageErrorKind::Unavailable, "{error:?}");
        }
        assert!(begin.elapsed() < TIMEOUT, "{:?}", begin.elapsed());
        proxy.set(Weather::Fair);
        recovered(&store).await;
        store.close().await;
    });
}

#[test]
fn an_unreachable_database_is_reported_in_time() {
    let database = Database::new();
    runtime().block_on(async {
        let (proxy, store) = through_proxy(&database, "connect_timeout=1").await;
        let agent = agent_id("a");
        let schema = insert_agent(&*store, &agent).await;
        proxy.set(Weather::Down);
        let begin = Instant::now();
        let read = store.contact(&agent, &ContactRef::Id(contact_id(1))).await.unwrap_err();
        let wrote = store.insert_contact(&agent, &write(&contact(&agent, 1), &schema, 2)).await.unwrap_err();
        let probed = store.probe().await.unwrap_err();
        for error in [read, wrote, probed] {
            assert_eq!(error.kind, StorageErrorKind::Unavailable, "{error:?}");
        }
        assert!(begin.elapsed() < TIMEOUT, "{:?}", begin.elapsed());
        proxy.set(Weather::Fair);
        recovered(&store).await;
        store.insert_contact(&agent, &write(&contact(&agent, 1), &schema, 2)).await.unwrap();
        store.close().await;
    });
}

/// Cuts the network after each piece of a write in turn.
#[test]
fn a_connection_lost_in_any_phase_leaves_a_write_whole_or_absent() {
    let database = Database::new();
    runtime().block_on(async {
        let (proxy, store) = through_proxy(&database, "max_connections=2").await;
        let agent = agent_id("a");
        let schema = insert_agent(&*store, &agent).await;
        let (mut there, mut unknown, mut piece) = (0, 0, 0);
        loop {
            // The responses of the last reads have passed.
            tokio::time::sleep(Duration::from_millis(10)).await;
            let number = piece as u64;
            proxy.cut_after(piece);
            let done =
                store.insert_contact(&agent, &write(&contact(&agent, number), &schema, number + 1)).await;
            let was_cut = proxy.has_cut();
            proxy.cut_after(-1);
            recovered(&store).await;
            let found = store.contact(&agent, &ContactRef::Id(contact_id(number))).await.unwrap();
            match done {
                Ok(()) => assert!(found.is_some(), "acknowledged and lost at piece {piece}"),
                Err(error) => {
                    assert_eq!(error.kind, StorageErrorKind::Unavailable, "{error:?}");
                    unknown += 1;
                }
            }
            there += u64::from(found.is_some());
            assert_eq!(total(&store, &agent).await, there, "at piece {piece}");
            let query = AuditQuery { agent: Some(agent.clone()), limit: 1_000, ..AuditQuery::default() };
            let entries = store.audit_entries(&query).await.unwrap().len() as u64;
            assert_eq!(entries, there + 1, "at piece {piece}");
            if !was_cut {
                break;
            }
            piece += 1;
        }
        assert!(piece > 8, "{piece}");
        // Only a cut around the commit itself leaves the outcome unknown; everything before is retried.
        assert!(unknown <= 4, "{unknown} of {piece}");
        store.close().await;
    });
}

#[test]
fn an_exhausted_pool_is_reported_in_time() {
    let database = Database::new();
    runtime().block_on(async {
        let url = database.url("max_connections=2&connect_timeout=1&statement_timeout=2");
        let store = open(&url).await;
        let agent = agent_id("a");
        let schema = insert_agent(&*store, &agent).await;
        // Another transaction locks the agent: writes wait, and give up in time.
        let mut other = database.connect().await;
        sqlx::raw_sql("BEGIN; SELECT 1 FROM openapi.agent FOR UPDATE").execute(&mut other).await.unwrap();
        let begin = Instant::now();
        let writes: Vec<_> = (0..20)
            .map(|number| {
                let (store, agent, schema) = (Arc::clone(&store), agent.clone(), schema.clone());
                tokio::spawn(async move {
                    store.insert_contact(&agent, &write(&contact(&agent, number), &schema, number + 1)).await
                })
            })
            .collect();
        for done in writes {
            let error = done.await.unwrap().unwrap_err();
            assert_eq!(error.kind, StorageErrorKind::Unavailable, "{error:?}");
        }
        assert!(begin.elapsed() < TIMEOUT, "{:?}", begin.elapsed());
        sqlx::raw_sql("COMMIT").execute(&mut other).await.unwrap();
        store.insert_contact(&agent, &write(&contact(&agent, 1), &schema, 2)).await.unwrap();
        assert_eq!(total(&store, &agent).await, 1);
        store.close().await;
    });
}
