//! The document of a submission.

use mongodb::bson::{Document, RawDocument, doc};
use openapi_core::forms::{Submission, SubmissionStatus};
use openapi_core::values::{AgentId, ContactId, SubmissionId, TemplateId};

use crate::document::{Fields, bytes, integer, json, key, object_text, put, time};
use crate::error::{Result, corrupt};

/// Reads a document with whatever history it holds; the external id of the contact is left unset.
pub(super) fn submission(agent: &AgentId, document: &RawDocument) -> Result<Submission> {
    let fields = Fields(document);
    Ok(Submission {
        id: SubmissionId::from_bytes(fields.id()?),
        agent_id: agent.clone(),
        contact_id: ContactId::from_bytes(fields.bytes("contact")?),
        template_id: TemplateId::from_bytes(fields.bytes("template")?),
        status: status(fields.integer("status")?)?,
        superseded_by: fields.optional_bytes("supersededBy")?.map(SubmissionId::from_bytes),
        superseded_at: fields.optional_time("supersededAt")?,
        submitted_at: fields.optional_time("submittedAt")?,
        created_at: fields.time("createdAt")?,
        updated_at: fields.time("updatedAt")?,
        version: fields.count("version")?,
        template_version: fields.count("templateVersion")?,
        template_name: fields.text("templateName")?,
        revision: fields.count("revision")?,
        supersedes: fields.optional_bytes("supersedes")?.map(SubmissionId::from_bytes),
        client_id: fields.optional_text("clientId")?,
        source: fields.str("source")?.to_owned(),
        created_by: fields.json("createdBy")?,
        reviewed_by: fields.optional_json("reviewedBy")?,
        reviewed_at: fields.optional_time("reviewedAt")?,
        submission_notes: fields.optional_text("submissionNotes")?,
        review_notes: fields.optional_text("reviewNotes")?,
        external_reference_id: None,
        form_data: fields.object("formData")?,
        status_history: fields.optional_json("statusHistory")?.unwrap_or_default(),
    })
}

/// What a list leaves out.
pub(super) fn without_history() -> Document {
    doc! { "statusHistory": 0 }
}

/// The number that stands for a state.
pub(super) const fn status_number(status: SubmissionStatus) -> i32 {
    match status {
        SubmissionStatus::Draft => 0,
        SubmissionStatus::Submitted => 1,
        SubmissionStatus::UnderReview => 2,
        SubmissionStatus::Approved => 3,
        SubmissionStatus::Rejected => 4,
        SubmissionStatus::Archived => 5,
    }
}

fn status(number: i64) -> Result<SubmissionStatus> {
    let known = SubmissionStatus::ALL.into_iter().find(|status| i64::from(status_number(*status)) == number);
    known.ok_or_else(|| corrupt(format_args!("{number} is no state of a submission")))
}

/// The document of a submission. Beside the record stand what the indexes go by: whether it is superseded, and since
/// when it stands for its contact and template.
pub(crate) fn document(submission: &Submission) -> Result<Document> {
    let bytes_of = |id: &SubmissionId| bytes(id.as_bytes());
    let mut document = doc! {
        "_id": key(&submission.agent_id, submission.id.as_bytes()),
        "contact": bytes(submission.contact_id.as_bytes()),
        "template": bytes(submission.template_id.as_bytes()),
        "status": status_number(submission.status),
        "superseded": submission.superseded_by.is_some(),
        "createdAt": time(submission.created_at),
        "updatedAt": time(submission.updated_at),
        "version": integer(submission.version)?,
        "templateVersion": integer(submission.template_version)?,
        "templateName": submission.template_name.as_str(),
        "revision": integer(submission.revision)?,
        "source": &submission.source,
        "createdBy": json(&submission.created_by)?,
    };
    let into = &mut document;
    put(into, "supersededBy", submission.superseded_by.as_ref().map(bytes_of));
    put(into, "supersededAt", submission.superseded_at.map(time));
    put(into, "submittedAt", submission.submitted_at.map(time));
    put(into, "headSince", submission.submitted_at.filter(|_| submission.is_head()).map(time));
    put(into, "supersedes", submission.supersedes.as_ref().map(bytes_of));
    put(into, "clientId", submission.client_id.as_ref().map(|id| id.as_str()));
    put(into, "reviewedBy", submission.reviewed_by.as_ref().map(json).transpose()?);
    put(into, "reviewedAt", submission.reviewed_at.map(time));
    put(into, "submissionNotes", submission.submission_notes.as_ref().map(|notes| notes.as_str()));
    put(into, "reviewNotes", submission.review_notes.as_ref().map(|notes| notes.as_str()));
    put(into, "formData", object_text(&submission.form_data));
    let history = &submission.status_history;
    put(into, "statusHistory", (!history.is_empty()).then(|| json(history)).transpose()?);
    Ok(document)
}
