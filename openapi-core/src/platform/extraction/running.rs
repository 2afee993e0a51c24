//! Extractions that run, and what abandoned ones reserved.

use std::collections::{HashMap, VecDeque};

use super::errors::{too_many_documents, too_many_running};
use super::jobs::Signal;
use crate::access::{Actor, Caller};
use crate::ports::BlobKey;
use crate::reply::ApiError;
use crate::values::{AgentId, FileId, PlatformId, Timestamp};
use parking_lot::{Mutex, MutexGuard};

/// The extractions of this process.
#[derive(Default)]
pub(in crate::platform) struct Extractions {
    running: Mutex<HashMap<(AgentId, Actor), u32>>,
    /// Bytes of forms that are held, of each agent.
    held: Mutex<HashMap<AgentId, u64>>,
    abandoned: Mutex<VecDeque<Abandoned>>,
    /// Wakes the workers of queued extractions.
    pub(super) signal: Signal,
    figures: Mutex<JobFigures>,
}

/// What the workers of this process did since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobFigures {
    /// Attempts that began.
    pub begun: u64,
    /// How long their jobs had waited since they came, in milliseconds, all together.
    pub waited_millis: u64,
    /// Leases that ended before their jobs, of any server.
    pub lost: u64,
}

/// What an extraction reserved and cannot release itself, because it was dropped or the store failed.
#[derive(Clone, Debug)]
pub(super) enum Abandoned {
    /// Credits.
    Credits(AgentId, PlatformId),
    /// A response of this time that was being stored and cannot be replayed: its cost and its retained document.
    Answer(AgentId, PlatformId, Timestamp),
    /// The content of a document.
    Document(BlobKey),
}

/// Which of what was abandoned is meant.
#[derive(Clone, Copy)]
pub(in crate::platform) enum JobSource<'a> {
    /// Everything.
    All,
    /// An agent's.
    Agent(&'a AgentId),
    /// That of one extraction.
    Extraction(PlatformId),
}

impl Abandoned {
    fn is(&self, of: JobSource<'_>) -> bool {
        match (of, self) {
            (JobSource::All, _) => true,
            (JobSource::Agent(wanted), Abandoned::Credits(agent, _) | Abandoned::Answer(agent, ..)) => {
                agent == wanted
            }
            (JobSource::Agent(wanted), Abandoned::Document(key)) => key.agent == *wanted,
            (JobSource::Extraction(wanted), Abandoned::Credits(_, id) | Abandoned::Answer(_, id, _)) => {
                *id == wanted
            }
            (JobSource::Extraction(wanted), Abandoned::Document(key)) => key.file == FileId::from(wanted),
        }
    }
}

/// Something that was abandoned, on its way back. Dropped before that is done, it is abandoned again.
pub(super) struct Returning<'a> {
    extractions: &'a Extractions,
    pub(super) what: Option<Abandoned>,
}

impl Drop for Returning<'_> {
    fn drop(&mut self) {
        if let Some(what) = self.what.take() {
            self.extractions.abandon(what);
        }
    }
}

/// All that one agent may hold of what a server holds in forms: one that is slow to send leaves room for the others.
const SHARE_OF_AGENT: u64 = 4;

/// Bytes of one document that a server holds in memory, until it is dropped.
pub(super) struct MemoryPermit<'a> {
    extractions: &'a Extractions,
    agent: AgentId,
    limit: u64,
    bytes: u64,
}

impl MemoryPermit<'_> {
    /// Makes room for some more bytes.
    ///
    /// # Errors
    /// 503 when the agent or the server would hold too many.
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), ApiError> {
        let bytes = bytes as u64;
        let mut held = lock(&self.extractions.held);
        let all: u64 = held.values().sum();
        let own = held.entry(self.agent.clone()).or_insert(0);
        if all.saturating_add(bytes) > self.limit || own.saturating_add(bytes) > self.limit / SHARE_OF_AGENT {
            tracing::warn!(agent = %self.agent, "rejecting a document: running extractions use all memory for documents");
            return Err(too_many_documents());
        }
        *own += bytes;
        self.bytes += bytes;
        Ok(())
    }
}

impl MemoryPermit<'_> {
    /// Gives back all room: the bytes are no longer held.
    pub(super) fn clear(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        let mut held = lock(&self.extractions.held);
        if let Some(own) = held.get_mut(&self.agent) {
            *own = own.saturating_sub(bytes);
            if *own == 0 {
                held.remove(&self.agent);
            }
        }
    }
}

impl Drop for MemoryPermit<'_> {
    fn drop(&mut self) {
        self.clear();
    }
}

/// One extraction that runs.
pub(super) struct Running<'a> {
    extractions: &'a Extractions,
    of: (AgentId, Actor),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

impl Extractions {
    /// Counts one more extraction of the caller.
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

    /// Room for the bytes of a form.
    pub(super) fn room(&self, agent: &AgentId, limit: u64) -> MemoryPermit<'_> {
        MemoryPermit { extractions: self, agent: agent.clone(), limit, bytes: 0 }
    }

    /// Notes an attempt of a job that came so long ago.
    pub(super) fn observe_wait(&self, millis: i64) {
        let mut figures = lock(&self.figures);
        figures.begun += 1;
        figures.waited_millis += u64::try_from(millis).unwrap_or(0);
    }

    /// Notes lost leases.
    pub(super) fn count_lost(&self, count: u64) {
        lock(&self.figures).lost += count;
    }

    pub(super) fn figures(&self) -> JobFigures {
        *lock(&self.figures)
    }

    pub(super) fn abandon(&self, what: Abandoned) {
        lock(&self.abandoned).push_back(what);
    }

    /// Whether something of an agent was abandoned.
    pub(super) fn has_abandoned(&self, agent: &AgentId) -> bool {
        lock(&self.abandoned).iter().any(|what| what.is(JobSource::Agent(agent)))
    }

    /// How much was abandoned.
    pub(super) fn count_abandoned(&self) -> usize {
        lock(&self.abandoned).len()
    }

    /// The first that was abandoned.
    pub(super) fn next_abandoned(&self, of: JobSource<'_>) -> Option<Returning<'_>> {
        let mut abandoned = lock(&self.abandoned);
        let at = abandoned.iter().position(|what| what.is(of))?;
        let what = abandoned.remove(at);
        Some(Returning { extractions: self, what })
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
