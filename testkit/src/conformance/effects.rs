//! The effects of writes: every write stores all of them, and a rejected one none.

use super::chat::{conversation, stored_record};
use super::credits::nothing;
use super::files::file_of;
use super::fixture::{World, agent, agent_id, assert_fails, at, replay, seal, unsealed};
use super::forms::{new_submission, submission_of, template_of};
use super::{Backend, on};
use conversations::Conversation;
use conversations::storage::{ConversationWrite, KnowledgeWrite};
use openapi_core::access::StoredKey;
use openapi_core::audit::AuditAction;
use openapi_core::contacts::Contact;
use openapi_core::forms::{FormTemplate, Submission, SubmissionStatus};
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{
    ContactWrite, CreditWrite, Effects, FileDeletion, FileWrite, RecordKind, RecordsWrite, StorageErrorKind,
    SubmissionChange, SubmissionsWrite,
};
use openapi_core::values::{AgentId, SubmissionId};

/// Three audit entries and a response, all distinguished by a number.
fn several(world: &World, of: &AgentId, number: u8) -> Effects {
    let entry = |step| {
        seal(world.audit(
            Some(of),
            AuditAction::AgentConfigure,
            "several",
            1_000 + i64::from(number) * 10 + step,
        ))
    };
    Effects {
        audit: (0..3).map(entry).collect(),
        replay: Some(replay(number, None, 900_000)),
        events: (0..2).map(|step| world.key_event(number, step)).collect(),
    }
}

/// A number that no effects had before.
fn number_after(effects: &mut u8) -> u8 {
    *effects += 1;
    *effects
}

/// Runs a write of an absent tenant, which must leave nothing, and of one that exists, which must store its effects.
macro_rules! assert_stored {
    ($world:ident, $agent:ident, $count:ident, |$of:ident, $effects:ident| $write:expr) => {{
        let noted = $world.audit_of(Some(&$agent)).await;
        let log = $world.log_of(&$agent).await;
        let nobody = agent_id("nobody");
        let ($of, $effects) = (&nobody, several(&$world, &$agent, number_after(&mut $count)));
        assert_fails($write, &StorageErrorKind::Missing);
        assert_eq!($world.audit_of(Some(&$agent)).await, noted, "a rejected write leaves no audit entry");
        assert_eq!($world.log_of(&$agent).await, log, "a rejected write has no event");
        assert_stored!(accepted $world, $agent, $count, |$of, $effects| $write);
    }};
    (accepted $world:ident, $agent:ident, $count:ident, |$of:ident, $effects:ident| $write:expr) => {{
        let noted = $world.audit_of(Some(&$agent)).await.len();
        let ($of, $effects) = (&$agent, several(&$world, &$agent, number_after(&mut $count)));
        let expected = $effects.clone();
        if let Err(error) = $write {
            panic!("{}: {error}", stringify!($write));
        }
        let stored = $world.audit_of(Some(&$agent)).await;
        assert_eq!(stored.get(noted..), Some(&*unsealed(&expected.audit)), "{}", stringify!($write));
        let log = $world.log_of(&$agent).await;
        let first = log.len().saturating_sub(2);
        let events = super::log::numbered(first as u64 + 1, &expected.events);
        assert_eq!(log[first..], events, "{}", stringify!($write));
        let key = expected.replay.as_ref().expect("a response").key;
        let answer = $world.storage.replay($of, &key, at(2_000)).await.expect("replay");
        assert_eq!(answer, expected.replay, "{}", stringify!($write));
    }};
}

