//! Cases of forms: templates and their versions, submissions, their succession, and what goes with a contact.

use std::sync::Arc;

use super::fixture::{World, assert_fails, at, object, parsed, replay};
use super::races::{WRITERS, Written, outcomes};
use super::{Backend, on};
use crate::access::Actor;
use crate::agents::AgentStatus;
use crate::audit::{AuditAction, AuditEntry};
use crate::contacts::Contact;
use crate::forms::{
    FormDataRevision, FormTemplate, StatusChange, Submission, SubmissionPolicy, SubmissionStatus,
    TemplateDefinition, TemplateStatus, Transition,
};
use crate::json::RawObject;
use crate::storage::{
    LatestQuery, NewSubmission, Result, Storage, StorageErrorKind, SubmissionChange, SubmissionFilter,
    SubmissionPage, SubmissionPosition, SubmissionQuery, SubmissionsWrite, Succession, TemplatePage,
    TemplatePosition, TemplateQuery, Window,
};
use crate::values::{AgentId, ContactId, FileId, SubmissionId, TemplateId};

const BODY: &str = r#"{"primaryEmail":"a@example.com","externalReferenceId":"crm-1"}"#;

/// A definition that uses every member of a field.
const DEFINITION: &str = r#"{
    "name": "Éclair intake", "description": "Two\nlines", "submissionPolicy": "supersede",
    "disabledTransitions": [{ "from": "draft", "to": "archived" }],
    "fields": [
        { "name": "a", "label": "A \"quoted\"", "type": "text", "required": true, "order": 2, "section": "S",
          "placeholder": "…", "description": "d", "validation": { "maxLength": 9, "pattern": "^[a-z]+$", "patternMessage": "Letters" },
          "default": "x", "example": "abc", "sensitive": true },
        { "name": "n", "type": "number", "order": 1, "validation": { "minimum": 0.10, "multipleOf": 1e-1 } },
        { "name": "s", "type": "select", "options": [{ "value": "v", "label": "V" }] },
        { "name": "l", "type": "list", "showIf": { "field": "s", "op": "equals", "value": "v" },
          "fields": [{ "name": "d", "type": "datetime", "validation": { "minDate": "2026-01-01T00:00:00Z" } }] }
    ] }"#;

pub(super) fn template_of(agent: &AgentId, id: u8, millis: i64) -> FormTemplate {
    let definition = TemplateDefinition::read(&object(DEFINITION));
    let definition = definition.unwrap_or_else(|violations| panic!("{:?}", violations.listed()));
    let template = definition.create(TemplateId::from_bytes([id; 12]), agent.clone(), at(millis));
    FormTemplate { status: TemplateStatus::Active, ..template }
}

/// A template one generation later.
fn next(template: &FormTemplate, millis: i64, change: impl FnOnce(&mut FormTemplate)) -> FormTemplate {
    let mut next =
        FormTemplate { generation: template.generation + 1, updated_at: at(millis), ..template.clone() };
    change(&mut next);
    next
}

fn somebody() -> Actor {
    Actor::User("häßlich \"quoted\"".to_owned())
}

