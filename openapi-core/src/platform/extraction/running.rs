//! Extractions that run, and what those left behind that were given up.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::errors::{too_many_documents, too_many_running};
use crate::access::{Actor, Caller};
use crate::platform::Platform;
use crate::reply::ApiError;
use crate::storage::StorageError;
use crate::values::{AgentId, FileId, PlatformId};

/// The extractions of this process.
#[derive(Default)]
pub(in crate::platform) struct Extractions {
    running: Mutex<HashMap<(AgentId, Actor), u32>>,
    /// Octets of forms that are held.
    held: AtomicU64,
    abandoned: Mutex<Vec<Abandoned>>,
}

/// What an extraction set aside and cannot give back itself: it was dropped, or the store failed.
#[derive(Clone, Debug)]
pub(super) enum Abandoned {
    /// Credits.
    Credits(AgentId, PlatformId),
    /// A document.
    Document(AgentId, FileId),
}

/// Octets of one form, until it is dropped.
pub(super) struct Room<'a> {
    held: &'a AtomicU64,
    limit: u64,
    octets: u64,
}

impl Room<'_> {
    /// Makes room for some more octets.
    pub(super) fn take(&mut self, octets: usize) -> Result<(), ApiError> {
        let octets = octets as u64;
        if self.held.fetch_add(octets, Ordering::Relaxed).saturating_add(octets) > self.limit {
            self.held.fetch_sub(octets, Ordering::Relaxed);
            tracing::warn!(
                limit = self.limit,
                "a document was refused: so many octets of documents are held"
            );
            return Err(too_many_documents());
        }
        self.octets += octets;
        Ok(())
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.held.fetch_sub(self.octets, Ordering::Relaxed);
    }
}

/// One extraction that runs.
pub(super) struct Running<'a> {
    extractions: &'a Extractions,
    of: (AgentId, Actor),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Extractions {
    /// Counts one more extraction of whoever calls.
    pub(super) fn enter(&self, caller: &Caller, limit: u32) -> Result<Running<'_>, ApiError> {
        let of = (caller.agent_id.clone(), caller.actor.clone());
        let mut running = lock(&self.running);
        let count = running.entry(of.clone()).or_insert(0);
        if *count >= limit {
            return Err(too_many_running(limit));
        }
        *count += 1;
        Ok(Running { extractions: self, of })
    }

    /// Room for the octets of a form.
    pub(super) fn room(&self, limit: u64) -> Room<'_> {
        Room { held: &self.held, limit, octets: 0 }
    }

    pub(super) fn abandon(&self, what: Abandoned) {
        lock(&self.abandoned).push(what);
    }

    fn take_abandoned(&self) -> Vec<Abandoned> {
        std::mem::take(&mut *lock(&self.abandoned))
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut running = lock(&self.extractions.running);
        if let Some(count) = running.get_mut(&self.of) {
            *count -= 1;
            if *count == 0 {
                running.remove(&self.of);
            }
        }
    }
}

impl Platform {
    /// Gives back what extractions have left behind that were given up. What a store refuses stays for the next time; of
    /// a process that ends without it credits go back when their reservation ends.
    pub(in crate::platform) async fn settle_abandoned(&self) -> Result<(), StorageError> {
        let mut left = self.extractions.take_abandoned();
        let outcome = loop {
            let done = match left.last() {
                None => break Ok(()),
                Some(Abandoned::Credits(agent, id)) => self.release(agent, *id).await,
                Some(Abandoned::Document(agent, file)) => {
                    self.storage.discard_document(agent, *file, self.now()).await
                }
            };
            match done {
                Ok(()) => drop(left.pop()),
                Err(error) => break Err(error),
            }
        };
        left.into_iter().for_each(|what| self.extractions.abandon(what));
        outcome
    }
}
