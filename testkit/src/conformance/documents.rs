//! Cases for documents retained by extractions: records, quotas, and the deletion of their contents.

use super::fixture::{World, agent_id, assert_fails, at};
use super::{Backend, on};
use openapi_core::access::Actor;
use openapi_core::agents::AgentStatus;
use openapi_core::audit::AuditAction;
use openapi_core::files::Sha256Digest;
use openapi_core::ports::BlobKey;
use openapi_core::storage::{
    DocumentWrite, FileBlob, FileQuota, FileWrite, QuotaExcess, QuotaUnit, Result, StorageErrorKind,
    StoredDocument,
};
use openapi_core::values::{AgentId, ContactId, FileId};

const BODY: &str = r#"{"primaryEmail":"a@example.com"}"#;

fn id(number: u8) -> FileId {
    FileId::from_bytes([number; 12])
}

pub(super) fn key(agent: &AgentId, number: u8) -> BlobKey {
    BlobKey::new(agent.clone(), id(number))
}

/// A document of `bytes` stored bytes, which expires `100 * number` ms after the start.
pub(super) fn document(number: u8, stored_size: u64) -> StoredDocument {
    StoredDocument {
        id: id(number),
        file_name: ["🦊 Zoë \"scan\".pdf", "x"][usize::from(number % 2)].to_owned(),
        content_type: "application/pdf".to_owned(),
        file_size: stored_size.saturating_sub(28),
        sha256: Sha256Digest([number; 32]),
        stored_size,
        server_key: None,
        uploaded_by: Actor::User("häßlich \"quoted\"".to_owned()),
        created_at: at(i64::from(number)),
        expires_at: at(i64::from(number) * 100),
        conversation: None,
    }
}

fn excess(limit: u64, actual: u64) -> StorageErrorKind {
    StorageErrorKind::QuotaExceeded(QuotaExcess { unit: QuotaUnit::Bytes, limit, actual })
}

impl World {
    async fn try_document(&self, agent: &AgentId, number: u8, size: u64, most: Option<u64>) -> Result<()> {
        let write = DocumentWrite { document: document(number, size), max_bytes: most };
        self.storage.insert_document(agent, &write).await
    }

    async fn add_document(&self, agent: &AgentId, number: u8, size: u64) -> StoredDocument {
        let added = self.try_document(agent, number, size, None).await;
        added.unwrap_or_else(|error| panic!("document {number}: {error}"));
        document(number, size)
    }

    async fn discard(&self, agent: &AgentId, number: u8, millis: i64) {
        let discarded = self.storage.discard_document(agent, id(number), at(millis)).await;
        discarded.unwrap_or_else(|error| panic!("discard {number}: {error}"));
    }

    pub(super) async fn document(&self, agent: &AgentId, number: u8) -> Option<StoredDocument> {
        self.storage.document(agent, id(number)).await.unwrap_or_else(|error| panic!("document: {error}"))
    }

    pub(super) async fn documents(
        &self,
        agent: &AgentId,
        after: Option<FileId>,
        at_most: u32,
    ) -> Vec<StoredDocument> {
        let listed = self.storage.documents(agent, after, at_most).await;
        listed.unwrap_or_else(|error| panic!("documents: {error}"))
    }

    /// The bytes of all files and documents of an agent.
    pub(super) async fn bytes(&self, agent: &AgentId) -> u64 {
        self.usage(agent, ContactId::from_bytes([99; 12])).await.bytes_of_agent
    }
}

pub(super) fn documents_come_back_as_stored(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        assert_eq!(world.document(&a, 1).await, None);
        for number in [1, 2] {
            let stored = world.add_document(&a, number, u64::from(u32::MAX) * 2).await;
            assert_eq!(world.document(&a, number).await, Some(stored));
        }
        assert_eq!(world.bytes(&a).await, u64::from(u32::MAX) * 4);
    });
    if backend.reopen() {
        on(backend, async |storage| {
            let (world, a) = (World::new(storage), agent_id("agent-a"));
            let stored = document(2, u64::from(u32::MAX) * 2);
            assert_eq!(world.document(&a, 2).await, Some(stored), "a document outlives a restart");
            assert_eq!(world.bytes(&a).await, u64::from(u32::MAX) * 4);
        });
    }
}

