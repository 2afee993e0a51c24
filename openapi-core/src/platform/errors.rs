//! The errors of the platform, with the messages of the contract.

use http::{HeaderValue, header};

use crate::admin::AdminError;
use crate::contacts::Contact;
use crate::extraction::ExtractionJob;
use crate::files::{Detected, FileTypes};
use crate::forms::{FormTemplate, SubmissionStatus, TemplateStatus};
use crate::json::Json;
use crate::ports::ScanError;
use crate::reply::{ApiError, ErrorCode};
use crate::schema::ContactSchema;
use crate::service::ContactTarget;
use crate::storage::{Duplicate, QuotaExcess, QuotaUnit};
use crate::validation::ValidationCode;
use crate::values::{ContactId, FileId, JobId, SubmissionId, TemplateId};

/// 404 of a resource; `is_malformed` says whether the id cannot be one.
#[must_use]
pub fn not_found(code: ErrorCode, resource: &str, id: &str, is_malformed: bool) -> ApiError {
    let hint = if is_malformed { "; platform ids are 24 hexadecimal characters" } else { "" };
    ApiError::new(code, format!("{resource} not found{hint}"))
        .with_detail("resource", resource.to_ascii_lowercase().as_str())
        .with_detail("id", id)
}

pub(super) fn contact_not_found(target: &ContactTarget) -> ApiError {
    let is_malformed = matches!(target, ContactTarget::Id(text) if text.parse::<ContactId>().is_err());
    not_found(ErrorCode::ContactNotFound, "Contact", target.as_str(), is_malformed)
}

pub(super) fn file_not_found(sent: &str) -> ApiError {
    not_found(ErrorCode::FileNotFound, "File", sent, sent.parse::<FileId>().is_err())
}

pub(super) fn job_not_found(sent: &str) -> ApiError {
    not_found(ErrorCode::JobNotFound, "Job", sent, sent.parse::<JobId>().is_err())
}

pub(super) fn batch_not_found(sent: &str) -> ApiError {
    not_found(ErrorCode::BatchNotFound, "Batch", sent, false)
}

/// 409 of a job that has ended.
pub(super) fn job_finished(job: &ExtractionJob) -> ApiError {
    let status = job.status();
    ApiError::new(ErrorCode::JobFinished, format!("The job has already ended: it is {status}"))
        .with_detail("resource", "job")
        .with_detail("id", job.job.id.to_string().as_str())
        .with_detail("status", status.as_str())
}

/// 409 of a job that is to be queued again and has not failed.
pub(super) fn job_not_failed(job: &ExtractionJob) -> ApiError {
    let status = job.status();
    ApiError::new(
        ErrorCode::JobFinished,
        format!("Only a failed job can be queued again; this one is {status}"),
    )
}

pub(super) fn template_not_found(sent: &str) -> ApiError {
    not_found(ErrorCode::TemplateNotFound, "Template", sent, sent.parse::<TemplateId>().is_err())
}

pub(super) fn submission_not_found(sent: &str) -> ApiError {
    not_found(ErrorCode::SubmissionNotFound, "Submission", sent, sent.parse::<SubmissionId>().is_err())
}

/// 404 of the latest submission; `id` is what the path names, the template.
pub(super) fn no_latest_submission(template: &str, has_draft: bool) -> ApiError {
    let message = if has_draft {
        "The contact has submitted nothing under this template; there is a draft, which includeDrafts=true shows"
    } else {
        "The contact has submitted nothing under this template"
    };
    ApiError::new(ErrorCode::SubmissionNotFound, message)
        .with_detail("resource", "submission")
        .with_detail("id", template)
}

/// 409 of a submission to a template that is not in use; `index` is that of a batch's element.
pub(super) fn template_inactive(template: &FormTemplate, index: Option<usize>) -> ApiError {
    let message = match template.status {
        TemplateStatus::Draft => "The template is a draft",
        TemplateStatus::Active | TemplateStatus::Archived => "The template is archived",
    };
    let error = ApiError::new(ErrorCode::TemplateInactive, message)
        .with_detail("resource", "template")
        .with_detail("id", template.id.to_string().as_str())
        .with_detail("status", template.status.as_str());
    match index.and_then(|index| u32::try_from(index).ok()) {
        Some(index) => error.with_detail("index", index),
        None => error,
    }
}

pub(super) fn submission_superseded(by: SubmissionId) -> ApiError {
    ApiError::new(ErrorCode::SubmissionSuperseded, "The submission has been superseded")
        .with_detail("supersededBy", by.to_string().as_str())
}

pub(super) fn submission_locked(field: &str, status: SubmissionStatus) -> ApiError {
    let message = format!("{field} cannot change while the submission is {status}");
    ApiError::new(ErrorCode::SubmissionLocked, message).with_detail("status", status.as_str())
}

pub(super) fn transition_refused(
    from: SubmissionStatus,
    to: SubmissionStatus,
    allowed: &[SubmissionStatus],
) -> ApiError {
    let words = format!("cannot change from {from} to {to}");
    let allowed = allowed.iter().map(|status| Json::from(status.as_str())).collect();
    ApiError::new(ErrorCode::InvalidStatusTransition, format!("A submission cannot go from {from} to {to}"))
        .with_violation("status", to.as_str().into(), ValidationCode::Transition, words)
        .with_detail("from", from.as_str())
        .with_detail("to", to.as_str())
        .with_detail("allowed", Json::Array(allowed))
}

