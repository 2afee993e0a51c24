//! The columns of a submission, written from the record.

use openapi_core::forms::Submission;
use openapi_core::values::{AgentId, SubmissionId, Timestamp};
use sqlx::PgConnection;
use storage_common::records;

use crate::connect::execute;
use crate::error::{Error, Result};
use crate::rows::{Statement, code, json_text, object_text, signed};

fn bytes(id: Option<&SubmissionId>) -> Option<&[u8]> {
    id.map(|id| id.as_bytes().as_slice())
}

/// Binds the tenant, the id and the columns that may change.
fn bind_changeable(statement: Statement, agent: &AgentId, submission: &Submission) -> Result<Statement> {
    statement
        .bind(agent.as_str())?
        .bind(submission.id.as_bytes().as_slice())?
        .bind(code(submission.status))?
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
        .bind(records::list_text::<Error>(&submission.status_history)?)
}

/// Stores a new submission; false when its id is taken.
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

/// Stores the columns that may change.
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
