//! The document of a submission.

use mongodb::bson::{Document, RawDocument, doc};
use openapi_core::forms::Submission;
use openapi_core::values::{AgentId, SubmissionId};
use storage_common::records;

use crate::document::{FieldReader, Fields, binary, code, integer, json, key, object_text, put, time};
use crate::error::Result;

/// Reads a document and its history, if it is in the projection; the external id of the contact is unset.
pub(super) fn submission(agent: &AgentId, document: &RawDocument) -> Result<Submission> {
    let mut fields = Fields(document);
    let status_history = fields.optional_json("statusHistory")?.unwrap_or_default();
    Ok(Submission { status_history, ..records::submission(agent, &mut fields)? })
}

/// The projection of a list.
pub(super) fn without_history() -> Document {
    doc! { "statusHistory": 0 }
}

/// The document of a submission: the record, and for the indexes whether it is superseded and since when it is the head of
/// its contact and template.
pub(crate) fn document(submission: &Submission) -> Result<Document> {
    let binary_of = |id: &SubmissionId| binary(id.as_bytes());
    let mut document = doc! {
        "_id": key(&submission.agent_id, submission.id.as_bytes()),
        "contact": binary(submission.contact_id.as_bytes()),
        "template": binary(submission.template_id.as_bytes()),
        "status": code(submission.status),
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
    put(into, "supersededBy", submission.superseded_by.as_ref().map(binary_of));
    put(into, "supersededAt", submission.superseded_at.map(time));
    put(into, "submittedAt", submission.submitted_at.map(time));
    put(into, "headSince", submission.submitted_at.filter(|_| submission.is_head()).map(time));
    put(into, "supersedes", submission.supersedes.as_ref().map(binary_of));
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
