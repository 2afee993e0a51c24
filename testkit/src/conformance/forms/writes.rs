//! Cases for writes: preconditions, effects, and conflicts.

use std::sync::Arc;

use conversations::storage::ConversationStorage;

use super::*;
use crate::conformance::fixture::{assert_fails, replay};
use crate::conformance::races::{WRITERS, Written, outcomes};
use crate::conformance::{Backend, on};

pub(in crate::conformance) fn writes_of_submissions_need_what_was_read(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let template = world.add_template(&a, 1, |_| {}).await;
        let head = world.submit(&contact, &template, 1, 10).await;
        let new = submission_of(&contact, &template, 2, SubmissionStatus::Submitted, 20);
        let as_read = Some(Supersession { head: Some(head.id) });
        for wrong in [None, Some(SubmissionId::from_bytes([9; 12]))] {
            let succession = Some(Supersession { head: wrong });
            assert_fails(
                world.try_submit(&contact, &template, &new, succession).await,
                &StorageErrorKind::Stale,
            );
        }
        let old = Contact { version: contact.version + 1, ..contact.clone() };
        assert_fails(world.try_submit(&old, &template, &new, as_read).await, &StorageErrorKind::Stale);
        let absent = Contact { id: ContactId::from_bytes([9; 12]), ..contact.clone() };
        let orphan = submission_of(&absent, &template, 2, SubmissionStatus::Submitted, 20);
        assert_fails(world.try_submit(&absent, &template, &orphan, None).await, &StorageErrorKind::Missing);
        let ahead = next(&template, 0, |_| {});
        assert_fails(world.try_submit(&contact, &ahead, &new, as_read).await, &StorageErrorKind::Stale);
        let unknown = FormTemplate { id: TemplateId::from_bytes([9; 12]), ..template.clone() };
        let lost = submission_of(&contact, &unknown, 2, SubmissionStatus::Submitted, 20);
        assert_fails(world.try_submit(&contact, &unknown, &lost, None).await, &StorageErrorKind::Missing);
        let taken = Submission { id: head.id, ..new.clone() };
        assert_fails(
            world.try_submit(&contact, &template, &taken, as_read).await,
            &StorageErrorKind::AlreadyExists,
        );
        // Nothing of it was stored.
        assert_eq!(world.stored(&head).await, head);
        assert_eq!(world.listed(&a, of(&contact)).await, [1]);

        let change = |change: &SubmissionChange| change.clone();
        let sound =
            world.change(&contact, &head, 30, |submission| submission.review_notes = Some(parsed("r")));
        let stale = SubmissionChange { expected_version: 2, ..change(&sound) };
        assert_fails(world.try_change(&stale).await, &StorageErrorKind::Stale);
        let stale = SubmissionChange { contact_version: contact.version + 1, ..change(&sound) };
        assert_fails(world.try_change(&stale).await, &StorageErrorKind::Stale);
        let ahead = Some(template.generation + 1);
        let stale = SubmissionChange { template_generation: ahead, ..change(&sound) };
        assert_fails(world.try_change(&stale).await, &StorageErrorKind::Stale);
        let stale = SubmissionChange { succession: Some(Supersession { head: None }), ..change(&sound) };
        assert_fails(world.try_change(&stale).await, &StorageErrorKind::Stale);
        let mut absent = change(&sound);
        absent.submission.id = SubmissionId::from_bytes([9; 12]);
        assert_fails(world.try_change(&absent).await, &StorageErrorKind::Missing);
        assert_eq!(world.stored(&head).await, head);
        let sound = SubmissionChange { template_generation: Some(template.generation), ..sound };
        world.try_change(&sound).await.unwrap_or_else(|error| panic!("{error}"));
        assert_fails(world.try_change(&sound).await, &StorageErrorKind::Stale);
    });
}

pub(in crate::conformance) fn several_submissions_are_stored_or_none(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let (one, two) = (world.add_template(&a, 1, |_| {}).await, world.add_template(&a, 2, |_| {}).await);
        let head = world.submit(&contact, &one, 1, 10).await;
        let new = |id: u8, template: &FormTemplate, head: Option<SubmissionId>| {
            let submission = submission_of(&contact, template, id, SubmissionStatus::Submitted, 20);
            new_submission(&submission, template, Some(Supersession { head }))
        };
        let broken = vec![new(2, &one, Some(head.id)), new(3, &two, Some(head.id))];
        let mut write = world.submissions_write(&contact, broken, 100);
        write.effects.replay = Some(replay(1, Some(contact.id), 10_000));
        assert_fails(world.storage.insert_submissions(&a, &write).await, &StorageErrorKind::Stale);
        assert_eq!(world.listed(&a, of(&contact)).await, [1]);
        assert_eq!(world.stored(&head).await, head);
        let answer = world.storage.replay(&a, &openapi_core::storage::IdempotencyKey([1; 32]), at(0)).await;
        assert_eq!(answer.unwrap_or_else(|error| panic!("{error}")), None);
        let before = world.audit_of(Some(&a)).await.len();

        let sound = vec![new(2, &one, Some(head.id)), new(3, &two, None)];
        let write = world.submissions_write(&contact, sound, 100);
        world.storage.insert_submissions(&a, &write).await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(world.listed(&a, of(&contact)).await, [3, 2, 1]);
        assert!(world.stored(&head).await.is_superseded());
        assert_eq!(world.audit_of(Some(&a)).await.len(), before + 2);
    });
}

