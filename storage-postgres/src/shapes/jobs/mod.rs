//! Jobs of queues.
//!
//! A write locks its scope and then its jobs; claims, renewals and wake-ups lock jobs alone. Claims and wake-ups skip locked
//! jobs, and the others lock jobs in the order of their keys, so nothing waits in a circle.

pub(crate) mod lease;
pub(crate) mod read;
mod write;

use std::collections::HashSet;

use async_trait::async_trait;
use openapi_core::storage::{
    Job, JobClaim, JobPage, JobQuery, JobState, JobsWrite, Queue, QueueFront, QueueLoad, QueueStore,
    ScopedJob, StorageError, Woken,
};
use openapi_core::values::{AgentId, JobId, PlatformId, Timestamp};
use storage_common::{in_transaction, records};

pub(crate) use write::{erase_of, insert};
#[cfg(test)]
pub(crate) use write::{erasure, unfinished};

use super::scope;
use crate::error::{Result, corrupt};
use crate::rows::{RowReader, page};
use crate::store::PostgresStorage;

/// The number of a queue or a state.
fn number(number: u16) -> Result<i16> {
    i16::try_from(number).map_err(corrupt)
}

/// Reads a row of the scope and the columns of a job.
fn scoped(r: &mut RowReader<'_>) -> Result<ScopedJob> {
    Ok(ScopedJob { scope: scope::read(r)?, job: records::job(r)? })
}

#[async_trait]
impl QueueStore for PostgresStorage {
    async fn job(&self, scope: Option<&AgentId>, id: JobId) -> Result<Option<Job>, StorageError> {
        self.db.read_one(read::one(scope, id)?, |r| records::job(r)).await
    }

    async fn jobs(&self, scope: Option<&AgentId>, query: &JobQuery) -> Result<JobPage, StorageError> {
        let rows = self.db.read(read::page(scope, query)?).await?;
        let (jobs, total) = page(&rows, |r| records::listed_job(r))?;
        Ok(JobPage { jobs, total })
    }

    async fn count_jobs(
        &self,
        scope: Option<&AgentId>,
        queue: Queue,
        batch: &str,
    ) -> Result<Vec<(JobState, u64)>, StorageError> {
        self.db.read_all(read::counts(scope, queue, batch)?, read::count_of_state).await
    }

    async fn queue_front(&self, queue: Queue, scope: Option<&AgentId>) -> Result<QueueFront, StorageError> {
        let front = self.db.read_one(read::front(queue, scope)?, |r| {
            Ok(QueueFront { head: r.optional_count()?, last: r.optional_count()? })
        });
        Ok(front.await?.unwrap_or_default())
    }

    async fn queue_load(&self, queue: Queue) -> Result<QueueLoad, StorageError> {
        let load = self.db.read_one(read::load(queue)?, |r| {
            Ok(QueueLoad {
                ready: r.count()?,
                oldest: r.optional_time()?,
                scheduled: r.count()?,
                running: r.count()?,
            })
        });
        Ok(load.await?.unwrap_or_default())
    }

    async fn claim_jobs(&self, claim: &JobClaim) -> Result<Vec<ScopedJob>, StorageError> {
        in_transaction!(self.db.write(), lease::take(*claim))
    }

    async fn renew_jobs(
        &self,
        owner: PlatformId,
        jobs: &[(Option<AgentId>, JobId)],
        until: Timestamp,
    ) -> Result<Vec<bool>, StorageError> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        let renewed: HashSet<(Option<AgentId>, JobId)> =
            in_transaction!(self.db.write(), lease::renew(*owner, jobs, *until))?;
        Ok(jobs.iter().map(|job| renewed.contains(job)).collect())
    }

    async fn wake_jobs(&self, queue: Queue, now: Timestamp, at_most: u32) -> Result<Woken, StorageError> {
        // Usually nothing is due.
        let due = self.db.read_one(read::due(queue, now)?, |r| Ok([r.bool()?, r.bool()?, r.bool()?])).await?;
        let mut woken = match due.filter(|due| due.contains(&true)) {
            Some(due) => in_transaction!(self.db.write(), lease::wake(*queue, *now, *at_most, *due))?,
            None => Woken::default(),
        };
        woken.erased = self.db.read_all(read::erased(queue, at_most)?, scoped).await?;
        Ok(woken)
    }

    async fn save_jobs(&self, scope: Option<&AgentId>, write: &JobsWrite) -> Result<(), StorageError> {
        let input = (scope.cloned(), write.clone());
        self.db.write(input, |db, (scope, write)| Box::pin(write::save(db, scope.as_ref(), write))).await
    }
}
