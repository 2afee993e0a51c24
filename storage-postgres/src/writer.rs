//! The writer: one task commits the writes of contacts, all that wait in one transaction (group commit).
//!
//! While a commit waits for the disk, further writes queue up; the next transaction takes them all. Each write gets its
//! own outcome after the commit that made it durable. When a transaction fails because of one write, its writes run one
//! by one, so that only that write fails. A tenant that another transaction locks, for example a change of its schema, is
//! skipped: a task of its own waits for the lock.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use openapi_core::storage::{ContactWrite, StorageError};
use openapi_core::values::AgentId;
use parking_lot::Mutex;
use sqlx::PgConnection;
use storage_common::group_commit::{self, Queued, commit_together};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

use crate::connect::{Db, Work};
use crate::contacts::decide::{Decision, LockWait, Pending};
use crate::error::Result;

/// A write in the queue.
pub(crate) type Job = Queued<Pending, ()>;

/// Stores the writes of a batch in a transaction and decides on each.
pub(crate) type Store = for<'c> fn(&'c mut PgConnection, &'c (Vec<Job>, LockWait)) -> Work<'c, Vec<Decision>>;

/// The handle of the writer's task.
pub(crate) struct Writer {
    queue: Mutex<Option<mpsc::Sender<Job>>>,
    task: Mutex<Option<JoinHandle<()>>>,
    max_waiting: usize,
}

impl Writer {
    /// Starts the task on the runtime of the store. It ends after the last write when the store is closed or dropped.
    pub(crate) fn start(db: &Db, store: Store) -> Self {
        let max_waiting = db.config().write_queue.max(1);
        let (queue, jobs) = mpsc::channel(max_waiting);
        let task = WriterTask {
            batches: Batches { db: db.clone(), store, max_batch: db.config().write_batch.max(1) },
            jobs,
            deferred: VecDeque::new(),
            locked: LockedTenants::default(),
            tasks: JoinSet::new(),
        };
        let task = db.handle().spawn(task.run());
        Writer { queue: Mutex::new(Some(queue)), task: Mutex::new(Some(task)), max_waiting }
    }

    /// Queues a write and waits for the commit that contains it.
    pub(crate) async fn write(
        &self,
        agent: &AgentId,
        expected_version: Option<u64>,
        write: &ContactWrite,
    ) -> Result<(), StorageError> {
        let pending = Pending { agent: agent.clone(), expected_version, write: write.clone() };
        let (job, outcome) = Queued::new(pending);
        {
            let queue = self.queue.lock();
            let queue = queue.as_ref().ok_or_else(group_commit::closed)?;
            queue.try_send(job).map_err(|error| match error {
                mpsc::error::TrySendError::Full(_) => group_commit::queue_full(self.max_waiting),
                mpsc::error::TrySendError::Closed(_) => group_commit::closed(),
            })?;
        }
        group_commit::outcome(outcome).await
    }

    /// Refuses further writes and waits until the accepted ones are complete.
    pub(crate) async fn close(&self) {
        drop(self.queue.lock().take());
        let task = self.task.lock().take();
        if let Some(task) = task
            && let Err(error) = task.await
        {
            tracing::error!(%error, "writer task ended early");
        }
    }
}

/// The tenants that another transaction locks, each with its waiting writes. Each has one task.
type LockedTenants = Arc<Mutex<HashMap<AgentId, VecDeque<Job>>>>;

/// The state of the writer's task.
struct WriterTask {
    batches: Batches,
    jobs: mpsc::Receiver<Job>,
    /// Writes that the last batch deferred to the next one.
    deferred: VecDeque<Job>,
    locked: LockedTenants,
    tasks: JoinSet<()>,
}

impl WriterTask {
    async fn run(mut self) {
        let max = self.batches.max_batch;
        loop {
            let mut batch: Vec<Job> = Vec::new();
            batch.extend(self.deferred.drain(..self.deferred.len().min(max)));
            if batch.is_empty() && self.jobs.recv_many(&mut batch, max).await == 0 {
                break;
            }
            while batch.len() < max
                && let Ok(job) = self.jobs.try_recv()
            {
                batch.push(job);
            }
            let batch = self.without_locked(batch);
            if !batch.is_empty() {
                let left = self.batches.clone().commit(batch, LockWait::Skip).await;
                self.deferred.extend(left.deferred);
                self.wait_for(left.locked);
            }
            while self.tasks.try_join_next().is_some() {}
        }
        while self.tasks.join_next().await.is_some() {}
    }

