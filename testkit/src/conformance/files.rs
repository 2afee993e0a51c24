//! Cases for files: records, lists, quotas, deletion, and due blobs.

use super::fixture::{World, agent_id, assert_fails, at, parsed, replay, seal, server_keys};
use super::{Backend, on};
use openapi_core::access::Actor;
use openapi_core::agents::AgentStatus;
use openapi_core::audit::{AuditAction, AuditEntry};
use openapi_core::contacts::Contact;
use openapi_core::files::{ContactFile, FileKind, Sha256Digest};
use openapi_core::ports::BlobKey;
use openapi_core::storage::{
    Effects, FileBlob, FileDeletion, FilePage, FileQuery, FileQuota, FileSort, FileTombstone, FileUsage,
    FileWrite, Order, QuotaExcess, QuotaUnit, Result, StorageErrorKind, Window,
};
use openapi_core::values::{AgentId, ContactId, FileId, Timestamp};

const BODY: &str = r#"{"primaryEmail":"a@example.com"}"#;

/// More than any case stores.
const ROOMY: FileQuota = FileQuota { files_of_contact: 1_000, bytes_of_agent: None };

pub(super) fn file_of(contact: &Contact, id: u8, name: &str, size: u64, millis: i64) -> ContactFile {
    ContactFile {
        id: FileId::from_bytes([id; 12]),
        agent_id: contact.agent_id.clone(),
        contact_id: contact.id,
        file_name: parsed(name),
        file_size: size,
        content_type: if id.is_multiple_of(2) { FileKind::Pdf } else { FileKind::Other },
        sha256: Sha256Digest([id; 32]),
        source: "api".to_owned(),
        uploaded_by: Actor::User("häßlich \"quoted\"".to_owned()),
        server_key: id.is_multiple_of(3).then(|| "0123456789ab".to_owned()),
        created_at: at(millis),
        updated_at: at(millis),
    }
}

impl World {
    pub(super) fn file_write(&self, file: &ContactFile, contact: &Contact, millis: i64) -> FileWrite {
        let resource = file.id.to_string();
        let audit = self.audit(Some(&file.agent_id), AuditAction::FileUpload, &resource, millis);
        let effects = Effects::audited(seal(AuditEntry { contact_id: Some(contact.id), ..audit }));
        FileWrite { at: at(millis), ..FileWrite::new(file.clone(), contact, ROOMY, effects) }
    }

    async fn try_file(&self, file: &ContactFile, contact: &Contact) -> Result<()> {
        let write = self.file_write(file, contact, 100);
        self.storage.insert_file(&contact.agent_id, &write).await
    }

    async fn add_file(&self, contact: &Contact, id: u8, name: &str, size: u64, millis: i64) -> ContactFile {
        let file = file_of(contact, id, name, size, millis);
        self.try_file(&file, contact).await.unwrap_or_else(|error| panic!("file {name}: {error}"));
        file
    }

    pub(super) fn deletion(&self, file: FileId, contact: &Contact, purge_at: Timestamp) -> FileDeletion {
        FileDeletion {
            contact: contact.id,
            contact_version: contact.version,
            tombstone: FileTombstone {
                file,
                at: at(200),
                by: Actor::Operator("suite".to_owned()),
                reason: Some(parsed("Uploaded\ntwice")),
            },
            purge_at,
            effects: Effects::audited(seal(AuditEntry {
                contact_id: Some(contact.id),
                ..self.audit(Some(&contact.agent_id), AuditAction::FileDelete, &file.to_string(), 200)
            })),
        }
    }

    async fn delete(&self, file: &ContactFile, contact: &Contact, purge_at: Timestamp) {
        let deletion = self.deletion(file.id, contact, purge_at);
        let deleted = self.storage.delete_file(&contact.agent_id, &deletion).await;
        deleted.unwrap_or_else(|error| panic!("delete: {error}"));
    }

    async fn file(&self, agent: &AgentId, file: FileId) -> Option<ContactFile> {
        self.storage.file(agent, file).await.unwrap_or_else(|error| panic!("file: {error}"))
    }

    async fn page(&self, agent: &AgentId, query: &FileQuery) -> FilePage {
        self.storage.files(agent, query).await.unwrap_or_else(|error| panic!("{query:?}: {error}"))
    }

