//! Cases for knowledge: documents, their passages, and atomic changes.

use std::sync::Arc;

use super::super::fixture::{World, agent_id, assert_fails, seal};
use super::super::races::{WRITERS, Written, outcomes};
use super::super::{Backend, on};
use super::{knowledge_document, knowledge_id, passage, passages};
use ::conversations::storage::{ConversationStorage, KnowledgeWrite};
use openapi_core::audit::{AuditAction, AuditEntry};
use openapi_core::json::RawObject;
use openapi_core::storage::{RecordKind, StorageErrorKind, StoredRecord};
use openapi_core::values::AgentId;

pub(in crate::conformance) fn knowledge_comes_back_as_stored(backend: &mut dyn Backend) {
    let same = async |world: &World, a: &AgentId| {
        let documents = [1, 2, 3].map(knowledge_document);
        assert_eq!(world.knowledge_of(a).await, documents, "by id");
        let of = |number, count| passages(0..count).into_iter().map(move |it| (knowledge_id(number), it));
        let all: Vec<_> = of(1, 1).chain(of(3, 4)).collect();
        assert_eq!(world.some_passages(a, None, 99).await, all, "by document and position");
        assert_eq!(world.knowledge_version(a).await, 3);
    };
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        assert!(world.knowledge_of(&a).await.is_empty());
        assert!(world.some_passages(&a, None, 9).await.is_empty());
        assert_eq!(world.record_of(&a, RecordKind::Knowledge).await, None);
        let noted = world.audit_of(Some(&a)).await.len();
        world.add_knowledge(&a, 3, 4).await;
        // A document without passages is valid.
        world.add_knowledge(&a, 2, 0).await;
        world.add_knowledge(&a, 1, 1).await;
        same(&world, &a).await;
        let record = StoredRecord::single(RecordKind::Knowledge, 3, RawObject::default());
        assert_eq!(world.record_of(&a, RecordKind::Knowledge).await, Some(record));
        let entries = world.audit_of(Some(&a)).await;
        let added = |entry: &&AuditEntry| entry.action == AuditAction::KnowledgeAdd;
        assert_eq!((entries.len(), entries.iter().filter(added).count()), (noted + 3, 3));
    });
    if backend.reopen() {
        on(backend, async |storage| {
            same(&World::new(storage), &agent_id("agent-a")).await;
        });
    }
}

pub(in crate::conformance) fn knowledge_changes_need_the_version_before(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let add = async |agent: &AgentId, version, number| {
            world.try_knowledge(agent, version, &[], Some((number, passages(0..2)))).await
        };
        for version in [0, 2, 3, u64::MAX] {
            assert_fails(add(&a, version, 1).await, &StorageErrorKind::Stale);
        }
        assert!(world.knowledge_of(&a).await.is_empty());
        for version in 1..=3 {
            add(&a, version, version as u8).await.unwrap_or_else(|error| panic!("{version}: {error}"));
        }
        for version in [0, 1, 2, 3, 5, u64::MAX] {
            assert_fails(add(&a, version, 9).await, &StorageErrorKind::Stale);
        }
        assert_eq!(world.knowledge_of(&a).await.len(), 3);
        // A change without documents still increments the version.
        world.try_knowledge(&a, 4, &[], None).await.expect("nothing");
        assert_eq!(world.knowledge_version(&a).await, 4);
        assert_eq!(world.knowledge_of(&a).await.len(), 3);
        add(&b, 1, 1).await.expect("another agent's versions are its own");
        // The version is that of the record, regardless of the writer.
        let record = super::stored_record(RecordKind::Knowledge, 5);
        world.put_record(&a, &record).await;
        assert_fails(add(&a, 5, 9).await, &StorageErrorKind::Stale);
        add(&a, 6, 9).await.expect("the version after the record's");
        let stored = world.record_of(&a, RecordKind::Knowledge).await.expect("record");
        assert_eq!((stored.version, stored.body.is_empty()), (6, true));
    });
}