pub(super) fn document_lists_page_by_id(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        assert!(world.documents(&a, None, 10).await.is_empty());
        let mut all = Vec::new();
        for number in [4, 1, 200, 3, 7] {
            all.push(world.add_document(&a, number, 10).await);
        }
        all.sort_by_key(|document| document.id);
        for at_most in 1..7 {
            let (mut seen, mut after) = (Vec::new(), None);
            loop {
                let page = world.documents(&a, after, at_most).await;
                assert!(page.len() <= at_most as usize);
                let Some(last) = page.last() else { break };
                after = Some(last.id);
                seen.extend(page);
                assert!(seen.len() <= all.len(), "the list does not end: {seen:?}");
            }
            assert_eq!(seen, all, "in steps of {at_most}");
        }
        assert_eq!(world.documents(&a, Some(id(5)), 10).await, all[3..], "after one that does not exist");
        assert!(world.documents(&a, None, 0).await.is_empty());
    });
}

pub(super) fn documents_and_files_share_one_quota(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let quota = FileQuota { files_of_contact: 100, bytes_of_agent: Some(100) };
        let upload = async |number: u8, size: u64| {
            let file = super::files::file_of(&contact, number, "a.pdf", size, 5);
            let write = FileWrite { quota, ..world.file_write(&file, &contact, 100) };
            world.storage.insert_file(&a, &write).await
        };
        world.add_document(&b, 9, 100).await;
        assert_fails(world.try_document(&a, 1, 101, Some(100)).await, &excess(100, 101));
        assert_eq!(world.document(&a, 1).await, None);
        upload(1, 40).await.expect("room");
        assert_fails(world.try_document(&a, 2, 61, Some(100)).await, &excess(100, 101));
        world.try_document(&a, 2, 60, Some(100)).await.expect("exactly as much as may be");
        assert_eq!(world.bytes(&a).await, 100);
        assert_fails(world.try_document(&a, 3, 1, Some(100)).await, &excess(100, 101));
        assert_fails(upload(4, 1).await, &excess(100, 101));
        assert_fails(world.try_document(&a, 3, u64::MAX, Some(100)).await, &excess(100, u64::MAX));
        world.try_document(&a, 5, 1, None).await.expect("without a bound there is room");
        assert_fails(world.try_document(&a, 6, 0, Some(100)).await, &excess(100, 101));
        // Discarded and forgotten documents no longer count; due ones still do.
        world.discard(&a, 5, 50).await;
        assert_eq!(world.bytes(&a).await, 100);
        assert_eq!(world.due(200, 10).await.len(), 2);
        assert_fails(world.try_document(&a, 3, 1, Some(100)).await, &excess(100, 101));
        world.storage.remove_blob_records(&[key(&a, 2)]).await.expect("forget");
        assert_eq!(world.bytes(&a).await, 40);
        world.storage.remove_blob_records(&[key(&a, 2), key(&a, 5), key(&a, 1)]).await.expect("forget");
        assert_eq!(world.bytes(&a).await, 40, "each counts once, and the file is not deleted");
        world.try_document(&a, 3, 60, Some(100)).await.expect("room again");
        assert_eq!((world.bytes(&a).await, world.bytes(&b).await), (100, 100));
    });
}