    pub(super) async fn usage(&self, agent: &AgentId, contact: ContactId) -> FileUsage {
        self.storage.file_usage(agent, contact).await.unwrap_or_else(|error| panic!("usage: {error}"))
    }

    /// The blobs due by an instant, oldest first.
    pub(super) async fn due(&self, millis: i64, at_most: u32) -> Vec<BlobKey> {
        self.storage
            .blobs_due_for_deletion(at(millis), at_most)
            .await
            .unwrap_or_else(|error| panic!("due: {error}"))
    }

    pub(super) async fn known(&self, keys: &[BlobKey]) -> Vec<bool> {
        self.storage.existing_blobs(keys).await.unwrap_or_else(|error| panic!("known: {error}"))
    }

    pub(super) async fn needed(&self, after: Option<&BlobKey>, at_most: u32) -> Vec<FileBlob> {
        self.storage.referenced_blobs(after, at_most).await.unwrap_or_else(|error| panic!("needed: {error}"))
    }
}

pub(super) fn every_file(contact: ContactId) -> FileQuery {
    FileQuery {
        contact,
        sort: FileSort::CreatedAt,
        order: Order::Ascending,
        window: Window::Page { offset: 0, limit: 100 },
    }
}

fn key(file: &ContactFile) -> BlobKey {
    BlobKey::new(file.agent_id.clone(), file.id)
}

pub(super) fn files_come_back_as_stored(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let long = format!("{}.pdf", "é".repeat(125));
        for (id, name) in (1..).zip(["referral.pdf", "🦊 Zoë.txt", "İstanbul ß.csv", "x", long.as_str()])
        {
            let file = world.add_file(&contact, id, name, u64::from(u32::MAX) * 2, i64::from(id)).await;
            assert_eq!(world.file(&a, file.id).await, Some(file));
        }
        let page = world.page(&a, &every_file(contact.id)).await;
        assert_eq!((page.files.len(), page.total), (5, 5));
    });
    if backend.reopen() {
        on(backend, async |storage| {
            let world = World::new(storage);
            let a = agent_id("agent-a");
            let stored =
                world.file(&a, FileId::from_bytes([2; 12])).await.expect("a file outlives a restart");
            assert_eq!(stored.file_name.as_str(), "🦊 Zoë.txt");
            assert_eq!(world.page(&a, &every_file(stored.contact_id)).await.total, 5);
        });
    }
}

pub(super) fn file_lists_sort_and_page(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let other = world.insert(&a, r#"{"primaryEmail":"b@example.com"}"#, 1).await;
        let mut files = Vec::new();
        for (id, name, size, millis) in [
            (5, "b.pdf", 10, 3),
            (1, "A.pdf", 30, 3),
            (4, "a.pdf", 30, 2),
            (2, "É.pdf", 20, 1),
            (3, "C.pdf", 5, 3),
        ] {
            files.push(world.add_file(&contact, id, name, size, millis).await);
        }
        world.add_file(&other, 9, "z.pdf", 1, 2).await;
        for sort in FileSort::ALL {
            for order in [Order::Ascending, Order::Descending] {
                let mut expected = files.clone();
                expected.sort_by(|a, b| sort.position(a).compare(&sort.position(b), order));
                let query = |window| FileQuery { sort, order, window, ..every_file(contact.id) };
                for offset in 0..6 {
                    for limit in 1..4 {
                        let page = world.page(&a, &query(Window::Page { offset, limit })).await;
                        let wanted = expected.iter().skip(offset as usize).take(limit as usize);
                        assert_eq!(
                            page.files,
                            wanted.cloned().collect::<Vec<_>>(),
                            "{sort:?} {order:?} {offset}"
                        );
                        assert_eq!(page.total, 5);
                    }
                }
                for (n, file) in expected.iter().enumerate() {
                    let position = sort.position(file);
                    let page = world.page(&a, &query(Window::After { position, limit: 2 })).await;
                    let wanted: Vec<_> = expected.iter().skip(n + 1).take(2).cloned().collect();
                    assert_eq!(page.files, wanted, "{sort:?} {order:?} after {n}");
                    assert_eq!(page.total, 5);
                }
            }
        }
        // A position remains valid when its file is gone.
        let position = FileSort::CreatedAt.position(&files[2]);
        world.delete(&files[2], &contact, at(1_000)).await;
        let query = FileQuery { window: Window::After { position, limit: 9 }, ..every_file(contact.id) };
        let page = world.page(&a, &query).await;
        assert_eq!((page.files.len(), page.total), (3, 4));
    });
}