pub(in crate::conformance) fn changes_of_knowledge_are_stored_as_a_whole(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        for number in 1..=4 {
            world.add_knowledge(&a, number, 2).await;
        }
        let positions = world.passage_positions(&a).await;
        let noted = world.audit_of(Some(&a)).await.len();
        // The first of several errors is reported, and nothing is stored.
        let taken = || Some((3, passages(0..9)));
        let nobody = agent_id("nobody");
        for (agent, version, remove, kind) in [
            (&nobody, 9, &[1_u8] as &[u8], StorageErrorKind::Missing),
            (&a, 9, &[1], StorageErrorKind::Stale),
            (&a, 4, &[3], StorageErrorKind::Stale),
            (&a, 5, &[1, 2], StorageErrorKind::AlreadyExists),
            (&a, 5, &[], StorageErrorKind::AlreadyExists),
        ] {
            assert_fails(world.try_knowledge(agent, version, remove, taken()).await, &kind);
            assert_eq!(world.knowledge_of(&a).await, [1, 2, 3, 4].map(knowledge_document), "{kind}");
            assert_eq!(world.passage_positions(&a).await, positions, "{kind}");
            assert_eq!(world.knowledge_version(&a).await, 4, "{kind}");
            assert_eq!(world.audit_of(Some(&a)).await.len(), noted, "{kind}");
        }
        // One change removes several documents and adds one; absent ids are ignored.
        world.try_knowledge(&a, 5, &[4, 9, 1], Some((5, vec![passage(0)]))).await.expect("change");
        assert_eq!(world.knowledge_of(&a).await, [2, 3, 5].map(knowledge_document));
        assert_eq!(world.passage_positions(&a).await, [(2, 0), (2, 1), (3, 0), (3, 1), (5, 0)]);
        // A document replaces the one with its id, including all passages.
        let write = KnowledgeWrite {
            remove: vec![knowledge_id(3)],
            add: Some((
                ::conversations::KnowledgeDocument { title: "Another".to_owned(), ..knowledge_document(3) },
                passages([0]),
            )),
            ..world.knowledge_write(&a, 6)
        };
        world.storage.change_knowledge(&a, &write).await.expect("replace");
        assert_eq!(world.passage_positions(&a).await, [(2, 0), (2, 1), (3, 0), (5, 0)]);
        let titles: Vec<String> = world.knowledge_of(&a).await.into_iter().map(|it| it.title).collect();
        assert_eq!(titles[1], "Another");
        assert_eq!(world.audit_of(Some(&a)).await.len(), noted + 2);
        // Only the version remains.
        world.try_knowledge(&a, 7, &[2, 3, 5], None).await.expect("remove");
        assert!(world.knowledge_of(&a).await.is_empty());
        assert!(world.passage_positions(&a).await.is_empty());
        assert_eq!(world.knowledge_version(&a).await, 7);
        // A document that is added again starts without passages.
        world.add_knowledge(&a, 3, 1).await;
        assert_eq!(world.passage_positions(&a).await, [(3, 0)]);
    });
    assert_eq!(backend.faults(), [] as [String; 0]);
}