/// A submission that uses every member of the record.
pub(super) fn submission_of(
    contact: &Contact,
    template: &FormTemplate,
    id: u8,
    status: SubmissionStatus,
    millis: i64,
) -> Submission {
    let is_draft = status == SubmissionStatus::Draft;
    Submission {
        id: SubmissionId::from_bytes([id; 12]),
        agent_id: contact.agent_id.clone(),
        template_id: template.id,
        template_name: template.name.clone(),
        template_version: template.version,
        contact_id: contact.id,
        external_reference_id: contact.external_reference_id.clone(),
        status,
        form_data: RawObject::new(&object(r#"{"a":"é\u0001","n":1.50e0,"l":[{}]}"#)),
        submission_notes: Some(parsed("Taken\nby phone")),
        review_notes: None,
        client_id: Some(parsed(" practice-7 ")),
        revision: 1,
        supersedes: None,
        superseded_by: None,
        superseded_at: None,
        source: "api".to_owned(),
        created_by: somebody(),
        reviewed_by: None,
        reviewed_at: None,
        submitted_at: Some(at(millis)).filter(|_| !is_draft),
        status_history: vec![StatusChange {
            from: None,
            to: status,
            at: at(millis),
            by: somebody(),
            notes: Some(parsed("n")),
        }],
        created_at: at(millis),
        updated_at: at(millis),
        version: 1,
    }
}

impl World {
    async fn try_template(&self, template: &FormTemplate) -> Result<()> {
        let agent = &template.agent_id;
        let audit = self.audit(Some(agent), AuditAction::TemplateCreate, &template.id.to_string(), 50);
        self.storage.insert_template(agent, template, &audit).await
    }

    async fn add_template(
        &self,
        agent: &AgentId,
        id: u8,
        change: impl FnOnce(&mut FormTemplate),
    ) -> FormTemplate {
        let mut template = template_of(agent, id, i64::from(id));
        change(&mut template);
        self.try_template(&template).await.unwrap_or_else(|error| panic!("template: {error}"));
        template
    }

    async fn try_replace(&self, template: &FormTemplate) -> Result<()> {
        let agent = &template.agent_id;
        let audit = self.audit(Some(agent), AuditAction::TemplateEdit, &template.id.to_string(), 60);
        self.storage.replace_template(agent, template, &audit).await
    }

    async fn replace(&self, template: &FormTemplate) {
        self.try_replace(template).await.unwrap_or_else(|error| panic!("replace: {error}"));
    }

    async fn template(&self, agent: &AgentId, id: TemplateId) -> Option<FormTemplate> {
        self.storage.template(agent, id).await.unwrap_or_else(|error| panic!("template: {error}"))
    }

    async fn at_version(&self, template: &FormTemplate, version: u64) -> Option<FormTemplate> {
        let read = self.storage.template_version(&template.agent_id, template.id, version).await;
        read.unwrap_or_else(|error| panic!("version: {error}"))
    }

    async fn templates(
        &self,
        agent: &AgentId,
        only_active: bool,
        window: Window<TemplatePosition>,
    ) -> TemplatePage {
        let query = TemplateQuery { only_active, window };
        self.storage.templates(agent, &query).await.unwrap_or_else(|error| panic!("{query:?}: {error}"))
    }

    pub(super) fn new_submission(
        &self,
        submission: &Submission,
        template: &FormTemplate,
        succession: Option<Succession>,
        millis: i64,
    ) -> NewSubmission {
        let resource = submission.id.to_string();
        let audit = self.audit(Some(&submission.agent_id), AuditAction::SubmissionCreate, &resource, millis);
        NewSubmission {
            submission: submission.clone(),
            template_generation: template.generation,
            succession,
            audit: AuditEntry { contact_id: Some(submission.contact_id), ..audit },
        }
    }

    pub(super) fn submissions_write(
        contact: &Contact,
        submissions: Vec<NewSubmission>,
        millis: i64,
    ) -> SubmissionsWrite {
        SubmissionsWrite {
            contact: contact.id,
            contact_version: contact.version,
            submissions,
            replay: None,
            at: at(millis),
        }
    }

    /// Stores a submission of a contact; one that is handed in as its head wants it.
    async fn try_submit(
        &self,
        contact: &Contact,
        template: &FormTemplate,
        submission: &Submission,
        succession: Option<Succession>,
    ) -> Result<()> {
        let new = self.new_submission(submission, template, succession, 100);
        let write = World::submissions_write(contact, vec![new], 100);
        self.storage.insert_submissions(&contact.agent_id, &write).await
    }

    /// Stores a submission that takes the place of the head.
    async fn submit(&self, contact: &Contact, template: &FormTemplate, id: u8, millis: i64) -> Submission {
        let head = self.head(contact, template).await;
        let submission = Submission {
            revision: head.as_ref().map_or(1, |head| head.revision + 1),
            supersedes: head.as_ref().map(|head| head.id),
            ..submission_of(contact, template, id, SubmissionStatus::Submitted, millis)
        };
        let succession = Some(Succession { head: head.map(|head| head.id) });
        let stored = self.try_submit(contact, template, &submission, succession).await;
        stored.unwrap_or_else(|error| panic!("submit {id}: {error}"));
        submission
    }

    /// Stores a submission beside the others.
    async fn add(
        &self,
        contact: &Contact,
        template: &FormTemplate,
        id: u8,
        status: SubmissionStatus,
        millis: i64,
    ) -> Submission {
        let submission = submission_of(contact, template, id, status, millis);
        let stored = self.try_submit(contact, template, &submission, None).await;
        stored.unwrap_or_else(|error| panic!("add {id}: {error}"));
        submission
    }

    async fn submission(&self, agent: &AgentId, id: SubmissionId) -> Option<Submission> {
        self.storage.submission(agent, id).await.unwrap_or_else(|error| panic!("submission: {error}"))
    }

    /// A stored submission that must be there.
    async fn stored(&self, submission: &Submission) -> Submission {
        let stored = self.submission(&submission.agent_id, submission.id).await;
        stored.unwrap_or_else(|| panic!("{} is not there", submission.id))
    }

    async fn head(&self, contact: &Contact, template: &FormTemplate) -> Option<Submission> {
        let head = self.storage.head_submission(&contact.agent_id, contact.id, template.id).await;
        head.unwrap_or_else(|error| panic!("head: {error}"))
    }

    async fn latest(
        &self,
        contact: &Contact,
        template: &FormTemplate,
        include_drafts: bool,
    ) -> Option<SubmissionId> {
        let query = LatestQuery { contact: contact.id, template: template.id, include_drafts };
        let latest = self.storage.latest_submission(&contact.agent_id, &query).await;
        latest.unwrap_or_else(|error| panic!("latest: {error}")).map(|latest| latest.id)
    }

    async fn submission_page(
        &self,
        agent: &AgentId,
        filter: SubmissionFilter,
        window: Window<SubmissionPosition>,
    ) -> SubmissionPage {
        let query = SubmissionQuery { filter, window };
        self.storage.submissions(agent, &query).await.unwrap_or_else(|error| panic!("{query:?}: {error}"))
    }

    /// The ids that a filter lets through, newest first.
    async fn listed(&self, agent: &AgentId, filter: SubmissionFilter) -> Vec<u8> {
        let page = self.submission_page(agent, filter, Window::Page { offset: 0, limit: 100 }).await;
        assert_eq!(page.total, page.submissions.len() as u64, "the total");
        ids(&page.submissions)
    }

    fn change(
        &self,
        contact: &Contact,
        before: &Submission,
        millis: i64,
        change: impl FnOnce(&mut Submission),
    ) -> SubmissionChange {
        let mut after = Submission { version: before.version + 1, updated_at: at(millis), ..before.clone() };
        change(&mut after);
        let replaced = (after.form_data != before.form_data).then(|| FormDataRevision {
            version: before.version,
            at: at(millis),
            by: somebody(),
            form_data: before.form_data.clone(),
        });
        let resource = before.id.to_string();
        let audit = self.audit(Some(&before.agent_id), AuditAction::SubmissionUpdate, &resource, millis);
        SubmissionChange {
            submission: after,
            expected_version: before.version,
            contact_version: contact.version,
            template_generation: None,
            succession: None,
            replaced,
            audit: AuditEntry { contact_id: Some(contact.id), ..audit },
        }
    }

    async fn try_change(&self, change: &SubmissionChange) -> Result<()> {
        self.storage.update_submission(&change.submission.agent_id, change).await
    }

    async fn revisions(&self, submission: &Submission) -> Vec<FormDataRevision> {
        let read = self.storage.form_data_revisions(&submission.agent_id, submission.id).await;
        read.unwrap_or_else(|error| panic!("revisions: {error}"))
    }
}

fn ids(submissions: &[Submission]) -> Vec<u8> {
    submissions.iter().map(|submission| submission.id.as_bytes()[0]).collect()
}

fn of(contact: &Contact) -> SubmissionFilter {
    SubmissionFilter { contact: Some(contact.id), include_superseded: true, ..SubmissionFilter::default() }
}

pub(super) fn templates_come_back_as_stored(backend: &mut dyn Backend) {
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

pub(super) fn template_versions_are_kept(backend: &mut dyn Backend) {
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
        // Name, description and fields as then, all else as now.
        let then = FormTemplate {
            name: first.name.clone(),
            description: first.description.clone(),
            fields: first.fields.clone(),
            version: 1,
            ..third.clone()
        };
        assert_eq!(world.at_version(&first, 1).await, Some(then));
        assert_eq!(world.at_version(&first, 3).await, None);
        // A version that was not in use yet is replaced in place.
        let draft = world.add_template(&a, 2, |template| template.status = TemplateStatus::Draft).await;
        let edited = next(&draft, 100, |template| template.fields.truncate(2));
        world.replace(&edited).await;
        assert_eq!(world.at_version(&draft, 1).await, Some(edited));
    });
}

pub(super) fn template_changes_need_the_generation_before(backend: &mut dyn Backend) {
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

pub(super) fn template_lists_sort_and_page(backend: &mut dyn Backend) {
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
        let behind = world.templates(&a, true, Window::After { position, limit: 2 }).await;
        assert_eq!((numbers(&behind), behind.total), (vec![3, 5], 5));
        let renamed = world.template(&a, TemplateId::from_bytes([2; 12])).await.expect("a template");
        world.replace(&next(&renamed, 100, |template| template.name = parsed("zz"))).await;
        let all = world.templates(&a, true, Window::Page { offset: 0, limit: 100 }).await;
        assert_eq!(numbers(&all), [4, 3, 5, 1, 2]);
    });
}

