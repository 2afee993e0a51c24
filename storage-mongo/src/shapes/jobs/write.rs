//! Changing jobs. Everything here runs in a transaction.

use std::collections::{BTreeSet, HashMap};

use mongodb::bson::{Bson, Document, doc};
use openapi_core::storage::{
    JobChange, JobState, JobsWrite, Queue, QuotaExcess, QuotaUnit, StorageErrorKind, Subject,
};
use openapi_core::values::{AgentId, FileId, JobId, Timestamp};

use super::{document, key_of, queue_number, state};
use crate::document::{FieldReader, Fields, binary, time};
use crate::error::Result;
use crate::migrate::{collection, index};
use crate::shapes::{records, scope};
use crate::tenant::TenantState;
use crate::transaction::{Find, Transaction, Update};
use crate::{contacts, credits, documents, effects};

/// As [`openapi_core::storage::QueueStore::save_jobs`] of a tenant.
pub(super) async fn save_of(tx: &mut Transaction, agent: &AgentId, write: &JobsWrite) -> Result<()> {
    save(tx, Some(agent), write).await
}

/// As [`openapi_core::storage::QueueStore::save_jobs`].
pub(super) async fn save(tx: &mut Transaction, scope: Option<&AgentId>, write: &JobsWrite) -> Result<()> {
    let locked = scope::lock(tx, scope).await?;
    if let Some(agent) = scope {
        effects::refuse_replayed(tx, agent, &write.effects, write.at).await?;
        for (contact, version) in write.contacts.iter().copied() {
            contacts::refuse_stale(tx, agent, contact, version).await?;
        }
    }
    let stored = refuse_stale(tx, scope, &write.changes).await?;
    records::change(tx, scope, &write.records).await?;
    if let (Some(agent), Some(account)) = (scope, &write.account) {
        credits::refuse_stale(tx, agent, account).await?;
    }
    refuse_excess(tx, scope, write, &stored).await?;
    if let Some(agent) = scope {
        change_documents(tx, agent, write, &locked).await?;
        for entry in &write.entries {
            credits::append(tx, agent, entry).await?;
        }
        if let Some(account) = &write.account {
            credits::put(tx, agent, account).await?;
        }
    }
    change(tx, scope, &write.changes).await?;
    scope::apply(tx, scope, &write.effects, &locked).await
}

/// What a limit needs to know of a stored job: its queue, and whether it is unfinished.
type Stored = (i64, bool);

/// Refuses changes of jobs that have other versions.
async fn refuse_stale(
    tx: &mut Transaction,
    scope: Option<&AgentId>,
    changes: &[JobChange],
) -> Result<Vec<Stored>> {
    if changes.is_empty() {
        return Ok(Vec::new());
    }
    let keys: Vec<Document> = changes.iter().map(|change| key_of(scope, change.id())).collect();
    let find = Find {
        filter: doc! { "_id": { "$in": keys }, "_id.agent": scope::value(scope) },
        projection: Some(doc! { "version": 1, "queue": 1, "state": 1 }),
        hint: Some(index::BY_KEY),
        ..Find::default()
    };
    let (mut versions, mut stored) = (HashMap::new(), Vec::new());
    for job in tx.reads().find(collection::JOBS, find).await? {
        let mut fields = Fields(&job);
        versions.insert(JobId::from_bytes(fields.id()?), fields.count("version")?);
        let is_unfinished = fields.integer("state")? <= state(JobState::Running).into();
        stored.push((fields.integer("queue")?, is_unfinished));
    }
    let is_expected = |change: &JobChange| {
        change.expected() == Some(versions.get(&change.id()).copied().unwrap_or_default())
    };
    if changes.iter().all(is_expected) { Ok(stored) } else { Err(StorageErrorKind::Stale.into()) }
}

/// The filter for the unfinished jobs of a scope.
pub(crate) fn unfinished(scope: Option<&AgentId>, queue: Queue) -> Document {
    doc! {
        "_id.agent": scope::value(scope),
        "queue": queue_number(queue),
        "state": { "$lte": state(JobState::Running) },
    }
}

/// Refuses a write after which more jobs would be unfinished than may be. `stored` are the changed jobs as they are.
async fn refuse_excess(
    tx: &mut Transaction,
    scope: Option<&AgentId>,
    write: &JobsWrite,
    stored: &[Stored],
) -> Result<()> {
    let Some((queue, limit)) = write.max_unfinished else { return Ok(()) };
    let filter = unfinished(scope, queue);
    let all = tx.reads().count(collection::JOBS, filter, Some(index::JOBS_BY_STATE)).await?;
    let changed = stored.iter().filter(|job| **job == (queue_number(queue).into(), true)).count() as u64;
    let saved = write.changes.iter().filter(|change| match change {
        JobChange::Save(job) => job.queue == queue && job.state.is_unfinished(),
        JobChange::Remove { .. } => false,
    });
    let actual = all.saturating_sub(changed) + saved.count() as u64;
    if actual > limit {
        return Err(
            StorageErrorKind::QuotaExceeded(QuotaExcess { unit: QuotaUnit::Jobs, limit, actual }).into()
        );
    }
    Ok(())
}

/// Retains and discards documents.
async fn change_documents(
    tx: &mut Transaction,
    agent: &AgentId,
    write: &JobsWrite,
    locked: &TenantState,
) -> Result<()> {
    let discarded: BTreeSet<FileId> = write.discard.iter().copied().collect();
    let discarded = documents::sizes(tx, agent, &discarded).await?;
    let mut bytes = locked.bytes - discarded.iter().map(|(_, size)| size).sum::<i64>();
    for new in &write.documents {
        documents::refuse_excess(bytes, new)?;
        documents::add(tx, agent, &new.document).await?;
        bytes += crate::document::integer(new.document.stored_size)?;
    }
    let discarded: Vec<FileId> = discarded.into_iter().map(|(document, _)| document).collect();
    documents::erase(tx, agent, &discarded, write.at).await
}

async fn change(tx: &mut Transaction, scope: Option<&AgentId>, changes: &[JobChange]) -> Result<()> {
    let (mut removed, mut saved) = (Vec::new(), Vec::new());
    for change in changes {
        match change {
            JobChange::Remove { id, .. } => removed.push(key_of(scope, *id)),
            JobChange::Save(job) => {
                saved.push(Update::upsert(doc! { "_id": key_of(scope, job.id) }, document(scope, job)?));
            }
        }
    }
    if !removed.is_empty() {
        let filter = doc! { "_id": { "$in": removed }, "_id.agent": scope::value(scope) };
        tx.delete(collection::JOBS, filter).await?;
    }
    if saved.is_empty() { Ok(()) } else { tx.update(collection::JOBS, &saved).await.map(drop) }
}

/// Erases the jobs of subjects that are erased.
pub(crate) async fn erase_of(
    tx: &mut Transaction,
    agent: &AgentId,
    subjects: &[Subject],
    at: Timestamp,
) -> Result<()> {
    let subjects: Vec<Bson> = subjects.iter().map(|subject| binary(&subject.to_bytes()).into()).collect();
    let filter = doc! { "_id.agent": agent.as_str(), "subject": { "$in": subjects } };
    let change = doc! {
        "$set": { "state": state(JobState::Erased), "dueAt": time(at) },
        "$inc": { "version": 1_i64 },
        "$unset": {
            "leaseOwner": "", "leaseUntil": "", "batch": "", "clientId": "", "subject": "", "body": "", "result": "",
        },
    };
    tx.update(collection::JOBS, &[Update::many(filter, change)]).await.map(drop)
}
