//! Changing a submission: its data, its notes, its status (contract 2.3.2, 3).

use std::collections::HashSet;

use super::super::Platform;
use super::super::errors::{
    concurrent_update, contact_archived, stale_tag, submission_locked, submission_superseded,
    transition_refused,
};
use super::super::events::changed_in;
use super::read::{contact_of, find};
use crate::access::Caller;
use crate::audit::AuditAction;
use crate::events::EventData;
use crate::forms::body::{Change, merged};
use crate::forms::{FormDataRevision, FormTemplate, StatusChange, Submission, SubmissionStatus};
use crate::json::{Json, Object};
use crate::reply::ApiError;
use crate::service::UpdateSubmission;
use crate::storage::retry::{RetryOn, retry_on_conflict};
use crate::storage::{Effects, StorageErrorKind, SubmissionChange};
use crate::values::{FileId, Timestamp};

pub(in crate::platform) async fn update(
    platform: &Platform,
    caller: &Caller,
    request: UpdateSubmission,
) -> Result<Submission, ApiError> {
    let agent = &caller.agent_id;
    let request = &request;
    retry_on_conflict(concurrent_update, |is_retry| async move {
        let current = find(platform, caller, &request.submission).await?;
        let Some(contact) = contact_of(platform, &current).await? else {
            // Erased in between: the submission is gone as well.
            return Ok(None);
        };
        let version = Some(current.template_version);
        let compiled = platform.compiled_template(agent, current.template_id, version, is_retry).await?;
        let Some(compiled) = compiled else {
            tracing::error!(submission = %current.id, "a submission refers to a missing template");
            return Err(ApiError::internal());
        };
        let data = request.body.peek().and_then(|body| merged(&current, body));
        let known: HashSet<FileId> = compiled.files(&current.form_data.members()).into_iter().collect();
        let mut referred = data.as_ref().map(|data| compiled.files(data)).unwrap_or_default();
        referred.retain(|file| !known.contains(file));
        let added = platform.files_of(agent, contact.id, referred).await?;
        let has_file = |file: FileId| known.contains(&file) || added.contains(&file);
        let change = request
            .body
            .check_with(|body| Change::read(body, &current, &compiled, data.as_ref(), &has_file))?;
        if !request.if_match.as_ref().is_none_or(|tags| tags.matches_strongly(&current.etag())) {
            return Err(stale_tag("submission", Some(&current.etag())));
        }
        if contact.is_archived() {
            return Err(contact_archived(&contact));
        }
        let now = platform.now().max(current.updated_at);
        let Some(mut next) = changed(&current, change, compiled.template(), caller, now)? else {
            return Ok(Some(current));
        };
        let mut succession = None;
        if next.submitted_at.is_some() && current.submitted_at.is_none() {
            let (entered, revision) = platform.succession(agent, contact.id, compiled.template()).await?;
            succession = entered;
            next.revision = revision;
            next.supersedes = entered.and_then(|entered| entered.head);
        }
        let replaced = (next.form_data != current.form_data).then(|| FormDataRevision {
            version: current.version,
            at: now,
            by: caller.actor.clone(),
            form_data: current.form_data.clone(),
        });
        let action = AuditAction::SubmissionUpdate;
        let details = details(&current, &next);
        let event = platform.event(&caller.actor, Some(contact.id), event_of(&current, &next, &details), now);
        let audit = platform.submission_audit(caller, action, &next, &details, now);
        let change = SubmissionChange {
            template_generation: (next.status != current.status).then_some(compiled.template().generation),
            submission: next,
            expected_version: current.version,
            contact_version: contact.version,
            succession,
            replaced,
            effects: Effects::audited(audit).with_event(event),
        };
        let updated = platform.storage.update_submission(agent, &change).await;
        let updated = updated.retry_on(&[StorageErrorKind::Stale, StorageErrorKind::Missing])?;
        Ok(updated.map(|()| change.submission))
    })
    .await
}