pub(super) fn submissions_come_back_as_stored(backend: &mut dyn Backend) {
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

pub(super) fn submissions_show_the_contact_as_it_is_named_now(backend: &mut dyn Backend) {
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

pub(super) fn submission_lists_filter_and_page(backend: &mut dyn Backend) {
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

pub(super) fn a_submission_takes_the_place_of_the_head(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let other = world.insert(&a, r#"{"primaryEmail":"b@example.com"}"#, 1).await;
        let (one, two) = (world.add_template(&a, 1, |_| {}).await, world.add_template(&a, 2, |_| {}).await);
        assert_eq!(world.head(&contact, &one).await, None);
        let first = world.submit(&contact, &one, 1, 10).await;
        let beside = [world.submit(&contact, &two, 2, 10).await, world.submit(&other, &one, 3, 10).await];
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
        for untouched in beside.iter().chain([&draft, &second]) {
            assert_eq!(world.stored(untouched).await, *untouched);
        }
        assert_eq!(world.head(&contact, &one).await.map(|head| head.id), Some(second.id));
        // A change that came later than the submission keeps its time.
        let touched =
            world.change(&contact, &second, 90, |submission| submission.review_notes = Some(parsed("r")));
        world.try_change(&touched).await.unwrap_or_else(|error| panic!("{error}"));
        let third = world.submit(&contact, &one, 6, 30).await;
        let second = world.stored(&second).await;
        assert_eq!((second.superseded_at, second.updated_at, second.version), (Some(at(30)), at(90), 3));
        assert_eq!((third.revision, third.supersedes), (3, Some(second.id)));
        // Where all stayed until now, all give way.
        let kept = submission_of(&contact, &one, 7, SubmissionStatus::Approved, 40);
        world.try_submit(&contact, &one, &kept, None).await.unwrap_or_else(|error| panic!("{error}"));
        let last = world.submit(&contact, &one, 8, 50).await;
        assert_eq!(last.supersedes, Some(kept.id), "the newest is the head");
        for earlier in [&third, &kept] {
            assert_eq!(world.stored(earlier).await.superseded_by, Some(last.id));
        }
    });
}

pub(super) fn the_latest_is_handed_in_and_in_use(backend: &mut dyn Backend) {
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
        // Of several that stay beside each other the newest, then the greatest id.
        let keeping = world.add_template(&a, 2, |_| {}).await;
        for (id, millis) in [(5, 60), (7, 70), (6, 70)] {
            world.add(&contact, &keeping, id, SubmissionStatus::Submitted, millis).await;
        }
        assert_eq!(world.latest(&contact, &keeping, false).await, Some(SubmissionId::from_bytes([7; 12])));
        assert_eq!(world.head(&contact, &keeping).await.map(|head| head.id.as_bytes()[0]), Some(7));
    });
}

