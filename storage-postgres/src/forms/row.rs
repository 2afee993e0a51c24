//! The columns of a submission, read straight into the record and written from it.

use openapi_core::forms::{Submission, SubmissionStatus};
use openapi_core::values::{AgentId, ContactId, SubmissionId, TemplateId, Timestamp};
use sqlx::PgConnection;
use sqlx::postgres::PgRow;

use crate::connect::execute;
use crate::error::{Result, corrupt};
use crate::rows::{Columns, Statement, json_text, object_text, signed};

/// The columns in the order in which [`without_history`] reads them. The contact's external id is what it is now.
macro_rules! columns {
    () => {
        "s.id, s.contact, s.template, s.status, s.superseded_by, s.superseded_at, s.submitted_at, s.created_at, \
         s.updated_at, s.version, s.template_version, s.template_name, s.revision, s.supersedes, s.client_id, \
         s.source, s.created_by, s.reviewed_by, s.reviewed_at, s.submission_notes, s.review_notes, \
         (SELECT c.external_reference_id FROM contact c WHERE c.agent = s.agent AND c.id = s.contact), s.form_data"
    };
}
pub(super) use columns;

/// The same and the history, in the order in which [`with_history`] reads them.
macro_rules! all_columns {
    () => {
        concat!($crate::forms::row::columns!(), ", s.status_history")
    };
}
pub(super) use all_columns;

/// [`all_columns`], for statements that are put together.
pub(crate) const ALL_COLUMNS: &str = all_columns!();

/// Reads [`columns`]; the history is left empty.
pub(super) fn read(agent: &AgentId, columns: &mut Columns<'_>) -> Result<Submission> {
    Ok(Submission {
        id: SubmissionId::from_bytes(columns.bytes()?),
        agent_id: agent.clone(),
        contact_id: ContactId::from_bytes(columns.bytes()?),
        template_id: TemplateId::from_bytes(columns.bytes()?),
        status: status(columns.small()?)?,
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

/// Reads a row of [`columns`]; the history is left empty.
pub(super) fn without_history(agent: &AgentId, row: &PgRow) -> Result<Submission> {
    read(agent, &mut Columns::of(row))
}

/// Reads a row of [`all_columns`].
pub(crate) fn with_history(agent: &AgentId, row: &PgRow) -> Result<Submission> {
    let mut columns = Columns::of(row);
    let submission = read(agent, &mut columns)?;
    Ok(Submission { status_history: columns.optional_json()?.unwrap_or_default(), ..submission })
}

/// The number that stands for a state.
pub(super) const fn status_number(status: SubmissionStatus) -> i16 {
    match status {
        SubmissionStatus::Draft => 0,
        SubmissionStatus::Submitted => 1,
        SubmissionStatus::UnderReview => 2,
        SubmissionStatus::Approved => 3,
        SubmissionStatus::Rejected => 4,
        SubmissionStatus::Archived => 5,
    }
}

fn status(number: i16) -> Result<SubmissionStatus> {
    let known = SubmissionStatus::ALL.into_iter().find(|status| status_number(*status) == number);
    known.ok_or_else(|| corrupt(format_args!("{number} is no state of a submission")))
}

/// The history as text; `None` for an empty one.
fn history(submission: &Submission) -> Result<Option<String>> {
    (!submission.status_history.is_empty()).then(|| json_text(&submission.status_history)).transpose()
}

fn bytes(id: Option<&SubmissionId>) -> Option<&[u8]> {
    id.map(|id| id.as_bytes().as_slice())
}

/// Adds what of a submission may change, behind the agent and the id.
fn bind_changeable(statement: Statement, agent: &AgentId, submission: &Submission) -> Result<Statement> {
    statement
        .bind(agent.as_str())?
        .bind(submission.id.as_bytes().as_slice())?
        .bind(status_number(submission.status))?
        .bind(bytes(submission.superseded_by.as_ref()))?
        .bind(submission.superseded_at.map(Timestamp::millis))?
        .bind(submission.submitted_at.map(Timestamp::millis))?
        .bind(submission.updated_at.millis())?
        .bind(signed(submission.version)?)?
        .bind(signed(submission.revision)?)?
        .bind(bytes(submission.supersedes.as_ref()))?
        .bind(submission.reviewed_by.as_ref().map(json_text).transpose()?)?
        .bind(submission.reviewed_at.map(Timestamp::millis))?
        .bind(submission.submission_notes.as_ref().map(|notes| notes.as_str()))?
        .bind(submission.review_notes.as_ref().map(|notes| notes.as_str()))?
        .bind(object_text(&submission.form_data))?
        .bind(history(submission)?)
}

/// Stores a new submission; whether its id was free.
pub(crate) async fn insert(db: &mut PgConnection, agent: &AgentId, submission: &Submission) -> Result<bool> {
    let statement = Statement::new(
        "INSERT INTO form_submission (agent, id, status, superseded_by, superseded_at, submitted_at, updated_at, \
         version, revision, supersedes, reviewed_by, reviewed_at, submission_notes, review_notes, form_data, \
         status_history, contact, template, created_at, template_version, template_name, client_id, source, \
         created_by) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, \
         $20, $21, $22, $23, $24) ON CONFLICT DO NOTHING",
    );
    let statement = bind_changeable(statement, agent, submission)?
        .bind(submission.contact_id.as_bytes().as_slice())?
        .bind(submission.template_id.as_bytes().as_slice())?
        .bind(submission.created_at.millis())?
        .bind(signed(submission.template_version)?)?
        .bind(submission.template_name.as_str())?
        .bind(submission.client_id.as_ref().map(|id| id.as_str()))?
        .bind(submission.source.as_str())?
        .bind(json_text(&submission.created_by)?)?;
    Ok(execute(db, statement).await? == 1)
}

/// Stores what of a submission may change.
pub(super) async fn update(db: &mut PgConnection, agent: &AgentId, submission: &Submission) -> Result<()> {
    let statement = Statement::new(
        "UPDATE form_submission SET status = $3, superseded_by = $4, superseded_at = $5, submitted_at = $6, \
         updated_at = $7, version = $8, revision = $9, supersedes = $10, reviewed_by = $11, reviewed_at = $12, \
         submission_notes = $13, review_notes = $14, form_data = $15, status_history = $16 \
         WHERE agent = $1 AND id = $2",
    );
    execute(db, bind_changeable(statement, agent, submission)?).await?;
    Ok(())
}