pub(in crate::conformance) fn passages_are_read_in_pages(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        world.add_knowledge(&a, 2, 12).await;
        world.add_knowledge(&a, 4, 0).await;
        world.add_knowledge(&a, 5, 1).await;
        // Passages arrive unordered, and positions do not start at 0.
        let scattered = passages([7, 300, 2, u32::MAX, 11]);
        world.try_knowledge(&a, 4, &[], Some((1, scattered))).await.expect("add");
        let positions: Vec<(u8, u32)> = [2, 7, 11, 300, u32::MAX]
            .map(|position| (1, position))
            .into_iter()
            .chain((0..12).map(|position| (2, position)))
            .chain([(5, 0)])
            .collect();
        assert_eq!(world.passage_positions(&a).await, positions);
        let read = async |after: Option<(u8, u32)>, at_most| {
            let after = after.map(|(number, position)| (knowledge_id(number), position));
            let found = world.some_passages(&a, after, at_most).await;
            found.iter().for_each(|(_, it)| assert_eq!(*it, passage(it.position)));
            found.iter().map(|(id, it)| (id.as_bytes()[0], it.position)).collect::<Vec<_>>()
        };
        for at_most in [1, 2, 5, 17, 18, 19, u32::MAX] {
            let (mut seen, mut after) = (Vec::new(), None);
            loop {
                let page = read(after, at_most).await;
                assert!(page.len() <= at_most as usize);
                let Some(last) = page.last() else { break };
                after = Some(*last);
                seen.extend(page);
                assert!(seen.len() <= positions.len(), "the passages do not end: {seen:?}");
            }
            assert_eq!(seen, positions, "in steps of {at_most}");
        }
        assert!(read(None, 0).await.is_empty());
        // A position without a passage.
        assert_eq!(read(Some((0, 9)), 9).await, positions[..9]);
        assert_eq!(read(Some((1, 12)), 2).await, positions[3..5]);
        assert_eq!(read(Some((2, u32::MAX)), 9).await, positions[17..]);
        assert_eq!(read(Some((3, 0)), 9).await, positions[17..]);
        assert!(read(Some((9, 0)), 9).await.is_empty());
    });
}

pub(in crate::conformance) fn knowledge_belongs_to_its_agent(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        world.add_knowledge(&a, 1, 2).await;
        world.add_knowledge(&a, 2, 1).await;
        assert!(world.knowledge_of(&b).await.is_empty());
        assert!(world.passage_positions(&b).await.is_empty());
        assert_eq!(world.knowledge_version(&b).await, 0);
        // The same ids under another agent name other documents.
        world.try_knowledge(&b, 1, &[1, 2], Some((1, passages([5])))).await.expect("change");
        assert_eq!(world.knowledge_of(&a).await, [1, 2].map(knowledge_document));
        assert_eq!(world.passage_positions(&a).await, [(1, 0), (1, 1), (2, 0)]);
        assert_eq!(world.passage_positions(&b).await, [(1, 5)]);
        assert_eq!((world.knowledge_version(&a).await, world.knowledge_version(&b).await), (2, 1));
        let nobody = agent_id("nobody");
        assert!(world.knowledge_of(&nobody).await.is_empty());
        assert!(world.passage_positions(&nobody).await.is_empty());
    });
}

fn change(storage: Arc<dyn ConversationStorage>, (agent, write): (AgentId, KnowledgeWrite)) -> Written {
    Box::pin(async move { storage.change_knowledge(&agent, &write).await })
}

pub(in crate::conformance) fn of_equal_knowledge_versions_one_wins(backend: &mut dyn Backend) {
    let a = agent_id("agent-a");
    for version in 1..=3 {
        let writes = std::sync::Mutex::new(Vec::new());
        on(backend, async |storage| {
            if version == 1 {
                drop(World::with_agents(Arc::clone(&storage)).await);
            }
            let world = World::new(storage);
            for writer in 0..WRITERS as u8 {
                let number = version as u8 * 16 + writer;
                let mut write = world.knowledge_write(&a, version);
                let entry = AuditEntry::clone(&write.effects.audit[0]);
                let id = openapi_core::values::AuditId::from_bytes([number; 12]);
                write.effects.audit = vec![seal(AuditEntry { id, ..entry })];
                write.add = Some((knowledge_document(number), passages(0..2)));
                writes.lock().expect("lock").push((a.clone(), write));
            }
        });
        let results = outcomes(backend, writes.into_inner().expect("lock"), change);
        let won = results.iter().filter(|result| result.is_ok()).count();
        let late = results.iter().filter_map(|result| result.as_ref().err());
        let stale = late.filter(|error| error.kind == StorageErrorKind::Stale).count();
        assert_eq!((won, stale), (1, WRITERS - 1), "{results:?}");
        on(backend, async |storage| {
            let world = World::new(storage);
            assert_eq!(world.knowledge_of(&a).await.len() as u64, version);
            assert_eq!(world.passage_positions(&a).await.len() as u64, 2 * version);
        });
    }
}
