//! The writer: the writes of an agent one after another, and those that wait together in one transaction.
//!
//! Each agent with writes that wait has a queue and a task that works it off; those of different agents go on at the
//! same time. Since every transaction of an agent changes its ledger, two at once would only be in each other's way:
//! in turn they need no retries, and while one commits, further writes queue up that the next transaction can take
//! together. What is accepted is done even when nobody waits for it any more, unless it has not begun.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use openapi_core::storage::{StorageError, StorageErrorKind};
use openapi_core::values::AgentId;
use tokio::sync::oneshot;

use crate::connect::Handle;
use crate::contacts::ContactJob;
use crate::error::{Fault, Result};
use crate::transaction::Work;

/// How often the end of the waiting writes is looked for on closing.
const CLOSING_STEP: Duration = Duration::from_millis(5);

/// What a write is given beyond its deadline, so that what the transaction itself has to say comes first.
const GRACE: Duration = Duration::from_millis(250);

/// One write that waits.
enum Job {
    /// A creation or change of a contact, which can share a transaction with others.
    Contact(Box<ContactJob>),
    /// Any other write.
    Alone(Box<dyn Alone>),
}

impl Job {
    fn is_abandoned(&self) -> bool {
        match self {
            Job::Contact(job) => job.is_abandoned(),
            Job::Alone(job) => job.is_abandoned(),
        }
    }
}

/// A write with a transaction of its own.
#[async_trait]
trait Alone: Send {
    /// Whether nobody waits for the outcome any more.
    fn is_abandoned(&self) -> bool;
    /// Does it and tells the outcome.
    async fn run(self: Box<Self>, handle: &Handle);
}

struct Task<I, T> {
    input: I,
    work: Work<I, T>,
    is_long: bool,
    reply: oneshot::Sender<Result<T>>,
}

#[async_trait]
impl<I: Send + Sync, T: Send> Alone for Task<I, T> {
    fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }

    async fn run(self: Box<Self>, handle: &Handle) {
        let outcome = if self.is_long {
            handle.transact_at_length(&self.input, self.work).await
        } else {
            handle.transact(&self.input, self.work).await
        };
        // Nobody listens when the future was dropped; the write stands either way.
        let _ = self.reply.send(outcome);
    }
}

struct Shared {
    handle: Handle,
    /// The writes that wait, of each agent that has a task at work.
    queues: Mutex<HashMap<AgentId, VecDeque<Job>>>,
    waiting: AtomicUsize,
    closed: AtomicBool,
}

impl Shared {
    fn queues(&self) -> MutexGuard<'_, HashMap<AgentId, VecDeque<Job>>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the task of an agent does next; none when nothing waits, and then the agent has no task any more.
    fn next(&self, agent: &AgentId) -> Option<Vec<Job>> {
        let mut queues = self.queues();
        let queue = queues.get_mut(agent)?;
        let mut batch = Vec::new();
        while batch.len() < self.handle.write_batch {
            let shares = batch.is_empty()
                || matches!((batch.first(), queue.front()), (Some(Job::Contact(_)), Some(Job::Contact(_))));
            match queue.pop_front_if(|_| shares) {
                Some(job) => batch.push(job),
                None => break,
            }
        }
        if batch.is_empty() {
            queues.remove(agent);
            return None;
        }
        Some(batch)
    }

    async fn work_off(self: Arc<Self>, agent: AgentId) {
        while let Some(mut batch) = self.next(&agent) {
            let taken = batch.len();
            batch.retain(|job| !job.is_abandoned());
            // In a task of its own, so that a panic ends neither this one nor the writes behind it; those of the batch
            // learn of it because their senders are dropped.
            let (shared, agent) = (Arc::clone(&self), agent.clone());
            let done = tokio::spawn(async move { shared.run(&agent, batch).await }).await;
            if let Err(error) = done
                && error.is_panic()
            {
                let panic = panic_text(&*error.into_panic()).to_owned();
                tracing::error!(panic, "a write panicked");
            }
            self.waiting.fetch_sub(taken, Ordering::AcqRel);
        }
    }

