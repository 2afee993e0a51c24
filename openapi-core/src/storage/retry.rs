//! Retries of changes that lose a race against another writer.

use std::future::Future;
use std::ops::ControlFlow::{self, Break, Continue};

use futures_util::TryFutureExt;

use super::{Result, StorageErrorKind};

/// How often a change is attempted. Each lost race means that another writer made progress.
pub const MAX_ATTEMPTS: u32 = 16;

/// Repeats `attempt`, without a pause, until it returns a value or an error, at most [`MAX_ATTEMPTS`] times. An attempt
/// returns `None` when another writer was faster ([`RetryOn::retry_on`]). Its argument says whether it is a retry, which
/// must read again what the first attempt took from a cache.
///
/// # Errors
/// That of the attempt; `exhausted` if every attempt lost its race.
pub async fn retry_on_conflict<T, E, A>(
    exhausted: impl FnOnce() -> E,
    mut attempt: impl FnMut(bool) -> A,
) -> Result<T, E>
where
    A: Future<Output = Result<Option<T>, E>>,
{
    let attempt = |is_retry| attempt(is_retry).map_ok(|done| done.map_or(Continue(true), Break));
    retry_with(MAX_ATTEMPTS, false, exhausted, attempt).await
}

/// As [`retry_on_conflict`], for attempts that hand a value from one to the next.
///
/// # Errors
/// That of the attempt; `exhausted` after `max_attempts`.
pub async fn retry_with<S, T, E, A>(
    max_attempts: u32,
    mut state: S,
    exhausted: impl FnOnce() -> E,
    mut attempt: impl FnMut(S) -> A,
) -> Result<T, E>
where
    A: Future<Output = Result<ControlFlow<T, S>, E>>,
{
    for _ in 0..max_attempts {
        match attempt(state).await? {
            Break(value) => return Ok(value),
            Continue(next) => state = next,
        }
    }
    Err(exhausted())
}

/// The result of a write that may have lost a race.
pub trait RetryOn<T> {
    /// `None` instead of an error of one of these kinds: what an attempt returns to be repeated.
    ///
    /// # Errors
    /// Every other one.
    fn retry_on(self, kinds: &[StorageErrorKind]) -> Result<Option<T>>;
}

impl<T> RetryOn<T> for Result<T> {
    fn retry_on(self, kinds: &[StorageErrorKind]) -> Result<Option<T>> {
        match self {
            Err(error) if kinds.contains(&error.kind) => Ok(None),
            outcome => outcome.map(Some),
        }
    }
}
