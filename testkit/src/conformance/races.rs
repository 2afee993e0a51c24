//! Cases for concurrency: one of several writers wins, and a dropped write is atomic.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

use super::fixture::{World, at, everything, parsed, replay};
use super::{Backend, on};
use conversations::storage::ConversationStorage;
use openapi_core::contacts::Contact;
use openapi_core::storage::{ContactWrite, IdempotencyKey, Result, StorageErrorKind};

pub(super) const WRITERS: usize = 8;

pub(super) type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Runs each future on its own thread, all at once.
#[expect(clippy::disallowed_methods, reason = "a suite is run by a test, and threads are its own")]
pub(super) fn race(backend: &dyn Backend, work: &(dyn Fn(usize) -> Work + Sync)) {
    std::thread::scope(|scope| {
        for n in 0..WRITERS {
            scope.spawn(move || backend.block_on(work(n)));
        }
    });
}

/// The outcome of a write.
pub(super) type Written = Pin<Box<dyn Future<Output = Result<()>> + Send>>;

fn insert(storage: Arc<dyn ConversationStorage>, write: ContactWrite) -> Written {
    Box::pin(async move { storage.insert_contact(&write.contact.agent_id, &write).await })
}

fn update(storage: Arc<dyn ConversationStorage>, write: ContactWrite) -> Written {
    Box::pin(async move {
        storage.update_contact(&write.contact.agent_id, write.contact.version - 1, &write).await
    })
}

/// Races prepared writes and returns their outcomes.
pub(super) fn outcomes<W: Clone + Send + Sync + 'static>(
    backend: &dyn Backend,
    writes: Vec<W>,
    write: fn(Arc<dyn ConversationStorage>, W) -> Written,
) -> Vec<Result<()>> {
    assert_eq!(writes.len(), WRITERS);
    let results = Arc::new(Mutex::new(Vec::new()));
    let storage = backend.storage();
    race(backend, &|n| {
        let (storage, own, results) = (Arc::clone(&storage), writes[n].clone(), Arc::clone(&results));
        Box::pin(async move {
            let result = write(storage, own).await;
            results.lock().expect("lock").push(result);
        })
    });
    std::mem::take(&mut *results.lock().expect("lock"))
}

pub(super) fn of_equal_external_ids_one_wins(backend: &mut dyn Backend) {
    let writes = Mutex::new(Vec::new());
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        for n in 0..WRITERS {
            let body = format!(r#"{{"primaryEmail":"p{n}@example.com","externalReferenceId":"same"}}"#);
            let contact = world.contact(&a, &body, n as i64).await;
            let write = world.write(&contact, n as i64).await;
            writes.lock().expect("lock").push(write);
        }
    });
    let results = outcomes(backend, writes.into_inner().expect("lock"), insert);
    let won = results.iter().filter(|result| result.is_ok()).count();
    let duplicates = results.iter().filter(|result| is_duplicate(result)).count();
    assert_eq!((won, duplicates), (1, WRITERS - 1), "{results:?}");
    on(backend, async |storage| {
        let world = World::new(storage);
        let a = super::fixture::agent_id("agent-a");
        let (contacts, total) = world.list(&a, &everything()).await;
        assert_eq!((contacts.len(), total), (1, 1));
    });
}

fn is_duplicate(result: &Result<()>) -> bool {
    matches!(result, Err(error) if matches!(error.kind, StorageErrorKind::Duplicate(_)))
}

fn is(result: &Result<()>, kind: &StorageErrorKind) -> bool {
    matches!(result, Err(error) if error.kind == *kind)
}

pub(super) fn of_equal_versions_one_wins(backend: &mut dyn Backend) {
    let writes = Mutex::new(Vec::new());
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let contact = world.insert(&a, r#"{"primaryEmail":"a@example.com"}"#, 1).await;
        for n in 0..WRITERS {
            let change = |contact: &mut Contact| contact.first_name = Some(parsed(&format!("n{n}")));
            let write = world.write(&World::changed(&contact, 2, change), 2).await;
            writes.lock().expect("lock").push(write);
        }
    });
    let results = outcomes(backend, writes.into_inner().expect("lock"), update);
    let won = results.iter().filter(|result| result.is_ok()).count();
    let stale = results.iter().filter(|result| is(result, &StorageErrorKind::Stale)).count();
    assert_eq!((won, stale), (1, WRITERS - 1), "{results:?}");
}

pub(super) fn of_equal_idempotency_keys_one_wins(backend: &mut dyn Backend) {
    let writes = Mutex::new(Vec::new());
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        for n in 0..WRITERS {
            let contact = world.contact(&a, r#"{"primaryEmail":"a@example.com"}"#, n as i64).await;
            let mut write = world.write(&contact, n as i64).await;
            write.effects.replay = Some(replay(1, Some(contact.id), 1_000));
            writes.lock().expect("lock").push(write);
        }
    });
    let results = outcomes(backend, writes.into_inner().expect("lock"), insert);
    let won = results.iter().filter(|result| result.is_ok()).count();
    let refused = results.iter().filter(|result| is(result, &StorageErrorKind::ReplayExists)).count();
    assert_eq!((won, refused), (1, WRITERS - 1), "{results:?}");
    on(backend, async |storage| {
        let world = World::new(storage);
        let a = super::fixture::agent_id("agent-a");
        let (contacts, total) = world.list(&a, &everything()).await;
        assert_eq!((contacts.len(), total), (1, 1));
    });
}

pub(super) fn a_dropped_write_is_whole_or_absent(backend: &mut dyn Backend) {
    for polls in 0..6 {
        on(backend, async |storage| {
            let world = World::new(storage);
            let a = world.agent(&format!("agent-{polls}"), 0).await;
            let contact = world
                .contact(&a, r#"{"primaryEmail":"a@example.com","externalReferenceId":"x","tags":["t"]}"#, 1)
                .await;
            let mut write = world.write(&contact, 1).await;
            write.effects.replay = Some(replay(1, Some(contact.id), 1_000));
            write.effects.events = vec![world.event(contact.id, 1)];
            {
                let mut future = pin!(world.storage.insert_contact(&a, &write));
                for _ in 0..polls {
                    let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                    if polled.is_ready() {
                        break;
                    }
                    #[expect(
                        clippy::disallowed_methods,
                        reason = "a suite may wait for a store's own thread"
                    )]
                    std::thread::sleep(std::time::Duration::from_millis(2));
                }
            }
            // A dropped write may still be in flight; a later write is ordered after it.
            let other = world.insert(&a, r#"{"primaryEmail":"b@example.com"}"#, 2).await;
            let stored = world.by_id(&a, contact.id).await;
            let (contacts, total) = world.list(&a, &everything()).await;
            let answer = world.storage.replay(&a, &IdempotencyKey([1; 32]), at(3)).await.expect("replay");
            let entries = world.audit_of(Some(&a)).await.len();
            if stored.is_some() {
                assert_eq!((contacts, total), (vec![other, contact], 2));
                assert!(answer.is_some() && world.by_external(&a, "x").await.is_some());
                assert_eq!((entries, world.log_of(&a).await.len()), (3, 1));
            } else {
                assert_eq!((contacts, total), (vec![other], 1));
                assert!(answer.is_none() && world.by_external(&a, "x").await.is_none());
                assert_eq!((entries, world.log_of(&a).await.len()), (2, 0));
            }
        });
    }
}
