//! The writer: one thread, one connection, one commit for all writes that wait (group commit).
//!
//! While a commit waits for the disk, further writes queue up; the next transaction takes them all. Each write completes
//! with its own outcome, after the commit that makes it durable.
//!
//! A write that fails before it changes anything does not affect the others. One that fails or panics after a change
//! rolls the transaction back, and the writes of the batch run again one by one. That is rare, and it saves a savepoint
//! for each write. A write is therefore a closure that can be called again.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use futures_channel::oneshot;
use openapi_core::storage::{ChangeNotifier, ErasureState, StorageError, StorageErrorKind};
use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;
use rusqlite::hooks::Wal;

use crate::appended;
use crate::config::SqliteConfig;
use crate::contacts::cache::{Cache, ChangedRows};
use crate::contacts::index;
use crate::erasures::{Erasures, Waiter};
use crate::error::{Error, OpenError, Result, corrupt, panic_text};

/// How long the writer waits for more writes before it updates the search index.
const IDLE: Duration = Duration::from_millis(200);

/// The contacts of one index update while no writes wait; it bounds how long a new write waits for the update.
const SETTLE_IDLE: u32 = 128;

/// The pending contacts from which on the writer updates the search index even while writes wait, so that searches,
/// which read pending contacts one by one, stay fast.
const PENDING_MOST: u32 = 2_048;

/// The contacts of one index update while writes wait: more than a batch of writes adds, and few enough not to delay
/// the next writes noticeably.
const SETTLE_BUSY: u32 = 256;

/// The writer's side of one write.
trait Job: Send {
    /// Whether the caller has dropped the future of the write.
    fn is_abandoned(&self) -> bool;
    /// Whether it may change which contacts exist without changing their rows.
    fn changes_existing_contacts(&self) -> bool;
    /// Whether it removes what must not stay readable in the log.
    fn erases(&self) -> bool;
    /// Runs inside a transaction and stores the outcome; returns whether it succeeded.
    fn run(&mut self, db: &Connection) -> bool;
    /// Sets a failure as the outcome.
    fn fail(&mut self, error: Error);
    /// Sends the outcome.
    fn answer(self: Box<Self>);
}

struct Task<T, F> {
    work: F,
    kind: Kind,
    outcome: Option<Result<T>>,
    reply: oneshot::Sender<Result<T>>,
}

/// The kind of a write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Usual,
    /// May wait a short time for other writes.
    Lingering,
    /// May delete or restore an agent, and with it all of its contacts.
    Agent,
    /// Removes what must not stay readable in the log.
    Erasure,
}

impl<T: Send, F: FnMut(&Connection) -> Result<T> + Send> Job for Task<T, F> {
    fn is_abandoned(&self) -> bool {
        self.reply.is_canceled()
    }

    fn changes_existing_contacts(&self) -> bool {
        self.kind == Kind::Agent
    }

    fn erases(&self) -> bool {
        self.kind == Kind::Erasure
    }

    fn run(&mut self, db: &Connection) -> bool {
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.work)(db)))
            .unwrap_or_else(|panic| Err(corrupt(format_args!("a write panicked: {}", panic_text(&*panic)))));
        let succeeded = outcome.is_ok();
        self.outcome = Some(outcome);
        succeeded
    }

    fn fail(&mut self, error: Error) {
        self.outcome = Some(Err(error));
    }

    fn answer(self: Box<Self>) {
        if let Some(outcome) = self.outcome {
            // The future may have been dropped; the write stands either way.
            let _ = self.reply.send(outcome);
        }
    }
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Box<dyn Job>>,
    /// Whether all queued writes are deferrable.
    deferrable: bool,
    /// Set when a read found contacts that are not in the search index.
    settle: bool,
    /// The callers that wait for the end of the erasures.
    waiters: Vec<Waiter>,
    closed: bool,
}

struct Shared {
    queue: Mutex<Queue>,
    more: Condvar,
    most: usize,
    /// The most writes that share a commit.
    batch: usize,
    /// Whether the last commit failed.
    failing: AtomicBool,
}