pub(super) fn writes_of_submissions_need_what_was_read(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let template = world.add_template(&a, 1, |_| {}).await;
        let head = world.submit(&contact, &template, 1, 10).await;
        let new = submission_of(&contact, &template, 2, SubmissionStatus::Submitted, 20);
        let as_read = Some(Succession { head: Some(head.id) });
        for wrong in [None, Some(SubmissionId::from_bytes([9; 12]))] {
            let succession = Some(Succession { head: wrong });
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
        let stale = SubmissionChange { succession: Some(Succession { head: None }), ..change(&sound) };
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

pub(super) fn several_submissions_are_stored_or_none(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let (one, two) = (world.add_template(&a, 1, |_| {}).await, world.add_template(&a, 2, |_| {}).await);
        let head = world.submit(&contact, &one, 1, 10).await;
        let new = |id: u8, template: &FormTemplate, head: Option<SubmissionId>| {
            let submission = submission_of(&contact, template, id, SubmissionStatus::Submitted, 20);
            world.new_submission(&submission, template, Some(Succession { head }), 100)
        };
        let broken = vec![new(2, &one, Some(head.id)), new(3, &two, Some(head.id))];
        let mut write = World::submissions_write(&contact, broken, 100);
        write.replay = Some(replay(1, Some(contact.id), 10_000));
        assert_fails(world.storage.insert_submissions(&a, &write).await, &StorageErrorKind::Stale);
        assert_eq!(world.listed(&a, of(&contact)).await, [1]);
        assert_eq!(world.stored(&head).await, head);
        let answer = world.storage.replay(&a, &crate::storage::ReplayKey([1; 32]), at(0)).await;
        assert_eq!(answer.unwrap_or_else(|error| panic!("{error}")), None);
        let before = world.audit_of(Some(&a)).await.len();

        let sound = vec![new(2, &one, Some(head.id)), new(3, &two, None)];
        let write = World::submissions_write(&contact, sound, 100);
        world.storage.insert_submissions(&a, &write).await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(world.listed(&a, of(&contact)).await, [3, 2, 1]);
        assert!(world.stored(&head).await.is_superseded());
        assert_eq!(world.audit_of(Some(&a)).await.len(), before + 2);
    });
}

