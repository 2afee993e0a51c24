//! Cases for keys and rate-limit windows.

use super::fixture::{World, agent_id, assert_fails, at};
use super::{Backend, on};
use openapi_core::access::{KeySelector, KeyStatus, StoredKey};
use openapi_core::agents::AgentStatus;
use openapi_core::audit::AuditAction;
use openapi_core::storage::StorageErrorKind;

pub(super) fn keys_are_found_by_both_names(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let second = world.insert_key(&a, 2).await;
        let first = world.insert_key(&a, 1).await;
        let by_id = world.storage.find_key(&KeySelector::Id(first.key.id)).await.expect("find");
        assert_eq!(by_id.as_ref(), Some(&first), "every property comes back");
        let by_key =
            world.storage.find_key(&KeySelector::ApiKey(second.key.api_key.clone())).await.expect("find");
        assert_eq!(by_key.as_ref(), Some(&second));
        let grant = world.storage.look_up_key(&first.key.api_key).await.expect("grant").expect("there");
        assert_eq!((grant.stored, grant.agent_status), (first.clone(), AgentStatus::Active));
        assert_eq!(world.storage.keys(&a).await.expect("keys"), [first, second], "by creation");
        let unknown = world.key(&a, 3);
        assert_eq!(world.storage.look_up_key(&unknown.key.api_key).await.expect("grant"), None);
    });
}

pub(super) fn key_ids_are_taken_once(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let stored = world.insert_key(&a, 1).await;
        let effects = world.effects(Some(&b), AuditAction::KeyCreate, "k", 2);
        for other in [true, false] {
            let mut key = world.key(&b, 2);
            if other {
                key.key.api_key = stored.key.api_key.clone();
            } else {
                key.key.id = stored.key.id;
            }
            assert_fails(
                world.storage.insert_key(&b, &key, &effects).await,
                &StorageErrorKind::AlreadyExists,
            );
        }
        let nobody = agent_id("nobody");
        let key = world.key(&nobody, 2);
        assert_fails(world.storage.insert_key(&nobody, &key, &effects).await, &StorageErrorKind::Missing);
        assert!(world.storage.keys(&b).await.expect("keys").is_empty());
    });
}

async fn update(
    world: &World,
    stored: &StoredKey,
    expected: u64,
    change: impl FnOnce(&mut StoredKey),
) -> openapi_core::storage::Result<StoredKey> {
    let mut changed = StoredKey { version: expected + 1, ..stored.clone() };
    changed.key.updated_at = at(50);
    change(&mut changed);
    let effects = world.effects(Some(&stored.key.agent_id), AuditAction::KeyEdit, "k", 50);
    world.storage.update_key(&stored.key.agent_id, expected, &changed, &effects).await.map(|()| changed)
}

pub(super) fn key_updates_need_the_stored_version(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let stored = world.insert_key(&a, 1).await;
        let changed = update(&world, &stored, 1, |key| {
            key.key.status = KeyStatus::Revoked;
            key.key.expires_at = None;
            key.announced_expiry = Some(at(8));
            key.key.description = None;
            key.secrets.truncate(1);
        });
        let changed = changed.await.expect("update");
        assert_fails(update(&world, &stored, 1, |_| {}).await, &StorageErrorKind::Stale);
        let grant = world.storage.look_up_key(&stored.key.api_key).await.expect("grant").expect("there");
        assert_eq!(grant.stored, changed, "the rejected update changed nothing");
        let absent = world.key(&a, 5);
        assert_fails(update(&world, &absent, 1, |_| {}).await, &StorageErrorKind::Missing);
    });
}

pub(super) fn key_updates_keep_the_last_use(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let stored = world.insert_key(&a, 1).await;
        let address = "192.0.2.9".parse().ok();
        world.storage.record_key_use(&a, stored.key.id, at(40), address).await.expect("use");
        update(&world, &stored, 1, |key| key.key.status = KeyStatus::Disabled)
            .await
            .expect("a use is no change");
        let found =
            world.storage.find_key(&KeySelector::Id(stored.key.id)).await.expect("find").expect("there");
        assert_eq!((found.key.last_used_at, found.key.last_used_address), (Some(at(40)), address));
        assert_eq!((found.key.status, found.version), (KeyStatus::Disabled, 2));
    });
}

pub(super) fn the_last_use_never_goes_back(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let stored = world.insert_key(&a, 1).await;
        for (millis, address) in [(30, "192.0.2.1"), (20, "192.0.2.2")] {
            world
                .storage
                .record_key_use(&a, stored.key.id, at(millis), address.parse().ok())
                .await
                .expect("use");
        }
        world.storage.record_key_use(&b, stored.key.id, at(90), None).await.expect("another agent's");
        world.storage.record_key_use(&a, world.key(&a, 1).key.id, at(90), None).await.expect("an absent key");
        let found =
            world.storage.find_key(&KeySelector::Id(stored.key.id)).await.expect("find").expect("there");
        assert_eq!(
            (found.key.last_used_at, found.key.last_used_address),
            (Some(at(30)), "192.0.2.1".parse().ok())
        );
    });
}

pub(super) fn the_grant_tells_the_agents_status(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let stored = world.insert_key(&a, 1).await;
        world.set_status(&a, AgentStatus::Disabled, 2).await.expect("disable");
        let grant = world.storage.look_up_key(&stored.key.api_key).await.expect("grant").expect("there");
        assert_eq!(grant.agent_status, AgentStatus::Disabled);
        assert!(world.storage.find_key(&KeySelector::Id(stored.key.id)).await.expect("find").is_some());
    });
}

pub(super) fn keys_belong_to_their_agent(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let stored = world.insert_key(&a, 1).await;
        assert!(world.storage.keys(&b).await.expect("keys").is_empty());
        let mut stolen = StoredKey { version: 2, ..stored.clone() };
        stolen.key.status = KeyStatus::Revoked;
        let effects = world.effects(Some(&b), AuditAction::KeyRevoke, "k", 2);
        assert_fails(world.storage.update_key(&b, 1, &stolen, &effects).await, &StorageErrorKind::Missing);
        assert_eq!(world.storage.keys(&a).await.expect("keys"), [stored]);
    });
}
