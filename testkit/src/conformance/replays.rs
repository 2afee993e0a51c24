//! Cases for idempotency records.

use super::fixture::{World, assert_fails, at, replay};
use super::{Backend, on};
use openapi_core::contacts::Contact;
use openapi_core::storage::{IdempotencyKey, IdempotencyRecord, Result, StorageErrorKind};
use openapi_core::values::AgentId;

const BODY: &str = r#"{"primaryEmail":"a@example.com"}"#;

async fn insert(
    world: &World,
    agent: &AgentId,
    millis: i64,
    replay: impl FnOnce(&Contact) -> IdempotencyRecord,
) -> Result<Contact> {
    let contact = world.contact(agent, BODY, millis).await;
    let mut write = world.write(&contact, millis).await;
    write.effects.replay = Some(replay(&contact));
    world.storage.insert_contact(agent, &write).await.map(|()| contact)
}

async fn stored(world: &World, agent: &AgentId, key: u8, millis: i64) -> Option<IdempotencyRecord> {
    world.storage.replay(agent, &IdempotencyKey([key; 32]), at(millis)).await.expect("replay")
}

pub(super) fn answers_are_stored_with_the_change(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        assert_eq!(stored(&world, &a, 1, 0).await, None);
        let contact =
            insert(&world, &a, 1, |contact| replay(1, Some(contact.id), 100)).await.expect("insert");
        assert_eq!(stored(&world, &a, 1, 2).await, Some(replay(1, Some(contact.id), 100)), "to the byte");
        assert_eq!(stored(&world, &a, 2, 2).await, None);
        let bare = |_: &Contact| IdempotencyRecord { location: None, resource: None, ..replay(3, None, 100) };
        insert(&world, &a, 3, bare).await.expect("insert");
        assert_eq!(stored(&world, &a, 3, 4).await.expect("there").location, None);
    });
}

pub(super) fn answers_expire(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        insert(&world, &a, 1, |_| replay(1, None, 100)).await.expect("insert");
        assert!(stored(&world, &a, 1, 99).await.is_some());
        assert_eq!(stored(&world, &a, 1, 100).await, None, "at the very instant");
        insert(&world, &a, 100, |_| replay(1, None, 300)).await.expect("the key is free again");
        assert_eq!(stored(&world, &a, 1, 150).await.expect("there").expires_at, at(300));
    });
}

pub(super) fn a_key_holds_one_answer(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let first = insert(&world, &a, 1, |contact| replay(1, Some(contact.id), 100)).await.expect("insert");
        let second =
            insert(&world, &a, 2, |_| IdempotencyRecord { fingerprint: [1; 32], ..replay(1, None, 200) })
                .await;
        assert_fails(second, &StorageErrorKind::ReplayExists);
        assert_eq!(stored(&world, &a, 1, 3).await, Some(replay(1, Some(first.id), 100)));
        let (contacts, total) = world.list(&a, &super::fixture::everything()).await;
        assert_eq!((contacts, total), (vec![first], 1), "the rejected write left no contact");
    });
}

pub(super) fn answers_belong_to_their_agent(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        insert(&world, &a, 1, |_| replay(1, None, 100)).await.expect("insert");
        assert_eq!(stored(&world, &b, 1, 2).await, None);
        insert(&world, &b, 2, |_| IdempotencyRecord { fingerprint: [1; 32], ..replay(1, None, 100) })
            .await
            .expect("insert");
        let fingerprints = (stored(&world, &a, 1, 3).await, stored(&world, &b, 1, 3).await);
        assert_eq!(
            (
                fingerprints.0.map(|replay| replay.fingerprint),
                fingerprints.1.map(|replay| replay.fingerprint)
            ),
            (Some([9; 32]), Some([1; 32]))
        );
    });
}

pub(super) fn sweeping_is_bounded(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        for n in 0..5 {
            let agent = if n % 2 == 0 { &a } else { &b };
            insert(&world, agent, i64::from(n), |_| replay(n, None, 100)).await.expect("insert");
        }
        insert(&world, &a, 9, |_| replay(9, None, 500)).await.expect("insert");
        assert_eq!(
            world.storage.sweep_idempotency_records(at(99), 10).await.expect("sweep"),
            0,
            "none has expired"
        );
        assert_eq!(world.storage.sweep_idempotency_records(at(100), 2).await.expect("sweep"), 2);
        assert_eq!(world.storage.sweep_idempotency_records(at(100), 10).await.expect("sweep"), 3);
        assert_eq!(world.storage.sweep_idempotency_records(at(100), 10).await.expect("sweep"), 0);
        assert!(stored(&world, &a, 9, 100).await.is_some());
    });
}
