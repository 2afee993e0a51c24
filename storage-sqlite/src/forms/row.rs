//! The columns of a submission, written from the record.

use openapi_core::forms::{Submission, WithHistory};
use openapi_core::values::{SubmissionId, Timestamp};
use rusqlite::{Connection, params};
use storage_common::records;

use crate::error::{Error, Result};
use crate::rows::{code, json_text, object_text, signed};

/// Stores a new submission.
pub(crate) fn insert(db: &Connection, agent: i64, submission: &Submission) -> Result<()> {
    db.prepare_cached(
        "INSERT INTO form_submission (agent, id, contact, template, status, superseded_by, superseded_at, \
         submitted_at, created_at, updated_at, version, template_version, template_name, revision, supersedes, \
         client_id, source, created_by, reviewed_by, reviewed_at, submission_notes, review_notes, form_data, \
         status_history) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, \
         ?19, ?20, ?21, ?22, ?23, ?24)",
    )?
    .execute(params![
        agent,
        submission.id.as_bytes(),
        submission.contact_id.as_bytes(),
        submission.template_id.as_bytes(),
        code(submission.status),
        submission.superseded_by.as_ref().map(SubmissionId::as_bytes),
        submission.superseded_at.map(Timestamp::millis),
        submission.submitted_at.map(Timestamp::millis),
        submission.created_at.millis(),
        submission.updated_at.millis(),
        signed(submission.version)?,
        signed(submission.template_version)?,
        submission.template_name.as_str(),
        signed(submission.revision)?,
        submission.supersedes.as_ref().map(SubmissionId::as_bytes),
        submission.client_id.as_ref().map(|id| id.as_str()),
        submission.source,
        json_text(&submission.created_by)?,
        submission.reviewed_by.as_ref().map(json_text).transpose()?,
        submission.reviewed_at.map(Timestamp::millis),
        submission.submission_notes.as_ref().map(|notes| notes.as_str()),
        submission.review_notes.as_ref().map(|notes| notes.as_str()),
        object_text(&submission.form_data),
        records::list_text::<Error>(&submission.status_history)?
    ])?;
    Ok(())
}

/// Stores the columns of a submission that may change.
pub(super) fn update(db: &Connection, agent: i64, submission: &Submission) -> Result<()> {
    db.prepare_cached(
        "UPDATE form_submission SET status = ?3, superseded_by = ?4, superseded_at = ?5, submitted_at = ?6, \
         updated_at = ?7, version = ?8, revision = ?9, supersedes = ?10, reviewed_by = ?11, reviewed_at = ?12, \
         submission_notes = ?13, review_notes = ?14, form_data = ?15, status_history = ?16 \
         WHERE agent = ?1 AND id = ?2",
    )?
    .execute(params![
        agent,
        submission.id.as_bytes(),
        code(submission.status),
        submission.superseded_by.as_ref().map(SubmissionId::as_bytes),
        submission.superseded_at.map(Timestamp::millis),
        submission.submitted_at.map(Timestamp::millis),
        submission.updated_at.millis(),
        signed(submission.version)?,
        signed(submission.revision)?,
        submission.supersedes.as_ref().map(SubmissionId::as_bytes),
        submission.reviewed_by.as_ref().map(json_text).transpose()?,
        submission.reviewed_at.map(Timestamp::millis),
        submission.submission_notes.as_ref().map(|notes| notes.as_str()),
        submission.review_notes.as_ref().map(|notes| notes.as_str()),
        object_text(&submission.form_data),
        records::list_text::<Error>(&submission.status_history)?
    ])?;
    Ok(())
}

/// The errors in the values of a stored submission. Reads trust the values; a check does not.
pub(crate) fn broken_rule(submission: Submission) -> Option<String> {
    // The reader of the contract's JSON applies every rule of a value.
    let text = serde_json::to_vec(&WithHistory(submission)).map_err(|error| error.to_string());
    let read =
        text.and_then(|text| serde_json::from_slice::<Submission>(&text).map_err(|error| error.to_string()));
    read.err().map(|error| format!("a value breaks its rule: {error}"))
}
