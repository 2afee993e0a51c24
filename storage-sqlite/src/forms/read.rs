//! Reading submissions.

use openapi_core::forms::{FormDataRevision, Submission};
use openapi_core::storage::{
    LatestQuery, SubmissionFilter, SubmissionPage, SubmissionPosition, SubmissionQuery, Window,
};
use openapi_core::values::{AgentId, ContactId, SubmissionId, TemplateId};
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};
use storage_common::fields::bounded;
use storage_common::{records, revision_columns, submission_and_history_columns, submission_columns};

use crate::error::Result;
use crate::rows::{self, code};
use crate::tenant;

/// All submissions of an agent.
pub(crate) const EVERY_OF_AGENT: &str =
    concat!("SELECT ", submission_and_history_columns!(), " FROM form_submission s WHERE s.agent = ?1");

/// All revisions of an agent.
pub(crate) const REVISIONS_OF_AGENT: &str =
    concat!("SELECT ", revision_columns!(), " FROM form_data_revision r WHERE r.agent = ?1");

/// As [`openapi_core::storage::FormStore::submission`].
pub(super) fn one(db: &Connection, agent: &AgentId, id: SubmissionId) -> Result<Option<Submission>> {
    let sql = concat!(
        "SELECT ",
        submission_and_history_columns!(),
        " FROM agent a CROSS JOIN form_submission s ON s.agent = a.n",
        " WHERE a.id = ?1 AND a.status <> 2 AND s.id = ?2"
    );
    let values = params![agent.as_str(), id.as_bytes()];
    rows::first(db, sql, values, |r| records::submission_with_history(agent, r))
}

/// As [`openapi_core::storage::FormStore::submissions`].
pub(super) fn page(db: &Connection, id: &AgentId, query: &SubmissionQuery) -> Result<SubmissionPage> {
    let Some(agent) = tenant::living(db, id)?.map(|agent| agent.number) else {
        return Ok(SubmissionPage::default());
    };
    let chosen = Chosen::of(agent, &query.filter);
    let total = rows::count(db, &chosen.count(), params_from_iter(&chosen.values))?;
    let (sql, values) = chosen.page(&query.window);
    let submissions = rows::all(db, &sql, params_from_iter(values), |r| records::submission(id, r))?;
    Ok(SubmissionPage { submissions, total })
}

/// The rows that match a filter, in the index that has them newest first.
pub(crate) struct Chosen {
    sql: String,
    values: Vec<Value>,
}

impl Chosen {
    pub(crate) fn of(agent: i64, filter: &SubmissionFilter) -> Self {
        let index = match (filter.contact, filter.include_superseded) {
            (None, _) => "form_submission_by_created_at",
            (Some(_), true) => "form_submission_by_contact",
            (Some(_), false) => "form_submission_by_contact_current",
        };
        let mut sql = format!("FROM form_submission s INDEXED BY {index} WHERE s.agent = ?");
        let mut values = vec![Value::Integer(agent)];
        if let Some(contact) = filter.contact {
            sql += " AND s.contact = ?";
            values.push(Value::Blob(contact.as_bytes().to_vec()));
        }
        if !filter.include_superseded {
            sql += " AND s.superseded_by IS NULL";
        }
        if let Some(template) = filter.template {
            sql += " AND s.template = ?";
            values.push(Value::Blob(template.as_bytes().to_vec()));
        }
        if let Some(status) = filter.status {
            sql += " AND s.status = ?";
            values.push(Value::Integer(code(status)));
        }
        if let Some(client_id) = &filter.client_id {
            sql += " AND s.client_id = ?";
            values.push(Value::Text(client_id.clone()));
        }
        Chosen { sql, values }
    }

    /// The statement that counts them.
    pub(crate) fn count(&self) -> String {
        format!("SELECT count(*) {}", self.sql)
    }

    /// The statement of a page and its values.
    pub(crate) fn page(self, window: &Window<SubmissionPosition>) -> (String, Vec<Value>) {
        let Chosen { sql, mut values } = self;
        let (following, offset, limit) = match window {
            Window::Page { offset, limit } => ("", *offset, *limit),
            Window::After { position: SubmissionPosition { created_at, id }, limit } => {
                values.push(Value::Integer(created_at.millis()));
                values.push(Value::Blob(id.as_bytes().to_vec()));
                (" AND (s.created_at, s.id) < (?, ?)", 0, *limit)
            }
        };
        values.push(Value::Integer(limit.into()));
        values.push(Value::Integer(bounded(offset)));
        let sql = format!(
            "SELECT {} {sql}{following} ORDER BY s.created_at DESC, s.id DESC LIMIT ? OFFSET ?",
            submission_columns!()
        );
        (sql, values)
    }
}

/// As [`openapi_core::storage::FormStore::head_submission`].
pub(super) fn head(
    db: &Connection,
    id: &AgentId,
    agent: i64,
    contact: ContactId,
    template: TemplateId,
) -> Result<Option<Submission>> {
    let sql = concat!(
        "SELECT ",
        submission_columns!(),
        " FROM form_submission s INDEXED BY form_submission_head WHERE s.agent = ?1 AND s.contact = ?2",
        " AND s.template = ?3 AND s.submitted_at IS NOT NULL AND s.superseded_by IS NULL",
        " ORDER BY s.submitted_at DESC, s.id DESC LIMIT 1"
    );
    let values = params![agent, contact.as_bytes(), template.as_bytes()];
    rows::first(db, sql, values, |r| records::submission(id, r))
}

/// As [`openapi_core::storage::FormStore::latest_submission`].
pub(super) fn latest(
    db: &Connection,
    id: &AgentId,
    agent: i64,
    query: &LatestQuery,
) -> Result<Option<Submission>> {
    let newest = |sql: &str| -> Result<Option<Submission>> {
        let values = params![agent, query.contact.as_bytes(), query.template.as_bytes()];
        rows::first(db, sql, values, |r| records::submission_with_history(id, r))
    };
    let submitted = newest(concat!(
        "SELECT ",
        submission_and_history_columns!(),
        " FROM form_submission s INDEXED BY form_submission_head WHERE s.agent = ?1 AND s.contact = ?2",
        " AND s.template = ?3 AND s.submitted_at IS NOT NULL AND s.superseded_by IS NULL AND s.status <> 5",
        " ORDER BY s.submitted_at DESC, s.id DESC LIMIT 1"
    ))?;
    if !query.include_drafts {
        return Ok(submitted);
    }
    let draft = newest(concat!(
        "SELECT ",
        submission_and_history_columns!(),
        " FROM form_submission s INDEXED BY form_submission_by_contact_current",
        " WHERE s.agent = ?1 AND s.contact = ?2 AND s.template = ?3",
        " AND s.submitted_at IS NULL AND s.superseded_by IS NULL AND s.status <> 5",
        " ORDER BY s.created_at DESC, s.id DESC LIMIT 1"
    ))?;
    Ok([submitted, draft].into_iter().flatten().max_by_key(|submission| query.rank(submission)))
}

/// As [`openapi_core::storage::FormStore::form_data_revisions`].
pub(super) fn revisions(
    db: &Connection,
    agent: &AgentId,
    submission: SubmissionId,
) -> Result<Vec<FormDataRevision>> {
    let sql = concat!(
        "SELECT ",
        revision_columns!(),
        " FROM agent a CROSS JOIN form_data_revision r ON r.agent = a.n",
        " WHERE a.id = ?1 AND a.status <> 2 AND r.submission = ?2 ORDER BY r.version"
    );
    rows::all(db, sql, params![agent.as_str(), submission.as_bytes()], |r| records::revision(r))
}
