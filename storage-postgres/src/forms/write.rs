//! Storing and changing submissions. Everything here runs in a transaction that has locked the tenant.

use std::collections::HashSet;

use openapi_core::forms::{FormDataRevision, Submission};
use openapi_core::storage::{
    NewSubmission, StorageErrorKind, SubmissionChange, SubmissionsWrite, Supersession,
};
use openapi_core::values::{AgentId, ContactId, SubmissionId, TemplateId};
use sqlx::PgConnection;

use super::{row, templates};
use crate::connect::{execute, fetch_one, fetch_version};
use crate::error::{Result, corrupt};
use crate::rows::{RowReader, Statement, json_text, object_text, signed};
use crate::{contacts, effects, tenant};

/// As [`openapi_core::storage::FormStore::insert_submissions`].
pub(super) async fn create(db: &mut PgConnection, agent: &AgentId, write: &SubmissionsWrite) -> Result<()> {
    let tenant = tenant::lock(db, agent).await?;
    contacts::refuse_stale(db, agent, write.contact, write.contact_version).await?;
    effects::refuse_replayed(db, agent, &write.effects, write.at).await?;
    let mut ids = HashSet::new();
    for new in &write.submissions {
        check(db, agent, new).await?;
        if !ids.insert(new.submission.id) {
            return Err(StorageErrorKind::AlreadyExists.into());
        }
    }
    for new in &write.submissions {
        if new.succession.is_some() {
            supersede(db, agent, &new.submission).await?;
        }
        if !row::insert(db, agent, &new.submission).await? {
            return Err(corrupt("a free id was taken while its tenant is locked"));
        }
    }
    effects::apply(db, agent, &write.effects, tenant.head).await
}

/// As [`openapi_core::storage::FormStore::update_submission`].
pub(super) async fn update(db: &mut PgConnection, agent: &AgentId, change: &SubmissionChange) -> Result<()> {
    let tenant = tenant::lock(db, agent).await?;
    let submission = &change.submission;
    let stored = version(db, agent, submission.id).await?.ok_or(StorageErrorKind::Missing)?;
    if stored != change.expected_version {
        return Err(StorageErrorKind::Stale.into());
    }
    contacts::refuse_stale(db, agent, submission.contact_id, change.contact_version).await?;
    if let Some(generation) = change.template_generation {
        let stored = templates::generation(db, agent, submission.template_id).await?;
        if stored.ok_or(StorageErrorKind::Missing)? != generation {
            return Err(StorageErrorKind::Stale.into());
        }
    }
    refuse_other_head(db, agent, submission, change.succession).await?;
    if change.succession.is_some() {
        supersede(db, agent, submission).await?;
    }
    row::update(db, agent, submission).await?;
    if let Some(replaced) = &change.replaced {
        insert_revision(db, agent, submission.id, replaced).await?;
    }
    effects::apply(db, agent, &change.effects, tenant.head).await
}

/// Checks a new submission.
async fn check(db: &mut PgConnection, agent: &AgentId, new: &NewSubmission) -> Result<()> {
    let submission = &new.submission;
    let generation = templates::generation(db, agent, submission.template_id).await?;
    if generation.ok_or(StorageErrorKind::Missing)? != new.template_generation {
        return Err(StorageErrorKind::Stale.into());
    }
    refuse_other_head(db, agent, submission, new.succession).await?;
    match version(db, agent, submission.id).await? {
        Some(_) => Err(StorageErrorKind::AlreadyExists.into()),
        None => Ok(()),
    }
}

/// The version of a stored submission.
async fn version(db: &mut PgConnection, agent: &AgentId, id: SubmissionId) -> Result<Option<u64>> {
    let statement = Statement::new("SELECT version FROM form_submission WHERE agent = $1 AND id = $2")
        .bind(agent.as_str())?
        .bind(id.as_bytes().as_slice())?;
    fetch_version(db, statement).await
}

/// Refuses a change when the head of the contact and template is not the one that the caller read.
async fn refuse_other_head(
    db: &mut PgConnection,
    agent: &AgentId,
    submission: &Submission,
    succession: Option<Supersession>,
) -> Result<()> {
    let Some(read) = succession else { return Ok(()) };
    if read.head == head(db, agent, submission.contact_id, submission.template_id).await? {
        Ok(())
    } else {
        Err(StorageErrorKind::Stale.into())
    }
}

