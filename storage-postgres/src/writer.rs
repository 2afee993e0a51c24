//! The writer: one task, one transaction for all writes of contacts that wait (group commit).
//!
//! While a commit waits for the disk, further writes queue up; the next transaction takes them all. Each write learns
//! its own outcome, and only after the commit that made it durable. A transaction that fails for a reason that may be
//! one write's own is done again write by write, so that nobody pays for a neighbour. An agent that another transaction
//! holds, as a change of its schema may for long, is skipped: its writes go to a task that waits for it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use openapi_core::storage::{ContactWrite, StorageError, StorageErrorKind};
use openapi_core::values::AgentId;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use crate::connect::Db;
use crate::contacts::batch::{self, Held, Pending, Verdict};
use crate::error::{Fault, Result};

type Outcome = Result<(), StorageError>;

/// A write and whoever waits for it.
struct Job {
    pending: Pending,
    /// When it was queued.
    since: Instant,
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
        let work = Work {
            db: db.clone(),
            jobs,
            waiting: VecDeque::new(),
            lanes: Lanes::default(),
            tasks: JoinSet::new(),
            batch: db.config().write_batch.max(1),
        };
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
            queue.try_send(Job { pending, since: Instant::now(), reply }).map_err(|error| match error {
                mpsc::error::TrySendError::Full(_) => {
                    unavailable(format!("{} writes are waiting already", self.most))
                }
                mpsc::error::TrySendError::Closed(_) => unavailable("the store is closed".to_owned()),
            })?;
        }
        match outcome.await {
            Ok(outcome) => outcome,
            // A store that is closed answers everything that it accepted.
            Err(_) => Err(StorageError::new(StorageErrorKind::Internal, "a write ended without an outcome")),
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

/// The agents that another transaction holds, each with the writes that wait for it. Each has a task of its own, so that
/// nobody else waits, and no more than one.
type Lanes = Arc<Mutex<HashMap<AgentId, VecDeque<Job>>>>;

/// What the task does.
struct Work {
    db: Db,
    jobs: mpsc::Receiver<Job>,
    /// Those that the last batch left for the next.
    waiting: VecDeque<Job>,
    lanes: Lanes,
    tasks: JoinSet<()>,
    batch: usize,
}

fn locked(lanes: &Lanes) -> MutexGuard<'_, HashMap<AgentId, VecDeque<Job>>> {
    lanes.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Work {
    async fn until_closed(mut self) {
        loop {
            let mut batch: Vec<Job> = Vec::new();
            batch.extend(self.waiting.drain(..self.waiting.len().min(self.batch)));
            if batch.is_empty() && self.jobs.recv_many(&mut batch, self.batch).await == 0 {
                break;
            }
            while batch.len() < self.batch
                && let Ok(job) = self.jobs.try_recv()
            {
                batch.push(job);
            }
            let batch = self.without_held(batch);
            if !batch.is_empty() {
                let left = shielded(&self.db, batch, Held::Skip).await;
                self.waiting.extend(left.waiting);
                self.start_lanes(left.held);
            }
            while self.tasks.try_join_next().is_some() {}
        }
        while self.tasks.join_next().await.is_some() {}
    }

    /// Gives writes of agents that are held to the tasks that wait for these.
    fn without_held(&self, batch: Vec<Job>) -> Vec<Job> {
        let mut lanes = locked(&self.lanes);
        let mut others = Vec::with_capacity(batch.len());
        for job in batch {
            match lanes.get_mut(&job.pending.agent) {
                Some(lane) => lane.push_back(job),
                None => others.push(job),
            }
        }
        others
    }

    fn start_lanes(&mut self, held: Vec<Job>) {
        let mut lanes = locked(&self.lanes);
        for job in held {
            let agent = job.pending.agent.clone();
            if !lanes.contains_key(&agent) {
                self.tasks.spawn(lane(self.db.clone(), Arc::clone(&self.lanes), agent.clone(), self.batch));
            }
            lanes.entry(agent).or_default().push_back(job);
        }
    }
}

/// Does the writes of an agent that another transaction holds, until there are none.
async fn lane(db: Db, lanes: Lanes, agent: AgentId, most: usize) {
    loop {
        let batch: Vec<Job> = {
            let mut lanes = locked(&lanes);
            let Some(queue) = lanes.get_mut(&agent).filter(|queue| !queue.is_empty()) else {
                lanes.remove(&agent);
                return;
            };
            let count = queue.len().min(most);
            queue.drain(..count).collect()
        };
        let left = shielded(&db, batch, Held::Await).await;
        if let Some(queue) = locked(&lanes).get_mut(&agent) {
            left.waiting.into_iter().rev().for_each(|job| queue.push_front(job));
        }
    }
}

/// The writes that a batch leaves for later.
#[derive(Default)]
struct Left {
    waiting: Vec<Job>,
    held: Vec<Job>,
}

impl Left {
    /// Answers a write, or keeps it.
    fn settle(&mut self, job: Job, verdict: Verdict) {
        let outcome = match verdict {
            Verdict::Stored => Ok(()),
            Verdict::Refused(kind) => Err(kind.into()),
            Verdict::Waits => return self.waiting.push(job),
            Verdict::Held => return self.held.push(job),
        };
        // Nobody listens when the future was dropped; the write stands either way.
        drop(job.reply.send(outcome));
    }
}

/// Does writes as [`commit`], in a task of its own, so that a panic ends neither the caller's nor the writes behind
/// these; whoever waits for one of them learns of it because its sender is dropped.
async fn shielded(db: &Db, batch: Vec<Job>, held: Held) -> Left {
    let (shared, writes) = (db.clone(), batch.len());
    let done = db.handle().spawn(async move { commit(&shared, batch, held).await }).await;
    done.unwrap_or_else(|error| {
        tracing::error!(%error, writes, "the task of a transaction ended; no write of it is acknowledged");
        Left::default()
    })
}

/// Does writes in one transaction and answers each but those that are left. One that has waited for its turn as long as
/// a statement may take is not begun: behind a database that hangs, each would otherwise wait for all before it.
async fn commit(db: &Db, jobs: Vec<Job>, held: Held) -> Left {
    let (mut batch, mut replies) = (Vec::with_capacity(jobs.len()), Vec::with_capacity(jobs.len()));
    for Job { pending, since, reply } in jobs {
        if reply.is_closed() {
            // Nobody waits for it any more, and nothing of it was begun.
        } else if since.elapsed() >= db.patience() {
            let late =
                StorageError::new(StorageErrorKind::Unavailable, "a write waited too long for its turn");
            drop(reply.send(Err(late)));
        } else {
            batch.push(pending);
            replies.push((since, reply));
        }
    }
    let mut left = Left::default();
    if batch.is_empty() {
        return left;
    }
    match store(db, &batch, held).await {
        Ok(verdicts) => {
            for ((pending, (since, reply)), verdict) in batch.into_iter().zip(replies).zip(verdicts) {
                left.settle(Job { pending, since, reply }, verdict);
            }
        }
        Err(fault) if batch.len() > 1 && may_be_one_writes_own(&fault) => {
            tracing::warn!(?fault, "a transaction of several writes failed; they are done one by one");
            for (pending, (since, reply)) in batch.into_iter().zip(replies) {
                match store(db, std::slice::from_ref(&pending), held).await {
                    Ok(verdicts) => {
                        let verdict = verdicts.into_iter().next().unwrap_or(Verdict::Waits);
                        left.settle(Job { pending, since, reply }, verdict);
                    }
                    Err(fault) => drop(reply.send(Err(fault.into()))),
                }
            }
        }
        Err(fault) => {
            let StorageError { kind, source } = StorageError::from(fault);
            let source = source.map_or_else(|| kind.to_string(), |source| source.to_string());
            tracing::warn!(
                error = source,
                writes = replies.len(),
                "a transaction failed; no write of it is acknowledged"
            );
            for (_, reply) in replies {
                // Nobody listens when the future was dropped.
                drop(reply.send(Err(StorageError::new(kind.clone(), source.clone()))));
            }
        }
    }
    left
}

async fn store(db: &Db, batch: &[Pending], held: Held) -> Result<Vec<Verdict>> {
    #[cfg(test)]
    crate::tests::writing::planted_panic(batch);
    let deadline = db.config().statement_timeout + db.config().lock_timeout + Duration::from_secs(1);
    db.transaction(
        &(batch, held),
        |connection, (batch, held)| Box::pin(batch::store(connection, batch, *held)),
        deadline,
    )
    .await
}

/// Whether a transaction may succeed without one of its writes: neither the connection nor the server was at fault, and
/// nothing was waited for in vain.
fn may_be_one_writes_own(fault: &Fault) -> bool {
    StorageErrorKind::Internal == fault.kind()
}
