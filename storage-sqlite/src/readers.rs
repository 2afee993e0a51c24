//! Reading: a pool of connections, and a few threads for long reads.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use futures_channel::oneshot;
use openapi_core::storage::{StorageError, StorageErrorKind};
use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;

use crate::config::SqliteConfig;
use crate::error::{Error, OpenError, Result, corrupt, panic_text};

/// The most idle connections that stay open.
const MAX_IDLE: usize = 64;

/// The most long reads that wait for a thread. Further reads are refused, because each holds memory.
const MAX_QUEUED: usize = 4_096;

/// The idle connections. The pool opens as many as threads ever read at the same time.
pub(crate) struct Pool {
    config: SqliteConfig,
    idle: Mutex<Vec<Connection>>,
}

impl Pool {
    pub(crate) fn new(config: &SqliteConfig) -> Self {
        Pool { config: config.clone(), idle: Mutex::default() }
    }

    /// Reads on the calling thread.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        // The most recently used connection has the warmest cache.
        let idle = self.idle.lock().pop();
        let db = match idle {
            Some(db) => db,
            None => crate::connect::reader(&self.config)?,
        };
        let outcome = read(&db);
        let reusable = match &outcome {
            Ok(_) => db.is_autocommit(),
            Err(error) => !error.spoils_connection() && db.is_autocommit(),
        };
        if reusable {
            let mut idle = self.idle.lock();
            if idle.len() < MAX_IDLE {
                idle.push(db);
            }
        }
        outcome
    }
}

/// Runs `read` on one state of the database, however many statements it takes.
pub(crate) fn snapshot<T>(db: &Connection, read: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
    db.prepare_cached("BEGIN")?.execute(())?;
    let outcome = read(db);
    // `Pool::read` drops a connection whose transaction does not end.
    let ended = db.prepare_cached("COMMIT").and_then(|mut end| end.execute(()));
    let outcome = outcome?;
    ended?;
    Ok(outcome)
}

/// Cancels a long read when its caller drops the future.
pub(crate) struct CancellationToken<'a>(Option<&'a (dyn Fn() -> bool + Sync)>);

impl CancellationToken<'_> {
    /// Never cancelled: for short reads.
    pub(crate) const NEVER: CancellationToken<'static> = CancellationToken(None);

    /// # Errors
    /// When the read was cancelled.
    pub(crate) fn check(&self) -> Result<()> {
        match self.0 {
            Some(is_over) if is_over() => Err(Error::Known(StorageErrorKind::Unavailable)),
            _ => Ok(()),
        }
    }
}

type Job = Box<dyn FnOnce(&Pool) + Send>;

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    closed: bool,
}

struct Shared {
    pool: Pool,
    queue: Mutex<Queue>,
    more: Condvar,
}

impl Shared {
    fn run(&self) {
        loop {
            let mut queue = self.queue.lock();
            let job = loop {
                if let Some(job) = queue.jobs.pop_front() {
                    break job;
                }
                if queue.closed {
                    return;
                }
                self.more.wait(&mut queue);
            };
            drop(queue);
            job(&self.pool);
        }
    }
}

/// The handle to which callers pass reads.
pub(crate) struct Readers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    /// Starts the threads.
    pub(crate) fn start(config: &SqliteConfig) -> Result<Self, OpenError> {
        let shared =
            Arc::new(Shared { pool: Pool::new(config), queue: Mutex::default(), more: Condvar::new() });
        let mut readers = Readers { shared: Arc::clone(&shared), threads: Vec::new() };
        for number in 0..config.reader_threads.max(1) {
            let shared = Arc::clone(&shared);
            let thread = std::thread::Builder::new()
                .name(format!("sqlite-reader-{number}"))
                .spawn(move || shared.run())
                .map_err(OpenError::Thread)?;
            readers.threads.push(thread);
        }
        Ok(readers)
    }

    /// Reads on the calling thread: for reads of a few microseconds.
    pub(crate) fn read_blocking<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<T, StorageError> {
        self.shared.pool.read(read).map_err(StorageError::from)
    }

    /// Reads on a thread of the store.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection, &CancellationToken<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T, StorageError> {
        let (reply, outcome) = oneshot::channel();
        let job: Job = Box::new(move |pool| {
            if reply.is_canceled() {
                return;
            }
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                pool.read(|db| read(db, &CancellationToken(Some(&|| reply.is_canceled()))))
            }))
            .unwrap_or_else(|panic| Err(corrupt(format_args!("a read panicked: {}", panic_text(&*panic)))));
            let _ = reply.send(outcome);
        });
        {
            let mut queue = self.shared.queue.lock();
            if queue.jobs.len() >= MAX_QUEUED {
                return Err(StorageError::new(
                    StorageErrorKind::Unavailable,
                    format!("{MAX_QUEUED} reads are waiting already"),
                ));
            }
            queue.jobs.push_back(job);
        }
        self.shared.more.notify_one();
        match outcome.await {
            Ok(outcome) => outcome.map_err(StorageError::from),
            Err(oneshot::Canceled) => {
                Err(StorageError::new(StorageErrorKind::Unavailable, "the store is being closed"))
            }
        }
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.shared.queue.lock().closed = true;
        self.shared.more.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
