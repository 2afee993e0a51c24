//! The writer: one task, one transaction for all writes of contacts that wait (group commit).
//!
//! While a commit waits for the disk, further writes queue up; the next transaction takes them all. Each write learns
//! its own outcome, and only after the commit that made it durable. A transaction that fails for a reason that may be
//! one write's own is done again write by write, so that nobody pays for a neighbour.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use openapi_core::storage::{ContactWrite, StorageError, StorageErrorKind};
use openapi_core::values::AgentId;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::connect::Db;
use crate::contacts::batch::{self, Pending, Verdict};
use crate::error::{Fault, Result};

type Outcome = Result<(), StorageError>;

/// A write and whoever waits for it.
struct Job {
    pending: Pending,
    reply: oneshot::Sender<Outcome>,
}

/// The handle that writes are given to.
pub(crate) struct Writer {
    queue: Mutex<Option<mpsc::Sender<Job>>>,
    task: Mutex<Option<JoinHandle<()>>>,
    most: usize,
}

impl Writer {
    /// Starts the task, on the runtime of the store. It ends when the store is closed or dropped, behind the last write.
    pub(crate) fn start(db: &Db) -> Self {
        let most = db.config().write_queue.max(1);
        let (queue, jobs) = mpsc::channel(most);
        let work =
            Work { db: db.clone(), jobs, waiting: VecDeque::new(), batch: db.config().write_batch.max(1) };
        let task = db.handle().spawn(work.until_closed());
        Writer { queue: Mutex::new(Some(queue)), task: Mutex::new(Some(task)), most }
    }

    /// Queues a write and waits for the commit that holds it.
    pub(crate) async fn write(
        &self,
        agent: &AgentId,
        expected_version: Option<u64>,
        write: &ContactWrite,
    ) -> Outcome {
        let unavailable = |why: String| StorageError::new(StorageErrorKind::Unavailable, why);
        let pending = Pending { agent: agent.clone(), expected_version, write: write.clone() };
        let (reply, outcome) = oneshot::channel();
        {
            let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            let queue = queue.as_ref().ok_or_else(|| unavailable("the store is closed".to_owned()))?;
            queue.try_send(Job { pending, reply }).map_err(|error| match error {
                mpsc::error::TrySendError::Full(_) => {
                    unavailable(format!("{} writes are waiting already", self.most))
                }
                mpsc::error::TrySendError::Closed(_) => unavailable("the store is closed".to_owned()),
            })?;
        }
        match outcome.await {
            Ok(outcome) => outcome,
            Err(_) => Err(unavailable("the store is being closed".to_owned())),
        }
    }

    /// Waits until everything accepted is written; what is asked for later is refused.
    pub(crate) async fn close(&self) {
        drop(self.queue.lock().unwrap_or_else(PoisonError::into_inner).take());
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task
            && let Err(error) = task.await
        {
            tracing::error!(%error, "the writer ended early");
        }
    }
}

/// What the task does.
struct Work {
    db: Db,
    jobs: mpsc::Receiver<Job>,
    /// Those that the last batch left for the next.
    waiting: VecDeque<Job>,
    batch: usize,
}

impl Work {
    async fn until_closed(mut self) {
        loop {
            let mut batch: Vec<Job> = Vec::new();
            batch.extend(self.waiting.drain(..self.waiting.len().min(self.batch)));
            if batch.is_empty() && self.jobs.recv_many(&mut batch, self.batch).await == 0 {
                return;
            }
            while batch.len() < self.batch
                && let Ok(job) = self.jobs.try_recv()
            {
                batch.push(job);
            }
            // Nobody waits for these any more, and nothing of them was begun.
            batch.retain(|job| !job.reply.is_closed());
            if !batch.is_empty() {
                self.commit(batch).await;
            }
        }
    }

    /// Does the writes in one transaction and answers each.
    async fn commit(&mut self, batch: Vec<Job>) {
        let (pending, replies): (Vec<Pending>, Vec<oneshot::Sender<Outcome>>) =
            batch.into_iter().map(|Job { pending, reply }| (pending, reply)).unzip();
        let done = store(&self.db, &pending).await;
        match done {
            Ok(verdicts) => {
                for ((pending, reply), verdict) in pending.into_iter().zip(replies).zip(verdicts) {
                    self.answer(Job { pending, reply }, verdict);
                }
            }
            Err(fault) if pending.len() > 1 && may_be_one_writes_own(&fault) => {
                tracing::debug!(?fault, "a transaction of several writes failed; they are done one by one");
                for (pending, reply) in pending.into_iter().zip(replies) {
                    match store(&self.db, std::slice::from_ref(&pending)).await {
                        Ok(verdicts) => {
                            let verdict = verdicts.into_iter().next().unwrap_or(Verdict::Waits);
                            self.answer(Job { pending, reply }, verdict);
                        }
                        Err(fault) => drop(reply.send(Err(fault.into()))),
                    }
                }
            }
            Err(fault) => {
                let error = StorageError::from(fault);
                tracing::warn!(
                    ?error,
                    writes = replies.len(),
                    "a transaction failed; none of its writes is acknowledged"
                );
                let text = error.source.map_or_else(|| error.kind.to_string(), |source| source.to_string());
                for reply in replies {
                    // Nobody listens when the future was dropped.
                    drop(reply.send(Err(StorageError::new(error.kind.clone(), text.clone()))));
                }
            }
        }
    }

    fn answer(&mut self, job: Job, verdict: Verdict) {
        let outcome = match verdict {
            Verdict::Stored => Ok(()),
            Verdict::Refused(kind) => Err(kind.into()),
            Verdict::Waits => return self.waiting.push_back(job),
        };
        // Nobody listens when the future was dropped; the write stands either way.
        drop(job.reply.send(outcome));
    }
}

async fn store(db: &Db, batch: &[Pending]) -> Result<Vec<Verdict>> {
    let deadline = db.config().statement_timeout + db.config().lock_timeout + Duration::from_secs(1);
    // A slice has no size, and the transaction's input must have one.
    db.transaction(&batch, |connection, batch| Box::pin(batch::store(connection, batch)), deadline).await
}

/// Whether a transaction may succeed without one of its writes: neither the connection nor the server was at fault.
fn may_be_one_writes_own(fault: &Fault) -> bool {
    match fault {
        Fault::Late(_) => false,
        Fault::Known(_) | Fault::Corrupt(_) => true,
        // A lock that was not had in time may be that of one agent.
        Fault::Sqlx(_) => !fault.ends_connection(),
    }
}
