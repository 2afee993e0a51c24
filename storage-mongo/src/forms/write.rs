//! Storing and changing submissions. Everything here runs inside a transaction.

use std::collections::HashSet;

use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use openapi_core::forms::{FormDataRevision, Submission};
use openapi_core::storage::{
    NewSubmission, StorageErrorKind, SubmissionChange, SubmissionsWrite, Supersession,
};
use openapi_core::values::{AgentId, ContactId, SubmissionId, TemplateId};

use super::{read, row, templates};
use crate::document::{
    FieldReader, Fields, binary, ids, integer, json, key, object_text, of_agent, put, time,
};
use crate::error::Result;
use crate::migrate::{collection, index};
use crate::transaction::{Find, Transaction, Update};
use crate::{contacts, effects, tenant};

/// As [`openapi_core::storage::FormStore::insert_submissions`].
pub(super) async fn create(tx: &mut Transaction, agent: &AgentId, write: &SubmissionsWrite) -> Result<()> {
    let state = tenant::lock(tx, agent).await?.ok_or(StorageErrorKind::Missing)?;
    contacts::refuse_stale(tx, agent, write.contact, write.contact_version).await?;
    effects::refuse_replayed(tx, agent, &write.effects, write.at).await?;
    let mut ids = HashSet::new();
    for new in &write.submissions {
        check(tx, agent, new).await?;
        if !ids.insert(new.submission.id) {
            return Err(StorageErrorKind::AlreadyExists.into());
        }
    }
    for new in write.submissions.iter().filter(|new| new.succession.is_some()) {
        supersede(tx, agent, &new.submission).await?;
    }
    let documents = write.submissions.iter().map(|new| row::document(&new.submission));
    let documents = documents.collect::<Result<Vec<_>>>()?;
    tx.insert(collection::SUBMISSIONS, &documents).await?;
    effects::apply(tx, agent, &write.effects, state.ends).await
}

/// As [`openapi_core::storage::FormStore::update_submission`].
pub(super) async fn update(tx: &mut Transaction, agent: &AgentId, change: &SubmissionChange) -> Result<()> {
    let state = tenant::lock(tx, agent).await?.ok_or(StorageErrorKind::Missing)?;
    let submission = &change.submission;
    let stored = version(tx, agent, submission.id).await?.ok_or(StorageErrorKind::Missing)?;
    if stored != change.expected_version {
        return Err(StorageErrorKind::Stale.into());
    }
    contacts::refuse_stale(tx, agent, submission.contact_id, change.contact_version).await?;
    if let Some(seen) = change.template_generation {
        let generation = templates::generation(tx, agent, submission.template_id).await?;
        if generation.ok_or(StorageErrorKind::Missing)? != seen {
            return Err(StorageErrorKind::Stale.into());
        }
    }
    refuse_other_head(tx, agent, submission, change.succession).await?;
    if change.succession.is_some() {
        supersede(tx, agent, submission).await?;
    }
    let replaced =
        Update::one(doc! { "_id": key(agent, submission.id.as_bytes()) }, row::document(submission)?);
    tx.update(collection::SUBMISSIONS, &[replaced]).await?;
    if let Some(replaced) = &change.replaced {
        keep(tx, agent, submission.id, replaced).await?;
    }
    effects::apply(tx, agent, &change.effects, state.ends).await
}

/// The checks of each new submission.
async fn check(tx: &mut Transaction, agent: &AgentId, new: &NewSubmission) -> Result<()> {
    let submission = &new.submission;
    let generation = templates::generation(tx, agent, submission.template_id).await?;
    if generation.ok_or(StorageErrorKind::Missing)? != new.template_generation {
        return Err(StorageErrorKind::Stale.into());
    }
    refuse_other_head(tx, agent, submission, new.succession).await?;
    match version(tx, agent, submission.id).await? {
        Some(_) => Err(StorageErrorKind::AlreadyExists.into()),
        None => Ok(()),
    }
}

/// The version of a stored submission.
async fn version(tx: &mut Transaction, agent: &AgentId, id: SubmissionId) -> Result<Option<u64>> {
    let filter = doc! { "_id": key(agent, id.as_bytes()) };
    let found = tx.reads().one(collection::SUBMISSIONS, filter, Some(doc! { "version": 1 })).await?;
    found.map(|found| Fields(&found).count("version")).transpose()
}

/// Refuses a change when the head of the contact and template is not the one that the caller read.
async fn refuse_other_head(
    tx: &mut Transaction,
    agent: &AgentId,
    submission: &Submission,
    succession: Option<Supersession>,
) -> Result<()> {
    let Some(seen) = succession else { return Ok(()) };
    if seen.head != head(tx, agent, submission.contact_id, submission.template_id).await? {
        return Err(StorageErrorKind::Stale.into());
    }
    Ok(())
}

