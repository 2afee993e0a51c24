//! Reading, cancelling and removing jobs.

use super::record;
use super::settle::{End, settle};
use crate::access::Caller;
use crate::audit::{AuditAction, SealedEntry};
use crate::extraction::{DeletedJob, ExtractionBatch, ExtractionJob};
use crate::json::{Json, Object};
use crate::platform::Platform;
use crate::platform::cursor::JobCursors;
use crate::platform::errors::{batch_not_found, concurrent_update, job_finished, job_not_found};
use crate::platform::paging::Part;
use crate::ports::timeout;
use crate::reply::ApiError;
use crate::service::{GetExtraction, ListExtractions, Page};
use crate::storage::retry::retry_on_conflict;
use crate::storage::{JobQuery, Queue};
use crate::values::JobId;

/// How often a request that waits looks again: another server may have ended the job.
const POLL_MILLIS: u64 = 1_000;

pub(super) async fn read(platform: &Platform, caller: &Caller, id: &str) -> Result<ExtractionJob, ApiError> {
    let not_found = || job_not_found(id);
    let key: JobId = id.parse().map_err(|_| not_found())?;
    let job = platform.storage.job(Some(&caller.agent_id), key).await?;
    let job = job.filter(|job| job.queue == Queue::Extraction).ok_or_else(not_found)?;
    record(&caller.agent_id, job)
}

pub(in crate::platform) async fn find(
    platform: &Platform,
    caller: &Caller,
    request: GetExtraction,
) -> Result<ExtractionJob, ApiError> {
    let mut ended = platform.storage.notifier().subscribe(&caller.agent_id);
    let mut found = read(platform, caller, &request.id).await?;
    let mut seconds = request.query.check()?.wait;
    while found.job.state.is_unfinished() && seconds > 0 {
        // The end of a job is an event.
        if timeout(&*platform.ports.timer, POLL_MILLIS, ended.changed()).await.is_none() {
            seconds -= 1;
        }
        found = read(platform, caller, &request.id).await?;
    }
    Ok(found)
}

pub(in crate::platform) async fn list(
    platform: &Platform,
    caller: &Caller,
    request: ListExtractions,
) -> Result<Page<ExtractionJob>, ApiError> {
    let agent = &caller.agent_id;
    let query = request.query.check()?;
    let cursors = JobCursors { keys: &platform.ports.server_keys, agent, query: &query };
    let part = Part::of(&query.page, |text| cursors.read(text))?;
    let stored = JobQuery {
        queue: Queue::Extraction,
        states: query.status.map(|status| status.states().to_vec()).unwrap_or_default(),
        batch: query.batch.as_deref().map(Box::from),
        client_id: query.client_id.as_deref().map(Box::from),
        window: part.window(),
    };
    let found = platform.storage.jobs(Some(agent), &stored).await?;
    let jobs: Result<Vec<ExtractionJob>, ApiError> =
        found.jobs.into_iter().map(|job| record(agent, job)).collect();
    Ok(part.page(jobs?, found.total, |last, page| cursors.issue(&last.job, page)))
}

pub(in crate::platform) async fn batch(
    platform: &Platform,
    caller: &Caller,
    id: &str,
) -> Result<ExtractionBatch, ApiError> {
    let counts = platform.storage.count_jobs(Some(&caller.agent_id), Queue::Extraction, id).await?;
    if counts.is_empty() {
        return Err(batch_not_found(id));
    }
    Ok(ExtractionBatch { id: id.to_owned(), counts })
}

fn audit(platform: &Platform, caller: &Caller, found: &ExtractionJob, removes: bool) -> SealedEntry {
    let mut details = Object::new();
    details.insert("deleted", Json::Bool(removes));
    let (id, contact) = (found.job.id.to_string(), found.body.contact);
    platform.caller_audit(caller, AuditAction::DocumentCancel, id, contact, &details, platform.now())
}

fn end(platform: &Platform, caller: &Caller, found: &ExtractionJob, removes: bool) -> End {
    let audit = Some(Box::new(audit(platform, caller, found, removes)));
    End::Cancelled { by: caller.actor.clone(), removes, audit }
}

pub(in crate::platform) async fn cancel(
    platform: &Platform,
    caller: &Caller,
    id: &str,
) -> Result<ExtractionJob, ApiError> {
    retry_on_conflict(concurrent_update, |_| async move {
        let found = read(platform, caller, id).await?;
        if !found.job.state.is_unfinished() {
            return Err(job_finished(&found));
        }
        match settle(platform, &found, &end(platform, caller, &found, false)).await? {
            true => read(platform, caller, id).await.map(Some),
            false => Ok(None),
        }
    })
    .await
}

pub(in crate::platform) async fn delete(
    platform: &Platform,
    caller: &Caller,
    id: &str,
) -> Result<DeletedJob, ApiError> {
    retry_on_conflict(concurrent_update, |_| async move {
        let found = read(platform, caller, id).await?;
        let is_settled = settle(platform, &found, &end(platform, caller, &found, true)).await?;
        Ok(is_settled.then(|| DeletedJob { id: found.job.id, at: platform.now() }))
    })
    .await
}