pub(super) fn submissions_are_noted_and_answered_again(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let template = world.add_template(&a, 1, |_| {}).await;
        let answer = replay(1, Some(contact.id), 10_000);
        let submission = submission_of(&contact, &template, 1, SubmissionStatus::Draft, 10);
        let new = world.new_submission(&submission, &template, None, 100);
        let mut write = World::submissions_write(&contact, vec![new], 100);
        write.replay = Some(answer.clone());
        world.storage.insert_submissions(&a, &write).await.unwrap_or_else(|error| panic!("{error}"));
        let read = async |now: i64| {
            let read = world.storage.replay(&a, &answer.key, at(now)).await;
            read.unwrap_or_else(|error| panic!("{error}"))
        };
        assert_eq!(read(100).await, Some(answer.clone()));
        let again = submission_of(&contact, &template, 2, SubmissionStatus::Draft, 20);
        write.submissions = vec![world.new_submission(&again, &template, None, 200)];
        assert_fails(world.storage.insert_submissions(&a, &write).await, &StorageErrorKind::ReplayExists);
        assert_eq!(world.listed(&a, of(&contact)).await, [1]);
        // Nothing but an answer is stored as well.
        write.submissions = Vec::new();
        write.replay = Some(replay(2, Some(contact.id), 10_000));
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

pub(super) fn changes_of_submissions_keep_the_data_before(backend: &mut dyn Backend) {
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
        // Handed in, with everything that a review leaves.
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
        handed_in.succession = Some(Succession { head: Some(head.id) });
        world.try_change(&handed_in).await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(world.stored(&draft).await, handed_in.submission);
        assert_eq!(world.stored(&head).await.superseded_by, Some(draft.id));
        assert_eq!(world.head(&contact, &template).await.map(|head| head.id), Some(draft.id));
        let kept: Vec<(u64, String)> = world
            .revisions(&draft)
            .await
            .into_iter()
            .map(|revision| (revision.version, revision.form_data.as_str().to_owned()))
            .collect();
        let first = draft.form_data.as_str().to_owned();
        assert_eq!(kept, [(1, first), (2, r#"{"a":"second"}"#.to_owned())]);
        let noted = world.audit_of(Some(&a)).await;
        assert_eq!(noted.iter().filter(|entry| entry.action == AuditAction::SubmissionUpdate).count(), 2);
    });
}

pub(super) fn erasing_removes_submissions(backend: &mut dyn Backend) {
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
        let audit = world.audit(Some(&a), AuditAction::ContactErase, &contact.id.to_string(), 300);
        world.storage.erase_contact(&a, contact.id, &audit).await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(world.submission(&a, draft.id).await, None);
        assert_eq!(world.revisions(&draft).await, []);
        assert_eq!(world.stored(&stays).await, stays);
        let everyone = SubmissionFilter { include_superseded: true, ..SubmissionFilter::default() };
        assert_eq!(world.listed(&a, everyone).await, [2]);
        let entries = world.audit_of(Some(&a)).await;
        for entry in entries.iter().filter(|entry| entry.action.as_str().starts_with("submission.")) {
            assert_eq!(entry.details.is_empty(), entry.contact_id == Some(contact.id), "{entry:?}");
        }
        // The id is free again, and the pair begins anew.
        assert_eq!(world.head(&contact, &template).await, None);
    });
}

