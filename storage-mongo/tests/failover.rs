//! What happens when the primary dies in the middle of writes.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod support;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use database_servers::mongo::ReplicaSet;
use openapi_core::contacts::ContactRef;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{
    ContactFilter, ContactQuery, ContactSort, ContactStore, HealthProbe, Order, StorageErrorKind, Window,
};
use openapi_core::values::AgentId;
use storage_mongo::{MongoConfig, MongoStorage};
use support::{agent_id, contact, contact_id, insert_agent, url_of, wait, write};
use tokio::time::Instant;

const WRITERS: u64 = 8;

/// How long a call may take without a primary: the timeout of the operation, and a margin for the machine.
const BEARABLE: Duration = Duration::from_secs(7);

/// The outcomes of the writers.
#[derive(Default)]
struct Seen {
    acknowledged: Mutex<Vec<u64>>,
    refused: AtomicU64,
    stop: AtomicBool,
    next: AtomicU64,
}

/// Creates contacts in a few agents until stopped; each has the number as its external id.
async fn create(store: Arc<MongoStorage>, agents: Arc<Vec<(AgentId, ContactSchema)>>, seen: Arc<Seen>) {
    while !seen.stop.load(Ordering::Acquire) {
        let number = seen.next.fetch_add(1, Ordering::AcqRel);
        let (agent, schema) = &agents[number as usize % agents.len()];
        let mut person = contact(agent, number);
        person.external_reference_id = format!("x{number}").parse().ok();
        let begun = Instant::now();
        let outcome = store.insert_contact(agent, &write(&person, schema, number + 1)).await;
        assert!(begun.elapsed() < BEARABLE, "a write took {:?}", begun.elapsed());
        match outcome {
            Ok(()) => seen.acknowledged.lock().unwrap().push(number),
            Err(error) => {
                assert_eq!(error.kind, StorageErrorKind::Unavailable, "{error:?}");
                seen.refused.fetch_add(1, Ordering::AcqRel);
            }
        }
    }
}

async fn until_it_writes(store: &MongoStorage) -> Duration {
    let begun = Instant::now();
    while let Err(error) = store.probe().await {
        assert_eq!(error.kind, StorageErrorKind::Unavailable, "{error:?}");
        assert!(begun.elapsed() < Duration::from_secs(60), "the store does not recover: {error:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    begun.elapsed()
}

#[test]
fn acknowledged_writes_survive_the_death_of_the_primary() {
    outlive(2);
}

#[test]
#[ignore = "takes minutes; a campaign for releases"]
fn acknowledged_writes_outlive_fifty_kills() {
    outlive(50);
}

/// Kills the primary of three members under load several times, and checks every acknowledged write.
fn outlive(kills: usize) {
    let mut set = ReplicaSet::start(3);
    let config = MongoConfig::from_url(&url_of(&set.url(), "openapi")).unwrap();
    let store = Arc::new(wait(MongoStorage::open(config)).unwrap());
    let agents = ["a", "b", "c"].map(|name| {
        let agent = agent_id(name);
        let schema = wait(insert_agent(&*store, &agent));
        (agent, schema)
    });
    let (agents, seen) = (Arc::new(Vec::from(agents)), Arc::new(Seen::default()));
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| {
            let writing = create(Arc::clone(&store), Arc::clone(&agents), Arc::clone(&seen));
            support::runtime().spawn(writing)
        })
        .collect();
    for kill in 1..=kills {
        std::thread::sleep(Duration::from_secs(1));
        let before = seen.acknowledged.lock().unwrap().len();
        assert!(before > 0, "nothing was written");
        let primary = set.primary();
        set.kill(primary);
        let outage = wait(until_it_writes(&store));
        eprintln!("kill {kill}: a new primary writes after {outage:?}");
        std::thread::sleep(Duration::from_secs(1));
        assert!(seen.acknowledged.lock().unwrap().len() > before, "writing does not go on");
        set.start_again(primary);
    }
    seen.stop.store(true, Ordering::Release);
    for writer in writers {
        wait(writer).unwrap();
    }
    let acknowledged = std::mem::take(&mut *seen.acknowledged.lock().unwrap());
    let refused = seen.refused.load(Ordering::Acquire);
    eprintln!("{kills} kills: {} acknowledged, {refused} refused", acknowledged.len());
    wait(async {
        for number in acknowledged {
            let (agent, _) = &agents[number as usize % agents.len()];
            for reference in [
                ContactRef::Id(contact_id(number)),
                ContactRef::External(format!("x{number}").parse().unwrap()),
            ] {
                let found = store.contact(agent, &reference).await.unwrap();
                assert!(found.is_some(), "contact {number} was acknowledged and is lost");
            }
        }
        for (agent, _) in agents.iter() {
            // A partial write would be in a counter and not in the list, or the other way round.
            let query = |offset| ContactQuery {
                filter: ContactFilter::default(),
                sort: ContactSort::CreatedAt,
                order: Order::Ascending,
                window: Window::Page { offset, limit: 100 },
            };
            let total = store.contacts(agent, &query(0)).await.unwrap().total;
            let mut listed = 0;
            for offset in (0..total + 100).step_by(100) {
                listed += store.contacts(agent, &query(offset)).await.unwrap().contacts.len() as u64;
            }
            assert_eq!(listed, total);
        }
        store.close().await;
    });
}

#[test]
fn without_a_majority_everything_is_unavailable_in_time_and_comes_back() {
    let mut set = ReplicaSet::start(3);
    let config = MongoConfig::from_url(&url_of(&set.url(), "openapi")).unwrap();
    let store = wait(MongoStorage::open(config)).unwrap();
    let agent = agent_id("a");
    let schema = wait(insert_agent(&store, &agent));
    let one = contact(&agent, 1);
    wait(store.insert_contact(&agent, &write(&one, &schema, 1))).unwrap();
    let primary = set.primary();
    let follower = (primary + 1) % 3;
    set.kill(follower);
    set.kill(primary);
    wait(async {
        for number in 2..4 {
            let begun = Instant::now();
            let outcome =
                store.insert_contact(&agent, &write(&contact(&agent, number), &schema, number)).await;
            assert_eq!(outcome.unwrap_err().kind, StorageErrorKind::Unavailable);
            assert!(begun.elapsed() < BEARABLE, "a write took {:?}", begun.elapsed());
            let begun = Instant::now();
            let outcome = store.contact(&agent, &ContactRef::Id(one.id)).await;
            assert_eq!(outcome.unwrap_err().kind, StorageErrorKind::Unavailable);
            assert!(begun.elapsed() < BEARABLE, "a read took {:?}", begun.elapsed());
        }
        assert!(store.probe().await.is_err());
    });
    set.start_again(follower);
    set.start_again(primary);
    wait(async {
        until_it_writes(&store).await;
        assert_eq!(store.contact(&agent, &ContactRef::Id(one.id)).await.unwrap(), Some(one.into()));
        // Refused writes are not stored, and can be stored now.
        for number in 2..4 {
            store.insert_contact(&agent, &write(&contact(&agent, number), &schema, number)).await.unwrap();
        }
        store.close().await;
    });
}
