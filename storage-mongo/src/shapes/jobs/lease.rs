//! Claims, renewals and wake-ups, of the jobs of all scopes. Each changes single jobs, outside of transactions.

use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use mongodb::options::ReturnDocument;
use openapi_core::storage::{JobClaim, JobState, Queue, ScopedJob, Woken};
use openapi_core::values::{AgentId, JobId, PlatformId, Timestamp};

use super::read::{by_turn, living};
use super::{key_of, queue_number, read_job, state};
use crate::connect::Handle;
use crate::document::{Fields, binary, ids, time};
use crate::error::{Result, corrupt};
use crate::migrate::{collection, index};
use crate::shapes::scope;
use crate::transaction::{DocumentReader, Find};

/// As [`openapi_core::storage::QueueStore::claim_jobs`]. A job whose claim was stored is returned, even if a later one
/// fails.
///
/// A claim reads which jobs come next, and takes each by its key: a router of a sharded cluster lets no statement change
/// the first of all shards. A job that another server has taken meanwhile is passed over.
pub(super) async fn claim(handle: &Handle, claim: &JobClaim) -> Result<Vec<ScopedJob>> {
    let mut claimed: Vec<ScopedJob> = Vec::new();
    loop {
        let left = claim.at_most.saturating_sub(claimed.len() as u32);
        let ready = by_turn(claim.queue, JobState::Ready, false, left);
        let ready = Find { projection: Some(doc! { "_id": 1 }), ..ready };
        // Usually nothing is ready, and the read that finds it writes nothing.
        let next = handle.read(living(&mut DocumentReader::new(handle), &ready)).await;
        let taken = match next {
            Ok(next) if next.is_empty() => break,
            Ok(next) => take_each(handle, claim, &next, &mut claimed).await,
            Err(error) => Err(error),
        };
        match taken {
            Ok(()) => {}
            Err(error) if claimed.is_empty() => return Err(error),
            Err(error) => {
                tracing::warn!(?error, "a claim of jobs ended early");
                break;
            }
        }
    }
    claimed.sort_by(|a, b| (a.job.turn, a.job.id, &a.scope).cmp(&(b.job.turn, b.job.id, &b.scope)));
    Ok(claimed)
}

/// Claims those of some jobs that are still ready.
async fn take_each(
    handle: &Handle,
    claim: &JobClaim,
    next: &[RawDocumentBuf],
    claimed: &mut Vec<ScopedJob>,
) -> Result<()> {
    for job in next {
        claimed.extend(handle.read(take(handle, claim, job)).await?);
    }
    Ok(())
}

/// The statement that claims a job if it is still ready: its filter and its change.
fn taking(claim: &JobClaim, job: &RawDocumentBuf) -> Result<(Document, Document)> {
    let filter = doc! {
        "_id": Bson::try_from(Fields(job).value("_id")?).map_err(corrupt)?,
        "state": state(JobState::Ready),
    };
    let change = doc! {
        "state": state(JobState::Running),
        "version": { "$add": ["$version", 1_i64] },
        "attempts": { "$add": ["$attempts", 1_i64] },
        "leaseOwner": binary(claim.owner.as_bytes()),
        "leaseUntil": time(claim.until),
        "startedAt": { "$ifNull": ["$startedAt", time(claim.now)] },
    };
    Ok((filter, doc! { "$set": change }))
}

async fn take(handle: &Handle, claim: &JobClaim, job: &RawDocumentBuf) -> Result<Option<ScopedJob>> {
    let (filter, change) = taking(claim, job)?;
    let jobs = handle.collection(collection::JOBS);
    let taken = jobs.find_one_and_update(filter, vec![change]).return_document(ReturnDocument::After).await?;
    taken.map(|job| Ok(ScopedJob { scope: scope::of(&job)?, job: read_job(&job)? })).transpose()
}