pub(super) fn file_quotas_are_exact(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let other = world.insert(&a, r#"{"primaryEmail":"b@example.com"}"#, 1).await;
        let foreign = world.insert(&b, BODY, 2).await;
        let quota = FileQuota { files_of_contact: 2, bytes_of_agent: Some(100) };
        let insert = async |contact: &Contact, id: u8, size: u64| {
            let file = file_of(contact, id, "a.pdf", size, 5);
            let write = FileWrite { quota, ..world.file_write(&file, contact, 100) };
            world.storage.insert_file(&contact.agent_id, &write).await
        };
        let excess =
            |unit, limit, actual| StorageErrorKind::QuotaExceeded(QuotaExcess { unit, limit, actual });
        insert(&foreign, 20, 100).await.expect("another agent's bytes do not count");
        insert(&contact, 1, 60).await.expect("room");
        assert_fails(insert(&contact, 2, 41).await, &excess(QuotaUnit::Bytes, 100, 101));
        insert(&contact, 2, 40).await.expect("exactly as much as may be");
        assert_fails(insert(&contact, 3, 1).await, &excess(QuotaUnit::Files, 2, 3));
        assert_fails(insert(&other, 3, 1).await, &excess(QuotaUnit::Bytes, 100, 101));
        let usage = FileUsage { files_of_contact: 2, bytes_of_agent: 100 };
        assert_eq!(world.usage(&a, contact.id).await, usage);
        // A deleted file no longer counts.
        let deleted = world.file(&a, FileId::from_bytes([1; 12])).await.expect("a file");
        world.delete(&deleted, &contact, at(1_000)).await;
        let usage = FileUsage { files_of_contact: 1, bytes_of_agent: 40 };
        assert_eq!(world.usage(&a, contact.id).await, usage);
        insert(&contact, 4, 60).await.expect("room again");
        world.storage.remove_blob_records(&[key(&deleted)]).await.expect("forget");
        let usage = FileUsage { files_of_contact: 2, bytes_of_agent: 100 };
        assert_eq!(world.usage(&a, contact.id).await, usage);
        let effects = world.effects(Some(&a), AuditAction::ContactErase, &contact.id.to_string(), 300);
        world.storage.erase_contact(&a, contact.id, at(300), &effects).await.expect("erase");
        assert_eq!(world.usage(&a, contact.id).await, FileUsage::default());
    });
}

pub(super) fn file_writes_need_the_contact_as_read(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let before = world.insert(&a, BODY, 0).await;
        let file = world.add_file(&before, 1, "a.pdf", 5, 1).await;
        let after = world.update(&before, 2, |contact| contact.archived_at = Some(at(2))).await;
        let second = file_of(&before, 2, "b.pdf", 5, 3);
        let entries = world.audit_of(Some(&a)).await.len();
        assert_fails(world.try_file(&second, &before).await, &StorageErrorKind::Stale);
        let stale = world.deletion(file.id, &before, at(1_000));
        assert_fails(world.storage.delete_file(&a, &stale).await, &StorageErrorKind::Stale);
        assert_fails(world.try_file(&file, &after).await, &StorageErrorKind::AlreadyExists);
        let absent = Contact { id: ContactId::from_bytes([77; 12]), ..after.clone() };
        let homeless = file_of(&absent, 3, "c.pdf", 5, 3);
        assert_fails(world.try_file(&homeless, &absent).await, &StorageErrorKind::Missing);
        // The contact belongs to another agent.
        let write = world.file_write(&second, &after, 100);
        assert_fails(world.storage.insert_file(&b, &write).await, &StorageErrorKind::Missing);
        assert_fails(
            world.storage.delete_file(&a, &world.deletion(second.id, &after, at(1_000))).await,
            &StorageErrorKind::Missing,
        );
        assert_eq!(world.audit_of(Some(&a)).await.len(), entries, "a rejected write leaves no audit entry");
        assert_eq!(world.page(&a, &every_file(before.id)).await.files, [file]);
        assert!(world.due(1_000_000, 10).await.is_empty());
    });
}