/// 415 of a file whose content is not accepted.
pub(super) fn unsupported_file(detected: &Detected, types: &FileTypes) -> ApiError {
    let message = if detected.dangerous {
        "Files with active content are not accepted, whatever their name"
    } else {
        "Files of this type are not accepted"
    };
    refused_file(message, detected, types)
}

/// 415 of a file in which the scanner found malware.
pub(super) fn infected_file(detected: &Detected, types: &FileTypes) -> ApiError {
    refused_file("The scanner found malware in the file", detected, types)
}

fn refused_file(message: &'static str, detected: &Detected, types: &FileTypes) -> ApiError {
    let allowed = types.media_types().into_iter().map(Json::from).collect();
    ApiError::new(ErrorCode::UnsupportedFileType, message)
        .with_detail("detected", detected.media_type)
        .with_detail("allowed", Json::Array(allowed))
}

/// 403 of what an agent has no room for.
#[must_use]
pub fn quota_exceeded(excess: QuotaExcess) -> ApiError {
    let message = match excess.unit {
        QuotaUnit::Files => format!("The contact may have {} files", excess.limit),
        QuotaUnit::Bytes => format!("The files of the agent may have {} bytes in all", excess.limit),
        QuotaUnit::Jobs => format!("The agent may have {} unfinished jobs", excess.limit),
    };
    ApiError::new(ErrorCode::StorageQuotaExceeded, message)
        .with_detail("limit", excess.limit)
        .with_detail("actual", excess.actual)
        .with_detail("unit", excess.unit.as_str())
}

/// The scanner could not say whether a file is clean, so that it is not accepted.
pub(super) fn scanner_failed(error: &ScanError) -> ApiError {
    tracing::error!(%error, "rejecting an upload: the malware scan failed");
    ApiError::new(ErrorCode::ServiceUnavailable, "The file could not be scanned; try again")
}

/// What was refused when the upload began would be accepted now, but its bytes were not stored.
pub(super) fn upload_overtaken() -> ApiError {
    ApiError::new(ErrorCode::ServiceUnavailable, "The contact changed during the upload; try again")
}

/// 409 of a change to a contact that is archived.
#[must_use]
pub fn contact_archived(contact: &Contact) -> ApiError {
    let archived_at = contact.archived_at.map_or(Json::Null, |at| Json::String(at.to_string()));
    ApiError::new(ErrorCode::ContactArchived, "The contact is archived")
        .with_detail("resource", "contact")
        .with_detail("id", contact.id.to_string().as_str())
        .with_detail("archivedAt", archived_at)
}

/// 409 of a value that another contact has; `contact` is the one that was to be stored.
pub(super) fn duplicate(found: &Duplicate, contact: &Contact, schema: &ContactSchema) -> ApiError {
    let value = if schema.is_sensitive(&found.field) { Json::Null } else { value_of(contact, &found.field) };
    let is_external = found.field == "externalReferenceId";
    let error = if is_external {
        let id = contact.external_reference_id.as_ref().filter(|_| value != Json::Null);
        let named = id.map(|id| format!(" '{id}'")).unwrap_or_default();
        ApiError::new(
            ErrorCode::DuplicateExternalReferenceId,
            format!("externalReferenceId{named} is already used by another contact"),
        )
    } else {
        ApiError::new(
            ErrorCode::DuplicateValue,
            format!("{} is already used by another contact", found.field),
        )
        .with_detail("field", found.field.as_str())
    };
    error
        .with_violation(&found.field, value, ValidationCode::Unique, "is already used")
        .with_detail("existingContactId", found.existing.to_string().as_str())
        .with_detail("archived", found.archived)
}

/// The value of a field as it was to be stored.
fn value_of(contact: &Contact, field: &str) -> Json {
    if let Some(name) = field.strip_prefix("customFields.") {
        return contact.custom_fields.get(name).unwrap_or(Json::Null);
    }
    let value = serde_json::to_value(contact).ok().and_then(|contact| contact.get(field).map(Json::from));
    value.unwrap_or(Json::Null)
}

pub(super) fn precondition_failed(current: Option<&Contact>) -> ApiError {
    stale_tag("contact", current.map(Contact::etag).as_deref())
}

/// 412 with the current tag.
#[must_use]
pub fn stale_tag(resource: &str, current: Option<&str>) -> ApiError {
    let message = format!("The {resource} has changed since it was read");
    let error = ApiError::new(ErrorCode::PreconditionFailed, message);
    match current.and_then(|etag| HeaderValue::from_str(etag).ok()) {
        Some(etag) => error.with_header(header::ETAG, etag),
        None => error,
    }
}

/// 409 of a change that has lost too many races.
#[must_use]
pub fn concurrent_update() -> ApiError {
    ApiError::new(ErrorCode::ConcurrentUpdate, "The record is being changed by others; try again")
}

/// The same for an operator.
pub(super) fn lost_race() -> AdminError {
    AdminError::Conflict("the change lost a race against others; try again".to_owned())
}

/// The agent went away while its key was at work: what its keys are answered from now on.
pub(super) fn agent_gone() -> ApiError {
    ApiError::new(ErrorCode::InvalidCredentials, "The API key or secret is not valid")
}
