//! Erased data leaves the write-ahead log: the log is truncated soon after an erasure, at once if a caller waits for it.

use std::time::{Duration, Instant};

use futures_channel::oneshot;
use openapi_core::storage::ErasureState;
use rusqlite::Connection;

use crate::config::SqliteConfig;
use crate::connect;

/// How long erased data may stay in the log while no caller waits, so that several erasures share a checkpoint.
const DELAY: Duration = Duration::from_secs(20);

/// The pause before the next attempt, after readers of an older state have prevented one.
const RETRY: Duration = Duration::from_millis(250);

/// How long one attempt waits for these readers. No write commits meanwhile.
const READER_TIMEOUT: Duration = Duration::from_millis(100);

/// How long a caller waits.
const WAIT: Duration = Duration::from_secs(60);

#[expect(clippy::disallowed_methods, reason = "pauses of the writer's thread, which no test moves")]
fn now() -> Instant {
    Instant::now()
}

/// A caller that waits for the end of the erasures.
pub(crate) struct Waiter {
    since: Instant,
    reply: oneshot::Sender<ErasureState>,
}

impl Waiter {
    /// A caller that waits from now on, and what it gets.
    pub(crate) fn new() -> (Self, oneshot::Receiver<ErasureState>) {
        let (reply, state) = oneshot::channel();
        (Waiter { since: now(), reply }, state)
    }
}

/// Erased data that the log may contain, and the callers that wait for its end.
pub(crate) struct Erasures {
    pending: Option<Pending>,
    waiters: Vec<Waiter>,
}

#[derive(Clone, Copy)]
struct Pending {
    /// When the log is truncated even if no caller waits.
    due: Instant,
    /// No attempt before this.
    retry: Instant,
}

impl Pending {
    fn new() -> Self {
        let start = now();
        Pending { due: start + DELAY, retry: start }
    }
}

impl Erasures {
    /// The state after a start. A log that has content was left by a process that was killed, and may contain anything.
    pub(crate) fn at_start(config: &SqliteConfig) -> Self {
        let log = std::fs::metadata(connect::with_suffix(&config.path, "-wal"));
        let has_content = !config.is_read_only && log.is_ok_and(|log| log.len() > 0);
        Erasures { pending: has_content.then(Pending::new), waiters: Vec::new() }
    }

    /// A transaction with an erasure was committed.
    pub(crate) fn note(&mut self) {
        self.pending.get_or_insert_with(Pending::new);
    }

    /// Callers begin to wait.
    pub(crate) fn wait(&mut self, waiters: &mut Vec<Waiter>) {
        self.waiters.append(waiters);
    }

    /// When the next attempt is due; `None` if the log contains nothing erased.
    pub(crate) fn next_attempt(&self) -> Option<Instant> {
        let pending = self.pending?;
        Some(if self.waiters.is_empty() { pending.due.max(pending.retry) } else { pending.retry })
    }

    /// Truncates the log if an attempt is due, and replies to the callers that need not wait longer. Returns whether the
    /// log was truncated.
    pub(crate) fn complete(&mut self, db: &Connection, config: &SqliteConfig) -> bool {
        let is_due = self.next_attempt().is_some_and(|attempt| attempt <= now());
        let is_truncated = is_due && self.attempt(db, config);
        let is_final = self.pending.is_none();
        let state = if is_final { ErasureState::Final } else { ErasureState::Pending };
        for waiter in self.waiters.extract_if(.., |it| is_final || it.since.elapsed() >= WAIT) {
            // The caller may have gone.
            let _ = waiter.reply.send(state);
        }
        is_truncated
    }

    fn attempt(&mut self, db: &Connection, config: &SqliteConfig) -> bool {
        let truncated = truncate(db, config).unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot remove erased data from the write-ahead log; trying again");
            false
        });
        match &mut self.pending {
            Some(pending) if !truncated => pending.retry = now() + RETRY,
            pending => *pending = None,
        }
        truncated
    }
}

/// Copies the whole log into the database and truncates it; `false` if a reader of an older state prevents that.
fn truncate(db: &Connection, config: &SqliteConfig) -> rusqlite::Result<bool> {
    db.busy_timeout(READER_TIMEOUT)?;
    let is_busy = db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |row| row.get::<_, i64>(0));
    db.busy_timeout(config.busy_timeout)?;
    Ok(is_busy? == 0)
}
