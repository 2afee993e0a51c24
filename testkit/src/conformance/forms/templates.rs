//! Cases for templates and their versions.

use super::*;
use crate::conformance::fixture::assert_fails;
use crate::conformance::{Backend, on};

pub(in crate::conformance) fn templates_come_back_as_stored(backend: &mut dyn Backend) {
    let template = std::sync::Mutex::new(None);
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let stored = world.add_template(&a, 1, |_| {}).await;
        assert_eq!(world.template(&a, stored.id).await.as_ref(), Some(&stored));
        assert_fails(world.try_template(&stored).await, &StorageErrorKind::AlreadyExists);
        let nobody = template_of(&parsed("nobody"), 2, 0);
        assert_fails(world.try_template(&nobody).await, &StorageErrorKind::Missing);
        *template.lock().expect("lock") = Some(stored);
    });
    if backend.reopen() {
        on(backend, async |storage| {
            let stored = template.into_inner().expect("lock").expect("a template");
            let world = World::new(storage);
            assert_eq!(world.template(&stored.agent_id, stored.id).await, Some(stored));
        });
    }
}

pub(in crate::conformance) fn template_versions_are_stored(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let first = world.add_template(&a, 1, |_| {}).await;
        let second = next(&first, 100, |template| {
            template.version = 2;
            template.name = parsed("Second");
            template.description = None;
            template.fields.truncate(1);
            template.submission_policy = SubmissionPolicy::KeepAll;
            template.disabled_transitions =
                vec![Transition { from: SubmissionStatus::Submitted, to: SubmissionStatus::Rejected }];
        });
        world.replace(&second).await;
        let third = next(&second, 200, |template| template.status = TemplateStatus::Archived);
        world.replace(&third).await;
        assert_eq!(world.template(&a, first.id).await.as_ref(), Some(&third));
        assert_eq!(world.at_version(&first, 2).await.as_ref(), Some(&third));
        // Name, description and fields of that version; everything else is current.
        let then = FormTemplate {
            name: first.name.clone(),
            description: first.description.clone(),
            fields: first.fields.clone(),
            version: 1,
            ..third.clone()
        };
        assert_eq!(world.at_version(&first, 1).await, Some(then));
        assert_eq!(world.at_version(&first, 3).await, None);
        // A version that is not yet in use is replaced in place.
        let draft = world.add_template(&a, 2, |template| template.status = TemplateStatus::Draft).await;
        let edited = next(&draft, 100, |template| template.fields.truncate(2));
        world.replace(&edited).await;
        assert_eq!(world.at_version(&draft, 1).await, Some(edited));
    });
}

pub(in crate::conformance) fn template_changes_need_the_generation_before(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let template = world.add_template(&a, 1, |_| {}).await;
        let changed = next(&template, 100, |template| {
            template.name = parsed("Changed");
            template.created_at = at(99);
        });
        world.replace(&changed).await;
        assert_fails(world.try_replace(&changed).await, &StorageErrorKind::Stale);
        let ahead = next(&next(&changed, 0, |_| {}), 0, |_| {});
        assert_fails(world.try_replace(&ahead).await, &StorageErrorKind::Stale);
        let absent = FormTemplate { id: TemplateId::from_bytes([9; 12]), ..changed.clone() };
        assert_fails(world.try_replace(&absent).await, &StorageErrorKind::Missing);
        // The creation time stays.
        let stored = FormTemplate { created_at: template.created_at, ..changed };
        assert_eq!(world.template(&a, template.id).await, Some(stored));
        let noted = world.audit_of(Some(&a)).await;
        let actions: Vec<AuditAction> = noted.iter().map(|entry| entry.action).collect();
        assert_eq!(
            actions,
            [AuditAction::AgentCreate, AuditAction::TemplateCreate, AuditAction::TemplateEdit]
        );
    });
}

pub(in crate::conformance) fn template_lists_sort_and_page(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        for (id, name) in [(1, "Zoë"), (2, "amy"), (3, "Élan"), (4, "Amy"), (5, "été")] {
            world.add_template(&a, id, |template| template.name = parsed(name)).await;
        }
        world.add_template(&a, 6, |template| template.status = TemplateStatus::Draft).await;
        let numbers = |page: &TemplatePage| -> Vec<u8> {
            page.templates.iter().map(|template| template.id.as_bytes()[0]).collect()
        };
        let all = world.templates(&a, false, Window::Page { offset: 0, limit: 100 }).await;
        assert_eq!((numbers(&all), all.total), (vec![2, 4, 6, 3, 5, 1], 6));
        let active = world.templates(&a, true, Window::Page { offset: 1, limit: 2 }).await;
        assert_eq!((numbers(&active), active.total), (vec![4, 3], 5));
        assert_eq!(active.templates[0].field_count, 4);
        let position = TemplatePosition::of(&active.templates[0]);
        let following = world.templates(&a, true, Window::After { position, limit: 2 }).await;
        assert_eq!((numbers(&following), following.total), (vec![3, 5], 5));
        let renamed = world.template(&a, TemplateId::from_bytes([2; 12])).await.expect("a template");
        world.replace(&next(&renamed, 100, |template| template.name = parsed("zz"))).await;
        let all = world.templates(&a, true, Window::Page { offset: 0, limit: 100 }).await;
        assert_eq!(numbers(&all), [4, 3, 5, 1, 2]);
    });
}
