//! The writer: one thread, one connection, one commit for all writes that wait (group commit).
//!
//! While a commit waits for the disk, further writes queue up; the next transaction takes them all. Each write learns
//! its own outcome, and only after the commit that made it durable.
//!
//! A write that fails before it changed anything costs the others nothing. One that fails behind a change, or panics
//! there, takes the transaction back, and the writes of the batch are done again one by one: that is rare, and no
//! savepoint has to be paid for in every other case. A write is therefore a closure that can be called again.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use futures_channel::oneshot;
use openapi_core::storage::{StorageError, StorageErrorKind};
use rusqlite::Connection;
use rusqlite::hooks::Wal;

use crate::config::SqliteConfig;
use crate::contacts::index;
use crate::contacts::kept::{Kept, Touched};
use crate::error::{Fault, OpenError, Result, corrupt};

/// How long the writer waits for more writes before it brings the search index up to date.
const IDLE: Duration = Duration::from_millis(200);

/// How many contacts at a time are brought into the search index while nothing else is to be written, and so how long
/// a write may have to wait for that.
const SETTLE_IDLE: u32 = 128;

/// From how many contacts on the search index is brought up to date even while writes wait, so that searches, which
/// read what is not in the index one by one, stay fast.
const PENDING_MOST: u32 = 2_048;

/// How many contacts at a time are brought into the search index while writes wait: more than a batch of writes adds,
/// and so few that the writes behind it hardly notice.
const SETTLE_BUSY: u32 = 256;

/// The writer's side of one write.
trait Job: Send {
    /// Whether nobody waits for the outcome any more.
    fn is_abandoned(&self) -> bool;
    /// Whether contacts may be another's or nobody's after it, without a change of their own.
    fn moves_contacts(&self) -> bool;
    /// Does the work inside a transaction and keeps the outcome; whether it succeeded.
    fn run(&mut self, db: &Connection) -> bool;
    /// Sets a failure as the outcome.
    fn fail(&mut self, fault: Fault);
    /// Tells the outcome.
    fn answer(self: Box<Self>);
}

struct Task<T, F> {
    work: F,
    kind: Kind,
    outcome: Option<Result<T>>,
    reply: oneshot::Sender<Result<T>>,
}

/// What the writer knows of a write beforehand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Usual,
    /// May wait for others a little while.
    Lingering,
    /// May end or revive an agent, and with it all contacts that it has.
    Agent,
}

impl<T: Send, F: FnMut(&Connection) -> Result<T> + Send> Job for Task<T, F> {
    fn is_abandoned(&self) -> bool {
        self.reply.is_canceled()
    }

    fn moves_contacts(&self) -> bool {
        self.kind == Kind::Agent
    }

    fn run(&mut self, db: &Connection) -> bool {
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.work)(db)))
            .unwrap_or_else(|panic| Err(corrupt(format_args!("a write panicked: {}", panic_text(&*panic)))));
        let succeeded = outcome.is_ok();
        self.outcome = Some(outcome);
        succeeded
    }

    fn fail(&mut self, fault: Fault) {
        self.outcome = Some(Err(fault));
    }

    fn answer(self: Box<Self>) {
        if let Some(outcome) = self.outcome {
            // Nobody listens when the future was dropped; the write stands either way.
            let _ = self.reply.send(outcome);
        }
    }
}

pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Box<dyn Job>>,
    /// Whether all of them may wait for others.
    deferrable: bool,
    /// Set when somebody found contacts that are not in the search index, perhaps written by another process.
    settle: bool,
    closed: bool,
}

