//! Cases for records.

use std::sync::Arc;

use super::fixture::{World, agent_id, assert_fails, at, object, unsealed};
use super::races::{WRITERS, Written, outcomes};
use super::{Backend, on};
use ::conversations::storage::ConversationStorage;
use openapi_core::agents::AgentStatus;
use openapi_core::audit::AuditAction;
use openapi_core::json::RawObject;
use openapi_core::storage::{
    Effects, RecordChange, RecordId, RecordKey, RecordKind, RecordsWrite, Result, StorageErrorKind,
    StoredRecord, Subject,
};
use openapi_core::values::{AgentId, ContactId, ConversationId};

pub(super) const KIND: RecordKind = RecordKind::RateLimitWindow;

/// A record of a kind of which a scope has several. The bodies of the records differ.
pub(super) fn record(id: &[u8], version: u64) -> StoredRecord {
    let text = format!(r#"{{"zeta":"é\u0001","version":{version},"alpha":[1.50,null],"id":"{id:?}"}}"#);
    let body = RawObject::new(&object(&text));
    StoredRecord { key: key(KIND, id), version, subject: None, unique: None, due_at: None, body }
}

fn key(kind: RecordKind, id: &[u8]) -> RecordKey {
    RecordKey::new(kind, RecordId::from_bytes(id).unwrap_or_else(|| panic!("{id:?}")))
}

impl World {
    pub(super) async fn change_records(
        &self,
        scope: Option<&AgentId>,
        changes: Vec<RecordChange>,
    ) -> Result<()> {
        self.storage.save_records(scope, &RecordsWrite { changes, effects: Effects::default() }).await
    }

    async fn put_in(&self, scope: Option<&AgentId>, record: &StoredRecord) {
        let saved = self.change_records(scope, vec![RecordChange::Save(record.clone())]).await;
        saved.unwrap_or_else(|error| panic!("save {record:?}: {error}"));
    }

    async fn record_in(&self, scope: Option<&AgentId>, key: &RecordKey) -> Option<StoredRecord> {
        self.storage.record(scope, key).await.unwrap_or_else(|error| panic!("{key:?}: {error}"))
    }

    pub(super) async fn records_in(&self, scope: Option<&AgentId>) -> Vec<StoredRecord> {
        self.storage.records_of(scope, KIND, None, 1_000).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// The ids of due records that begin with a byte.
    async fn due_at(&self, now: i64, at_most: u32) -> Vec<(Option<AgentId>, RecordId)> {
        let due = self.storage.due_records(KIND, at(now), at_most).await;
        let due = due.unwrap_or_else(|error| panic!("due: {error}"));
        due.into_iter().map(|(scope, record)| (scope, record.key.id)).collect()
    }
}

fn remove(key: &RecordKey, version: u64) -> RecordChange {
    RecordChange::Remove { key: key.clone(), version }
}

fn id(bytes: &[u8]) -> RecordId {
    key(KIND, bytes).id
}

/// Records of every form that a record can have.
fn forms() -> Vec<StoredRecord> {
    let plain = |id: &[u8]| record(id, 1);
    let subject = |subject| StoredRecord { subject: Some(subject), ..plain(&[0, 255]) };
    vec![
        StoredRecord { body: RawObject::default(), ..plain(&[]) },
        plain(&[0]),
        subject(Subject::Contact(ContactId::from_bytes([3; 12]))),
        StoredRecord {
            subject: Some(Subject::Conversation(ConversationId::from_bytes([255; 12]))),
            unique: Some([0; 32]),
            due_at: Some(at(5)),
            ..plain(&[1])
        },
        StoredRecord { unique: Some([255; 32]), due_at: Some(at(-5)), ..plain(&[1, 0]) },
        StoredRecord { key: key(KIND, &[200; 64]), ..plain(&[2]) },
    ]
}

pub(super) fn records_come_back_as_saved(backend: &mut dyn Backend) {
    let same = async |world: &World, scope: Option<&AgentId>| {
        for expected in forms() {
            assert_eq!(world.record_in(scope, &expected.key).await.as_ref(), Some(&expected));
            if let Some(unique) = &expected.unique {
                let found = world.storage.record_by_unique(scope, KIND, unique).await.expect("unique");
                assert_eq!(found.as_ref(), Some(&expected));
            }
        }
        assert_eq!(world.records_in(scope).await, forms(), "by id");
    };
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        for kind in RecordKind::ALL.iter().copied() {
            assert_eq!(world.record_in(Some(&a), &kind.into()).await, None);
            let single = StoredRecord::single(kind, 1, RawObject::new(&object(r#"{"of":"a kind"}"#)));
            if kind != KIND {
                world.put_in(Some(&a), &single).await;
            }
        }
        for scope in [Some(&a), None] {
            for record in forms() {
                world.put_in(scope, &record).await;
            }
            same(&world, scope).await;
        }
        for kind in RecordKind::ALL.iter().copied().filter(|kind| *kind != KIND) {
            let stored = world.record_in(Some(&a), &kind.into()).await.expect("a record");
            assert_eq!((stored.key, stored.version), (kind.into(), 1));
            assert_eq!(world.record_in(None, &kind.into()).await, None);
        }
    });
    if backend.reopen() {
        on(backend, async |storage| {
            let world = World::new(storage);
            same(&world, Some(&agent_id("agent-a"))).await;
            same(&world, None).await;
        });
    }
}

pub(super) fn records_compare_versions(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let one = record(&[1], 1).key;
        for scope in [Some(&a), None] {
            for version in [0, 2, 3, u64::MAX] {
                let saved =
                    world.change_records(scope, vec![RecordChange::Save(record(&[1], version))]).await;
                assert_fails(saved, &StorageErrorKind::Stale);
            }
            for version in [0, 1, u64::MAX] {
                assert_fails(
                    world.change_records(scope, vec![remove(&one, version)]).await,
                    &StorageErrorKind::Stale,
                );
            }
            assert_eq!(world.records_in(scope).await, []);
            world.put_in(scope, &record(&[1], 1)).await;
            world.put_in(scope, &record(&[1], 2)).await;
            for version in [0, 1, 2, 4, u64::MAX] {
                let saved =
                    world.change_records(scope, vec![RecordChange::Save(record(&[1], version))]).await;
                assert_fails(saved, &StorageErrorKind::Stale);
            }
            for version in [0, 1, 3] {
                assert_fails(
                    world.change_records(scope, vec![remove(&one, version)]).await,
                    &StorageErrorKind::Stale,
                );
            }
            assert_eq!(world.records_in(scope).await, [record(&[1], 2)]);
            // Each record has its own versions.
            world.put_in(scope, &record(&[2], 1)).await;
            world.change_records(scope, vec![remove(&one, 2)]).await.expect("remove");
            assert_eq!(world.records_in(scope).await, [record(&[2], 1)]);
            assert_eq!(world.record_in(scope, &one).await, None);
            world.put_in(scope, &record(&[1], 1)).await;
        }
        let nobody = agent_id("nobody");
        let saved = world.change_records(Some(&nobody), vec![RecordChange::Save(record(&[1], 9))]).await;
        assert_fails(saved, &StorageErrorKind::Missing);
    });
}

pub(super) fn records_are_changed_as_a_whole(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        for scope in [Some(&a), None] {
            let save = |id, version| RecordChange::Save(record(&[id], version));
            world.change_records(scope, vec![save(1, 1), save(2, 1), save(3, 1)]).await.expect("save");
            let effects = world.effects(scope, AuditAction::AgentConfigure, "records", 20);
            let noted = world.audit_of(scope).await.len();
            let stale = vec![save(4, 1), save(1, 2), remove(&record(&[2], 1).key, 2), save(3, 2)];
            let write = RecordsWrite { changes: stale, effects: effects.clone() };
            assert_fails(world.storage.save_records(scope, &write).await, &StorageErrorKind::Stale);
            assert_eq!(world.records_in(scope).await, [1, 2, 3].map(|id| record(&[id], 1)));
            assert_eq!(world.audit_of(scope).await.len(), noted, "a rejected write leaves no entry");
            let changes = vec![save(4, 1), save(1, 2), remove(&record(&[2], 1).key, 1), save(3, 2)];
            let write = RecordsWrite { changes, effects: effects.clone() };
            world.storage.save_records(scope, &write).await.expect("save");
            let expected = [record(&[1], 2), record(&[3], 2), record(&[4], 1)];
            assert_eq!(world.records_in(scope).await, expected);
            let entries = world.audit_of(scope).await;
            let entry = unsealed(&effects.audit);
            assert_eq!(entries.iter().filter(|noted| **noted == entry[0]).count(), 1);
            world.change_records(scope, Vec::new()).await.expect("nothing to change");
        }
    });
}

