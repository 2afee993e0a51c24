//! The writer: one transaction for many writes, each with its own outcome, even if one of them fails.

use std::sync::Arc;
use std::time::Duration;

use mongodb::bson::doc;
use openapi_core::contacts::{Contact, ContactRef};
use openapi_core::storage::{ContactStore, ContactWrite, StorageError, StorageErrorKind};
use openapi_core::values::AgentId;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::small;
use super::support::{agent_id, contact, insert_agent, wait, write};
use crate::MongoStorage;
use crate::document::{FieldReader, Fields};
use crate::migrate::collection;
use crate::tenant::state_key;
use crate::transaction::DocumentReader;

type Writing = JoinHandle<Result<(), StorageError>>;

/// Keeps the agent's queue busy until it is notified.
async fn hold(store: &Arc<MongoStorage>, agent: &AgentId) -> (Arc<Notify>, Writing) {
    let (begun, release) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let input = (Arc::clone(&begun), Arc::clone(&release));
    let (store, agent) = (Arc::clone(store), agent.clone());
    let holding = tokio::spawn(async move {
        let work = store.writer.write_long(&agent, input, |_, (begun, release)| {
            Box::pin(async move {
                begun.notify_one();
                release.notified().await;
                Ok(())
            })
        });
        work.await
    });
    begun.notified().await;
    (release, holding)
}

/// Queues a write, and waits until it is in the queue.
async fn queue(store: &Arc<MongoStorage>, write: ContactWrite) -> Writing {
    let store = Arc::clone(store);
    let writing = tokio::spawn(async move {
        let agent = write.contact.agent_id.clone();
        match write.contact.version {
            1 => store.insert_contact(&agent, &write).await,
            version => store.update_contact(&agent, version - 1, &write).await,
        }
    });
    tokio::time::sleep(Duration::from_millis(10)).await;
    writing
}

async fn transactions(store: &MongoStorage, agent: &AgentId) -> i64 {
    let filter = doc! { "_id": state_key(agent) };
    let state = DocumentReader::new(&store.handle).one(collection::CONTACTS, filter, None).await;
    Fields(&state.unwrap().unwrap()).integer("writes").unwrap()
}

fn named(contact: &Contact, external: Option<&str>, version: u64) -> Contact {
    Contact { external_reference_id: external.map(|id| id.parse().unwrap()), version, ..contact.clone() }
}

fn kind(outcome: Result<(), StorageError>) -> Option<StorageErrorKind> {
    outcome.err().map(|error| error.kind)
}

#[test]
fn writes_that_wait_share_a_transaction_and_each_learns_its_own_outcome() {
    let database = small();
    wait(async {
        let store = Arc::new(database.open().await);
        let a = agent_id("a");
        let schema = insert_agent(&*store, &a).await;
        let (release, holding) = hold(&store, &a).await;
        let before = transactions(&store, &a).await;
        let one = named(&contact(&a, 1), Some("x"), 1);
        let steps = [
            one.clone(),
            // Taken by the write before, in the same transaction.
            named(&contact(&a, 2), Some("x"), 1),
            // The same id once more.
            contact(&a, 1),
            // Frees the name, which the next write takes.
            named(&one, None, 2),
            named(&contact(&a, 3), Some("x"), 1),
            // An absent version.
            named(&one, None, 9),
        ];
        let mut waiting = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            waiting.push(queue(&store, write(step, &schema, number as u64 + 1)).await);
        }
        release.notify_one();
        holding.await.unwrap().unwrap();
        let mut outcomes = Vec::new();
        for writing in waiting {
            outcomes.push(kind(writing.await.unwrap()));
        }
        assert_eq!(outcomes[0], None);
        assert!(matches!(outcomes[1], Some(StorageErrorKind::Duplicate(_))), "{outcomes:?}");
        assert_eq!(outcomes[2], Some(StorageErrorKind::AlreadyExists));
        assert_eq!(outcomes[3..5], [None, None]);
        assert_eq!(outcomes[5], Some(StorageErrorKind::Stale));
        assert_eq!(transactions(&store, &a).await, before + 1);
        let holder = store.contact(&a, &ContactRef::External("x".parse().unwrap())).await.unwrap();
        assert_eq!(holder.unwrap().id, contact(&a, 3).id);
        store.close().await;
    });
}

#[test]
fn unique_values_change_hands_within_a_transaction() {
    let database = small();
    wait(async {
        let store = Arc::new(database.open().await);
        let a = agent_id("a");
        let schema = insert_agent(&*store, &a).await;
        let (one, two) = (named(&contact(&a, 1), Some("x"), 1), named(&contact(&a, 2), Some("y"), 1));
        for (number, contact) in [(1, &one), (2, &two)] {
            store.insert_contact(&a, &write(contact, &schema, number)).await.unwrap();
        }
        let (release, holding) = hold(&store, &a).await;
        // In the end each has the other's name, and no order of two statements would do.
        let steps = [named(&one, None, 2), named(&two, Some("x"), 2), named(&one, Some("y"), 3)];
        let mut waiting = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            waiting.push(queue(&store, write(step, &schema, number as u64 + 3)).await);
        }
        release.notify_one();
        holding.await.unwrap().unwrap();
        for writing in waiting {
            writing.await.unwrap().unwrap();
        }
        for (name, number) in [("x", 2), ("y", 1)] {
            let holder = store.contact(&a, &ContactRef::External(name.parse().unwrap())).await.unwrap();
            assert_eq!(holder.unwrap().id, contact(&a, number).id, "{name}");
        }
        store.close().await;
    });
}

