//! Storing and changing submissions. Everything here runs inside the writer's transaction.

use std::collections::HashSet;

use openapi_core::forms::{FormDataRevision, Submission};
use openapi_core::storage::{
    NewSubmission, StorageErrorKind, SubmissionChange, SubmissionsWrite, Supersession,
};
use openapi_core::values::{AgentId, ContactId, SubmissionId, TemplateId};
use rusqlite::{Connection, params};

use super::{row, templates};
use crate::error::Result;
use crate::rows::{self, json_text, object_text, signed};
use crate::{contacts, effects, tenant};

/// As [`openapi_core::storage::FormStore::insert_submissions`].
pub(super) fn insert(db: &Connection, agent_id: &AgentId, write: &SubmissionsWrite) -> Result<()> {
    let agent = tenant::living(db, agent_id)?.ok_or(StorageErrorKind::Missing)?.number;
    contacts::refuse_stale(db, agent, write.contact, write.contact_version)?;
    effects::refuse_replayed(db, agent, &write.effects, write.at)?;
    // All checks precede the first change, so a refusal does not affect the other writes of the batch.
    let mut ids = HashSet::new();
    for new in &write.submissions {
        check(db, agent, new)?;
        if !ids.insert(new.submission.id) {
            return Err(StorageErrorKind::AlreadyExists.into());
        }
    }
    for new in &write.submissions {
        if new.succession.is_some() {
            supersede(db, agent, &new.submission)?;
        }
        row::insert(db, agent, &new.submission)?;
    }
    effects::apply(db, agent, &write.effects)
}

/// As [`openapi_core::storage::FormStore::update_submission`].
pub(super) fn update(db: &Connection, agent_id: &AgentId, change: &SubmissionChange) -> Result<()> {
    let agent = tenant::living(db, agent_id)?.ok_or(StorageErrorKind::Missing)?.number;
    let submission = &change.submission;
    let stored = version(db, agent, submission.id)?.ok_or(StorageErrorKind::Missing)?;
    if stored != change.expected_version {
        return Err(StorageErrorKind::Stale.into());
    }
    contacts::refuse_stale(db, agent, submission.contact_id, change.contact_version)?;
    if let Some(seen) = change.template_generation
        && templates::generation(db, agent, submission.template_id)?.ok_or(StorageErrorKind::Missing)? != seen
    {
        return Err(StorageErrorKind::Stale.into());
    }
    refuse_other_head(db, agent, submission, change.succession)?;
    if change.succession.is_some() {
        supersede(db, agent, submission)?;
    }
    row::update(db, agent, submission)?;
    if let Some(replaced) = &change.replaced {
        keep(db, agent, submission.id, replaced)?;
    }
    effects::apply(db, agent, &change.effects)
}

/// The checks of each new submission.
fn check(db: &Connection, agent: i64, new: &NewSubmission) -> Result<()> {
    let submission = &new.submission;
    let generation =
        templates::generation(db, agent, submission.template_id)?.ok_or(StorageErrorKind::Missing)?;
    if generation != new.template_generation {
        return Err(StorageErrorKind::Stale.into());
    }
    refuse_other_head(db, agent, submission, new.succession)?;
    match version(db, agent, submission.id)? {
        Some(_) => Err(StorageErrorKind::AlreadyExists.into()),
        None => Ok(()),
    }
}

/// The version of a stored submission.
fn version(db: &Connection, agent: i64, id: SubmissionId) -> Result<Option<u64>> {
    let sql = "SELECT version FROM form_submission WHERE agent = ?1 AND id = ?2";
    rows::number(db, sql, params![agent, id.as_bytes()])
}

/// Refuses a change when the head of the contact and template is not the one that the caller read.
fn refuse_other_head(
    db: &Connection,
    agent: i64,
    submission: &Submission,
    succession: Option<Supersession>,
) -> Result<()> {
    match succession {
        Some(seen) if seen.head != head(db, agent, submission.contact_id, submission.template_id)? => {
            Err(StorageErrorKind::Stale.into())
        }
        _ => Ok(()),
    }
}

fn head(
    db: &Connection,
    agent: i64,
    contact: ContactId,
    template: TemplateId,
) -> Result<Option<SubmissionId>> {
    let sql = "SELECT id FROM form_submission INDEXED BY form_submission_head \
               WHERE agent = ?1 AND contact = ?2 AND template = ?3 AND submitted_at IS NOT NULL \
               AND superseded_by IS NULL ORDER BY submitted_at DESC, id DESC LIMIT 1";
    let values = params![agent, contact.as_bytes(), template.as_bytes()];
    rows::first(db, sql, values, |r| Ok(SubmissionId::from_bytes(r.bytes()?)))
}

/// Marks the other heads of the contact and template as superseded by this submission.
fn supersede(db: &Connection, agent: i64, by: &Submission) -> Result<()> {
    db.prepare_cached(
        "UPDATE form_submission INDEXED BY form_submission_head SET superseded_by = ?4, superseded_at = ?5, \
         updated_at = max(updated_at, ?5), version = version + 1 \
         WHERE agent = ?1 AND contact = ?2 AND template = ?3 AND submitted_at IS NOT NULL AND superseded_by IS NULL \
         AND id <> ?4",
    )?
    .execute(params![
        agent,
        by.contact_id.as_bytes(),
        by.template_id.as_bytes(),
        by.id.as_bytes(),
        by.updated_at.millis()
    ])?;
    Ok(())
}

/// Stores an earlier version of the data of a submission.
pub(crate) fn keep(
    db: &Connection,
    agent: i64,
    submission: SubmissionId,
    replaced: &FormDataRevision,
) -> Result<()> {
    db.prepare_cached(
        "INSERT INTO form_data_revision (agent, submission, version, at, by, form_data) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![
        agent,
        submission.as_bytes(),
        signed(replaced.version)?,
        replaced.at.millis(),
        json_text(&replaced.by)?,
        object_text(&replaced.form_data)
    ])?;
    Ok(())
}

/// Removes the submissions of a contact with their revisions.
pub(crate) fn erase_of(db: &Connection, agent: i64, contact: ContactId) -> Result<()> {
    db.prepare_cached(
        "DELETE FROM form_data_revision WHERE agent = ?1 AND submission IN (SELECT id FROM form_submission \
         INDEXED BY form_submission_by_contact WHERE agent = ?1 AND contact = ?2)",
    )?
    .execute(params![agent, contact.as_bytes()])?;
    db.prepare_cached(
        "DELETE FROM form_submission INDEXED BY form_submission_by_contact WHERE agent = ?1 AND contact = ?2",
    )?
    .execute(params![agent, contact.as_bytes()])?;
    Ok(())
}

/// Removes up to `at_most` submissions of a deleted agent, with their revisions, and returns how many.
pub(super) fn purge(db: &Connection, agent: i64, at_most: u32) -> Result<u64> {
    let first = "SELECT id FROM form_submission INDEXED BY form_submission_by_id WHERE agent = ?1 ORDER BY id LIMIT ?2";
    db.prepare_cached(&format!(
        "DELETE FROM form_data_revision WHERE agent = ?1 AND submission IN ({first})"
    ))?
    .execute(params![agent, at_most])?;
    let removed = db
        .prepare_cached(&format!("DELETE FROM form_submission WHERE agent = ?1 AND id IN ({first})"))?
        .execute(params![agent, at_most])?;
    Ok(removed as u64)
}
