//! Jobs of queues.
//!
//! Writes change jobs in a transaction of their scope. Claims, renewals and wake-ups change single jobs outside of
//! transactions, each by a condition on its state, so a transaction that has read such a job begins again.

pub(crate) mod lease;
pub(crate) mod read;
mod write;

use async_trait::async_trait;
use mongodb::bson::{Bson, Document, RawDocument, doc};
use openapi_core::storage::{
    Job, JobClaim, JobPage, JobQuery, JobState, JobsWrite, Queue, QueueFront, QueueLoad, QueueStore,
    ScopedJob, StorageError, Woken,
};
use openapi_core::values::{AgentId, JobId, PlatformId, Timestamp};
use storage_common::{in_transaction, records};

pub(crate) use write::erase_of;
#[cfg(test)]
pub(crate) use write::unfinished;

use super::scope;
use crate::document::{Fields, binary, integer, object_text, put, time};
use crate::error::Result;
use crate::store::MongoStorage;
use crate::transaction::Work;

/// The `_id` of a job.
pub(crate) fn key_of(scope: Option<&AgentId>, id: JobId) -> Document {
    doc! { "agent": scope::value(scope), "id": binary(id.as_bytes()) }
}

/// A state as a value.
fn state(state: JobState) -> i32 {
    state.number().into()
}

/// A queue as a value.
fn queue_number(queue: Queue) -> i32 {
    queue.number().into()
}

/// The document of a job.
pub(crate) fn document(scope: Option<&AgentId>, job: &Job) -> Result<Document> {
    let mut document = doc! {
        "_id": key_of(scope, job.id),
        "queue": queue_number(job.queue),
        "state": state(job.state),
        "version": integer(job.version)?,
        "turn": integer(job.turn)?,
        "attempts": i64::from(job.attempts),
        "lost": i64::from(job.lost),
        "reservedPlan": integer(job.reserved.plan)?,
        "reservedTopUp": integer(job.reserved.top_up)?,
        "createdAt": time(job.created_at),
    };
    put(&mut document, "dueAt", job.due_at.map(time));
    put(&mut document, "leaseOwner", job.lease.map(|lease| binary(lease.owner.as_bytes())));
    put(&mut document, "leaseUntil", job.lease.map(|lease| time(lease.until)));
    put(&mut document, "batch", job.batch.as_deref());
    put(&mut document, "clientId", job.client_id.as_deref());
    put(&mut document, "subject", job.subject.map(|subject| binary(&subject.to_bytes())));
    put(&mut document, "startedAt", job.started_at.map(time));
    put(&mut document, "body", object_text(&job.body));
    put(&mut document, "result", job.result.as_ref().map(|result| Bson::from(result.as_str())));
    Ok(document)
}

pub(crate) fn read_job(document: &RawDocument) -> Result<Job> {
    records::job(&mut Fields(document))
}

#[async_trait]
impl QueueStore for MongoStorage {
    async fn job(&self, scope: Option<&AgentId>, id: JobId) -> Result<Option<Job>, StorageError> {
        Ok(self.handle.read(read::one(&self.handle, scope, id)).await?)
    }

    async fn jobs(&self, scope: Option<&AgentId>, query: &JobQuery) -> Result<JobPage, StorageError> {
        Ok(self.handle.list(read::page(&self.handle, scope, query)).await?)
    }

    async fn count_jobs(
        &self,
        scope: Option<&AgentId>,
        queue: Queue,
        batch: &str,
    ) -> Result<Vec<(JobState, u64)>, StorageError> {
        Ok(self.handle.list(read::counts(&self.handle, scope, queue, batch)).await?)
    }

    async fn queue_front(&self, queue: Queue, scope: Option<&AgentId>) -> Result<QueueFront, StorageError> {
        Ok(self.handle.read(read::front(&self.handle, queue, scope)).await?)
    }

    async fn queue_load(&self, queue: Queue) -> Result<QueueLoad, StorageError> {
        Ok(self.handle.list(read::load(&self.handle, queue)).await?)
    }

    async fn claim_jobs(&self, claim: &JobClaim) -> Result<Vec<ScopedJob>, StorageError> {
        Ok(lease::claim(&self.handle, claim).await?)
    }

    async fn renew_jobs(
        &self,
        owner: PlatformId,
        jobs: &[(Option<AgentId>, JobId)],
        until: Timestamp,
    ) -> Result<Vec<bool>, StorageError> {
        Ok(self.handle.list(lease::renew(&self.handle, owner, jobs, until)).await?)
    }

    async fn wake_jobs(&self, queue: Queue, now: Timestamp, at_most: u32) -> Result<Woken, StorageError> {
        Ok(self.handle.list(lease::wake(&self.handle, queue, now, at_most)).await?)
    }

    async fn save_jobs(&self, scope: Option<&AgentId>, write: &JobsWrite) -> Result<(), StorageError> {
        match scope {
            Some(agent) => in_transaction!(self.writer.write(agent), write::save_of(agent, write)),
            None => {
                let work: Work<JobsWrite, ()> = |tx, write| Box::pin(write::save(tx, None, write));
                Ok(self.handle.transact(write, work).await?)
            }
        }
    }
}