async fn head(
    db: &mut PgConnection,
    agent: &AgentId,
    contact: ContactId,
    template: TemplateId,
) -> Result<Option<SubmissionId>> {
    let statement = Statement::new(
        "SELECT id FROM form_submission WHERE agent = $1 AND contact = $2 AND template = $3 \
         AND submitted_at IS NOT NULL AND superseded_by IS NULL ORDER BY submitted_at DESC, id DESC LIMIT 1",
    )
    .bind(agent.as_str())?
    .bind(contact.as_bytes().as_slice())?
    .bind(template.as_bytes().as_slice())?;
    let row = fetch_one(db, statement).await?;
    row.map(|row| RowReader::new(&row).bytes().map(SubmissionId::from_bytes)).transpose()
}

/// Marks the other heads of the contact and template as superseded by this submission.
async fn supersede(db: &mut PgConnection, agent: &AgentId, by: &Submission) -> Result<()> {
    let statement = Statement::new(
        "UPDATE form_submission SET superseded_by = $4, superseded_at = $5, \
         updated_at = greatest(updated_at, $5), version = version + 1 \
         WHERE agent = $1 AND contact = $2 AND template = $3 AND submitted_at IS NOT NULL AND superseded_by IS NULL \
         AND id <> $4",
    )
    .bind(agent.as_str())?
    .bind(by.contact_id.as_bytes().as_slice())?
    .bind(by.template_id.as_bytes().as_slice())?
    .bind(by.id.as_bytes().as_slice())?
    .bind(by.updated_at.millis())?;
    execute(db, statement).await?;
    Ok(())
}

/// Stores an earlier version of the data of a submission.
pub(crate) async fn insert_revision(
    db: &mut PgConnection,
    agent: &AgentId,
    submission: SubmissionId,
    replaced: &FormDataRevision,
) -> Result<()> {
    let statement = Statement::new(
        "INSERT INTO form_data_revision (agent, submission, version, at, by, form_data) \
         VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(agent.as_str())?
    .bind(submission.as_bytes().as_slice())?
    .bind(signed(replaced.version)?)?
    .bind(replaced.at.millis())?
    .bind(json_text(&replaced.by)?)?
    .bind(object_text(&replaced.form_data))?;
    execute(db, statement).await?;
    Ok(())
}

/// Removes the submissions of a contact with their revisions.
pub(crate) async fn erase_of(db: &mut PgConnection, agent: &AgentId, contact: ContactId) -> Result<()> {
    let statement = Statement::new(
        "WITH gone AS (DELETE FROM form_submission WHERE agent = $1 AND contact = $2 RETURNING agent, id) \
         DELETE FROM form_data_revision WHERE (agent, submission) IN (SELECT agent, id FROM gone)",
    )
    .bind(agent.as_str())?
    .bind(contact.as_bytes().as_slice())?;
    execute(db, statement).await?;
    Ok(())
}

/// Removes up to `at_most` submissions, then templates of a deleted tenant and returns how many.
pub(crate) async fn purge(db: &mut PgConnection, agent: &AgentId, at_most: u64) -> Result<u64> {
    let removed = purge_submissions(db, agent, at_most).await?;
    let left = at_most - removed;
    Ok(removed + if left > 0 { templates::purge(db, agent, left).await? } else { 0 })
}

/// Removes up to `at_most` submissions of a deleted tenant, with their revisions, and returns how many.
async fn purge_submissions(db: &mut PgConnection, agent: &AgentId, at_most: u64) -> Result<u64> {
    let statement = Statement::unprepared(
        "WITH gone AS (DELETE FROM form_submission WHERE (agent, id) IN \
         (SELECT agent, id FROM form_submission WHERE (agent, id) > ($1, '') AND agent <= $1 ORDER BY agent, id LIMIT $2) \
         RETURNING agent, id), \
         revisions AS (DELETE FROM form_data_revision WHERE (agent, submission) IN (SELECT agent, id FROM gone)) \
         SELECT count(*) FROM gone",
    )
    .bind(agent.as_str())?
    .bind(signed(at_most)?)?;
    let row = fetch_one(db, statement).await?.ok_or_else(|| corrupt("a count has no row"))?;
    RowReader::new(&row).count()
}