/// The handle to which callers pass writes.
pub(crate) struct Writer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread.
    pub(crate) fn start(
        mut db: Connection,
        cache: Arc<Cache>,
        notifier: Arc<ChangeNotifier>,
        config: &SqliteConfig,
    ) -> Result<Self, OpenError> {
        let (changed, log_pages) = (ChangedRows::default(), Arc::default());
        watch(&mut db, &changed, &log_pages).map_err(|error| OpenError::of(&config.path, error))?;
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            more: Condvar::new(),
            most: config.write_queue.max(1),
            batch: config.write_batch.max(1),
            failing: AtomicBool::new(false),
        });
        let mut work = Work {
            shared: Arc::clone(&shared),
            db,
            cache,
            notifier,
            changed,
            log_pages,
            config: config.clone(),
            pending: 0,
            needs_merge: true,
            settling: false,
            erasures: Erasures::at_start(config),
        };
        let thread = std::thread::Builder::new()
            .name("sqlite-writer".to_owned())
            .spawn(move || work.run_until_closed())
            .map_err(OpenError::Thread)?;
        Ok(Writer { shared, thread: Some(thread) })
    }

    /// Queues a write and waits for the commit that contains it. `work` may be called more than once, each time on the
    /// state after the rollback of the previous call.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T, StorageError> {
        self.queue(work, Kind::Usual).await
    }

    /// As [`Writer::write`], of a write that may wait for others a little while.
    pub(crate) async fn write_lingering<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T, StorageError> {
        self.queue(work, Kind::Lingering).await
    }

    /// As [`Writer::write`], of a write that may end an agent or revive it.
    pub(crate) async fn write_of_agent<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T, StorageError> {
        self.queue(work, Kind::Agent).await
    }

    /// As [`Writer::write`], of a write that removes what must not stay readable in the log.
    pub(crate) async fn write_erasure<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T, StorageError> {
        self.queue(work, Kind::Erasure).await
    }

    /// Waits until the log contains nothing that was erased before the call, at most a minute.
    pub(crate) async fn complete_erasures(&self) -> ErasureState {
        let (waiter, state) = Waiter::new();
        self.shared.queue.lock().waiters.push(waiter);
        self.shared.more.notify_one();
        state.await.unwrap_or(ErasureState::Pending)
    }

    async fn queue<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> Result<T> + Send + 'static,
        kind: Kind,
    ) -> Result<T, StorageError> {
        let deferrable = kind == Kind::Lingering;
        let (reply, outcome) = oneshot::channel();
        let wakes;
        {
            let mut queue = self.shared.queue.lock();
            if queue.jobs.len() >= self.shared.most {
                return Err(StorageError::new(
                    StorageErrorKind::Unavailable,
                    format!("{} writes are waiting already", self.shared.most),
                ));
            }
            let is_first = queue.jobs.is_empty();
            queue.deferrable = deferrable && (is_first || queue.deferrable);
            queue.jobs.push_back(Box::new(Task { work, kind, outcome: None, reply }));
            // A writer that delays its commit is woken only if necessary.
            wakes = is_first || !queue.deferrable || queue.jobs.len() >= self.shared.batch;
        }
        if wakes {
            self.shared.more.notify_one();
        }
        match outcome.await {
            Ok(outcome) => outcome.map_err(StorageError::from),
            Err(oneshot::Canceled) => {
                Err(StorageError::new(StorageErrorKind::Unavailable, "the store is being closed"))
            }
        }
    }

    /// Whether writes succeed. An empty transaction shows that the thread lives and can take the lock. After a disk
    /// failure the transaction writes, to detect the end of the failure.
    pub(crate) async fn probe(&self) -> Result<(), StorageError> {
        let failing = self.shared.failing.load(Ordering::Relaxed);
        self.write(move |db| {
            if failing {
                let version: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
                db.pragma_update(None, "user_version", version)?;
            }
            Ok(())
        })
        .await
    }

    /// Requests an update of the search index soon.
    pub(crate) fn settle(&self) {
        self.shared.queue.lock().settle = true;
        self.shared.more.notify_one();
    }
}

