//! Cases for tenant records.

use std::sync::Arc;

use super::super::fixture::{World, agent_id, assert_fails, unsealed};
use super::super::races::{WRITERS, Written, outcomes};
use super::super::{Backend, on};
use super::stored_record;
use ::conversations::storage::ConversationStorage;
use openapi_core::audit::AuditAction;
use openapi_core::json::RawObject;
use openapi_core::storage::{Effects, RecordKind, StorageErrorKind, StoredRecord};
use openapi_core::values::AgentId;

pub(in crate::conformance) fn agent_records_come_back_as_saved(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        for kind in RecordKind::ALL {
            assert_eq!(world.record_of(&a, kind).await, None);
        }
        for kind in RecordKind::ALL {
            // The third one is an empty object.
            for version in 1..=4 {
                world.put_record(&a, &stored_record(kind, version)).await;
                assert_eq!(world.record_of(&a, kind).await, Some(stored_record(kind, version)));
            }
        }
        world.put_record(&a, &stored_record(RecordKind::Settings, 5)).await;
        for (kind, version) in RecordKind::ALL.into_iter().zip([5, 4, 4]) {
            assert_eq!(world.record_of(&a, kind).await, Some(stored_record(kind, version)));
        }
    });
    if backend.reopen() {
        on(backend, async |storage| {
            let (world, kind) = (World::new(storage), RecordKind::Settings);
            let stored = world.record_of(&agent_id("agent-a"), kind).await;
            assert_eq!(stored, Some(stored_record(kind, 5)), "a record outlives a restart");
        });
    }
}

pub(in crate::conformance) fn agent_records_need_the_version_before(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let kind = RecordKind::Settings;
        for version in [0, 2, 3, u64::MAX] {
            let saved = world.try_record(&a, &stored_record(kind, version)).await;
            assert_fails(saved, &StorageErrorKind::Stale);
        }
        assert_eq!(world.record_of(&a, kind).await, None);
        let audit = |millis| world.effects(Some(&a), AuditAction::AgentConfigure, a.as_str(), millis);
        let noted = world.audit_of(Some(&a)).await.len();
        let (first, second) = (audit(10), audit(20));
        let saved = world.storage.save_record(&a, &stored_record(kind, 1), &first).await;
        saved.expect("the first version");
        world.put_record(&a, &stored_record(kind, 2)).await;
        assert_eq!(world.audit_of(Some(&a)).await.get(noted..), Some(&*unsealed(&first.audit)));
        let nobody = agent_id("nobody");
        let refused = [0, 1, 2, 4, u64::MAX].map(|version| (&a, version, StorageErrorKind::Stale));
        for (agent, version, is) in [(&nobody, 9, StorageErrorKind::Missing)].into_iter().chain(refused) {
            let other = StoredRecord { body: RawObject::default(), ..stored_record(kind, version) };
            let saved = world.storage.save_record(agent, &other, &second).await;
            assert_fails(saved, &is);
            assert_eq!(world.record_of(&a, kind).await, Some(stored_record(kind, 2)), "{is}");
            assert_eq!(world.audit_of(Some(&a)).await.len(), noted + 1, "{is}");
        }
        // Each kind has its own versions.
        world.put_record(&a, &stored_record(RecordKind::ChatUsage, 1)).await;
        assert_eq!(world.record_of(&a, kind).await, Some(stored_record(kind, 2)));
    });
}

pub(in crate::conformance) fn agent_records_belong_to_their_agent(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let kind = RecordKind::Settings;
        world.put_record(&a, &stored_record(kind, 1)).await;
        assert_eq!(world.record_of(&b, kind).await, None);
        let theirs = StoredRecord { body: RawObject::default(), ..stored_record(kind, 1) };
        world.put_record(&b, &theirs).await;
        world.put_record(&a, &stored_record(kind, 2)).await;
        assert_eq!(world.record_of(&a, kind).await, Some(stored_record(kind, 2)));
        assert_eq!(world.record_of(&b, kind).await, Some(theirs));
        assert_eq!(world.record_of(&agent_id("nobody"), kind).await, None);
    });
}

fn save(storage: Arc<dyn ConversationStorage>, (agent, record): (AgentId, StoredRecord)) -> Written {
    Box::pin(async move { storage.save_record(&agent, &record, &Effects::default()).await })
}

pub(in crate::conformance) fn of_equal_record_versions_one_wins(backend: &mut dyn Backend) {
    on(backend, async |storage| drop(World::with_agents(storage).await));
    let (a, kind) = (agent_id("agent-a"), RecordKind::ChatUsage);
    for version in 1..=3 {
        let results = outcomes(backend, vec![(a.clone(), stored_record(kind, version)); WRITERS], save);
        let won = results.iter().filter(|result| result.is_ok()).count();
        let late = results.iter().filter_map(|result| result.as_ref().err());
        let stale = late.filter(|error| error.kind == StorageErrorKind::Stale).count();
        assert_eq!((won, stale), (1, WRITERS - 1), "{results:?}");
    }
}
