//! Cases for submissions: reads, supersession, and deletion with a contact or an agent.

use super::*;
use crate::conformance::fixture::assert_fails;
use crate::conformance::{Backend, on};

pub(in crate::conformance) fn submissions_come_back_as_stored(backend: &mut dyn Backend) {
    let stored = std::sync::Mutex::new(None);
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let template = world.add_template(&a, 1, |_| {}).await;
        let draft = world.add(&contact, &template, 1, SubmissionStatus::Draft, 10).await;
        assert_eq!(world.stored(&draft).await, draft);
        let first = world.submit(&contact, &template, 2, 20).await;
        assert_eq!(world.stored(&first).await, first);
        let bare = Submission {
            form_data: RawObject::default(),
            submission_notes: None,
            client_id: None,
            status_history: Vec::new(),
            created_by: Actor::Operator("o".to_owned()),
            ..submission_of(&contact, &template, 3, SubmissionStatus::Submitted, 30)
        };
        world.try_submit(&contact, &template, &bare, None).await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(world.stored(&bare).await, bare);
        assert_eq!(world.submission(&a, SubmissionId::from_bytes([9; 12])).await, None);
        *stored.lock().expect("lock") = Some(first);
    });
    if backend.reopen() {
        on(backend, async |storage| {
            let first = stored.into_inner().expect("lock").expect("a submission");
            assert_eq!(World::new(storage).stored(&first).await, first);
        });
    }
}

pub(in crate::conformance) fn submissions_show_the_contact_as_it_is_named_now(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let template = world.add_template(&a, 1, |_| {}).await;
        let submission = world.submit(&contact, &template, 1, 10).await;
        for name in [Some("crm-2"), None] {
            let contact = world.by_id(&a, contact.id).await.expect("a contact");
            let name = name.map(parsed);
            let contact =
                world.update(&contact, 20, |contact| contact.external_reference_id.clone_from(&name)).await;
            let shown = Submission { external_reference_id: name, ..submission.clone() };
            assert_eq!(world.stored(&submission).await, shown);
            let without_history = Submission { status_history: Vec::new(), ..shown };
            assert_eq!(world.head(&contact, &template).await.as_ref(), Some(&without_history));
            let page = world.submission_page(&a, of(&contact), Window::Page { offset: 0, limit: 9 }).await;
            assert_eq!(page.submissions, [without_history]);
        }
    });
}

pub(in crate::conformance) fn submission_lists_filter_and_page(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let other = world.insert(&a, r#"{"primaryEmail":"b@example.com"}"#, 1).await;
        let (one, two) = (world.add_template(&a, 1, |_| {}).await, world.add_template(&a, 2, |_| {}).await);
        world.submit(&contact, &one, 1, 10).await;
        world.submit(&contact, &one, 2, 20).await;
        world.submit(&contact, &two, 3, 20).await;
        world.add(&contact, &one, 4, SubmissionStatus::Draft, 5).await;
        let named = Submission {
            client_id: Some(parsed("Practice-7")),
            ..submission_of(&contact, &two, 5, SubmissionStatus::Rejected, 40)
        };
        world.try_submit(&contact, &two, &named, None).await.unwrap_or_else(|error| panic!("{error}"));
        world.submit(&other, &one, 6, 30).await;

        assert_eq!(
            world.listed(&a, of(&contact)).await,
            [5, 3, 2, 1, 4],
            "newest first, then the greater id"
        );
        let filter = SubmissionFilter { include_superseded: false, ..of(&contact) };
        assert_eq!(world.listed(&a, filter).await, [5, 3, 2, 4]);
        let filter = SubmissionFilter { template: Some(one.id), ..of(&contact) };
        assert_eq!(world.listed(&a, filter).await, [2, 1, 4]);
        let filter = SubmissionFilter { status: Some(SubmissionStatus::Draft), ..of(&contact) };
        assert_eq!(world.listed(&a, filter).await, [4]);
        let filter = SubmissionFilter { client_id: Some("Practice-7".to_owned()), ..of(&contact) };
        assert_eq!(world.listed(&a, filter).await, [5], "to the case");
        let filter = SubmissionFilter { client_id: Some("practice-7".to_owned()), ..of(&contact) };
        assert_eq!(world.listed(&a, filter).await, [0_u8; 0]);
        let filter = SubmissionFilter {
            client_id: Some(" practice-7 ".to_owned()),
            template: Some(two.id),
            ..of(&contact)
        };
        assert_eq!(world.listed(&a, filter).await, [3]);
        let everyone = SubmissionFilter { contact: None, ..of(&contact) };
        assert_eq!(world.listed(&a, everyone).await, [5, 6, 3, 2, 1, 4]);
        let unknown = SubmissionFilter { template: Some(TemplateId::from_bytes([9; 12])), ..of(&contact) };
        assert_eq!(world.listed(&a, unknown).await, [0_u8; 0]);

        let page = world.submission_page(&a, of(&contact), Window::Page { offset: 1, limit: 2 }).await;
        assert_eq!((ids(&page.submissions), page.total), (vec![3, 2], 5));
        assert!(page.submissions.iter().all(|submission| submission.status_history.is_empty()));
        let position = SubmissionPosition::of(&page.submissions[0]);
        let page = world.submission_page(&a, of(&contact), Window::After { position, limit: 2 }).await;
        assert_eq!((ids(&page.submissions), page.total), (vec![2, 1], 5));
        let gone = SubmissionPosition { created_at: at(20), id: SubmissionId::from_bytes([1; 12]) };
        let page = world.submission_page(&a, of(&contact), Window::After { position: gone, limit: 9 }).await;
        assert_eq!(ids(&page.submissions), [1, 4]);
    });
}