impl Drop for Writer {
    /// Waits until every accepted write is stored.
    fn drop(&mut self) {
        self.shared.queue.lock().closed = true;
        self.shared.more.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Makes a connection record which contacts it changes, and the length of its log.
fn watch(db: &mut Connection, changed: &ChangedRows, log_pages: &Arc<AtomicI32>) -> rusqlite::Result<()> {
    changed.watch(db)?;
    let log_pages = Arc::clone(log_pages);
    // SQLite's own hook would checkpoint within the commit, which would delay the writes of the next batch.
    db.wal_hook(Some(move |_: &mut Wal, pages| {
        log_pages.store(pages, Ordering::Relaxed);
        Ok(())
    }))
}

/// The state of the writer thread.
struct Work {
    shared: Arc<Shared>,
    db: Connection,
    cache: Arc<Cache>,
    /// Wakes the readers of event logs.
    notifier: Arc<ChangeNotifier>,
    changed: ChangedRows,
    /// The length of the log after the last commit, in pages.
    log_pages: Arc<AtomicI32>,
    config: SqliteConfig,
    /// The approximate number of contacts that are not in the search index.
    pending: u64,
    /// Whether the index may have segments to merge.
    needs_merge: bool,
    /// Whether the writer is updating the index, so it continues without a pause.
    settling: bool,
    erasures: Erasures,
}

enum Next {
    Batch(Vec<Box<dyn Job>>),
    Idle,
    Closed,
}

impl Work {
    fn run_until_closed(&mut self) {
        if self.config.is_read_only {
            self.needs_merge = false;
        } else {
            self.pending = index::pending(&self.db).unwrap_or(1);
        }
        loop {
            match self.next() {
                Next::Batch(batch) => {
                    self.commit_all(batch);
                    if self.pending >= u64::from(PENDING_MOST) {
                        self.settle(SETTLE_BUSY);
                    }
                }
                Next::Idle if self.pending > 0 => {
                    self.settle(SETTLE_IDLE);
                }
                Next::Idle => self.merge_segments(),
                Next::Closed => break,
            }
            self.complete_erasures();
            self.checkpoint_wal();
        }
        while self.pending > 0 && self.settle(PENDING_MOST) {}
    }

    /// Waits for writes; after a pause without any, for work on the search index.
    fn next(&mut self) -> Next {
        let mut queue = self.shared.queue.lock();
        loop {
            if !queue.jobs.is_empty() {
                self.settling = false;
                if queue.deferrable && queue.jobs.len() < self.shared.batch && !queue.closed {
                    self.shared.more.wait_for(&mut queue, self.config.linger);
                    queue.deferrable = false;
                    continue;
                }
                let count = queue.jobs.len().min(self.shared.batch);
                return Next::Batch(queue.jobs.drain(..count).collect());
            }
            if queue.closed {
                return Next::Closed;
            }
            if !queue.waiters.is_empty() {
                return Next::Idle;
            }
            if std::mem::take(&mut queue.settle) && !self.config.is_read_only {
                self.pending = self.pending.max(1);
            }
            if self.pending == 0 && !self.needs_merge {
                self.settling = false;
                let Some(attempt) = self.erasures.next_attempt() else {
                    self.shared.more.wait(&mut queue);
                    continue;
                };
                if self.shared.more.wait_until(&mut queue, attempt).timed_out() {
                    return Next::Idle;
                }
            } else if self.settling {
                return Next::Idle;
            } else {
                self.settling = self.shared.more.wait_for(&mut queue, IDLE).timed_out();
            }
        }
    }

    /// Runs the writes in one transaction and sends each its outcome.
    fn commit_all(&mut self, mut batch: Vec<Box<dyn Job>>) {
        batch.retain(|job| !job.is_abandoned());
        let before = self.db.total_changes();
        match self.transaction(&mut batch) {
            Ok(()) => {}
            Err(TransactionError::RolledBack) if batch.len() > 1 => {
                for job in &mut batch {
                    let alone = std::slice::from_mut(job);
                    if let Err(TransactionError::NotCommitted(error)) = self.transaction(alone) {
                        job.fail(error);
                    }
                }
            }
            // The one write that failed has its outcome.
            Err(TransactionError::RolledBack) => {}
            Err(TransactionError::NotCommitted(error)) => {
                let text = StorageError::from(error);
                tracing::error!(error = ?text.source, writes = batch.len(), "commit failed: none of its writes is stored");
                let kind = text.kind;
                for job in &mut batch {
                    job.fail(Error::Known(kind.clone()));
                }
            }
        }
        if self.db.total_changes() != before {
            self.pending += batch.len() as u64;
            if batch.iter().any(|job| job.erases()) {
                self.erasures.note();
            }
        }
        for job in batch {
            job.answer();
        }
    }

    /// Runs the writes in a transaction and commits it.
    fn transaction(&mut self, batch: &mut [Box<dyn Job>]) -> Result<(), TransactionError> {
        if batch.is_empty() {
            return Ok(());
        }
        self.execute("BEGIN IMMEDIATE").map_err(|error| TransactionError::NotCommitted(error.into()))?;
        self.changed.clear();
        appended::take();
        for job in &mut *batch {
            let before = self.db.total_changes();
            if !job.run(&self.db) && (self.db.total_changes() != before || self.db.is_autocommit()) {
                self.roll_back();
                return Err(TransactionError::RolledBack);
            }
        }
        let committed = self.commit(batch.iter().any(|job| job.changes_existing_contacts()));
        self.shared.failing.store(committed.is_err(), Ordering::Relaxed);
        committed.map_err(|error| {
            self.roll_back();
            TransactionError::NotCommitted(error)
        })?;
        if let Err(error) = appended::notify(&self.db, &self.notifier, appended::take()) {
            tracing::warn!(?error, "cannot wake the readers of event logs");
        }
        Ok(())
    }

    /// Commits, and invalidates the cached contacts that the transaction changes, or every cached contact.
    fn commit(&self, everything: bool) -> Result<()> {
        let _invalidation = self.cache.invalidate(&self.changed, everything);
        Ok(self.execute("COMMIT")?)
    }

    /// Truncates a log that contains erased data, when the time for it has come.
    fn complete_erasures(&mut self) {
        self.erasures.wait(&mut self.shared.queue.lock().waiters);
        if self.erasures.complete(&self.db, &self.config) {
            self.log_pages.store(0, Ordering::Relaxed);
        }
    }

    /// Checkpoints a long log. A checkpoint that readers block completes later.
    fn checkpoint_wal(&self) {
        if self.log_pages.load(Ordering::Relaxed) < crate::connect::CHECKPOINT_PAGES as i32 {
            return;
        }
        self.log_pages.store(0, Ordering::Relaxed);
        let moved = self.db.pragma(None, "wal_checkpoint", "PASSIVE", |_| Ok(()));
        if let Err(error) = moved {
            tracing::warn!(%error, "checkpoint failed");
        }
    }

    fn execute(&self, sql: &str) -> rusqlite::Result<()> {
        self.db.prepare_cached(sql)?.execute(()).map(drop)
    }

    /// Rolls the transaction back, and replaces a connection that cannot do that.
    fn roll_back(&mut self) {
        if self.db.is_autocommit() || self.execute("ROLLBACK").is_ok() {
            return;
        }
        let opened = crate::connect::writer(&self.config).and_then(|mut db| {
            watch(&mut db, &self.changed, &self.log_pages)
                .map_err(|error| OpenError::of(&self.config.path, error))?;
            Ok(db)
        });
        match opened {
            Ok(db) => self.db = db,
            Err(error) => tracing::error!(%error, "cannot reopen the database"),
        }
    }

    /// Adds up to `at_most` contacts to the search index; returns whether that succeeded.
    fn settle(&mut self, at_most: u32) -> bool {
        let left = self.run_maintenance(|db| index::settle(db, at_most));
        self.pending = left.unwrap_or_default();
        self.needs_merge = left.is_some();
        left.is_some()
    }

    /// Merges some segments of the search index.
    fn merge_segments(&mut self) {
        self.needs_merge = self.run_maintenance(index::merge_segments).unwrap_or_default();
    }

    /// Works on the search index in a transaction of its own. A failure only makes searches slower, because they read the
    /// contacts that the index lacks; the next write tries again.
    fn run_maintenance<T>(&mut self, work: impl FnOnce(&Connection) -> Result<T>) -> Option<T> {
        let done = self.execute("BEGIN IMMEDIATE").map_err(Error::from).and_then(|()| {
            let done = catch_unwind(AssertUnwindSafe(|| work(&self.db)))
                .unwrap_or_else(|panic| Err(corrupt(panic_text(&*panic))))?;
            self.execute("COMMIT")?;
            Ok(done)
        });
        if let Err(error) = &done {
            tracing::warn!(?error, "cannot update the search index");
            self.roll_back();
        }
        done.ok()
    }
}

enum TransactionError {
    /// A write failed after a change of its own: nothing is stored, and the other writes can run again.
    RolledBack,
    /// The transaction could not be begun or committed: nothing is stored.
    NotCommitted(Error),
}