pub(super) fn unique_values_are_one_records(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let with = |number: u8, version, unique: Option<u8>| {
            RecordChange::Save(StoredRecord {
                unique: unique.map(|byte| [byte; 32]),
                ..record(&[number], version)
            })
        };
        let holder = async |scope, kind, byte: u8| {
            let found = world.storage.record_by_unique(scope, kind, &[byte; 32]).await.expect("unique");
            found.map(|record| record.key.id)
        };
        for scope in [Some(&a), Some(&b), None] {
            assert_eq!(holder(scope, KIND, 1).await, None, "a value is of its scope");
            world
                .change_records(scope, vec![with(1, 1, Some(1)), with(2, 1, Some(2)), with(3, 1, None)])
                .await
                .expect("save");
            for changes in [
                vec![with(4, 1, Some(1))],
                vec![with(3, 2, Some(2))],
                vec![with(4, 1, Some(9)), with(5, 1, Some(9))],
                vec![with(4, 1, Some(9)), with(3, 2, Some(1))],
            ] {
                assert_fails(world.change_records(scope, changes).await, &StorageErrorKind::DuplicateRecord);
            }
            // Another version comes before a duplicate.
            assert_fails(
                world.change_records(scope, vec![with(4, 2, Some(1))]).await,
                &StorageErrorKind::Stale,
            );
            assert_eq!(world.records_in(scope).await.len(), 3);
            // Records of another kind have values of their own.
            let other = StoredRecord {
                unique: Some([1; 32]),
                ..StoredRecord::single(RecordKind::Settings, 1, RawObject::default())
            };
            world.put_in(scope, &other).await;
            assert_eq!(holder(scope, RecordKind::Settings, 1).await, Some(id(&[])));
            // A value may stay, and one that is given up may be taken in the same write.
            world.change_records(scope, vec![with(1, 2, Some(1))]).await.expect("the same value");
            world
                .change_records(scope, vec![with(4, 1, Some(1)), remove(&record(&[1], 2).key, 2)])
                .await
                .expect("removed");
            world.change_records(scope, vec![with(2, 2, None), with(3, 2, Some(2))]).await.expect("given up");
            assert_eq!(holder(scope, KIND, 1).await, Some(id(&[4])));
            assert_eq!(holder(scope, KIND, 2).await, Some(id(&[3])));
        }
    });
}