    /// Moves writes of locked tenants to their queues and returns the others.
    fn without_locked(&self, batch: Vec<Job>) -> Vec<Job> {
        let mut locked = self.locked.lock();
        let mut others = Vec::with_capacity(batch.len());
        for job in batch {
            match locked.get_mut(&job.write.agent) {
                Some(queue) => queue.push_back(job),
                None => others.push(job),
            }
        }
        others
    }

    /// Starts a task for each tenant that was found locked.
    fn wait_for(&mut self, jobs: Vec<Job>) {
        let mut locked = self.locked.lock();
        for job in jobs {
            let agent = job.write.agent.clone();
            if !locked.contains_key(&agent) {
                self.tasks.spawn(write_locked(self.batches.clone(), Arc::clone(&self.locked), agent.clone()));
            }
            locked.entry(agent).or_default().push_back(job);
        }
    }
}

/// Commits the writes of a locked tenant until none are left.
async fn write_locked(batches: Batches, locked: LockedTenants, agent: AgentId) {
    loop {
        let batch: Vec<Job> = {
            let mut locked = locked.lock();
            let Some(queue) = locked.get_mut(&agent).filter(|queue| !queue.is_empty()) else {
                locked.remove(&agent);
                return;
            };
            let count = queue.len().min(batches.max_batch);
            queue.drain(..count).collect()
        };
        let left = batches.clone().commit(batch, LockWait::Wait).await;
        if let Some(queue) = locked.lock().get_mut(&agent) {
            left.deferred.into_iter().rev().for_each(|job| queue.push_front(job));
        }
    }
}

/// The writes that a batch leaves for later.
#[derive(Default)]
struct Left {
    deferred: Vec<Job>,
    locked: Vec<Job>,
}

/// Commits batches.
#[derive(Clone)]
struct Batches {
    db: Db,
    store: Store,
    max_batch: usize,
}

impl Batches {
    /// Commits writes in a task of its own, so that a panic ends neither the caller nor later writes. The callers of the
    /// batch learn of the panic because their senders are dropped.
    async fn commit(self, batch: Vec<Job>, wait: LockWait) -> Left {
        let writes = batch.len();
        let handle = self.db.handle().clone();
        handle.spawn(self.commit_here(batch, wait)).await.unwrap_or_else(|error| {
            tracing::error!(%error, writes, "transaction task failed; its writes are not acknowledged");
            Left::default()
        })
    }

    /// Commits writes in one transaction and finishes those that are not left for later. A write that has waited longer
    /// than a statement may take does not begin: otherwise each write would wait for a hanging database in turn.
    async fn commit_here(self, jobs: Vec<Job>, wait: LockWait) -> Left {
        let mut batch = Vec::with_capacity(jobs.len());
        for job in jobs {
            if job.is_abandoned() {
                // Its caller is gone, and it has not begun.
            } else if job.age() >= self.db.step_timeout() {
                job.finish(Err(group_commit::timed_out()));
            } else {
                batch.push(job);
            }
        }
        let mut left = Left::default();
        if batch.is_empty() {
            return left;
        }
        let commit = |jobs: Vec<Job>| async {
            let batch = (jobs, wait);
            let decisions = self.store(&batch).await;
            (batch.0, decisions)
        };
        for (job, decision) in commit_together(batch, commit).await {
            match decision {
                Ok(Decision::Stored) => job.finish(Ok(())),
                Ok(Decision::Refused(kind)) => job.finish(Err(kind.into())),
                Ok(Decision::Deferred) => left.deferred.push(job),
                Ok(Decision::Locked) => left.locked.push(job),
                Err(error) => job.finish(Err(error)),
            }
        }
        left
    }

    async fn store(&self, batch: &(Vec<Job>, LockWait)) -> Result<Vec<Decision>> {
        #[cfg(test)]
        crate::tests::writing::planted_panic(batch.0.iter().map(|job| &job.write));
        let config = self.db.config();
        let timeout = config.statement_timeout + config.lock_timeout + Duration::from_secs(1);
        self.db.transaction(batch, self.store, timeout).await
    }
}
