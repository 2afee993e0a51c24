//! Cases for the end of conversations (erased, expired, with their contact, with their agent) and for tenant
//! isolation.

use super::super::fixture::{World, agent_id, assert_fails, at};
use super::super::{Backend, on};
use super::{conversation, conversation_id, full_conversation, message_id, messages, reply};
use ::conversations::storage::{ConversationFilter, MessageSelector};
use ::conversations::{Conversation, ConversationStatus};
use openapi_core::agents::AgentStatus;
use openapi_core::audit::AuditAction;
use openapi_core::storage::{RecordKind, StorageErrorKind};
use openapi_core::values::{AgentId, ContactId};

pub(in crate::conformance) fn erasing_a_conversation_removes_its_messages(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let contact = Some(ContactId::from_bytes([9; 12]));
        for number in 1..=3 {
            let linked = Conversation { contact_id: contact, ..conversation(&a, number) };
            world.put_conversation(&linked, messages(1..=4)).await;
        }
        let noted = world.audit_of(Some(&a)).await.len();
        world.try_erase_conversation(&a, 2, 50).await.expect("erase");
        assert_eq!(world.conversation_of(&a, 2).await, None);
        assert_eq!(world.conversation_numbers(&a, ConversationFilter::default()).await, [3, 1]);
        for which in
            [MessageSelector::After(0), MessageSelector::Before(9), MessageSelector::Id(message_id(1, 0))]
        {
            assert!(world.some_messages(&a, 2, which, 9).await.is_empty());
        }
        assert_eq!(world.expired(20_000, 9).await, [(a.clone(), 1), (a.clone(), 3)]);
        for number in [1, 3] {
            assert_eq!(world.every_message(&a, number).await, messages(1..=4));
        }
        let entries = world.audit_of(Some(&a)).await;
        assert_eq!(entries.len(), noted + 1);
        let last = entries.last().expect("entry");
        assert_eq!(last.action, AuditAction::ConversationErase);
        assert_eq!(last.resource, Some(conversation_id(2).to_string()));
        assert!(!last.details.is_empty());
        // Erasing a conversation that is gone or never existed leaves no audit entry.
        for (agent, number) in [(&a, 2), (&a, 9), (&agent_id("nobody"), 1)] {
            assert_fails(world.try_erase_conversation(agent, number, 60).await, &StorageErrorKind::Missing);
        }
        assert_eq!(world.audit_of(Some(&a)).await.len(), noted + 1);
        // A new conversation with the same id starts empty.
        world.put_conversation(&conversation(&a, 2), messages([1])).await;
        assert_eq!(world.every_message(&a, 2).await, messages([1]));
    });
    assert_eq!(backend.faults(), [] as [String; 0]);
}

pub(in crate::conformance) fn conversations_expire_in_order(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        for (agent, number, millis) in
            [(&b, 1, 5), (&a, 4, 5), (&a, 2, 5), (&a, 3, 1), (&b, 5, 9), (&a, 6, -2_000_000_000_000)]
        {
            let status = ConversationStatus::ALL[usize::from(number % 2)];
            let it = Conversation { status, expires_at: at(millis), ..conversation(agent, number) };
            world.put_conversation(&it, messages([1])).await;
        }
        let all: Vec<(AgentId, u8)> = [(&a, 6), (&a, 3), (&a, 2), (&a, 4), (&b, 1), (&b, 5)]
            .map(|(agent, it)| (agent.clone(), it))
            .into();
        for (now, count) in [(-3_000_000_000_000, 0), (0, 1), (4, 2), (5, 5), (8, 5), (9, 6), (1_000, 6)] {
            assert_eq!(world.expired(now, 100).await, all[..count], "by {now}");
        }
        for at_most in 0..8 {
            assert_eq!(world.expired(1_000, at_most).await, all[..6.min(at_most as usize)]);
        }
        // A changed conversation is due at its new time, an erased one never.
        let stored = world.conversation_of(&a, 3).await.expect("conversation");
        world.change_conversation(&stored, Vec::new(), |it| it.expires_at = at(500)).await;
        world.try_erase_conversation(&a, 2, 50).await.expect("erase");
        let left = [all[0].clone(), all[3].clone(), all[4].clone(), all[5].clone(), all[1].clone()];
        assert_eq!(world.expired(499, 100).await, left[..4]);
        assert_eq!(world.expired(500, 100).await, left);
        // Conversations of a disabled agent are due; those of a deleted agent are purged with it.
        world.set_status(&b, AgentStatus::Disabled, 600).await.expect("disable");
        assert_eq!(world.expired(500, 100).await, left);
        world.set_status(&a, AgentStatus::Deleted, 700).await.expect("delete");
        assert_eq!(world.expired(500, 100).await, [all[4].clone(), all[5].clone()]);
        assert_eq!(world.expired(500, 1).await, [all[4].clone()], "they do not displace others");
    });
}