pub(super) fn records_are_listed_by_id(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let ids: [&[u8]; 5] = [&[], &[0], &[0, 0], &[1, 0], &[2]];
        for scope in [None, Some(&a)] {
            for bytes in ids.iter().rev() {
                world.put_in(scope, &record(bytes, 1)).await;
            }
            world.put_in(scope, &StoredRecord::single(RecordKind::Settings, 1, RawObject::default())).await;
            let page = async |after: Option<&[u8]>, at_most| {
                let after = after.map(id);
                let page =
                    world.storage.records_of(scope, KIND, after.as_ref(), at_most).await.expect("page");
                page.into_iter().map(|record| record.key.id).collect::<Vec<_>>()
            };
            assert_eq!(page(None, 9).await, ids.map(id));
            assert_eq!(page(None, 2).await, [id(ids[0]), id(ids[1])]);
            assert_eq!(page(Some(&[0]), 2).await, [id(ids[2]), id(ids[3])]);
            assert_eq!(
                page(Some(&[0, 1]), 9).await,
                [id(ids[3]), id(ids[4])],
                "the position needs no record"
            );
            assert!(page(Some(&[2]), 9).await.is_empty() && page(None, 0).await.is_empty());
        }
        // Over all scopes.
        let mut all = Vec::new();
        let mut after = None;
        loop {
            let page = world.storage.all_records(KIND, after.as_ref(), 3).await.expect("page");
            assert!(page.len() <= 3);
            let Some((scope, last)) = page.last() else { break };
            after = Some((scope.clone(), last.key.id.clone()));
            all.extend(page.into_iter().map(|(scope, record)| (scope, record.key.id)));
        }
        let scopes: Vec<_> = all.chunks(ids.len()).map(|chunk| chunk[0].0.clone()).collect();
        assert!(scopes == [None, Some(a.clone())] || scopes == [Some(a.clone()), None], "{scopes:?}");
        for (chunk, scope) in all.chunks(ids.len()).zip(&scopes) {
            let expected: Vec<_> = ids.iter().map(|bytes| (scope.clone(), id(bytes))).collect();
            assert_eq!(chunk, expected);
        }
    });
}