pub(in crate::conformance) fn submissions_are_noted_and_answered_again(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let template = world.add_template(&a, 1, |_| {}).await;
        let answer = replay(1, Some(contact.id), 10_000);
        let submission = submission_of(&contact, &template, 1, SubmissionStatus::Draft, 10);
        let new = new_submission(&submission, &template, None);
        let mut write = world.submissions_write(&contact, vec![new], 100);
        write.effects.replay = Some(answer.clone());
        world.storage.insert_submissions(&a, &write).await.unwrap_or_else(|error| panic!("{error}"));
        let read = async |now: i64| {
            let read = world.storage.replay(&a, &answer.key, at(now)).await;
            read.unwrap_or_else(|error| panic!("{error}"))
        };
        assert_eq!(read(100).await, Some(answer.clone()));
        let again = submission_of(&contact, &template, 2, SubmissionStatus::Draft, 20);
        write.submissions = vec![new_submission(&again, &template, None)];
        assert_fails(world.storage.insert_submissions(&a, &write).await, &StorageErrorKind::ReplayExists);
        assert_eq!(world.listed(&a, of(&contact)).await, [1]);
        // Only a stored response is written as well.
        write.submissions = Vec::new();
        write.effects.audit.clear();
        write.effects.replay = Some(replay(2, Some(contact.id), 10_000));
        world.storage.insert_submissions(&a, &write).await.unwrap_or_else(|error| panic!("{error}"));
        assert_fails(world.storage.insert_submissions(&a, &write).await, &StorageErrorKind::ReplayExists);
        let noted = world.audit_of(Some(&a)).await;
        let entry = noted.iter().find(|entry| entry.action == AuditAction::SubmissionCreate);
        let entry = entry.unwrap_or_else(|| panic!("no entry"));
        assert_eq!(
            (entry.resource.clone(), entry.contact_id),
            (Some(submission.id.to_string()), Some(contact.id))
        );
    });
}

pub(in crate::conformance) fn changes_of_submissions_keep_the_data_before(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let template = world.add_template(&a, 1, |_| {}).await;
        let draft = world.add(&contact, &template, 1, SubmissionStatus::Draft, 10).await;
        assert_eq!(world.revisions(&draft).await, []);
        let edited = world.change(&contact, &draft, 20, |submission| {
            submission.form_data = RawObject::new(&object(r#"{"a":"second"}"#));
            submission.submission_notes = None;
        });
        world.try_change(&edited).await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(world.stored(&draft).await, edited.submission);
        // Submitted, with every property that a review sets.
        let head = world.submit(&contact, &template, 2, 25).await;
        let mut handed_in = world.change(&contact, &edited.submission, 30, |submission| {
            submission.form_data = RawObject::new(&object(r#"{"a":"third"}"#));
            submission.status = SubmissionStatus::Submitted;
            submission.submitted_at = Some(at(30));
            submission.revision = 2;
            submission.supersedes = Some(head.id);
            submission.status_history.push(StatusChange {
                from: Some(SubmissionStatus::Draft),
                to: SubmissionStatus::Submitted,
                at: at(30),
                by: somebody(),
                notes: None,
            });
            submission.reviewed_by = Some(somebody());
            submission.reviewed_at = Some(at(30));
            submission.review_notes = Some(parsed("Well\ndone"));
        });
        handed_in.succession = Some(Supersession { head: Some(head.id) });
        world.try_change(&handed_in).await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(world.stored(&draft).await, handed_in.submission);
        assert_eq!(world.stored(&head).await.superseded_by, Some(draft.id));
        assert_eq!(world.head(&contact, &template).await.map(|head| head.id), Some(draft.id));
        let retained: Vec<(u64, String)> = world
            .revisions(&draft)
            .await
            .into_iter()
            .map(|revision| (revision.version, revision.form_data.as_str().to_owned()))
            .collect();
        let first = draft.form_data.as_str().to_owned();
        assert_eq!(retained, [(1, first), (2, r#"{"a":"second"}"#.to_owned())]);
        let noted = world.audit_of(Some(&a)).await;
        assert_eq!(noted.iter().filter(|entry| entry.action == AuditAction::SubmissionUpdate).count(), 2);
    });
}

fn insert(storage: Arc<dyn ConversationStorage>, write: SubmissionsWrite) -> Written {
    Box::pin(async move {
        let agent = write.submissions[0].submission.agent_id.clone();
        storage.insert_submissions(&agent, &write).await
    })
}

pub(in crate::conformance) fn of_equal_heads_one_wins(backend: &mut dyn Backend) {
    let writes = std::sync::Mutex::new(Vec::new());
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let template = world.add_template(&a, 1, |_| {}).await;
        let head = world.submit(&contact, &template, 1, 10).await.id;
        for id in (10..).take(WRITERS) {
            let submission = submission_of(&contact, &template, id, SubmissionStatus::Submitted, 20);
            let succession = Some(Supersession { head: Some(head) });
            let new = new_submission(&submission, &template, succession);
            writes.lock().expect("lock").push(world.submissions_write(&contact, vec![new], 100));
        }
    });
    let results = outcomes(backend, writes.into_inner().expect("lock"), insert);
    let won = results.iter().filter(|result| result.is_ok()).count();
    let late = results.iter().filter_map(|result| result.as_ref().err());
    let stale = late.filter(|error| error.kind == StorageErrorKind::Stale).count();
    assert_eq!((won, stale), (1, WRITERS - 1), "{results:?}");
    on(backend, async |storage| {
        let world = World::new(storage);
        let current = world
            .listed(&crate::conformance::fixture::agent_id("agent-a"), SubmissionFilter::default())
            .await;
        assert_eq!(current.len(), 1, "one head");
    });
}