pub(in crate::conformance) fn a_submission_replaces_the_head(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let other = world.insert(&a, r#"{"primaryEmail":"b@example.com"}"#, 1).await;
        let (one, two) = (world.add_template(&a, 1, |_| {}).await, world.add_template(&a, 2, |_| {}).await);
        assert_eq!(world.head(&contact, &one).await, None);
        let first = world.submit(&contact, &one, 1, 10).await;
        let adjacent = [world.submit(&contact, &two, 2, 10).await, world.submit(&other, &one, 3, 10).await];
        let draft = world.add(&contact, &one, 4, SubmissionStatus::Draft, 15).await;
        let second = world.submit(&contact, &one, 5, 20).await;
        let superseded = Submission {
            superseded_by: Some(second.id),
            superseded_at: Some(at(20)),
            updated_at: at(20),
            version: 2,
            ..first.clone()
        };
        assert_eq!(world.stored(&first).await, superseded);
        for untouched in adjacent.iter().chain([&draft, &second]) {
            assert_eq!(world.stored(untouched).await, *untouched);
        }
        assert_eq!(world.head(&contact, &one).await.map(|head| head.id), Some(second.id));
        // A change later than the submission retains its time.
        let touched =
            world.change(&contact, &second, 90, |submission| submission.review_notes = Some(parsed("r")));
        world.try_change(&touched).await.unwrap_or_else(|error| panic!("{error}"));
        let third = world.submit(&contact, &one, 6, 30).await;
        let second = world.stored(&second).await;
        assert_eq!((second.superseded_at, second.updated_at, second.version), (Some(at(30)), at(90), 3));
        assert_eq!((third.revision, third.supersedes), (3, Some(second.id)));
        // If all coexisted so far, all are superseded.
        let retained = submission_of(&contact, &one, 7, SubmissionStatus::Approved, 40);
        world.try_submit(&contact, &one, &retained, None).await.unwrap_or_else(|error| panic!("{error}"));
        let last = world.submit(&contact, &one, 8, 50).await;
        assert_eq!(last.supersedes, Some(retained.id), "the newest is the head");
        for earlier in [&third, &retained] {
            assert_eq!(world.stored(earlier).await.superseded_by, Some(last.id));
        }
    });
}