pub(super) fn due_records_in_order(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let due = |number: u8, version, millis: Option<i64>| StoredRecord {
            due_at: millis.map(at),
            ..record(&[number], version)
        };
        for (scope, number, millis) in [
            (Some(&a), 1, Some(30)),
            (Some(&b), 2, Some(10)),
            (None, 3, Some(20)),
            (Some(&a), 4, None),
            (Some(&a), 5, Some(40)),
        ] {
            world.put_in(scope, &due(number, 1, millis)).await;
        }
        let other = StoredRecord {
            due_at: Some(at(1)),
            ..StoredRecord::single(RecordKind::Settings, 1, RawObject::default())
        };
        world.put_in(Some(&a), &other).await;
        let expected = [(Some(b.clone()), id(&[2])), (None, id(&[3])), (Some(a.clone()), id(&[1]))];
        assert_eq!(world.due_at(9, 10).await, []);
        assert_eq!(world.due_at(30, 10).await, expected, "at its instant a record is due");
        assert_eq!(world.due_at(30, 2).await, expected[..2]);
        world.put_in(Some(&b), &due(2, 2, Some(50))).await;
        world.put_in(None, &due(3, 2, None)).await;
        world.put_in(Some(&a), &due(4, 2, Some(5))).await;
        assert_eq!(world.due_at(30, 10).await, [(Some(a.clone()), id(&[4])), (Some(a.clone()), id(&[1]))]);
        world.set_status(&a, AgentStatus::Deleted, 60).await.expect("delete");
        assert_eq!(world.due_at(100, 10).await, [(Some(b), id(&[2]))], "nothing of a deleted agent");
        assert!(
            world
                .storage
                .all_records(KIND, None, 9)
                .await
                .expect("all")
                .iter()
                .all(|(scope, _)| scope.as_ref() != Some(&a))
        );
    });
}

pub(super) fn records_belong_to_their_scope(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let one = record(&[1], 1);
        world.put_in(Some(&a), &one).await;
        for other in [Some(&b), None, Some(&agent_id("nobody"))] {
            assert_eq!(world.record_in(other, &one.key).await, None);
            assert_eq!(world.records_in(other).await, []);
        }
        let theirs = StoredRecord { body: RawObject::default(), ..one.clone() };
        for other in [Some(&b), None] {
            world.put_in(other, &theirs).await;
        }
        world.put_in(Some(&a), &record(&[1], 2)).await;
        assert_eq!(world.record_in(Some(&a), &one.key).await, Some(record(&[1], 2)));
        for other in [Some(&b), None] {
            assert_eq!(world.record_in(other, &one.key).await.as_ref(), Some(&theirs));
            assert_fails(
                world.change_records(other, vec![remove(&one.key, 2)]).await,
                &StorageErrorKind::Stale,
            );
        }
    });
}

