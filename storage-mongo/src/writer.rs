//! The writer: the writes of a tenant run one after another, and those of contacts that wait share a transaction.
//!
//! Each tenant with waiting writes has a queue and a task; different tenants run concurrently. Every transaction of a tenant
//! changes the tenant's state, so two at once would only conflict. In sequence they need no retries, and while one commits,
//! further writes queue up that share the next transaction. An accepted write completes even if its caller is gone, unless
//! it has not begun.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use openapi_core::storage::{ContactWrite, StorageError};
use openapi_core::values::AgentId;
use parking_lot::Mutex;
use storage_common::group_commit::{self, Outcome, Queued};

use crate::connect::Handle;
use crate::transaction::Work;

/// The interval at which `close` checks for waiting writes.
const CLOSE_INTERVAL: Duration = Duration::from_millis(5);

/// By how much a write may exceed its timeout, so that the transaction's own error comes first.
const GRACE: Duration = Duration::from_millis(250);

/// A creation or change of a contact.
pub(crate) struct ContactChange {
    pub(crate) write: ContactWrite,
    /// The version that the caller has read; `None` creates.
    pub(crate) expected_version: Option<u64>,
}

/// A creation or change of a contact in the queue.
pub(crate) type ContactJob = Queued<ContactChange, ()>;

/// Stores creations and changes of a tenant's contacts and finishes each.
pub(crate) type StoreContacts =
    for<'a> fn(&'a Handle, &'a AgentId, Vec<ContactJob>) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// A write in the queue.
enum Job {
    /// A creation or change of a contact, which may share a transaction with others.
    Contact(Box<ContactJob>),
    /// Any other write.
    Exclusive(Box<dyn Exclusive>),
}

impl Job {
    fn is_abandoned(&self) -> bool {
        match self {
            Job::Contact(job) => job.is_abandoned(),
            Job::Exclusive(job) => job.is_abandoned(),
        }
    }
}

/// A write with a transaction of its own.
#[async_trait]
trait Exclusive: Send {
    /// Whether the caller has dropped its future.
    fn is_abandoned(&self) -> bool;
    /// Runs the transaction and sends its outcome.
    async fn run(self: Box<Self>, handle: &Handle);
}

struct Task<I, T> {
    job: Queued<I, T>,
    work: Work<I, T>,
    is_long: bool,
}

#[async_trait]
impl<I: Send + Sync, T: Send> Exclusive for Task<I, T> {
    fn is_abandoned(&self) -> bool {
        self.job.is_abandoned()
    }

    async fn run(self: Box<Self>, handle: &Handle) {
        let Task { job, work, is_long } = *self;
        let outcome = if is_long {
            handle.transact_long(&job.write, work).await
        } else {
            handle.transact(&job.write, work).await
        };
        job.finish(outcome.map_err(StorageError::from));
    }
}

struct Shared {
    handle: Handle,
    store_contacts: StoreContacts,
    /// The waiting writes of each tenant that has a running task.
    queues: Mutex<HashMap<AgentId, VecDeque<Job>>>,
    waiting: AtomicUsize,
    closed: AtomicBool,
}

impl Shared {
    /// The next batch of a tenant. Without waiting writes it returns `None` and removes the queue; the task then ends.
    fn next(&self, agent: &AgentId) -> Option<Vec<Job>> {
        let mut queues = self.queues.lock();
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

    async fn run_queue(self: Arc<Self>, agent: AgentId) {
        while let Some(mut batch) = self.next(&agent) {
            let taken = batch.len();
            batch.retain(|job| !job.is_abandoned());
            // A task of its own, so that a panic ends neither this one nor later writes. The callers of the batch learn of
            // it because their senders are dropped.
            let (shared, agent) = (Arc::clone(&self), agent.clone());
            let done = tokio::spawn(async move { shared.run(&agent, batch).await }).await;
            if let Err(error) = done {
                tracing::error!(%error, writes = taken, "transaction task failed; its writes are not acknowledged");
            }
            self.waiting.fetch_sub(taken, Ordering::AcqRel);
        }
    }

    async fn run(&self, agent: &AgentId, batch: Vec<Job>) {
        let mut contacts = Vec::new();
        for job in batch {
            match job {
                Job::Contact(job) => contacts.push(*job),
                Job::Exclusive(job) => job.run(&self.handle).await,
            }
        }
        if !contacts.is_empty() {
            (self.store_contacts)(&self.handle, agent, contacts).await;
        }
    }
}

/// The handle of the writer's tasks.
pub(crate) struct Writer {
    shared: Arc<Shared>,
}

impl Writer {
    pub(crate) fn new(handle: Handle, store_contacts: StoreContacts) -> Self {
        Writer {
            shared: Arc::new(Shared {
                handle,
                store_contacts,
                queues: Mutex::default(),
                waiting: AtomicUsize::new(0),
                closed: AtomicBool::new(false),
            }),
        }
    }

    /// Queues a write of a tenant and waits for its commit.
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
        let (job, outcome) = Queued::new(input);
        self.queue(agent, Job::Exclusive(Box::new(Task { job, work, is_long: false })))?;
        self.in_time(outcome).await
    }

    /// The same for a write that may exceed the timeout of others.
    pub(crate) async fn write_long<I, T>(
        &self,
        agent: &AgentId,
        input: I,
        work: Work<I, T>,
    ) -> Result<T, StorageError>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
    {
        let (job, outcome) = Queued::new(input);
        self.queue(agent, Job::Exclusive(Box::new(Task { job, work, is_long: true })))?;
        group_commit::outcome(outcome).await
    }

    /// Queues a creation or change of a contact and waits for the commit that contains it.
    pub(crate) async fn write_contact(
        &self,
        agent: &AgentId,
        expected_version: Option<u64>,
        write: &ContactWrite,
    ) -> Result<(), StorageError> {
        let (job, outcome) = Queued::new(ContactChange { write: write.clone(), expected_version });
        self.queue(agent, Job::Contact(Box::new(job)))?;
        self.in_time(outcome).await
    }

    /// The outcome of a write, unless the write exceeds its timeout in the queue. A write that has not begun by then is
    /// left out, because its caller is gone.
    async fn in_time<T>(&self, outcome: Outcome<T>) -> Result<T, StorageError> {
        let timeout = self.shared.handle.operation_timeout + GRACE;
        tokio::time::timeout(timeout, group_commit::outcome(outcome))
            .await
            .unwrap_or_else(|_| Err(group_commit::timed_out()))
    }

    fn queue(&self, agent: &AgentId, job: Job) -> Result<(), StorageError> {
        let shared = &self.shared;
        if shared.closed.load(Ordering::Acquire) {
            return Err(group_commit::closed());
        }
        let max_waiting = shared.handle.write_queue;
        if shared.waiting.fetch_add(1, Ordering::AcqRel) >= max_waiting {
            shared.waiting.fetch_sub(1, Ordering::AcqRel);
            return Err(group_commit::queue_full(max_waiting));
        }
        let mut queues = shared.queues.lock();
        if let Some(queue) = queues.get_mut(agent) {
            queue.push_back(job);
        } else {
            queues.insert(agent.clone(), VecDeque::from([job]));
            tokio::spawn(Arc::clone(shared).run_queue(agent.clone()));
        }
        Ok(())
    }

    /// Refuses further writes and waits until the accepted ones are complete.
    pub(crate) async fn close(&self) {
        self.shared.closed.store(true, Ordering::Release);
        while self.shared.waiting.load(Ordering::Acquire) > 0 {
            tokio::time::sleep(CLOSE_INTERVAL).await;
        }
    }
}