pub(super) fn forms_of_deleted_agents_go(backend: &mut dyn Backend) {
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
        // Contact, submission, template, schema, and the payloads of agent, contact, template and submission.
        assert!(removed >= 4, "{removed} rows");
        assert_eq!(world.stored(&living).await, living);
    });
}

pub(super) fn files_of_a_contact_are_told_apart(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let other = world.insert(&a, r#"{"primaryEmail":"b@example.com"}"#, 1).await;
        for (contact, id) in [(&contact, 1), (&contact, 2), (&other, 3)] {
            let file = super::files::file_of(contact, id, "a.pdf", 1, 10);
            let write = world.file_write(&file, contact, 10);
            world.storage.insert_file(&a, &write).await.unwrap_or_else(|error| panic!("{error}"));
        }
        let deletion = world.deletion(FileId::from_bytes([2; 12]), &contact, at(1_000));
        world.storage.delete_file(&a, &deletion).await.unwrap_or_else(|error| panic!("{error}"));
        let files = [1, 2, 3, 4, 1].map(|id| FileId::from_bytes([id; 12]));
        let told = world.storage.files_of_contact(&a, contact.id, &files).await;
        assert_eq!(told.unwrap_or_else(|error| panic!("{error}")), [true, false, false, false, true]);
        let told = world.storage.files_of_contact(&b, contact.id, &files).await;
        assert_eq!(told.unwrap_or_else(|error| panic!("{error}")), [false; 5]);
        let told = world.storage.files_of_contact(&a, contact.id, &[]).await;
        assert_eq!(told.unwrap_or_else(|error| panic!("{error}")), [false; 0]);
    });
}

pub(super) fn forms_belong_to_their_agent(backend: &mut dyn Backend) {
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
        // A contact and a template of another agent are not there to be submitted to.
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

fn insert(storage: Arc<dyn Storage>, write: SubmissionsWrite) -> Written {
    Box::pin(async move {
        let agent = write.submissions[0].submission.agent_id.clone();
        storage.insert_submissions(&agent, &write).await
    })
}

pub(super) fn of_equal_heads_one_wins(backend: &mut dyn Backend) {
    let writes = std::sync::Mutex::new(Vec::new());
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let contact = world.insert(&a, BODY, 0).await;
        let template = world.add_template(&a, 1, |_| {}).await;
        let head = world.submit(&contact, &template, 1, 10).await.id;
        for id in (10..).take(WRITERS) {
            let submission = submission_of(&contact, &template, id, SubmissionStatus::Submitted, 20);
            let succession = Some(Succession { head: Some(head) });
            let new = world.new_submission(&submission, &template, succession, 100);
            writes.lock().expect("lock").push(World::submissions_write(&contact, vec![new], 100));
        }
    });
    let results = outcomes(backend, writes.into_inner().expect("lock"), insert);
    let won = results.iter().filter(|result| result.is_ok()).count();
    let late = results.iter().filter_map(|result| result.as_ref().err());
    let stale = late.filter(|error| error.kind == StorageErrorKind::Stale).count();
    assert_eq!((won, stale), (1, WRITERS - 1), "{results:?}");
    on(backend, async |storage| {
        let world = World::new(storage);
        let current = world.listed(&super::fixture::agent_id("agent-a"), SubmissionFilter::default()).await;
        assert_eq!(current.len(), 1, "one head");
    });
}
