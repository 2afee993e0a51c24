//! Submitting one form.

use std::collections::HashSet;

use super::super::errors::{concurrent_update, contact_archived, template_inactive};
use super::super::idempotency::{Claimed, answer, claim, replay};
use super::super::{Platform, contacts};
use crate::access::Caller;
use crate::audit::AuditAction;
use crate::contacts::Contact;
use crate::events::EventData;
use crate::forms::body::NewForm;
use crate::forms::{FormTemplate, StatusChange, Submission, SubmissionStatus, TemplateStatus};
use crate::json::{Json, Object};
use crate::reply::ApiError;
use crate::service::{Created, SubmitForm};
use crate::storage::retry::retry_on_conflict;
use crate::storage::{
    Effects, IdempotencyRecord, NewSubmission, StorageErrorKind, SubmissionsWrite, Supersession,
};
use crate::values::{FileId, Timestamp};

pub(in crate::platform) async fn submit(
    platform: &Platform,
    caller: &Caller,
    request: SubmitForm,
) -> Result<Created<Submission>, ApiError> {
    let agent = &caller.agent_id;
    let claimed = match claim(platform, caller, request.idempotency.as_ref()).await? {
        Claimed::Answered(stored) => return Ok(Created::Replayed(stored)),
        Claimed::Run(claim) => claim,
    };
    let (claimed, request) = (&claimed, &request);
    retry_on_conflict(concurrent_update, |is_retry| async move {
        let contact = contacts::find(platform, agent, &request.contact).await?;
        let compiled = platform.path_template(agent, &request.template, is_retry).await?;
        let data = request.body.peek().and_then(|body| body.get("formData")).and_then(Json::as_object);
        let referred = data.map(|data| compiled.files(data)).unwrap_or_default();
        let files: HashSet<FileId> = platform.files_of(agent, contact.id, referred).await?;
        let form =
            request.body.check_with(|body| NewForm::read(body, &compiled, &|file| files.contains(&file)))?;
        let template = compiled.template();
        refuse_state(&contact, template)?;
        let now = platform.now();
        let (succession, revision) = match form.is_draft {
            true => (None, 1),
            false => platform.succession(agent, contact.id, template).await?,
        };
        let submission = platform.new_submission(caller, form, &contact, template, succession, revision, now);
        if request.dry_run {
            return Ok(Some(Created::Preview(submission)));
        }
        let replay = replay(claimed.as_ref(), &submission, Some(contact.id), now)?;
        let new = NewSubmission { template_generation: template.generation, succession, submission };
        let write = platform.submissions_write(caller, &contact, vec![new], replay, now);
        let Err(error) = platform.storage.insert_submissions(agent, &write).await else {
            let stored = write.submissions.into_iter().next().ok_or_else(ApiError::internal)?;
            return Ok(Some(Created::New(stored.submission)));
        };
        match error.kind {
            StorageErrorKind::Stale | StorageErrorKind::Missing | StorageErrorKind::AlreadyExists => Ok(None),
            // Another server was faster.
            StorageErrorKind::ReplayExists => answer(claimed.as_ref(), caller).await,
            _ => Err(error.into()),
        }
    })
    .await
}

/// Step 14: the states that a submission meets.
fn refuse_state(contact: &Contact, template: &FormTemplate) -> Result<(), ApiError> {
    if contact.is_archived() {
        return Err(contact_archived(contact));
    }
    if template.status != TemplateStatus::Active {
        return Err(template_inactive(template, None));
    }
    Ok(())
}

impl Platform {
    /// The record of a form that was checked.
    #[expect(clippy::too_many_arguments, reason = "everything that a record is made of, once")]
    pub(super) fn new_submission(
        &self,
        caller: &Caller,
        form: NewForm,
        contact: &Contact,
        template: &FormTemplate,
        succession: Option<Supersession>,
        revision: u64,
        now: Timestamp,
    ) -> Submission {
        let status = if form.is_draft { SubmissionStatus::Draft } else { SubmissionStatus::Submitted };
        Submission {
            id: self.ports.ids.platform_id(now).into(),
            agent_id: caller.agent_id.clone(),
            template_id: template.id,
            template_name: template.name.clone(),
            template_version: template.version,
            contact_id: contact.id,
            external_reference_id: contact.external_reference_id.clone(),
            status,
            form_data: form.form_data,
            submission_notes: form.submission_notes,
            review_notes: None,
            client_id: form.client_id,
            revision,
            supersedes: succession.and_then(|succession| succession.head),
            superseded_by: None,
            superseded_at: None,
            source: "api".to_owned(),
            created_by: caller.actor.clone(),
            reviewed_by: None,
            reviewed_at: None,
            submitted_at: Some(now).filter(|_| !form.is_draft),
            status_history: vec![StatusChange {
                from: None,
                to: status,
                at: now,
                by: caller.actor.clone(),
                notes: None,
            }],
            created_at: now,
            updated_at: now,
            version: 1,
        }
    }

    /// New records of a contact with what is stored along with them.
    pub(super) fn submissions_write(
        &self,
        caller: &Caller,
        contact: &Contact,
        submissions: Vec<NewSubmission>,
        replay: Option<IdempotencyRecord>,
        at: Timestamp,
    ) -> SubmissionsWrite {
        let audit = submissions.iter().map(|NewSubmission { submission, .. }| {
            let mut details = Object::new();
            details.insert("templateId", submission.template_id.to_string().as_str().into());
            details.insert("templateVersion", submission.template_version.into());
            details.insert("status", submission.status.as_str().into());
            self.submission_audit(caller, AuditAction::SubmissionCreate, submission, &details, at)
        });
        let events = submissions.iter().filter_map(|NewSubmission { submission, .. }| {
            let data = EventData::SubmissionCreated {
                contact_id: submission.contact_id,
                submission_id: submission.id,
                template_id: submission.template_id,
                template_version: submission.template_version,
                status: submission.status,
                supersedes: submission.supersedes,
            };
            self.event(&caller.actor, Some(submission.contact_id), data, at)
        });
        let effects = Effects { audit: audit.collect(), replay, events: events.collect() };
        let (contact, contact_version) = (contact.id, contact.version);
        SubmissionsWrite { contact, contact_version, submissions, at, effects }
    }
}