struct Shared {
    queue: Mutex<Queue>,
    more: Condvar,
    most: usize,
    /// How many writes share a commit at the most.
    batch: usize,
    /// Whether the last commit failed.
    failing: AtomicBool,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The handle that writes are given to.
pub(crate) struct Writer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread.
    pub(crate) fn start(
        mut db: Connection,
        kept: Option<Arc<Kept>>,
        config: &SqliteConfig,
    ) -> Result<Self, OpenError> {
        let (touched, log_pages) = (Touched::default(), Arc::default());
        watch(&mut db, &touched, &log_pages).map_err(|error| OpenError::of(&config.path, error))?;
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
            kept,
            touched,
            log_pages,
            config: config.clone(),
            pending: 0,
            untidy: true,
            settling: false,
        };
        let thread = std::thread::Builder::new()
            .name("sqlite-writer".to_owned())
            .spawn(move || work.until_closed())
            .map_err(OpenError::Thread)?;
        Ok(Writer { shared, thread: Some(thread) })
    }

    /// Queues a write and waits for the commit that holds it. `work` may be called more than once, each time on the
    /// state behind a rollback of the time before.
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

    async fn queue<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> Result<T> + Send + 'static,
        kind: Kind,
    ) -> Result<T, StorageError> {
        let deferrable = kind == Kind::Lingering;
        let (reply, outcome) = oneshot::channel();
        let wakes;
        {
            let mut queue = self.shared.queue();
            if queue.jobs.len() >= self.shared.most {
                return Err(StorageError::new(
                    StorageErrorKind::Unavailable,
                    format!("{} writes are waiting already", self.shared.most),
                ));
            }
            let is_first = queue.jobs.is_empty();
            queue.deferrable = deferrable && (is_first || queue.deferrable);
            queue.jobs.push_back(Box::new(Task { work, kind, outcome: None, reply }));
            // While the writer lingers, nobody wakes it without need.
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

    /// Whether writes can be done. An empty transaction shows that the thread lives and the lock can be had; after a
    /// failure of the disk it is one that writes, so that the end of the failure is noticed.
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

    /// Asks for the search index to be brought up to date soon.
    pub(crate) fn settle(&self) {
        self.shared.queue().settle = true;
        self.shared.more.notify_one();
    }
}

impl Drop for Writer {
    /// Waits until everything accepted is written.
    fn drop(&mut self) {
        self.shared.queue().closed = true;
        self.shared.more.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Has a connection note which contacts it changes, and how long its log is.
fn watch(db: &mut Connection, touched: &Touched, log_pages: &Arc<AtomicI32>) -> rusqlite::Result<()> {
    touched.watch(db)?;
    let log_pages = Arc::clone(log_pages);
    // In place of SQLite's own way, which moves the log into the file within the commit: all who keep contacts in memory,
    // and every other writer of changes, would wait for that.
    db.wal_hook(Some(move |_: &mut Wal, pages| {
        log_pages.store(pages, Ordering::Relaxed);
        Ok(())
    }))
}

/// What the thread does.
struct Work {
    shared: Arc<Shared>,
    db: Connection,
    /// Contacts in memory, which must not outlast a change.
    kept: Option<Arc<Kept>>,
    touched: Touched,
    /// How many pages of log the last commit left.
    log_pages: Arc<AtomicI32>,
    config: SqliteConfig,
    /// About how many contacts are not in the search index.
    pending: u64,
    /// Whether the index may have parts to merge.
    untidy: bool,
    /// Whether the writer is at bringing the index up to date, so that it need not wait before going on.
    settling: bool,
}

enum Next {
    Batch(Vec<Box<dyn Job>>),
    Idle,
    Closed,
}

impl Work {
    fn until_closed(&mut self) {
        self.pending = index::pending(&self.db).unwrap_or(1);
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
                Next::Idle => self.tidy(),
                Next::Closed => break,
            }
            self.shorten_log();
        }
        while self.pending > 0 && self.settle(PENDING_MOST) {}
    }

    /// Waits for writes; after a while without any, for work on the search index.
    fn next(&mut self) -> Next {
        let mut queue = self.shared.queue();
        loop {
            if !queue.jobs.is_empty() {
                self.settling = false;
                if queue.deferrable && queue.jobs.len() < self.shared.batch && !queue.closed {
                    let waited = self.shared.more.wait_timeout(queue, self.config.linger);
                    queue = waited.unwrap_or_else(PoisonError::into_inner).0;
                    queue.deferrable = false;
                    continue;
                }
                let count = queue.jobs.len().min(self.shared.batch);
                return Next::Batch(queue.jobs.drain(..count).collect());
            }
            if queue.closed {
                return Next::Closed;
            }
            if std::mem::take(&mut queue.settle) {
                self.pending = self.pending.max(1);
            }
            if self.pending == 0 && !self.untidy {
                self.settling = false;
                queue = self.shared.more.wait(queue).unwrap_or_else(PoisonError::into_inner);
            } else if self.settling {
                return Next::Idle;
            } else {
                let (guard, timeout) =
                    self.shared.more.wait_timeout(queue, IDLE).unwrap_or_else(PoisonError::into_inner);
                queue = guard;
                self.settling = timeout.timed_out();
            }
        }
    }

    /// Does the writes in one transaction and answers each.
    fn commit_all(&mut self, mut batch: Vec<Box<dyn Job>>) {
        batch.retain(|job| !job.is_abandoned());
        let before = self.db.total_changes();
        match self.transaction(&mut batch) {
            Ok(()) => {}
            Err(Setback::Spoilt) if batch.len() > 1 => {
                for job in &mut batch {
                    let alone = std::slice::from_mut(job);
                    if let Err(Setback::Failed(fault)) = self.transaction(alone) {
                        job.fail(fault);
                    }
                }
            }
            // The one write that failed has its outcome.
            Err(Setback::Spoilt) => {}
            Err(Setback::Failed(fault)) => {
                let text = StorageError::from(fault);
                tracing::error!(error = ?text.source, writes = batch.len(), "a commit failed; none of its writes is stored");
                let kind = text.kind;
                for job in &mut batch {
                    job.fail(Fault::Known(kind.clone()));
                }
            }
        }
        if self.db.total_changes() != before {
            self.pending += batch.len() as u64;
        }
        for job in batch {
            job.answer();
        }
    }

    /// Runs the writes in a transaction and commits it.
    fn transaction(&mut self, batch: &mut [Box<dyn Job>]) -> Result<(), Setback> {
        if batch.is_empty() {
            return Ok(());
        }
        self.execute("BEGIN IMMEDIATE").map_err(|error| Setback::Failed(error.into()))?;
        self.touched.clear();
        for job in &mut *batch {
            let before = self.db.total_changes();
            if !job.run(&self.db) && (self.db.total_changes() != before || self.db.is_autocommit()) {
                self.roll_back();
                return Err(Setback::Spoilt);
            }
        }
        let committed = self.commit(batch.iter().any(|job| job.moves_contacts()));
        self.shared.failing.store(committed.is_err(), Ordering::Relaxed);
        committed.map_err(|fault| {
            self.roll_back();
            Setback::Failed(fault)
        })
    }

    /// Commits; whoever keeps contacts in memory forgets those that the transaction changes, or every one.
    fn commit(&self, everything: bool) -> Result<()> {
        let _forgetting = match &self.kept {
            Some(kept) => {
                let told = kept.before_commit(&self.touched, everything, self.config.busy_timeout);
                told.map_err(|error| {
                    tracing::error!(%error, "other processes cannot be told of a change, so that it is not made");
                    Fault::Known(StorageErrorKind::Unavailable)
                })?
            }
            None => None,
        };
        Ok(self.execute("COMMIT")?)
    }

    /// Moves the log into the file when it is long. One that readers hold up is moved later.
    fn shorten_log(&self) {
        if self.log_pages.load(Ordering::Relaxed) < crate::connect::CHECKPOINT_PAGES as i32 {
            return;
        }
        self.log_pages.store(0, Ordering::Relaxed);
        let moved = self.db.pragma(None, "wal_checkpoint", "PASSIVE", |_| Ok(()));
        if let Err(error) = moved {
            tracing::warn!(%error, "cannot move the log into the database file");
        }
    }

    fn execute(&self, sql: &str) -> rusqlite::Result<()> {
        self.db.prepare_cached(sql)?.execute(()).map(drop)
    }

    /// Takes the transaction back; a connection that cannot even do that is replaced.
    fn roll_back(&mut self) {
        if self.db.is_autocommit() || self.execute("ROLLBACK").is_ok() {
            return;
        }
        let opened = crate::connect::writer(&self.config).and_then(|mut db| {
            watch(&mut db, &self.touched, &self.log_pages)
                .map_err(|error| OpenError::of(&self.config.path, error))?;
            Ok(db)
        });
        match opened {
            Ok(db) => self.db = db,
            Err(error) => tracing::error!(%error, "cannot open the database again"),
        }
    }

    /// Brings up to `at_most` contacts into the search index; whether that went well.
    fn settle(&mut self, at_most: u32) -> bool {
        let left = self.tend(|db| index::settle(db, at_most));
        self.pending = left.unwrap_or_default();
        self.untidy = left.is_some();
        left.is_some()
    }

    /// Merges parts of the search index for a moment.
    fn tidy(&mut self) {
        self.untidy = self.tend(index::tidy).unwrap_or_default();
    }

    /// Works on the search index in a transaction of its own. When that fails nothing is wrong but the time that
    /// searches take, because they read what the index lacks themselves; a next write tries again.
    fn tend<T>(&mut self, work: impl FnOnce(&Connection) -> Result<T>) -> Option<T> {
        let done = self.execute("BEGIN IMMEDIATE").map_err(Fault::from).and_then(|()| {
            let done = catch_unwind(AssertUnwindSafe(|| work(&self.db)))
                .unwrap_or_else(|panic| Err(corrupt(panic_text(&*panic))))?;
            self.execute("COMMIT")?;
            Ok(done)
        });
        if let Err(fault) = &done {
            tracing::warn!(?fault, "cannot bring the search index up to date");
            self.roll_back();
        }
        done.ok()
    }
}

enum Setback {
    /// A write failed behind a change of its own: nothing is stored, and the others can be done again.
    Spoilt,
    /// The transaction could not be begun or committed: nothing is stored.
    Failed(Fault),
}
