//! Group commit: writes that wait at the same time share a transaction.

use std::future::Future;
use std::time::Duration;

use openapi_core::storage::{StorageError, StorageErrorKind};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::error::StoreError;

/// A write in the queue, with the sender for its outcome.
#[derive(Debug)]
pub struct Queued<W, T> {
    /// The write.
    pub write: W,
    since: Instant,
    reply: oneshot::Sender<Result<T, StorageError>>,
}

/// The receiver for the outcome of a write.
pub type Outcome<T> = oneshot::Receiver<Result<T, StorageError>>;

impl<W, T> Queued<W, T> {
    /// A write and the receiver for its outcome.
    pub fn new(write: W) -> (Self, Outcome<T>) {
        let (reply, outcome) = oneshot::channel();
        (Queued { write, since: Instant::now(), reply }, outcome)
    }

    /// Whether the caller has dropped its future. A write that has not begun is then left out.
    pub fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }

    /// How long the write has been in the queue.
    pub fn age(&self) -> Duration {
        self.since.elapsed()
    }

    /// Sends the outcome to the caller. The caller may have dropped its future; the write stands either way.
    pub fn finish(self, outcome: Result<T, StorageError>) {
        drop(self.reply.send(outcome));
    }
}

/// Waits for the outcome of a queued write.
///
/// # Errors
/// That of the write; `Internal` when its task panicked.
pub async fn outcome<T>(outcome: Outcome<T>) -> Result<T, StorageError> {
    outcome.await.unwrap_or_else(|_| {
        Err(StorageError::new(StorageErrorKind::Internal, "a write ended without an outcome"))
    })
}

/// The error for a write that exceeds the length of the queue.
#[must_use]
pub fn queue_full(max_waiting: usize) -> StorageError {
    StorageError::new(StorageErrorKind::Unavailable, format!("{max_waiting} writes are waiting already"))
}

/// The error for a write after the store was closed.
#[must_use]
pub fn closed() -> StorageError {
    StorageError::new(StorageErrorKind::Unavailable, "the store is closed")
}

/// The error for a write whose turn did not come in time.
#[must_use]
pub fn timed_out() -> StorageError {
    StorageError::new(StorageErrorKind::Unavailable, "the write timed out in the queue")
}

/// Commits writes in one transaction and returns each with its outcome. `commit` returns the writes with one outcome
/// for each.
///
/// When the database refuses the transaction, one of the writes may be the cause. The writes are then committed one by
/// one, so that only the cause fails.
pub async fn commit_together<W, T, E, F, A>(writes: Vec<W>, commit: F) -> Vec<(W, Result<T, StorageError>)>
where
    E: StoreError,
    F: Fn(Vec<W>) -> A,
    A: Future<Output = (Vec<W>, Result<Vec<T>, E>)>,
{
    let (writes, outcomes) = commit(writes).await;
    match outcomes {
        Err(error) if writes.len() > 1 && error.is_internal() => {
            tracing::warn!(
                ?error,
                writes = writes.len(),
                "group commit failed; committing its writes one by one"
            );
            let mut finished = Vec::with_capacity(writes.len());
            for write in writes {
                let (alone, outcome) = commit(vec![write]).await;
                finished.extend(each(alone, outcome));
            }
            finished
        }
        outcomes => {
            if let Err(error) = &outcomes {
                tracing::warn!(
                    ?error,
                    writes = writes.len(),
                    "group commit failed; none of its writes is stored"
                );
            }
            each(writes, outcomes)
        }
    }
}

/// Each write with its outcome; an error is that of all.
fn each<W, T, E: StoreError>(
    writes: Vec<W>,
    outcomes: Result<Vec<T>, E>,
) -> Vec<(W, Result<T, StorageError>)> {
    match outcomes {
        Ok(outcomes) => writes.into_iter().zip(outcomes.into_iter().map(Ok)).collect(),
        Err(error) => {
            let error: StorageError = error.into();
            writes.into_iter().map(|write| (write, Err(error.again()))).collect()
        }
    }
}
