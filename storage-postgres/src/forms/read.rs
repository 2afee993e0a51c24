//! Reading submissions.

use openapi_core::storage::{LatestQuery, SubmissionPage, SubmissionPosition, SubmissionQuery, Window};
use openapi_core::values::{AgentId, ContactId, SubmissionId, TemplateId};
use sqlx::postgres::PgRow;
use storage_common::{records, revision_columns, submission_and_history_columns, submission_columns};

use crate::error::Result;
use crate::rows::{self, Statement, bounded, code};

/// As [`openapi_core::storage::FormStore::submission`].
pub(super) fn one(agent: &AgentId, id: SubmissionId) -> Result<Statement> {
    Statement::new(concat!(
        "SELECT ",
        submission_and_history_columns!(),
        " FROM agent a JOIN form_submission s ON s.agent = a.id",
        " WHERE a.id = $1 AND a.status <> 2 AND s.id = $2"
    ))
    .bind(agent.as_str())?
    .bind(id.as_bytes().as_slice())
}

/// As [`openapi_core::storage::FormStore::submissions`]: each row has the total and a submission, or NULL
/// for an empty page. Both come from the index that has them newest first.
pub(crate) fn page(agent: &AgentId, query: &SubmissionQuery) -> Result<Statement> {
    let filter = &query.filter;
    let mut statement = Statement::new("");
    let agent = statement.add(agent.as_str())?;
    let mut condition = format!("s.agent = {agent}");
    if let Some(contact) = filter.contact {
        condition += &format!(" AND s.contact = {}", statement.add(contact.as_bytes().as_slice())?);
    }
    if !filter.include_superseded {
        condition += " AND s.superseded_by IS NULL";
    }
    if let Some(template) = filter.template {
        condition += &format!(" AND s.template = {}", statement.add(template.as_bytes().as_slice())?);
    }
    if let Some(status) = filter.status {
        condition += &format!(" AND s.status = {}", code(status));
    }
    if let Some(client_id) = &filter.client_id {
        condition += &format!(" AND s.client_id = {}", statement.add(client_id.as_str())?);
    }
    let (after, slice) = match &query.window {
        Window::Page { offset, limit } => {
            let offset = if *offset == 0 {
                String::new()
            } else {
                format!(" OFFSET {}", statement.add(bounded(*offset))?)
            };
            (String::new(), format!("LIMIT {limit}{offset}"))
        }
        Window::After { position: SubmissionPosition { created_at, id }, limit } => {
            let at = statement.add(created_at.millis())?;
            let id = statement.add(id.as_bytes().as_slice())?;
            (format!(" AND (s.created_at, s.id) < ({at}, {id})"), format!("LIMIT {limit}"))
        }
    };
    // The keys come from the index alone, so PostgreSQL has no reason to sort the rows. The limit on each submission makes it
    // look them up one by one.
    statement.push(&format!(
        "SELECT t.total, {} FROM (SELECT count(*) AS total FROM form_submission s WHERE {condition}) t \
         LEFT JOIN (SELECT s.created_at, s.id FROM form_submission s WHERE {condition}{after} \
         ORDER BY s.created_at DESC, s.id DESC {slice}) p ON true \
         LEFT JOIN LATERAL (SELECT s.* FROM form_submission s WHERE s.agent = {agent} AND s.id = p.id LIMIT 1) s ON true \
         WHERE EXISTS (SELECT 1 FROM agent a WHERE a.id = {agent} AND a.status <> 2) \
         ORDER BY p.created_at DESC, p.id DESC",
        submission_columns!()
    ));
    Ok(statement)
}

/// Reads the rows of [`page`].
pub(super) fn listed(agent: &AgentId, rows: &[PgRow]) -> Result<SubmissionPage> {
    let (submissions, total) = rows::page(rows, |r| records::submission(agent, r))?;
    Ok(SubmissionPage { submissions, total })
}

/// As [`openapi_core::storage::FormStore::head_submission`].
pub(crate) fn head(agent: &AgentId, contact: ContactId, template: TemplateId) -> Result<Statement> {
    Statement::new(concat!(
        "SELECT ",
        submission_columns!(),
        " FROM form_submission s WHERE s.agent = $1 AND s.contact = $2 AND s.template = $3",
        " AND s.submitted_at IS NOT NULL AND s.superseded_by IS NULL",
        " AND EXISTS (SELECT 1 FROM agent a WHERE a.id = $1 AND a.status <> 2)",
        " ORDER BY s.submitted_at DESC, s.id DESC LIMIT 1"
    ))
    .bind(agent.as_str())?
    .bind(contact.as_bytes().as_slice())?
    .bind(template.as_bytes().as_slice())
}

/// The newest submitted one and, if drafts are included, the newest draft.
pub(crate) fn latest(agent: &AgentId, query: &LatestQuery) -> Result<Statement> {
    const SUBMITTED: &str = concat!(
        "(SELECT ",
        submission_and_history_columns!(),
        " FROM form_submission s WHERE s.agent = $1 AND s.contact = $2 AND s.template = $3",
        " AND s.submitted_at IS NOT NULL AND s.superseded_by IS NULL AND s.status <> 5",
        " AND EXISTS (SELECT 1 FROM agent a WHERE a.id = $1 AND a.status <> 2)",
        " ORDER BY s.submitted_at DESC, s.id DESC LIMIT 1)"
    );
    const DRAFT: &str = concat!(
        " UNION ALL (SELECT ",
        submission_and_history_columns!(),
        " FROM form_submission s WHERE s.agent = $1 AND s.contact = $2 AND s.template = $3",
        " AND s.submitted_at IS NULL AND s.superseded_by IS NULL AND s.status <> 5",
        " AND EXISTS (SELECT 1 FROM agent a WHERE a.id = $1 AND a.status <> 2)",
        " ORDER BY s.created_at DESC, s.id DESC LIMIT 1)"
    );
    let mut statement = Statement::new(SUBMITTED);
    if query.include_drafts {
        statement.push(DRAFT);
    }
    statement
        .bind(agent.as_str())?
        .bind(query.contact.as_bytes().as_slice())?
        .bind(query.template.as_bytes().as_slice())
}

/// As [`openapi_core::storage::FormStore::form_data_revisions`].
pub(super) fn revisions(agent: &AgentId, submission: SubmissionId) -> Result<Statement> {
    Statement::new(concat!(
        "SELECT ",
        revision_columns!(),
        " FROM agent a JOIN form_data_revision r ON r.agent = a.id",
        " WHERE a.id = $1 AND a.status <> 2 AND r.submission = $2 ORDER BY r.version"
    ))
    .bind(agent.as_str())?
    .bind(submission.as_bytes().as_slice())
}
