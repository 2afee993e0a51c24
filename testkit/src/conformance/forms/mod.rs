//! Cases for forms, and their fixtures: templates, submissions, changes.

pub(super) mod histories;
pub(super) mod submissions;
pub(super) mod templates;
pub(super) mod writes;

use super::fixture::{World, at, object, parsed, seal};
use openapi_core::access::Actor;
use openapi_core::agents::AgentStatus;
use openapi_core::audit::{AuditAction, AuditEntry};
use openapi_core::contacts::Contact;
use openapi_core::forms::{
    FormDataRevision, FormTemplate, StatusChange, Submission, SubmissionPolicy, SubmissionStatus,
    TemplateDefinition, TemplateStatus, Transition,
};
use openapi_core::json::RawObject;
use openapi_core::storage::{
    Effects, LatestQuery, NewSubmission, Result, StorageErrorKind, SubmissionChange, SubmissionFilter,
    SubmissionPage, SubmissionPosition, SubmissionQuery, SubmissionsWrite, Supersession, TemplatePage,
    TemplatePosition, TemplateQuery, Window,
};
use openapi_core::values::{AgentId, ContactId, FileId, SubmissionId, TemplateId};

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

pub(in crate::conformance) fn template_of(agent: &AgentId, id: u8, millis: i64) -> FormTemplate {
    let definition = TemplateDefinition::read(&object(DEFINITION));
    let definition = definition.unwrap_or_else(|violations| panic!("{:?}", violations.listed()));
    let template = definition.create(TemplateId::from_bytes([id; 12]), agent.clone(), at(millis));
    FormTemplate { status: TemplateStatus::Active, ..template }
}

/// The next generation of a template.
fn next(template: &FormTemplate, millis: i64, change: impl FnOnce(&mut FormTemplate)) -> FormTemplate {
    let mut next =
        FormTemplate { generation: template.generation + 1, updated_at: at(millis), ..template.clone() };
    change(&mut next);
    next
}

fn somebody() -> Actor {
    Actor::User("häßlich \"quoted\"".to_owned())
}

/// A submission with every property set.
pub(in crate::conformance) fn submission_of(
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

pub(super) fn new_submission(
    submission: &Submission,
    template: &FormTemplate,
    succession: Option<Supersession>,
) -> NewSubmission {
    let submission = submission.clone();
    NewSubmission { submission, template_generation: template.generation, succession }
}

impl World {
    async fn try_template(&self, template: &FormTemplate) -> Result<()> {
        let agent = &template.agent_id;
        let effects = self.effects(Some(agent), AuditAction::TemplateCreate, &template.id.to_string(), 50);
        self.storage.insert_template(agent, template, &effects).await
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
        let effects = self.effects(Some(agent), AuditAction::TemplateEdit, &template.id.to_string(), 60);
        self.storage.replace_template(agent, template, &effects).await
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

    pub(in crate::conformance) fn submissions_write(
        &self,
        contact: &Contact,
        submissions: Vec<NewSubmission>,
        millis: i64,
    ) -> SubmissionsWrite {
        let audit = submissions.iter().map(|NewSubmission { submission, .. }| {
            seal(AuditEntry {
                contact_id: Some(submission.contact_id),
                ..self.audit(
                    Some(&submission.agent_id),
                    AuditAction::SubmissionCreate,
                    &submission.id.to_string(),
                    millis,
                )
            })
        });
        SubmissionsWrite {
            contact: contact.id,
            contact_version: contact.version,
            at: at(millis),
            effects: Effects { audit: audit.collect(), ..Effects::default() },
            submissions,
        }
    }

    /// Stores a submission of a contact; a submitted one supersedes the head.
    async fn try_submit(
        &self,
        contact: &Contact,
        template: &FormTemplate,
        submission: &Submission,
        succession: Option<Supersession>,
    ) -> Result<()> {
        let new = new_submission(submission, template, succession);
        let write = self.submissions_write(contact, vec![new], 100);
        self.storage.insert_submissions(&contact.agent_id, &write).await
    }

    /// Stores a submission that supersedes the head.
    async fn submit(&self, contact: &Contact, template: &FormTemplate, id: u8, millis: i64) -> Submission {
        let head = self.head(contact, template).await;
        let submission = Submission {
            revision: head.as_ref().map_or(1, |head| head.revision + 1),
            supersedes: head.as_ref().map(|head| head.id),
            ..submission_of(contact, template, id, SubmissionStatus::Submitted, millis)
        };
        let succession = Some(Supersession { head: head.map(|head| head.id) });
        let stored = self.try_submit(contact, template, &submission, succession).await;
        stored.unwrap_or_else(|error| panic!("submit {id}: {error}"));
        submission
    }

    /// Stores a submission next to the others, without superseding.
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

    /// A stored submission that must exist.
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

    /// The ids that match a filter, newest first.
    async fn listed(&self, agent: &AgentId, filter: SubmissionFilter) -> Vec<u8> {
        let page = self.submission_page(agent, filter, Window::Page { offset: 0, limit: 100 }).await;
        assert_eq!(page.total, page.submissions.len() as u64, "the total");
        ids(&page.submissions)
    }

    pub(super) fn change(
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
            effects: Effects::audited(seal(AuditEntry { contact_id: Some(contact.id), ..audit })),
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