pub(super) fn refused_documents_leave_nothing(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let file = super::files::file_of(&contact, 8, "a.pdf", 5, 5);
        world.storage.insert_file(&a, &world.file_write(&file, &contact, 100)).await.expect("insert");
        let stored = world.add_document(&a, 1, 10).await;
        let nobody = agent_id("nobody");
        assert_fails(world.try_document(&nobody, 1, 10, Some(0)).await, &StorageErrorKind::Missing);
        assert_fails(world.try_document(&a, 1, 10, Some(24)).await, &excess(24, 25));
        // Files and documents share one blob namespace.
        for number in [1, 8] {
            let again = StoredDocument { file_name: "other".to_owned(), ..document(number, 10) };
            let again = DocumentWrite { document: again, max_bytes: Some(25) };
            let again = world.storage.insert_document(&a, &again).await;
            assert_fails(again, &StorageErrorKind::AlreadyExists);
        }
        assert_eq!(world.document(&a, 1).await, Some(stored));
        assert_eq!(world.bytes(&a).await, 15);
        assert_eq!(world.due(1_000_000, 10).await, [key(&a, 1)]);
    });
}

pub(super) fn contents_of_documents_are_due_at_their_end(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        for (agent, number) in [(&a, 3), (&b, 2), (&a, 1)] {
            world.add_document(agent, number, 10).await;
        }
        assert!(world.due(99, 10).await.is_empty());
        assert_eq!(world.due(100, 10).await, [key(&a, 1)], "at the very instant");
        assert_eq!(world.due(1_000, 2).await, [key(&a, 1), key(&b, 2)]);
        assert_eq!(world.due(1_000, 10).await, [key(&a, 1), key(&b, 2), key(&a, 3)]);
        assert_eq!(world.document(&a, 1).await, Some(document(1, 10)), "it exists until its blob is removed");
        world.storage.remove_blob_records(&[key(&a, 1), key(&a, 2)]).await.expect("forget");
        assert_eq!(world.document(&a, 1).await, None);
        assert_eq!(world.documents(&a, None, 10).await, [document(3, 10)]);
        assert_eq!(world.document(&b, 2).await, Some(document(2, 10)));
        assert_eq!(world.due(1_000, 10).await, [key(&b, 2), key(&a, 3)]);
        assert_eq!((world.bytes(&a).await, world.bytes(&b).await), (10, 10));
        // An expedited purge does not wait.
        let effects = world.effects(Some(&a), AuditAction::FilePurge, a.as_str(), 250);
        assert_eq!(world.storage.expedite_purges(&a, at(250), &effects).await.expect("hasten"), 1);
        assert_eq!(world.due(250, 10).await, [key(&b, 2), key(&a, 3)]);
        assert_eq!(world.document(&a, 3).await, Some(document(3, 10)));
        let effects = world.effects(Some(&a), AuditAction::FilePurge, a.as_str(), 251);
        assert_eq!(world.storage.expedite_purges(&a, at(250), &effects).await.expect("hasten"), 0);
    });
}

pub(super) fn a_discarded_document_leaves_its_content_due(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        world.add_document(&a, 5, 10).await;
        world.add_document(&a, 6, 20).await;
        world.discard(&a, 5, 40).await;
        assert_eq!(world.document(&a, 5).await, None);
        assert_eq!(world.documents(&a, None, 10).await, [document(6, 20)]);
        assert_eq!(world.bytes(&a).await, 20);
        assert!(world.due(39, 10).await.is_empty());
        assert_eq!(world.due(40, 10).await, [key(&a, 5)]);
        assert_eq!(world.known(&[key(&a, 5)]).await, [true], "a due content is not an orphan");
        // A discard of an absent document has no effect: its content stays due as before.
        world.discard(&a, 5, 45).await;
        world.discard(&a, 7, 45).await;
        world.discard(&agent_id("nobody"), 6, 45).await;
        assert_eq!(world.due(45, 10).await, [key(&a, 5)]);
        assert_eq!(world.due(40, 10).await, [key(&a, 5)]);
        assert_eq!((world.bytes(&a).await, world.known(&[key(&a, 7)]).await), (20, vec![false]));
        world.storage.remove_blob_records(&[key(&a, 5)]).await.expect("forget");
        assert_eq!(world.known(&[key(&a, 5)]).await, [false]);
        assert_eq!(world.bytes(&a).await, 20);
    });
}