pub(super) fn uploads_are_noted_and_answered_again(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let file = file_of(&contact, 1, "a.pdf", 5, 1);
        let mut write = world.file_write(&file, &contact, 100);
        write.effects.replay = Some(replay(1, Some(contact.id), 5_000));
        world.storage.insert_file(&a, &write).await.expect("insert");
        let stored = world.storage.replay(&a, &replay(1, None, 0).key, at(101)).await.expect("replay");
        assert_eq!(stored, write.effects.replay);
        write.file.id = FileId::from_bytes([2; 12]);
        assert_fails(world.storage.insert_file(&a, &write).await, &StorageErrorKind::ReplayExists);
        let noted = world.audit_of(Some(&a)).await;
        assert_eq!(noted.iter().filter(|entry| entry.action == AuditAction::FileUpload).count(), 1);
        world.delete(&file, &contact, at(1_000)).await;
        let noted = world.audit_of(Some(&a)).await;
        let deletion = noted.iter().find(|entry| entry.action == AuditAction::FileDelete).expect("an entry");
        assert_eq!(deletion.resource, Some(file.id.to_string()));
    });
}

pub(super) fn a_deleted_file_is_absent_everywhere(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let other = world.insert(&a, r#"{"primaryEmail":"b@example.com"}"#, 1).await;
        let file = world.add_file(&contact, 1, "a.pdf", 5, 1).await;
        let retained = world.add_file(&contact, 2, "b.pdf", 6, 2).await;
        assert_eq!(world.storage.file_tombstone(&a, file.id).await.expect("tombstone"), None);
        let elsewhere = world.deletion(file.id, &other, at(1_000));
        assert_fails(world.storage.delete_file(&a, &elsewhere).await, &StorageErrorKind::Missing);
        world.delete(&file, &contact, at(1_000)).await;
        assert_eq!(world.file(&a, file.id).await, None);
        let page = world.page(&a, &every_file(contact.id)).await;
        assert_eq!((page.files, page.total), (vec![retained.clone()], 1));
        let again = world.deletion(file.id, &contact, at(2_000));
        assert_fails(world.storage.delete_file(&a, &again).await, &StorageErrorKind::Missing);
        let tombstone = world.storage.file_tombstone(&a, file.id).await.expect("tombstone");
        assert_eq!(tombstone, Some(again.tombstone));
        assert_fails(world.try_file(&file, &contact).await, &StorageErrorKind::AlreadyExists);
        assert_eq!(world.file(&a, retained.id).await, Some(retained));
    });
}

pub(super) fn contents_are_due_in_their_time(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let foreign = world.insert(&b, BODY, 0).await;
        let late = world.add_file(&contact, 1, "a.pdf", 5, 1).await;
        let early = world.add_file(&contact, 2, "b.pdf", 5, 2).await;
        let retained = world.add_file(&contact, 3, "c.pdf", 5, 3).await;
        let theirs = world.add_file(&foreign, 4, "d.pdf", 5, 4).await;
        world.delete(&late, &contact, at(900)).await;
        world.delete(&early, &contact, at(500)).await;
        world.delete(&theirs, &foreign, at(700)).await;
        assert!(world.due(499, 10).await.is_empty());
        assert_eq!(world.due(500, 10).await, [key(&early)]);
        assert_eq!(world.due(10_000, 2).await, [key(&early), key(&theirs)]);
        assert_eq!(world.due(10_000, 10).await, [key(&early), key(&theirs), key(&late)]);
        // Removing the blob record removes the tombstone too; an existing file is unaffected.
        world.storage.remove_blob_records(&[key(&early), key(&retained)]).await.expect("forget");
        assert_eq!(world.due(10_000, 10).await, [key(&theirs), key(&late)]);
        assert_eq!(world.storage.file_tombstone(&a, early.id).await.expect("tombstone"), None);
        assert_eq!(world.file(&a, retained.id).await, Some(retained));
        // An expedited purge does not wait.
        let effects = world.effects(Some(&a), AuditAction::FilePurge, a.as_str(), 300);
        assert_eq!(world.storage.expedite_purges(&a, at(300), &effects).await.expect("hasten"), 1);
        assert_eq!(world.due(300, 10).await, [key(&late)]);
        let noted = world.audit_of(Some(&a)).await;
        assert!(noted.iter().any(|entry| entry.action == AuditAction::FilePurge));
        let effects = world.effects(Some(&a), AuditAction::FilePurge, a.as_str(), 400);
        assert_eq!(world.storage.expedite_purges(&a, at(400), &effects).await.expect("hasten"), 0);
    });
}