/// As [`openapi_core::storage::QueueStore::renew_jobs`].
pub(super) async fn renew(
    handle: &Handle,
    owner: PlatformId,
    jobs: &[(Option<AgentId>, JobId)],
    until: Timestamp,
) -> Result<Vec<bool>> {
    let mut reads = DocumentReader::new(handle);
    let gone = scope::gone(&mut reads, jobs.iter().map(|(scope, _)| Ok(scope.clone()))).await?;
    let mut renewed = Vec::with_capacity(jobs.len());
    for (scope, id) in jobs {
        if scope.as_ref().is_some_and(|agent| gone.contains(agent)) {
            renewed.push(false);
            continue;
        }
        let filter = doc! {
            "_id": key_of(scope.as_ref(), *id),
            "state": state(JobState::Running),
            "leaseOwner": binary(owner.as_bytes()),
        };
        let change = doc! { "$set": { "leaseUntil": time(until) } };
        let updated = handle.collection(collection::JOBS).update_one(filter, change).await?;
        renewed.push(updated.matched_count == 1);
    }
    Ok(renewed)
}

/// The find for the jobs of a queue in some states that are due, the longest due first.
pub(crate) fn due(queue: Queue, states: &[JobState], now: Timestamp, at_most: u32) -> Find {
    let states: Vec<Bson> = states.iter().map(|it| state(*it).into()).collect();
    Find {
        filter: doc! {
            "queue": queue_number(queue),
            "state": { "$in": states },
            "dueAt": { "$lte": time(now) },
        },
        projection: Some(doc! { "_id": 1 }),
        limit: at_most,
        hint: Some(index::JOBS_BY_DUE),
        ..Find::default()
    }
}

/// The find for the running jobs whose lease has ended: few jobs run.
pub(crate) fn lost(queue: Queue, now: Timestamp, at_most: u32) -> Find {
    let running = by_turn(queue, JobState::Running, false, at_most);
    let mut filter = running.filter;
    filter.insert("leaseUntil", doc! { "$lte": time(now) });
    Find { filter, projection: Some(doc! { "_id": 1 }), ..running }
}

/// The filter for found jobs that are still as the find wants them.
fn still(found: &[RawDocumentBuf], find: &Find) -> Result<Document> {
    Ok(doc! { "$and": [{ "_id": { "$in": ids(found)? } }, find.filter.clone()] })
}

/// As [`openapi_core::storage::QueueStore::wake_jobs`]. What another server does meanwhile is left to it.
pub(super) async fn wake(handle: &Handle, queue: Queue, now: Timestamp, at_most: u32) -> Result<Woken> {
    let mut reads = DocumentReader::new(handle);
    let jobs = handle.collection(collection::JOBS);
    let mut woken = Woken::default();
    let ready = state(JobState::Ready);
    let scheduled = due(queue, &[JobState::Scheduled], now, at_most);
    let found = living(&mut reads, &scheduled).await?;
    if !found.is_empty() {
        let change = doc! {
            "$set": { "state": ready }, "$inc": { "version": 1_i64 }, "$unset": { "dueAt": "" },
        };
        woken.ready = jobs.update_many(still(&found, &scheduled)?, change).await?.modified_count;
    }
    let lost = lost(queue, now, at_most);
    let found = living(&mut reads, &lost).await?;
    if !found.is_empty() {
        let change = doc! {
            "$set": { "state": ready },
            "$inc": { "version": 1_i64, "lost": 1_i64 },
            "$unset": { "leaseOwner": "", "leaseUntil": "", "dueAt": "" },
        };
        woken.lost = jobs.update_many(still(&found, &lost)?, change).await?.modified_count;
    }
    let ended = due(queue, &[JobState::Succeeded, JobState::Failed, JobState::Cancelled], now, at_most);
    let found = living(&mut reads, &ended).await?;
    if !found.is_empty() {
        woken.removed = jobs.delete_many(still(&found, &ended)?).await?.deleted_count;
    }
    let erased = living(&mut reads, &by_turn(queue, JobState::Erased, false, at_most)).await?;
    let erased = erased.iter().map(|job| Ok(ScopedJob { scope: scope::of(job)?, job: read_job(job)? }));
    woken.erased = erased.collect::<Result<_>>()?;
    Ok(woken)
}