/// The record that a change makes of the current one, if the states allow it; none when nothing changes.
fn changed(
    current: &Submission,
    change: Change,
    template: &FormTemplate,
    caller: &Caller,
    now: Timestamp,
) -> Result<Option<Submission>, ApiError> {
    let mut next = current.clone();
    if let Some(data) = change.form_data
        && !data.members().same(&current.form_data.members())
    {
        next.form_data = data;
    }
    if let Some(notes) = change.submission_notes {
        next.submission_notes = notes;
    }
    let sent_notes = change.review_notes.clone().flatten();
    if let Some(notes) = change.review_notes {
        next.review_notes = notes;
    }
    next.status = change.status.unwrap_or(current.status);
    if next == *current {
        return Ok(None);
    }
    refuse_state(current, &next, template)?;
    if next.status != current.status {
        next.status_history.push(StatusChange {
            from: Some(current.status),
            to: next.status,
            at: now,
            by: caller.actor.clone(),
            notes: sent_notes,
        });
        match next.status {
            SubmissionStatus::Approved | SubmissionStatus::Rejected => {
                next.reviewed_by = Some(caller.actor.clone());
                next.reviewed_at = Some(now);
            }
            SubmissionStatus::Submitted | SubmissionStatus::UnderReview => {
                next.reviewed_by = None;
                next.reviewed_at = None;
            }
            SubmissionStatus::Draft | SubmissionStatus::Archived => {}
        }
        if next.status == SubmissionStatus::Submitted && next.submitted_at.is_none() {
            next.submitted_at = Some(now);
        }
    }
    next.updated_at = now;
    next.version += 1;
    Ok(Some(next))
}

/// Step 14: superseded, locked, then the transition; judged by the state before the request.
fn refuse_state(current: &Submission, next: &Submission, template: &FormTemplate) -> Result<(), ApiError> {
    let status_changes = next.status != current.status;
    let only_status = Submission { status: current.status, ..next.clone() } == *current;
    if let Some(by) = current.superseded_by
        && !(only_status && next.status == SubmissionStatus::Archived)
    {
        return Err(submission_superseded(by));
    }
    let locked = [
        ("formData", next.form_data != current.form_data, current.status.is_editable()),
        ("submissionNotes", next.submission_notes != current.submission_notes, current.status.is_editable()),
        (
            "reviewNotes",
            next.review_notes != current.review_notes,
            current.status != SubmissionStatus::Archived,
        ),
    ];
    if let Some((field, ..)) = locked.iter().find(|(_, changes, is_open)| *changes && !is_open) {
        return Err(submission_locked(field, current.status));
    }
    let allowed = template.followers(current.status);
    if status_changes && !allowed.contains(&next.status) {
        return Err(transition_refused(current.status, next.status, &allowed));
    }
    Ok(())
}

/// What an event says of a change.
fn event_of(before: &Submission, after: &Submission, details: &Object) -> EventData {
    let (contact_id, submission_id, template_id) = (after.contact_id, after.id, after.template_id);
    let (template_version, changed) = (after.template_version, changed_in(details));
    let (from, to) = (before.status, after.status);
    if from == to {
        return EventData::SubmissionUpdated {
            contact_id,
            submission_id,
            template_id,
            template_version,
            changed,
        };
    }
    // What a submission supersedes is in the event by which it comes into force.
    let supersedes = after.supersedes.filter(|_| before.supersedes != after.supersedes);
    EventData::SubmissionStatusChanged {
        contact_id,
        submission_id,
        template_id,
        template_version,
        from,
        to,
        supersedes,
        changed,
    }
}

/// What the audit log says of a change: the names of the fields, and the states.
fn details(before: &Submission, after: &Submission) -> Object {
    let changed = [
        ("formData", before.form_data != after.form_data),
        ("submissionNotes", before.submission_notes != after.submission_notes),
        ("reviewNotes", before.review_notes != after.review_notes),
        ("status", before.status != after.status),
    ];
    let names = changed.iter().filter(|(_, changes)| *changes).map(|(name, _)| Json::from(*name));
    let mut details = Object::new();
    details.insert("changed", Json::Array(names.collect()));
    if before.status != after.status {
        details.insert("from", before.status.as_str().into());
        details.insert("to", after.status.as_str().into());
    }
    details
}
