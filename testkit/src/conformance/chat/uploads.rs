//! Cases for visitor uploads: documents that a conversation step retains and that are deleted with the conversation.

use super::super::documents::{document, key};
use super::super::fixture::{World, assert_fails, at};
use super::super::{Backend, on};
use super::{conversation, conversation_id};
use ::conversations::Conversation;
use ::conversations::storage::{ConversationFilter, ConversationWrite};
use openapi_core::audit::AuditAction;
use openapi_core::storage::{DocumentWrite, Effects, Result, StorageErrorKind, StoredDocument};
use openapi_core::values::{AgentId, ContactId};

impl World {
    /// Stores a document of conversation 1.
    async fn add_upload(&self, agent: &AgentId, number: u8) -> StoredDocument {
        let upload = StoredDocument { conversation: Some(conversation_id(1)), ..document(number, 10) };
        let write = DocumentWrite { document: upload, max_bytes: None };
        let added = self.storage.insert_document(agent, &write).await;
        added.unwrap_or_else(|error| panic!("document {number}: {error}"));
        write.document
    }

    /// Stores the next version of a conversation whose visitor has sent these documents, and retains some of them.
    async fn try_keep(
        &self,
        agent: &AgentId,
        version: u64,
        sent: &[u8],
        retained: &[u8],
        contact: Option<ContactId>,
    ) -> Result<()> {
        let ids = |numbers: &[u8]| numbers.iter().map(|number| key(agent, *number).file).collect();
        let conversation =
            Conversation { version, uploads: ids(sent), contact_id: contact, ..conversation(agent, 1) };
        let write = ConversationWrite {
            conversation,
            messages: Vec::new(),
            keep: ids(retained),
            effects: Effects::default(),
            deferrable: false,
        };
        self.storage.save_conversation(agent, &write).await
    }
}

pub(in crate::conformance) fn retained_uploads_do_not_expire(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let first = world.add_upload(&a, 1).await;
        for number in [2, 3] {
            world.add_upload(&a, number).await;
        }
        world.add_upload(&b, 1).await;
        world.try_keep(&a, 1, &[1, 2], &[1], None).await.expect("keep");
        assert_eq!(world.due(10_000, 9).await, [key(&b, 1), key(&a, 2), key(&a, 3)]);
        assert_eq!(world.known(&[key(&a, 1), key(&a, 2)]).await, [true, true]);
        assert_eq!(world.document(&a, 1).await, Some(first));
        assert_eq!(world.bytes(&a).await, 30, "it counts on");
        // A document due immediately is not a retained one.
        let effects = world.effects(Some(&a), AuditAction::FilePurge, a.as_str(), 5);
        assert_eq!(world.storage.expedite_purges(&a, at(5), &effects).await.expect("hasten"), 2);
        assert_eq!(world.due(5, 9).await, [key(&a, 2), key(&a, 3)]);
        // A step is atomic: it fails if a document is missing or the version differs.
        let stale = StorageErrorKind::Stale;
        assert_fails(world.try_keep(&a, 2, &[1, 2, 9], &[2, 9], None).await, &stale);
        assert_fails(world.try_keep(&a, 3, &[1, 2], &[2], None).await, &stale);
        assert_fails(world.try_keep(&b, 1, &[3], &[3], None).await, &stale);
        let stored = world.conversation_of(&a, 1).await.expect("a conversation");
        assert_eq!((stored.version, stored.uploads.len()), (1, 2));
        assert_eq!(world.conversation_of(&b, 1).await, None, "another agent's document");
        assert_eq!(world.due(5, 9).await, [key(&a, 2), key(&a, 3)]);
        world.try_keep(&a, 2, &[1, 2], &[1, 2], None).await.expect("keep");
        assert_eq!(world.due(5, 9).await, [key(&a, 3)]);
    });
    assert_eq!(backend.faults(), [] as [String; 0]);
}

pub(in crate::conformance) fn uploads_go_with_their_conversation(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        for number in [60, 61] {
            world.add_upload(&a, number).await;
        }
        let other = world.add_upload(&a, 62).await;
        world.add_upload(&b, 60).await;
        // One document is deleted before its conversation.
        world.try_keep(&a, 1, &[60, 61, 99], &[60], None).await.expect("keep");
        world.try_erase_conversation(&a, 1, 5_000).await.expect("erase");
        assert_eq!(world.conversation_of(&a, 1).await, None);
        assert_eq!(world.document(&a, 60).await, None);
        assert_eq!(world.document(&a, 61).await, None);
        assert!(world.due(4_999, 9).await.is_empty());
        assert_eq!(world.due(5_000, 9).await, [key(&a, 60), key(&a, 61)]);
        assert_eq!(world.document(&a, 62).await, Some(other), "it belongs to no conversation");
        assert_eq!((world.bytes(&a).await, world.bytes(&b).await), (10, 10));
        assert_eq!(world.known(&[key(&a, 99)]).await, [false]);
    });
    assert_eq!(backend.faults(), [] as [String; 0]);
}

pub(in crate::conformance) fn uploads_go_with_their_contact(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let contact = world.insert(&a, r#"{"primaryEmail":"a@example.com"}"#, 0).await;
        let stays = world.add_upload(&a, 61).await;
        let theirs = world.add_upload(&b, 60).await;
        world.add_upload(&a, 60).await;
        for agent in [&a, &b] {
            world.try_keep(agent, 1, &[60], &[60], Some(contact.id)).await.expect("keep");
        }
        let effects = world.effects(Some(&a), AuditAction::ContactErase, &contact.id.to_string(), 90);
        world.storage.erase_contact(&a, contact.id, at(90), &effects).await.expect("erase");
        assert!(world.conversation_numbers(&a, ConversationFilter::default()).await.is_empty());
        assert_eq!(world.document(&a, 60).await, None);
        assert!(world.due(89, 9).await.is_empty());
        assert_eq!(world.due(90, 9).await, [key(&a, 60)]);
        assert_eq!(world.document(&a, 61).await, Some(stays));
        assert_eq!(world.document(&b, 60).await, Some(theirs), "of another agent's conversation");
        assert_eq!(world.conversation_of(&b, 1).await.map(|it| it.id), Some(conversation_id(1)));
    });
    assert_eq!(backend.faults(), [] as [String; 0]);
}