pub(super) fn contents_of_documents_are_known_and_not_needed(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let file = super::files::file_of(&contact, 2, "a.pdf", 5, 5);
        world.storage.insert_file(&a, &world.file_write(&file, &contact, 100)).await.expect("insert");
        for (agent, number) in [(&a, 1), (&a, 3), (&b, 1)] {
            world.add_document(agent, number, 10).await;
        }
        let asked = [key(&a, 1), key(&b, 3), key(&a, 3), key(&b, 1), key(&agent_id("nobody"), 1)];
        assert_eq!(world.known(&asked).await, [true, false, true, true, false]);
        let needed = [FileBlob { key: key(&a, 2), size: 5, server_key: None }];
        assert_eq!(world.needed(None, 10).await, needed);
        world.storage.remove_blob_records(&[key(&a, 1)]).await.expect("forget");
        assert_eq!(world.known(&asked).await, [false, false, true, true, false]);
    });
}

pub(super) fn documents_of_deleted_agents_go(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        for agent in [&a, &b] {
            for number in 1..=3 {
                world.add_document(agent, number, 10).await;
            }
        }
        world.set_status(&a, AgentStatus::Deleted, 300).await.expect("delete");
        assert_eq!(world.document(&a, 1).await, None);
        assert!(world.documents(&a, None, 10).await.is_empty());
        assert_eq!(world.bytes(&a).await, 0);
        assert_fails(world.try_document(&a, 4, 10, None).await, &StorageErrorKind::Missing);
        world.discard(&a, 1, 20).await;
        assert!(world.due(99, 10).await.is_empty(), "a deleted agent has none to discard");
        let all = [1, 2, 3].map(|number| key(&a, number));
        assert_eq!(world.known(&all).await, [true; 3], "a due content is not an orphan");
        let payloads = world.audit_of(Some(&a)).await.len() as u64;
        let mut removed = 0;
        loop {
            let step = world.storage.purge_agent(&a, 2).await.expect("purge");
            assert!(step <= 2, "a step removed {step} rows of at most 2");
            if step == 0 {
                break;
            }
            removed += step;
        }
        // The schema, the documents, and the agent's audit payloads.
        assert_eq!(removed, 1 + 3 + payloads);
        let mut due = world.due(0, 10).await;
        due.sort();
        assert_eq!(due, all, "at once");
        world.storage.remove_blob_records(&due).await.expect("forget");
        assert_eq!(world.known(&all).await, [false; 3]);
        assert_eq!((world.documents(&b, None, 10).await.len(), world.bytes(&b).await), (3, 30));
    });
    assert_eq!(backend.faults(), [] as [String; 0]);
}

pub(super) fn documents_belong_to_their_agent(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        world.add_document(&a, 1, 10).await;
        assert_eq!(world.document(&b, 1).await, None);
        assert!(world.documents(&b, None, 10).await.is_empty());
        assert_eq!(world.bytes(&b).await, 0);
        world.discard(&b, 1, 20).await;
        assert_eq!(world.document(&a, 1).await, Some(document(1, 10)));
        let effects = world.effects(Some(&b), AuditAction::FilePurge, b.as_str(), 30);
        assert_eq!(world.storage.expedite_purges(&b, at(30), &effects).await.expect("hasten"), 0);
        assert!(world.due(99, 10).await.is_empty());
        // The same id under another agent names another document.
        let theirs = StoredDocument { file_name: "theirs".to_owned(), ..document(1, 7) };
        let write = DocumentWrite { document: theirs.clone(), max_bytes: Some(7) };
        world.storage.insert_document(&b, &write).await.expect("insert");
        world.storage.remove_blob_records(&[key(&a, 1)]).await.expect("forget");
        assert_eq!((world.document(&a, 1).await, world.document(&b, 1).await), (None, Some(theirs)));
        assert_eq!((world.bytes(&a).await, world.bytes(&b).await), (0, 7));
    });
}