pub(super) fn records_go_with_their_subject(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let contact = world.insert(&a, r#"{"primaryEmail":"a@example.com"}"#, 1).await;
        let other = world.insert(&a, r#"{"primaryEmail":"b@example.com"}"#, 2).await;
        let [linked, unlinked] = [(1, Some(contact.id)), (2, None)]
            .map(|(number, contact)| openapi_conversation(&a, number, contact));
        for conversation in [&linked, &unlinked] {
            world.put_conversation(conversation, Vec::new()).await;
        }
        let subjects = [
            Some(Subject::Contact(contact.id)),
            Some(Subject::Contact(other.id)),
            Some(Subject::Conversation(linked.id)),
            Some(Subject::Conversation(unlinked.id)),
            None,
        ];
        let mut number = 0;
        for subject in subjects {
            number += 1;
            for scope in [Some(&a), Some(&b), None] {
                world.put_in(scope, &StoredRecord { subject, ..record(&[number], 1) }).await;
            }
        }
        let left = async |scope| -> Vec<u8> {
            let listed = world.records_in(scope).await;
            listed.iter().map(|record| record.key.id.as_bytes()[0]).collect()
        };
        let effects = Effects::default();
        world.storage.erase_conversation(&a, unlinked.id, at(9), &effects).await.expect("erase");
        assert_eq!(left(Some(&a)).await, [1, 2, 3, 5]);
        world.storage.erase_contact(&a, contact.id, at(10), &effects).await.expect("erase");
        assert_eq!(left(Some(&a)).await, [2, 5], "of the contact and of its conversation");
        assert_eq!(left(Some(&b)).await, [1, 2, 3, 4, 5]);
        assert_eq!(left(None).await, [1, 2, 3, 4, 5]);
    });
}

/// A conversation of an agent that may be linked with a contact.
fn openapi_conversation(
    agent: &AgentId,
    number: u8,
    contact: Option<ContactId>,
) -> ::conversations::Conversation {
    ::conversations::Conversation { contact_id: contact, ..super::chat::conversation(agent, number) }
}

fn save(storage: Arc<dyn ConversationStorage>, (scope, record): (Option<AgentId>, StoredRecord)) -> Written {
    let write = RecordsWrite::save(record, Effects::default());
    Box::pin(async move { storage.save_records(scope.as_ref(), &write).await })
}

pub(super) fn of_equal_record_versions_one_wins(backend: &mut dyn Backend) {
    on(backend, async |storage| drop(World::with_agents(storage).await));
    for scope in [Some(agent_id("agent-a")), None] {
        for version in 1..=3 {
            let results = outcomes(backend, vec![(scope.clone(), record(&[1], version)); WRITERS], save);
            let won = results.iter().filter(|result| result.is_ok()).count();
            let late = results.iter().filter_map(|result| result.as_ref().err());
            let stale = late.filter(|error| error.kind == StorageErrorKind::Stale).count();
            assert_eq!((won, stale), (1, WRITERS - 1), "{results:?}");
        }
    }
}

pub(super) fn of_equal_unique_values_one_wins(backend: &mut dyn Backend) {
    on(backend, async |storage| drop(World::with_agents(storage).await));
    for scope in [Some(agent_id("agent-a")), None] {
        let with = |number: usize| StoredRecord { unique: Some([1; 32]), ..record(&[number as u8], 1) };
        let writes = (0..WRITERS).map(|number| (scope.clone(), with(number))).collect();
        let results = outcomes(backend, writes, save);
        let won = results.iter().filter(|result| result.is_ok()).count();
        let late = results.iter().filter_map(|result| result.as_ref().err());
        let refused = late.filter(|error| error.kind == StorageErrorKind::DuplicateRecord).count();
        assert_eq!((won, refused), (1, WRITERS - 1), "{results:?}");
    }
}