pub(super) fn writes_of_tenants_store_their_effects(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let world = World::new(storage);
        let (store, a, mut count) = (&world.storage, agent_id("a"), 0);
        let schema = ContactSchema::builtin(a.clone(), at(0));
        assert_stored!(accepted world, a, count, |of, effects| {
            store.insert_agent(&agent(of, 0), &schema, &effects).await
        });
        let noted = world.audit_of(Some(&a)).await;
        let again = store.insert_agent(&agent(&a, 0), &schema, &several(&world, &a, 100)).await;
        assert_fails(again, &StorageErrorKind::AlreadyExists);
        assert_eq!(world.audit_of(Some(&a)).await, noted);
        assert_stored!(world, a, count, |of, effects| store.update_agent(&agent(of, 5), &effects).await);
        let key = world.key(&a, 1);
        assert_stored!(world, a, count, |of, effects| store.insert_key(of, &key, &effects).await);
        let key = StoredKey { version: 2, ..key };
        assert_stored!(world, a, count, |of, effects| store.update_key(of, 1, &key, &effects).await);
        let schema = ContactSchema { version: 2, ..schema };
        assert_stored!(world, a, count, |of, effects| {
            store.replace_contact_schema(of, &schema, &effects).await
        });
        let record = stored_record(RecordKind::Settings, 1);
        assert_stored!(world, a, count, |of, effects| store
            .save_records(Some(of), &RecordsWrite::save(record.clone(), effects))
            .await);
        assert_stored!(world, a, count, |of, effects| {
            store.save_credits(of, &CreditWrite { effects, ..nothing(1) }).await
        });
        assert_stored!(world, a, count, |of, effects| store.expedite_purges(of, at(1), &effects).await);
        let write = world.knowledge_write(&a, 1);
        assert_stored!(world, a, count, |of, effects| {
            store.change_knowledge(of, &KnowledgeWrite { effects, ..write.clone() }).await
        });
    });
}

pub(super) fn writes_of_contacts_store_their_effects(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let (store, mut count) = (&world.storage, 0);
        let contact = world.contact(&a, r#"{"primaryEmail":"a@example.com"}"#, 1).await;
        let write = world.write(&contact, 1).await;
        assert_stored!(world, a, count, |of, effects| {
            store.insert_contact(of, &ContactWrite { effects, ..write.clone() }).await
        });
        let contact = Contact { version: 2, ..contact };
        let write = world.write(&contact, 2).await;
        assert_stored!(world, a, count, |of, effects| {
            store.update_contact(of, 1, &ContactWrite { effects, ..write.clone() }).await
        });
        let file = file_of(&contact, 1, "a.pdf", 1, 3);
        let write = world.file_write(&file, &contact, 3);
        assert_stored!(world, a, count, |of, effects| {
            store.insert_file(of, &FileWrite { effects, ..write.clone() }).await
        });
        let deletion = world.deletion(file.id, &contact, at(4));
        assert_stored!(world, a, count, |of, effects| {
            store.delete_file(of, &FileDeletion { effects, ..deletion.clone() }).await
        });
        let template = template_of(&a, 1, 5);
        assert_stored!(world, a, count, |of, effects| store.insert_template(of, &template, &effects).await);
        let template = FormTemplate { generation: 2, ..template };
        assert_stored!(world, a, count, |of, effects| store.replace_template(of, &template, &effects).await);
        let submission = submission_of(&contact, &template, 1, SubmissionStatus::Draft, 6);
        let other = Submission { id: SubmissionId::from_bytes([2; 12]), ..submission.clone() };
        let both = [&submission, &other].map(|submission| new_submission(submission, &template, None));
        let write = world.submissions_write(&contact, both.into(), 6);
        assert_stored!(world, a, count, |of, effects| {
            store.insert_submissions(of, &SubmissionsWrite { effects, ..write.clone() }).await
        });
        let change = world.change(&contact, &submission, 7, |_| {});
        assert_stored!(world, a, count, |of, effects| {
            store.update_submission(of, &SubmissionChange { effects, ..change.clone() }).await
        });
        let spoken = conversation(&a, 1);
        let id = spoken.id;
        let write = |conversation: &Conversation, effects| ConversationWrite {
            conversation: conversation.clone(),
            messages: Vec::new(),
            keep: Vec::new(),
            effects,
            deferrable: false,
        };
        assert_stored!(world, a, count, |of, effects| {
            store.save_conversation(of, &write(&spoken, effects)).await
        });
        assert_stored!(world, a, count, |of, effects| {
            store.erase_conversation(of, id, at(8), &effects).await
        });
        assert_stored!(world, a, count, |of, effects| {
            store.erase_contact(of, contact.id, at(9), &effects).await
        });
    });
}