async fn head(
    tx: &mut Transaction,
    agent: &AgentId,
    contact: ContactId,
    template: TemplateId,
) -> Result<Option<SubmissionId>> {
    let find = Find { projection: Some(doc! { "_id": 1 }), ..read::newest(agent, contact, template) };
    let found = tx.reads().find(collection::SUBMISSIONS, find).await?;
    found.first().map(|head| Ok(SubmissionId::from_bytes(Fields(head).id()?))).transpose()
}

/// Marks the other heads of the contact and template as superseded by this submission.
async fn supersede(tx: &mut Transaction, agent: &AgentId, by: &Submission) -> Result<()> {
    let mut filter = read::standing(agent, by.contact_id, by.template_id);
    filter.insert("_id.id", doc! { "$ne": binary(by.id.as_bytes()) });
    let at = time(by.updated_at);
    let change = doc! {
        "$set": { "superseded": true, "supersededBy": binary(by.id.as_bytes()), "supersededAt": at },
        "$max": { "updatedAt": at },
        "$inc": { "version": 1_i64 },
        "$unset": { "headSince": true },
    };
    tx.update(collection::SUBMISSIONS, &[Update::many(filter, change)]).await.map(drop)
}

/// Stores an earlier version of the data of a submission.
async fn keep(
    tx: &mut Transaction,
    agent: &AgentId,
    submission: SubmissionId,
    replaced: &FormDataRevision,
) -> Result<()> {
    tx.insert(collection::FORM_DATA_REVISIONS, &[revision(agent, submission, replaced)?]).await
}

/// The document of a revision.
pub(crate) fn revision(
    agent: &AgentId,
    submission: SubmissionId,
    revision: &FormDataRevision,
) -> Result<Document> {
    let mut id = key(agent, submission.as_bytes());
    id.insert("version", integer(revision.version)?);
    let mut document = doc! { "_id": id, "at": time(revision.at), "by": json(&revision.by)? };
    put(&mut document, "formData", object_text(&revision.form_data));
    Ok(document)
}

/// Removes the submissions of a contact with their revisions.
pub(crate) async fn erase_of(tx: &mut Transaction, agent: &AgentId, contact: ContactId) -> Result<()> {
    let find = Find {
        filter: doc! { "_id.agent": agent.as_str(), "contact": binary(contact.as_bytes()) },
        projection: Some(doc! { "_id": 1 }),
        hint: Some(index::SUBMISSIONS_BY_CONTACT),
        ..Find::default()
    };
    let found = tx.reads().find(collection::SUBMISSIONS, find).await?;
    remove(tx, agent, &found).await.map(drop)
}

/// Removes up to `at_most` submissions, then templates of a deleted tenant and returns how many.
pub(crate) async fn purge(tx: &mut Transaction, agent: &AgentId, at_most: u32) -> Result<u64> {
    let removed = purge_submissions(tx, agent, at_most).await?;
    let left = u32::try_from(u64::from(at_most).saturating_sub(removed)).unwrap_or(u32::MAX);
    Ok(removed + if left > 0 { templates::purge(tx, agent, left).await? } else { 0 })
}

/// Removes up to `at_most` submissions of a deleted agent, with their revisions, and returns how many.
async fn purge_submissions(tx: &mut Transaction, agent: &AgentId, at_most: u32) -> Result<u64> {
    let find = Find {
        filter: of_agent(agent),
        projection: Some(doc! { "_id": 1 }),
        limit: at_most,
        ..Find::default()
    };
    let found = tx.reads().find(collection::SUBMISSIONS, find).await?;
    remove(tx, agent, &found).await
}

async fn remove(tx: &mut Transaction, agent: &AgentId, found: &[RawDocumentBuf]) -> Result<u64> {
    if found.is_empty() {
        return Ok(0);
    }
    let revisions = found.iter().map(|submission| {
        let id = SubmissionId::from_bytes(Fields(submission).id()?);
        Ok(Bson::Document(read::revisions_of(agent, id)))
    });
    let revisions: Vec<Bson> = revisions.collect::<Result<_>>()?;
    // Each has several conditions on a range; the limit bounds the size of a command.
    for some in revisions.chunks(100) {
        let filter: Document = doc! { "$or": some, "_id.agent": agent.as_str() };
        tx.delete(collection::FORM_DATA_REVISIONS, filter).await?;
    }
    let filter = doc! { "_id": { "$in": ids(found)? }, "_id.agent": agent.as_str() };
    tx.delete(collection::SUBMISSIONS, filter).await
}