pub(super) fn erasing_makes_contents_due(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let other = world.insert(&a, r#"{"primaryEmail":"b@example.com"}"#, 1).await;
        let live = world.add_file(&contact, 1, "a.pdf", 5, 1).await;
        let deleted = world.add_file(&contact, 2, "b.pdf", 5, 2).await;
        let retained = world.add_file(&other, 3, "c.pdf", 5, 3).await;
        world.delete(&deleted, &contact, at(900_000)).await;
        // A file whose content is already gone keeps its audit entries.
        let gone = world.add_file(&contact, 4, "d.pdf", 5, 4).await;
        world.delete(&gone, &contact, at(250)).await;
        world.storage.remove_blob_records(&[key(&gone)]).await.expect("forget");
        let effects = world.effects(Some(&a), AuditAction::ContactErase, &contact.id.to_string(), 300);
        world.storage.erase_contact(&a, contact.id, at(300), &effects).await.expect("erase");
        let mut due = world.due(300, 10).await;
        due.sort();
        assert_eq!(due, [key(&live), key(&deleted)]);
        assert_eq!(world.file(&a, live.id).await, None);
        assert_eq!(world.storage.file_tombstone(&a, deleted.id).await.expect("tombstone"), None);
        assert_eq!(world.page(&a, &every_file(contact.id)).await, FilePage::default());
        assert_eq!(world.file(&a, retained.id).await, Some(retained.clone()));
        let payloads = |file: &ContactFile, entries: &[AuditEntry]| {
            let of_file = entries.iter().filter(|entry| entry.resource == Some(file.id.to_string()));
            of_file.map(|entry| entry.details.is_empty()).collect::<Vec<_>>()
        };
        let entries = world.audit_of(Some(&a)).await;
        assert_eq!(payloads(&live, &entries), [true]);
        assert_eq!(payloads(&deleted, &entries), [true, true]);
        assert_eq!(payloads(&gone, &entries), [true, true]);
        assert_eq!(payloads(&retained, &entries), [false]);
    });
}

pub(super) fn contents_of_deleted_agents_are_due(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let foreign = world.insert(&b, BODY, 0).await;
        let live = world.add_file(&contact, 1, "a.pdf", 5, 1).await;
        let deleted = world.add_file(&contact, 2, "b.pdf", 5, 2).await;
        let theirs = world.add_file(&foreign, 1, "c.pdf", 5, 3).await;
        world.delete(&deleted, &contact, at(900_000)).await;
        world.set_status(&a, AgentStatus::Deleted, 300).await.expect("delete");
        assert_eq!(world.file(&a, live.id).await, None);
        assert_eq!(world.needed(None, 10).await, [FileBlob::of(&theirs)]);
        let known = world.known(&[key(&live), key(&deleted)]).await;
        assert_eq!(known, [true, true], "a due content is not an orphan");
        while world.storage.purge_agent(&a, 1).await.expect("purge") > 0 {}
        let mut due = world.due(300, 10).await;
        due.sort();
        assert_eq!(due, [key(&live), key(&deleted)]);
        world.storage.remove_blob_records(&due).await.expect("forget");
        assert!(world.due(900_000, 10).await.is_empty());
        assert_eq!(world.known(&due).await, [false, false]);
        assert_eq!(world.file(&b, theirs.id).await, Some(theirs));
    });
}