pub(in crate::conformance) fn the_latest_is_handed_in_and_in_use(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let template = world.add_template(&a, 1, |_| {}).await;
        assert_eq!(world.latest(&contact, &template, true).await, None);
        let draft = world.add(&contact, &template, 1, SubmissionStatus::Draft, 10).await;
        assert_eq!(world.latest(&contact, &template, false).await, None);
        assert_eq!(world.latest(&contact, &template, true).await, Some(draft.id));
        let first = world.submit(&contact, &template, 2, 20).await;
        let second = world.submit(&contact, &template, 3, 30).await;
        assert_eq!(world.latest(&contact, &template, true).await, Some(second.id));
        let late = world.add(&contact, &template, 4, SubmissionStatus::Draft, 40).await;
        assert_eq!(world.latest(&contact, &template, false).await, Some(second.id));
        assert_eq!(world.latest(&contact, &template, true).await, Some(late.id));
        let archived =
            world.change(&contact, &second, 50, |submission| submission.status = SubmissionStatus::Archived);
        world.try_change(&archived).await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(world.latest(&contact, &template, false).await, None, "archiving brings none back");
        assert_eq!(world.head(&contact, &template).await.map(|head| head.id), Some(second.id));
        assert!(world.stored(&first).await.is_superseded());
        // Of several coexisting submissions the newest wins, then the greatest id.
        let keeping = world.add_template(&a, 2, |_| {}).await;
        for (id, millis) in [(5, 60), (7, 70), (6, 70)] {
            world.add(&contact, &keeping, id, SubmissionStatus::Submitted, millis).await;
        }
        assert_eq!(world.latest(&contact, &keeping, false).await, Some(SubmissionId::from_bytes([7; 12])));
        assert_eq!(world.head(&contact, &keeping).await.map(|head| head.id.as_bytes()[0]), Some(7));
    });
}

pub(in crate::conformance) fn erasing_removes_submissions(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let other = world.insert(&a, r#"{"primaryEmail":"b@example.com"}"#, 1).await;
        let template = world.add_template(&a, 1, |_| {}).await;
        let draft = world.add(&contact, &template, 1, SubmissionStatus::Draft, 10).await;
        let edited =
            world.change(&contact, &draft, 20, |submission| submission.form_data = RawObject::default());
        world.try_change(&edited).await.unwrap_or_else(|error| panic!("{error}"));
        let stays = world.submit(&other, &template, 2, 10).await;
        let effects = world.effects(Some(&a), AuditAction::ContactErase, &contact.id.to_string(), 300);
        world
            .storage
            .erase_contact(&a, contact.id, at(300), &effects)
            .await
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(world.submission(&a, draft.id).await, None);
        assert_eq!(world.revisions(&draft).await, []);
        assert_eq!(world.stored(&stays).await, stays);
        let everyone = SubmissionFilter { include_superseded: true, ..SubmissionFilter::default() };
        assert_eq!(world.listed(&a, everyone).await, [2]);
        let entries = world.audit_of(Some(&a)).await;
        for entry in entries.iter().filter(|entry| entry.action.as_str().starts_with("submission.")) {
            assert_eq!(entry.details.is_empty(), entry.contact_id == Some(contact.id), "{entry:?}");
        }
        // The id is free again, and the pair starts over.
        assert_eq!(world.head(&contact, &template).await, None);
    });
}

pub(in crate::conformance) fn forms_of_deleted_agents_go(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let mut living = None;
        for agent in [&a, &b] {
            let contact = world.insert(agent, BODY, 0).await;
            let template = world.add_template(agent, 1, |_| {}).await;
            living = Some(world.submit(&contact, &template, 1, 10).await);
        }
        let living = living.unwrap_or_else(|| panic!("two agents"));
        world.set_status(&a, AgentStatus::Deleted, 50).await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(world.template(&a, TemplateId::from_bytes([1; 12])).await, None);
        assert_eq!(world.submission(&a, SubmissionId::from_bytes([1; 12])).await, None);
        let everyone = SubmissionFilter { include_superseded: true, ..SubmissionFilter::default() };
        assert_eq!(world.listed(&a, everyone).await, [0_u8; 0]);
        let mut removed = 0;
        while let 1.. = {
            let step = world.storage.purge_agent(&a, 1).await.unwrap_or_else(|error| panic!("{error}"));
            assert!(step <= 1);
            removed += step;
            step
        } {}
        // Contact, submission, template, schema, and the audit payloads of agent, contact, template and submission.
        assert!(removed >= 4, "{removed} rows");
        assert_eq!(world.stored(&living).await, living);
    });
}