pub(in crate::conformance) fn erasing_a_contact_removes_its_conversations(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let gone = world.insert(&a, r#"{"primaryEmail":"a@example.com"}"#, 0).await;
        let stays = world.insert(&a, r#"{"primaryEmail":"b@example.com"}"#, 1).await;
        let linked = async |agent: &AgentId, number, contact: Option<ContactId>| {
            let it = Conversation { contact_id: contact, ..full_conversation(agent, number) };
            world.put_conversation(&it, vec![reply(1), reply(2)]).await;
            it
        };
        for number in 1..=3 {
            linked(&a, number, Some(gone.id)).await;
        }
        let others = [
            linked(&a, 4, Some(stays.id)).await,
            linked(&a, 5, None).await,
            linked(&b, 1, Some(gone.id)).await,
        ];
        // Links change; only the current one counts.
        let stored = world.conversation_of(&a, 3).await.expect("conversation");
        let moved = world.change_conversation(&stored, Vec::new(), |it| it.contact_id = Some(stays.id)).await;
        let effects = world.effects(Some(&a), AuditAction::ContactErase, &gone.id.to_string(), 90);
        world.storage.erase_contact(&a, gone.id, at(90), &effects).await.expect("erase");
        for number in [1, 2] {
            assert_eq!(world.conversation_of(&a, number).await, None);
            assert!(world.every_message(&a, number).await.is_empty());
        }
        for it in others.iter().chain([&moved]) {
            let number = it.id.as_bytes()[0];
            assert_eq!(world.conversation_of(&it.agent_id, number).await.as_ref(), Some(it));
            assert_eq!(world.every_message(&it.agent_id, number).await, [reply(1), reply(2)]);
        }
        assert_eq!(world.conversation_numbers(&a, ConversationFilter::default()).await, [5, 4, 3]);
        let of_gone = ConversationFilter { contact: Some(gone.id), ..ConversationFilter::default() };
        assert!(world.conversation_numbers(&a, of_gone.clone()).await.is_empty());
        assert_eq!(world.conversation_numbers(&b, of_gone).await, [1]);
    });
    assert_eq!(backend.faults(), [] as [String; 0]);
}