pub(super) fn contents_are_marked_as_sealed(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let (contact, foreign) = (world.insert(&a, BODY, 0).await, world.insert(&b, BODY, 0).await);
        let plain = world.add_file(&contact, 1, "a.pdf", 5, 1).await;
        let theirs = world.add_file(&foreign, 1, "b.pdf", 5, 1).await;
        let sealed = world.add_file(&contact, 3, "c.pdf", 5, 1).await;
        let deleted = world.add_file(&contact, 6, "d.pdf", 5, 1).await;
        world.delete(&deleted, &contact, at(900)).await;
        let uses = async || world.storage.server_key_uses().await.expect("uses");
        let counted = |count: u64| (count > 0).then(|| ("0123456789ab".to_owned(), count));
        let before = uses().await;
        assert_eq!((before.files, before.unsealed_files), (counted(2).into_iter().collect(), 2));
        let entries: u64 = before.audit_entries.values().sum();
        assert!(entries >= 5 && before.audit_entries.keys().eq([server_keys().current_id()]), "{entries}");
        let mark = async |key: &BlobKey| world.storage.mark_sealed(key, "ba9876543210").await.expect("mark");
        for file in [&plain, &sealed, &deleted] {
            mark(&key(file)).await;
        }
        mark(&BlobKey::new(a.clone(), FileId::from_bytes([8; 12]))).await;
        mark(&BlobKey::new(agent_id("nobody"), plain.id)).await;
        let next = ContactFile { server_key: Some("ba9876543210".to_owned()), ..plain };
        assert_eq!(world.file(&a, next.id).await.as_ref(), Some(&next));
        assert_eq!(world.file(&b, theirs.id).await.as_ref(), Some(&theirs));
        let after = uses().await;
        assert_eq!(after.files, [("ba9876543210".to_owned(), 3)].into());
        assert_eq!(after.unsealed_files, 1);
        assert_eq!(world.needed(None, 10).await.len(), 3);
    });
}

pub(super) fn contents_are_known_and_needed(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let foreign = world.insert(&b, BODY, 0).await;
        let mut needed = Vec::new();
        for (contact, id) in [(&contact, 3), (&contact, 1), (&foreign, 2), (&contact, 2), (&foreign, 1)] {
            let file = world.add_file(contact, id, "a.pdf", u64::from(id) * 7, 1).await;
            needed.push(FileBlob::of(&file));
        }
        let deleted = world.add_file(&contact, 9, "b.pdf", 5, 2).await;
        world.delete(&deleted, &contact, at(900)).await;
        needed.sort_by(|a, b| a.key.cmp(&b.key));
        for step in 1..7 {
            let (mut found, mut after) = (Vec::new(), None);
            loop {
                let page = world.needed(after.as_ref(), step).await;
                assert!(page.len() <= step as usize);
                let Some(last) = page.last() else { break };
                after = Some(last.key.clone());
                found.extend(page);
            }
            assert_eq!(found, needed, "in steps of {step}");
        }
        let orphan = BlobKey::new(a.clone(), FileId::from_bytes([8; 12]));
        let moved = BlobKey::new(b.clone(), FileId::from_bytes([3; 12]));
        let nobody = BlobKey::new(parsed("nobody"), FileId::from_bytes([1; 12]));
        let keys = [orphan, key(&deleted), needed[0].key.clone(), moved, nobody];
        assert_eq!(world.known(&keys).await, [false, true, true, false, false]);
        assert!(world.known(&[]).await.is_empty());
    });
}

pub(super) fn files_belong_to_their_agent(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let file = world.add_file(&contact, 1, "a.pdf", 5, 1).await;
        assert_eq!(world.file(&b, file.id).await, None);
        assert_eq!(world.page(&b, &every_file(contact.id)).await, FilePage::default());
        assert_eq!(world.usage(&b, contact.id).await, FileUsage::default());
        let deletion = world.deletion(file.id, &contact, at(1_000));
        assert_fails(world.storage.delete_file(&b, &deletion).await, &StorageErrorKind::Missing);
        world.delete(&file, &contact, at(1_000)).await;
        assert_eq!(world.storage.file_tombstone(&b, file.id).await.expect("tombstone"), None);
        let effects = world.effects(Some(&b), AuditAction::FilePurge, b.as_str(), 300);
        assert_eq!(world.storage.expedite_purges(&b, at(300), &effects).await.expect("hasten"), 0);
        assert!(world.due(999, 10).await.is_empty());
    });
}