pub(in crate::conformance) fn files_of_a_contact_are_distinguished(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let other = world.insert(&a, r#"{"primaryEmail":"b@example.com"}"#, 1).await;
        for (contact, id) in [(&contact, 1), (&contact, 2), (&other, 3)] {
            let file = crate::conformance::files::file_of(contact, id, "a.pdf", 1, 10);
            let write = world.file_write(&file, contact, 10);
            world.storage.insert_file(&a, &write).await.unwrap_or_else(|error| panic!("{error}"));
        }
        let deletion = world.deletion(FileId::from_bytes([2; 12]), &contact, at(1_000));
        world.storage.delete_file(&a, &deletion).await.unwrap_or_else(|error| panic!("{error}"));
        let files = [1, 2, 3, 4, 1].map(|id| FileId::from_bytes([id; 12]));
        let belong = world.storage.files_of_contact(&a, contact.id, &files).await;
        assert_eq!(belong.unwrap_or_else(|error| panic!("{error}")), [true, false, false, false, true]);
        let belong = world.storage.files_of_contact(&b, contact.id, &files).await;
        assert_eq!(belong.unwrap_or_else(|error| panic!("{error}")), [false; 5]);
        let belong = world.storage.files_of_contact(&a, contact.id, &[]).await;
        assert_eq!(belong.unwrap_or_else(|error| panic!("{error}")), [false; 0]);
    });
}

pub(in crate::conformance) fn forms_belong_to_their_agent(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let template = world.add_template(&a, 1, |_| {}).await;
        let submission = world.submit(&contact, &template, 1, 10).await;
        let change =
            world.change(&contact, &submission, 20, |submission| submission.form_data = RawObject::default());
        world.try_change(&change).await.unwrap_or_else(|error| panic!("{error}"));
        let stored = world.stored(&submission).await;

        assert_eq!(world.template(&b, template.id).await, None);
        let foreign = FormTemplate { agent_id: b.clone(), ..template.clone() };
        assert_eq!(world.at_version(&foreign, 1).await, None);
        assert_eq!(
            world.templates(&b, false, Window::Page { offset: 0, limit: 9 }).await,
            TemplatePage::default()
        );
        assert_fails(world.try_replace(&next(&foreign, 30, |_| {})).await, &StorageErrorKind::Missing);
        assert_eq!(world.submission(&b, submission.id).await, None);
        let everyone = SubmissionFilter { include_superseded: true, ..SubmissionFilter::default() };
        assert_eq!(world.listed(&b, everyone).await, [0_u8; 0]);
        assert_eq!(world.listed(&b, of(&contact)).await, [0_u8; 0]);
        let alien = Contact { agent_id: b.clone(), ..contact.clone() };
        assert_eq!(world.head(&alien, &template).await, None);
        assert_eq!(world.latest(&alien, &template, true).await, None);
        let foreign = Submission { agent_id: b.clone(), ..stored.clone() };
        assert_eq!(world.revisions(&foreign).await, []);
        let change =
            world.change(&alien, &foreign, 40, |submission| submission.review_notes = Some(parsed("x")));
        assert_fails(world.try_change(&change).await, &StorageErrorKind::Missing);
        // A contact and a template of another agent do not exist for a submission.
        let own = world.insert(&b, BODY, 5).await;
        let alien_template = submission_of(&own, &template, 3, SubmissionStatus::Submitted, 30);
        assert_fails(
            world.try_submit(&own, &template, &alien_template, None).await,
            &StorageErrorKind::Missing,
        );
        let own_template = world.add_template(&b, 2, |_| {}).await;
        let alien_contact = submission_of(&alien, &own_template, 3, SubmissionStatus::Submitted, 30);
        assert_fails(
            world.try_submit(&alien, &own_template, &alien_contact, None).await,
            &StorageErrorKind::Missing,
        );
        assert_eq!(world.stored(&submission).await, stored);
        assert_eq!(world.revisions(&submission).await.len(), 1);
    });
}