pub(in crate::conformance) fn chats_of_deleted_agents_go(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        for agent in [&a, &b] {
            for number in 1..=3 {
                world.put_conversation(&conversation(agent, number), messages(1..=2)).await;
                world.add_knowledge(agent, number, 2).await;
            }
            for kind in [RecordKind::Settings, RecordKind::ChatUsage] {
                world.put_record(agent, &super::stored_record(kind, 1)).await;
            }
        }
        world.set_status(&a, AgentStatus::Deleted, 300).await.expect("delete");
        assert_eq!(world.conversation_of(&a, 1).await, None);
        assert!(world.conversation_numbers(&a, ConversationFilter::default()).await.is_empty());
        assert!(world.every_message(&a, 1).await.is_empty());
        assert!(world.knowledge_of(&a).await.is_empty());
        assert!(world.passage_positions(&a).await.is_empty());
        for kind in RecordKind::ALL.iter().copied() {
            assert_eq!(world.record_of(&a, kind).await, None);
        }
        let missing = StorageErrorKind::Missing;
        let next = Conversation { version: 2, ..conversation(&a, 1) };
        assert_fails(world.try_conversation(&next, Vec::new()).await, &missing);
        assert_fails(world.try_erase_conversation(&a, 1, 310).await, &missing);
        assert_fails(world.try_knowledge(&a, 4, &[1], None).await, &missing);
        let settings = super::stored_record(RecordKind::Settings, 2);
        assert_fails(world.try_record(&a, &settings).await, &missing);
        let payloads = world.audit_of(Some(&a)).await.len() as u64;
        let (mut removed, mut steps) = (0, 0);
        loop {
            let step = world.storage.purge_agent(&a, 2).await.expect("purge");
            assert!(step <= 2, "a step removed {step} rows of at most 2");
            if step == 0 {
                break;
            }
            (removed, steps) = (removed + step, steps + 1);
        }
        // The schema, messages, conversations, passages, documents, tenant records, and audit payloads.
        assert_eq!(removed, 1 + 6 + 3 + 6 + 3 + 3 + payloads);
        assert_eq!(steps, removed.div_ceil(2));
        assert_eq!(world.conversation_numbers(&b, ConversationFilter::default()).await, [3, 2, 1]);
        assert_eq!(world.every_message(&b, 1).await, messages(1..=2));
        assert_eq!(world.knowledge_of(&b).await.len(), 3);
        assert_eq!(world.passage_positions(&b).await.len(), 6);
        assert_eq!(world.knowledge_version(&b).await, 3);
        assert_eq!(
            world.record_of(&b, settings.key.kind).await,
            Some(super::stored_record(settings.key.kind, 1))
        );
    });
    assert_eq!(backend.faults(), [] as [String; 0]);
}

pub(in crate::conformance) fn conversations_belong_to_their_agent(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let own = full_conversation(&a, 1);
        world.put_conversation(&own, vec![reply(1)]).await;
        assert_eq!(world.conversation_of(&b, 1).await, None);
        assert!(world.conversation_numbers(&b, ConversationFilter::default()).await.is_empty());
        let linked = ConversationFilter { contact: own.contact_id, ..ConversationFilter::default() };
        assert!(world.conversation_numbers(&b, linked).await.is_empty());
        let turn = reply(1).turn.expect("turn");
        for which in [
            MessageSelector::After(0),
            MessageSelector::Before(9),
            MessageSelector::Id(message_id(1, 0)),
            MessageSelector::Turn(turn),
        ] {
            assert_eq!(world.some_messages(&a, 1, which.clone(), 9).await, [reply(1)]);
            assert!(world.some_messages(&b, 1, which, 9).await.is_empty());
        }
        assert_fails(world.try_erase_conversation(&b, 1, 10).await, &StorageErrorKind::Missing);
        assert_eq!(world.conversation_of(&a, 1).await.as_ref(), Some(&own));
        // The same ids under another agent name another conversation.
        let theirs = conversation(&b, 1);
        world.put_conversation(&theirs, messages(1..=2)).await;
        assert_eq!(world.conversation_of(&a, 1).await.as_ref(), Some(&own));
        assert_eq!(
            (world.every_message(&a, 1).await, world.every_message(&b, 1).await),
            (vec![reply(1)], messages(1..=2))
        );
        world.try_erase_conversation(&a, 1, 20).await.expect("erase");
        assert_eq!(world.conversation_of(&b, 1).await, Some(theirs));
        assert_eq!(world.every_message(&b, 1).await, messages(1..=2));
        let nobody = agent_id("nobody");
        assert_eq!(world.conversation_of(&nobody, 1).await, None);
        assert!(world.conversation_numbers(&nobody, ConversationFilter::default()).await.is_empty());
        assert!(world.every_message(&nobody, 1).await.is_empty());
    });
}
