//! Cases for agents.

use super::fixture::{World, agent, agent_id, assert_fails, at, everything};
use super::{Backend, on};
use openapi_core::access::KeySelector;
use openapi_core::agents::{Agent, AgentStatus};
use openapi_core::audit::AuditAction;
use openapi_core::storage::{RecordChange, StorageErrorKind};

pub(super) fn agents_are_stored_and_listed_by_age(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let world = World::new(storage);
        for (id, millis) in [("c", 5), ("a", 9), ("b", 5)] {
            world.agent(id, millis).await;
        }
        let listed: Vec<Agent> = world.storage.agents().await.expect("agents");
        let ids: Vec<&str> = listed.iter().map(|agent| agent.id.as_str()).collect();
        assert_eq!(ids, ["b", "c", "a"], "by creation, then id");
        assert_eq!(listed[0], agent(&agent_id("b"), 5));
        assert_eq!(world.storage.agent(&agent_id("b")).await.expect("agent"), Some(listed[0].clone()));
        assert_eq!(world.storage.agent(&agent_id("B")).await.expect("agent"), None, "ids are case-sensitive");
    });
}

pub(super) fn agent_ids_are_never_given_twice(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let world = World::new(storage);
        let id = world.agent("a", 0).await;
        assert_fails(world.insert_agent(&id, 1).await, &StorageErrorKind::AlreadyExists);
        world.set_status(&id, AgentStatus::Deleted, 2).await.expect("delete");
        assert_fails(world.insert_agent(&id, 3).await, &StorageErrorKind::AlreadyExists);
        while world.storage.purge_agent(&id, 10).await.expect("purge") > 0 {}
        assert_fails(world.insert_agent(&id, 4).await, &StorageErrorKind::AlreadyExists);
    });
}

pub(super) fn a_deleted_agent_is_absent_everywhere(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let contact =
            world.insert(&a, r#"{"primaryEmail":"a@example.com","externalReferenceId":"x"}"#, 1).await;
        let key = world.insert_key(&a, 2).await;
        world.set_status(&a, AgentStatus::Deleted, 3).await.expect("delete");
        assert_eq!(world.storage.agents().await.expect("agents").len(), 1);
        let tombstone = world.storage.agent(&a).await.expect("agent").expect("tombstone");
        assert_eq!(tombstone.status, AgentStatus::Deleted);
        assert_eq!(world.by_id(&a, contact.id).await, None);
        assert_eq!(world.by_external(&a, "x").await, None);
        assert_eq!(world.list(&a, &everything()).await, (vec![], 0));
        assert_eq!(world.storage.contact_schema(&a).await.expect("schema"), None);
        assert!(world.storage.keys(&a).await.expect("keys").is_empty());
        assert_eq!(world.storage.find_key(&KeySelector::Id(key.key.id)).await.expect("key"), None);
        let grant = world.storage.look_up_key(&key.key.api_key).await.expect("grant");
        assert!(
            grant.is_none_or(|grant| grant.agent_status == AgentStatus::Deleted),
            "its keys admit nobody"
        );
        assert_fails(world.try_insert(&contact).await, &StorageErrorKind::Missing);
        let effects = world.effects(Some(&a), AuditAction::KeyCreate, "k", 4);
        assert_fails(
            world.storage.insert_key(&a, &world.key(&a, 4), &effects).await,
            &StorageErrorKind::Missing,
        );
        assert_fails(world.set_status(&a, AgentStatus::Active, 5).await, &StorageErrorKind::Missing);
        assert!(world.storage.contact_schema(&b).await.expect("schema").is_some());
    });
}

pub(super) fn purging_is_bounded_and_complete(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        for n in 0..5 {
            world.insert(&a, &format!(r#"{{"primaryEmail":"a{n}@example.com","tags":["t"]}}"#), n).await;
        }
        let key = world.insert_key(&a, 9).await;
        assert_eq!(
            world.storage.purge_agent(&a, 10).await.expect("purge"),
            0,
            "a living agent is not purged"
        );
        world.set_status(&a, AgentStatus::Deleted, 10).await.expect("delete");
        let mut removed = 0;
        loop {
            let step = world.storage.purge_agent(&a, 2).await.expect("purge");
            assert!(step <= 2, "a step removed {step} rows of at most 2");
            if step == 0 {
                break;
            }
            removed += step;
        }
        assert!(removed > 5 + 1, "contacts, key and schema: {removed}");
        assert_eq!(world.storage.look_up_key(&key.key.api_key).await.expect("grant"), None);
        let payloads = world.audit_of(Some(&a)).await;
        assert!(payloads.iter().all(|entry| entry.details.is_empty()), "payloads are cleared, entries stay");
        assert!(!payloads.is_empty());
    });
}

pub(super) fn purging_touches_no_living_agent(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let body = r#"{"primaryEmail":"a@example.com","externalReferenceId":"x","tags":["t"]}"#;
        world.insert(&a, body, 1).await;
        let retained = world.insert(&b, body, 2).await;
        let key = world.insert_key(&b, 3).await;
        let record = super::records::record(&[1], 1);
        world.change_records(Some(&b), vec![RecordChange::Save(record.clone())]).await.expect("save");
        world.append(&b, vec![world.key_event(1, 3)]).await;
        world.set_status(&a, AgentStatus::Deleted, 4).await.expect("delete");
        while world.storage.purge_agent(&a, 100).await.expect("purge") > 0 {}
        assert_eq!(world.by_external(&b, "x").await, Some(retained.clone()));
        assert_eq!(world.list(&b, &everything()).await, (vec![retained], 1));
        assert!(world.storage.look_up_key(&key.key.api_key).await.expect("grant").is_some());
        assert_eq!(world.records_in(Some(&b)).await, [record]);
        assert_eq!(world.log_of(&b).await.len(), 1);
        assert!(world.audit_of(Some(&b)).await.iter().all(|entry| !entry.details.is_empty()));
    });
}

pub(super) fn a_disabled_agent_keeps_its_data(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let contact = world.insert(&a, r#"{"primaryEmail":"a@example.com"}"#, 1).await;
        world.set_status(&a, AgentStatus::Disabled, 2).await.expect("disable");
        assert_eq!(world.by_id(&a, contact.id).await, Some(contact));
        let stored = world.storage.agent(&a).await.expect("agent").expect("there");
        assert_eq!(
            (stored.status, stored.updated_at, stored.created_at),
            (AgentStatus::Disabled, at(2), at(0))
        );
        world.set_status(&a, AgentStatus::Active, 3).await.expect("enable");
        assert_eq!(world.storage.agents().await.expect("agents").len(), 2);
    });
}