    async fn run(&self, agent: &AgentId, batch: Vec<Job>) {
        let mut contacts = Vec::new();
        for job in batch {
            match job {
                Job::Contact(job) => contacts.push(*job),
                Job::Alone(job) => job.run(&self.handle).await,
            }
        }
        if !contacts.is_empty() {
            crate::contacts::store(&self.handle, agent, contacts).await;
        }
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

/// The handle that writes are given to.
pub(crate) struct Writer {
    shared: Arc<Shared>,
}

impl Writer {
    pub(crate) fn new(handle: Handle) -> Self {
        Writer {
            shared: Arc::new(Shared {
                handle,
                queues: Mutex::default(),
                waiting: AtomicUsize::new(0),
                closed: AtomicBool::new(false),
            }),
        }
    }

    /// Queues a write of an agent and waits for the commit that holds it.
    pub(crate) async fn write<I, T>(
        &self,
        agent: &AgentId,
        input: I,
        work: Work<I, T>,
    ) -> Result<T, StorageError>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
    {
        let (reply, outcome) = oneshot::channel();
        self.queue(agent, Job::Alone(Box::new(Task { input, work, is_long: false, reply })))?;
        self.in_time(outcome).await
    }

    /// The same for a write that may need longer than the deadline of others.
    pub(crate) async fn write_at_length<I, T>(
        &self,
        agent: &AgentId,
        input: I,
        work: Work<I, T>,
    ) -> Result<T, StorageError>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
    {
        let (reply, outcome) = oneshot::channel();
        self.queue(agent, Job::Alone(Box::new(Task { input, work, is_long: true, reply })))?;
        answer(outcome).await
    }

    /// Queues a creation or change of a contact and waits for the commit that holds it.
    pub(crate) async fn write_contact(
        &self,
        agent: &AgentId,
        job: impl FnOnce(oneshot::Sender<Result<()>>) -> ContactJob,
    ) -> Result<(), StorageError> {
        let (reply, outcome) = oneshot::channel();
        self.queue(agent, Job::Contact(Box::new(job(reply))))?;
        self.in_time(outcome).await
    }

    /// The outcome of a write, unless it has to wait for longer than its deadline. What has not begun by then is left
    /// out, since nobody waits for it any more.
    async fn in_time<T>(&self, outcome: oneshot::Receiver<Result<T>>) -> Result<T, StorageError> {
        let deadline = self.shared.handle.operation_timeout + GRACE;
        tokio::time::timeout(deadline, answer(outcome)).await.unwrap_or_else(|_| {
            Err(StorageError::new(
                StorageErrorKind::Unavailable,
                "the write was not done in time; others of its agent were before it",
            ))
        })
    }

    fn queue(&self, agent: &AgentId, job: Job) -> Result<(), StorageError> {
        let shared = &self.shared;
        if shared.closed.load(Ordering::Acquire) {
            return Err(closing());
        }
        let most = shared.handle.write_queue;
        if shared.waiting.fetch_add(1, Ordering::AcqRel) >= most {
            shared.waiting.fetch_sub(1, Ordering::AcqRel);
            return Err(StorageError::new(
                StorageErrorKind::Unavailable,
                format!("{most} writes are waiting already"),
            ));
        }
        let mut queues = shared.queues();
        if let Some(queue) = queues.get_mut(agent) {
            queue.push_back(job);
        } else {
            queues.insert(agent.clone(), VecDeque::from([job]));
            tokio::spawn(Arc::clone(shared).work_off(agent.clone()));
        }
        Ok(())
    }

    /// Refuses further writes and waits until everything accepted is done.
    pub(crate) async fn close(&self) {
        self.shared.closed.store(true, Ordering::Release);
        while self.shared.waiting.load(Ordering::Acquire) > 0 {
            tokio::time::sleep(CLOSING_STEP).await;
        }
    }
}

fn closing() -> StorageError {
    StorageError::new(StorageErrorKind::Unavailable, "the store is being closed")
}

async fn answer<T>(outcome: oneshot::Receiver<Result<T>>) -> Result<T, StorageError> {
    match outcome.await {
        Ok(outcome) => outcome.map_err(StorageError::from),
        Err(_) => Err(Fault::Corrupt("a write ended without an outcome".to_owned()).into()),
    }
}
