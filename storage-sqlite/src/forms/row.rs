//! The columns of a submission, read directly into the record and written from it.

use openapi_core::forms::{Submission, SubmissionStatus, WithHistory};
use openapi_core::values::{AgentId, ContactId, SubmissionId, TemplateId, Timestamp};
use rusqlite::{Connection, Row, params};

use crate::contacts::{Columns, object_text};
use crate::error::{Result, corrupt};

/// The columns in the order in which [`without_history`] reads them, with the contact's current external id.
macro_rules! columns {
    () => {
        "s.id, s.contact, s.template, s.status, s.superseded_by, s.superseded_at, s.submitted_at, s.created_at, \
         s.updated_at, s.version, s.template_version, s.template_name, s.revision, s.supersedes, s.client_id, \
         s.source, s.created_by, s.reviewed_by, s.reviewed_at, s.submission_notes, s.review_notes, \
         (SELECT c.external_reference_id FROM contact c WHERE c.agent = s.agent AND c.id = s.contact), s.form_data"
    };
}
pub(crate) use columns;

/// The same and the history, in the order in which [`with_history`] reads them.
macro_rules! all_columns {
    () => {
        concat!($crate::forms::columns!(), ", s.status_history")
    };
}
pub(crate) use all_columns;

fn read(agent: &AgentId, columns: &mut Columns<'_>) -> Result<Submission> {
    Ok(Submission {
        id: SubmissionId::from_bytes(columns.bytes()?),
        agent_id: agent.clone(),
        contact_id: ContactId::from_bytes(columns.bytes()?),
        template_id: TemplateId::from_bytes(columns.bytes()?),
        status: status(columns.integer()?)?,
        superseded_by: columns.optional_bytes()?.map(SubmissionId::from_bytes),
        superseded_at: columns.optional_time()?,
        submitted_at: columns.optional_time()?,
        created_at: columns.time()?,
        updated_at: columns.time()?,
        version: columns.count()?,
        template_version: columns.count()?,
        template_name: columns.text()?,
        revision: columns.count()?,
        supersedes: columns.optional_bytes()?.map(SubmissionId::from_bytes),
        client_id: columns.optional_text()?,
        source: columns.str()?.to_owned(),
        created_by: columns.json()?,
        reviewed_by: columns.optional_json()?,
        reviewed_at: columns.optional_time()?,
        submission_notes: columns.optional_text()?,
        review_notes: columns.optional_text()?,
        external_reference_id: columns.optional_text()?,
        form_data: columns.object()?,
        status_history: Vec::new(),
    })
}

/// Reads a row of [`columns`]; the history is empty.
pub(super) fn without_history(agent: &AgentId, row: &Row<'_>) -> Result<Submission> {
    read(agent, &mut Columns::of(row))
}

/// Reads a row of [`all_columns`].
pub(crate) fn with_history(agent: &AgentId, row: &Row<'_>) -> Result<Submission> {
    let mut columns = Columns::of(row);
    let submission = read(agent, &mut columns)?;
    Ok(Submission { status_history: columns.optional_json()?.unwrap_or_default(), ..submission })
}

/// The stored number of a state.
pub(super) const fn status_number(status: SubmissionStatus) -> i64 {
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
    let known = SubmissionStatus::ALL.into_iter().find(|status| status_number(*status) == number);
    known.ok_or_else(|| corrupt(format_args!("{number} is no state of a submission")))
}

fn json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(corrupt)
}

fn integer(count: u64) -> Result<i64> {
    i64::try_from(count).map_err(corrupt)
}

/// The history as text; `None` for an empty one.
fn history(submission: &Submission) -> Result<Option<String>> {
    (!submission.status_history.is_empty()).then(|| json(&submission.status_history)).transpose()
}

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
        status_number(submission.status),
        submission.superseded_by.as_ref().map(SubmissionId::as_bytes),
        submission.superseded_at.map(Timestamp::millis),
        submission.submitted_at.map(Timestamp::millis),
        submission.created_at.millis(),
        submission.updated_at.millis(),
        integer(submission.version)?,
        integer(submission.template_version)?,
        submission.template_name.as_str(),
        integer(submission.revision)?,
        submission.supersedes.as_ref().map(SubmissionId::as_bytes),
        submission.client_id.as_ref().map(|id| id.as_str()),
        submission.source,
        json(&submission.created_by)?,
        submission.reviewed_by.as_ref().map(json).transpose()?,
        submission.reviewed_at.map(Timestamp::millis),
        submission.submission_notes.as_ref().map(|notes| notes.as_str()),
        submission.review_notes.as_ref().map(|notes| notes.as_str()),
        object_text(&submission.form_data),
        history(submission)?
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
        status_number(submission.status),
        submission.superseded_by.as_ref().map(SubmissionId::as_bytes),
        submission.superseded_at.map(Timestamp::millis),
        submission.submitted_at.map(Timestamp::millis),
        submission.updated_at.millis(),
        integer(submission.version)?,
        integer(submission.revision)?,
        submission.supersedes.as_ref().map(SubmissionId::as_bytes),
        submission.reviewed_by.as_ref().map(json).transpose()?,
        submission.reviewed_at.map(Timestamp::millis),
        submission.submission_notes.as_ref().map(|notes| notes.as_str()),
        submission.review_notes.as_ref().map(|notes| notes.as_str()),
        object_text(&submission.form_data),
        history(submission)?
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