#[test]
fn a_write_that_nobody_waits_for_is_left_out_and_a_full_queue_refuses() {
    let mut database = small();
    database.config.write_queue = 3;
    wait(async {
        let store = Arc::new(database.open().await);
        let a = agent_id("a");
        let schema = insert_agent(&*store, &a).await;
        let (release, holding) = hold(&store, &a).await;
        let dropped = queue(&store, write(&contact(&a, 1), &schema, 1)).await;
        dropped.abort();
        assert!(dropped.await.unwrap_err().is_cancelled());
        let accepted = queue(&store, write(&contact(&a, 2), &schema, 2)).await;
        let refused = queue(&store, write(&contact(&a, 3), &schema, 3)).await;
        assert_eq!(kind(refused.await.unwrap()), Some(StorageErrorKind::Unavailable));
        release.notify_one();
        holding.await.unwrap().unwrap();
        accepted.await.unwrap().unwrap();
        assert_eq!(store.contact(&a, &ContactRef::Id(contact(&a, 1).id)).await.unwrap(), None);
        store.close().await;
        let late = store.insert_contact(&a, &write(&contact(&a, 4), &schema, 4)).await;
        assert_eq!(kind(late), Some(StorageErrorKind::Unavailable));
    });
}

#[test]
fn a_write_that_panics_ends_alone() {
    let database = small();
    wait(async {
        let store = Arc::new(database.open().await);
        let a = agent_id("a");
        let schema = insert_agent(&*store, &a).await;
        let (release, holding) = hold(&store, &a).await;
        let spoiling = {
            let (store, a) = (Arc::clone(&store), a.clone());
            tokio::spawn(async move {
                store.writer.write(&a, (), |_, ()| Box::pin(async { panic!("on purpose") })).await
            })
        };
        tokio::time::sleep(Duration::from_millis(10)).await;
        let later = queue(&store, write(&contact(&a, 1), &schema, 1)).await;
        release.notify_one();
        holding.await.unwrap().unwrap();
        let spoilt: Result<(), StorageError> = spoiling.await.unwrap();
        assert_eq!(kind(spoilt), Some(StorageErrorKind::Internal));
        later.await.unwrap().unwrap();
        store.close().await;
    });
}

#[test]
fn two_servers_write_to_one_agent_at_the_same_time() {
    let database = small();
    wait(async {
        let stores = [Arc::new(database.open().await), Arc::new(database.open().await)];
        let a = agent_id("a");
        let schema = insert_agent(&*stores[0], &a).await;
        let mut waiting = Vec::new();
        for number in 0..60 {
            // Every name is claimed twice, once on each server.
            let person = named(&contact(&a, number), Some(&format!("x{}", number / 2)), 1);
            let (store, write) =
                (Arc::clone(&stores[number as usize % 2]), write(&person, &schema, number + 1));
            let a = a.clone();
            waiting.push(tokio::spawn(async move { store.insert_contact(&a, &write).await }));
        }
        let mut won = 0;
        for writing in waiting {
            match writing.await.unwrap() {
                Ok(()) => won += 1,
                Err(error) => assert!(matches!(error.kind, StorageErrorKind::Duplicate(_)), "{error:?}"),
            }
        }
        assert_eq!(won, 30);
        let query = openapi_core::storage::ContactQuery {
            filter: openapi_core::storage::ContactFilter::default(),
            sort: openapi_core::storage::ContactSort::CreatedAt,
            order: openapi_core::storage::Order::Ascending,
            window: openapi_core::storage::Window::Page { offset: 0, limit: 100 },
        };
        let page = stores[0].contacts(&a, &query).await.unwrap();
        assert_eq!((page.contacts.len(), page.total), (30, 30));
        for store in stores {
            store.close().await;
        }
    });
}

#[test]
fn a_write_waits_no_longer_than_its_deadline() {
    let mut database = small();
    database.config.operation_timeout = Duration::from_millis(300);
    wait(async {
        let store = Arc::new(database.open().await);
        let a = agent_id("a");
        let schema = insert_agent(&*store, &a).await;
        let (release, holding) = hold(&store, &a).await;
        let begun = tokio::time::Instant::now();
        let late = store.insert_contact(&a, &write(&contact(&a, 1), &schema, 1)).await;
        assert_eq!(kind(late), Some(StorageErrorKind::Unavailable));
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
        release.notify_one();
        holding.await.unwrap().unwrap();
        store.insert_contact(&a, &write(&contact(&a, 2), &schema, 2)).await.unwrap();
        // The late writes had not begun, and are left out.
        assert_eq!(store.contact(&a, &ContactRef::Id(contact(&a, 1).id)).await.unwrap(), None);
        store.close().await;
    });
}
