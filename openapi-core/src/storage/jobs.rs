//! Jobs: work that a queue holds until a server has done it. A new feature adds a queue, not a trait.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{DocumentWrite, Effects, RecordChange, Result, Subject, Window};
use crate::credits::{CreditAccount, CreditEntry, JobCredits};
use crate::json::RawObject;
use crate::values::{AgentId, ContactId, FileId, JobId, PlatformId, Timestamp};

macro_rules! numbered {
    ($(#[$of:meta])* $type:ident { $($(#[$doc:meta])* $name:ident = $number:literal,)* }) => {
        $(#[$of])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub enum $type { $($(#[$doc])* $name,)* }

        impl $type {
            /// All of them.
            pub const ALL: &'static [$type] = &[$($type::$name),*];

            /// The number that stores write for it.
            #[must_use]
            pub const fn number(self) -> u16 {
                match self { $($type::$name => $number,)* }
            }

            /// That of a number that a store has written.
            #[must_use]
            pub fn of_number(number: u16) -> Option<Self> {
                $type::ALL.iter().copied().find(|it| it.number() == number)
            }
        }
    };
}

numbered! {
    /// What jobs there are. The numbers are never given to another queue; 3 is that of the console.
    Queue {
        /// Extractions.
        Extraction = 1,
        /// Changes that time brings about.
        Reminder = 2,
        /// Websites that agents' documents come from: each job is one, and is done again and again.
        Crawl = 4,
        /// E-mail to the visitors of conversations: each conversation that is mailed about has one.
        Mail = 5,
    }
}

numbered! {
    /// Where a job stands.
    JobState {
        /// Waits for a server.
        Ready = 0,
        /// Is ready from its due time on.
        Scheduled = 1,
        /// A server has it under a lease.
        Running = 2,
        /// Is done.
        Succeeded = 3,
        /// Cannot be done.
        Failed = 4,
        /// Was cancelled.
        Cancelled = 5,
        /// Its subject was erased: only [`QueueStore::wake_jobs`] shows it, until it is removed.
        Erased = 6,
    }
}

impl JobState {
    /// Whether the job is still to be done: ready, scheduled or running.
    #[must_use]
    pub const fn is_unfinished(self) -> bool {
        matches!(self, JobState::Ready | JobState::Scheduled | JobState::Running)
    }
}

/// A job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    /// What distinguishes it from the other jobs of its scope.
    pub id: JobId,
    /// The queue that it is in.
    pub queue: Queue,
    /// Where it stands.
    pub state: JobState,
    /// How often it was changed, from 1. A renewal of the lease is no change.
    pub version: u64,
    /// Its position among the ready jobs of the queue, of all scopes: the least comes first, then the least id.
    pub turn: u64,
    /// Of a scheduled job, when it becomes ready; of one that has ended, when it is removed, if ever; else none.
    pub due_at: Option<Timestamp>,
    /// Who runs it; of a running job alone.
    pub lease: Option<JobLease>,
    /// How often a server began it.
    pub attempts: u32,
    /// How often its lease ended before it did.
    pub lost: u32,
    /// The jobs that belong together; up to 64 characters.
    pub batch: Option<Box<str>>,
    /// What its caller knows it by; up to 256 characters.
    pub client_id: Option<Box<str>>,
    /// Whose erasure erases it in the same write.
    pub subject: Option<Subject>,
    /// Credits that are set aside for it. It keeps them when it is erased.
    pub reserved: JobCredits,
    /// When it came.
    pub created_at: Timestamp,
    /// When a server first began it.
    pub started_at: Option<Timestamp>,
    /// What is to be done and what became of it.
    pub body: RawObject,
    /// What was found; lists leave it out.
    pub result: Option<RawObject>,
}

/// Who runs a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobLease {
    /// The server.
    pub owner: PlatformId,
    /// Until when nobody else takes the job.
    pub until: Timestamp,
}

/// A job with its scope: an agent, or none for one of the installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopedJob {
    /// The scope.
    pub scope: Option<AgentId>,
    /// The job.
    pub job: Job,
}

/// A position in a list of jobs: when the job came, and its id.
pub type JobPosition = (Timestamp, JobId);

/// Which jobs of a scope are listed: the newest first, by [`JobPosition`], without their results.
#[derive(Clone, Debug, PartialEq)]
pub struct JobQuery {
    /// The queue.
    pub queue: Queue,
    /// The states; without any, all. Erased jobs are never listed.
    pub states: Vec<JobState>,
    /// Only those of a batch, by the exact name.
    pub batch: Option<Box<str>>,
    /// Only those that their caller knows by this, exactly.
    pub client_id: Option<Box<str>>,
    /// Which part.
    pub window: Window<JobPosition>,
}

/// A part of a list of jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobPage {
    /// The jobs.
    pub jobs: Vec<Job>,
    /// How many there are in all.
    pub total: u64,
}

/// What the turn of a new job follows from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueFront {
    /// The least turn of all ready jobs of the queue; without any, the greatest of the running ones, else 0. Jobs of all
    /// scopes count.
    pub head: u64,
    /// The greatest turn of the unfinished jobs of the scope; 0 without any.
    pub last: u64,
}

impl QueueFront {
    /// The turn of a job of this cost: start-time fair queueing, with the head as the virtual time. Scopes whose jobs wait
    /// take turns by what their jobs cost, and one that had none comes next after the head.
    #[must_use]
    pub fn turn(self, cost: u64) -> u64 {
        self.head.max(self.last.saturating_add(cost))
    }
}

/// What waits in a queue, of all scopes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueLoad {
    /// Ready jobs.
    pub ready: u64,
    /// Scheduled jobs.
    pub scheduled: u64,
    /// Running jobs.
    pub running: u64,
    /// When the oldest ready job came.
    pub oldest: Option<Timestamp>,
}

/// A server that takes jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobClaim {
    /// The queue.
    pub queue: Queue,
    /// The server.
    pub owner: PlatformId,
    /// When this happens.
    pub now: Timestamp,
    /// When the leases end.
    pub until: Timestamp,
    /// How many jobs at most.
    pub at_most: u32,
}

/// What [`QueueStore::wake_jobs`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Woken {
    /// How many scheduled jobs became ready.
    pub ready: u64,
    /// How many leases had ended.
    pub lost: u64,
    /// How many jobs were removed.
    pub removed: u64,
    /// Erased jobs, in any order: for the caller to release their credits and remove them.
    pub erased: Vec<ScopedJob>,
}

/// Changes of jobs of one scope with everything that belongs to them, all or nothing. No two changes are of the same job.
/// Without an agent, it has the changes, `max_unfinished` and entries of the audit log alone.
#[derive(Clone, Debug, PartialEq)]
pub struct JobsWrite {
    /// When it happens.
    pub at: Timestamp,
    /// The changes.
    pub changes: Vec<JobChange>,
    /// Records of the agent that change with them, without unique values. No two changes are of the same key.
    pub records: Vec<RecordChange>,
    /// How many unfinished jobs the scope may have in a queue after the changes.
    pub max_unfinished: Option<(Queue, u64)>,
    /// The contacts that the jobs are about, at the versions that the caller has seen.
    pub contacts: Vec<(ContactId, u64)>,
    /// The account as it is to be, of the version after the stored one.
    pub account: Option<CreditAccount>,
    /// What goes into the ledger.
    pub entries: Vec<CreditEntry>,
    /// Documents to be retained.
    pub documents: Vec<DocumentWrite>,
    /// Retained documents to be discarded: their contents are due at `at`. Absent ones are ignored.
    pub discard: Vec<FileId>,
    /// What else is written.
    pub effects: Effects,
}

impl JobsWrite {
    /// Changes alone.
    #[must_use]
    pub fn new(at: Timestamp, changes: Vec<JobChange>) -> Self {
        JobsWrite {
            at,
            changes,
            records: Vec::new(),
            max_unfinished: None,
            contacts: Vec::new(),
            account: None,
            entries: Vec::new(),
            documents: Vec::new(),
            discard: Vec::new(),
            effects: Effects::default(),
        }
    }
}

/// A change of a job.
#[derive(Clone, Debug, PartialEq)]
pub enum JobChange {
    /// Adds the job if its version is 1 and there is none of its id; else replaces it if the stored version is
    /// `version - 1`. Queue, subject and `created_at` never change.
    Save(Box<Job>),
    /// Removes the job, an erased one included, if this version is stored.
    Remove {
        /// The job.
        id: JobId,
        /// The version that the caller has seen.
        version: u64,
    },
}

impl JobChange {
    /// The job that is changed.
    #[must_use]
    pub fn id(&self) -> JobId {
        match self {
            JobChange::Save(job) => job.id,
            JobChange::Remove { id, .. } => *id,
        }
    }

    /// The version that has to be stored before, 0 standing for none. [`None`] where no version can precede.
    #[must_use]
    pub fn expected(&self) -> Option<u64> {
        match self {
            JobChange::Save(job) => job.version.checked_sub(1),
            JobChange::Remove { version, .. } => (*version > 0).then_some(*version),
        }
    }
}

/// Queues of jobs. The scope of a job is an agent, or without one the installation. Jobs of an absent or deleted agent
/// are absent from every method, also from those over all scopes.
///
/// Erasing a contact or a conversation turns its jobs, in the same write and whatever their state, into
/// [`JobState::Erased`]: the version is raised by 1, `due_at` is the time of the erasure, `reserved` and `turn` stay, the
/// body is empty, and lease, batch, client id, subject and result go. So a server that runs such a job fails to settle it.
#[async_trait]
pub trait QueueStore: Send + Sync {
    /// One job with its result; none if it is erased.
    async fn job(&self, scope: Option<&AgentId>, id: JobId) -> Result<Option<Job>>;

    /// A page of jobs and the exact number of all.
    async fn jobs(&self, scope: Option<&AgentId>, query: &JobQuery) -> Result<JobPage>;

    /// How many jobs of a batch there are in each state, by state, without states that none is in and without erased ones.
    async fn count_jobs(
        &self,
        scope: Option<&AgentId>,
        queue: Queue,
        batch: &str,
    ) -> Result<Vec<(JobState, u64)>>;

    /// What the turn of a new job of a scope follows from.
    async fn queue_front(&self, queue: Queue, scope: Option<&AgentId>) -> Result<QueueFront>;

    /// What waits in a queue; the operator's own.
    async fn queue_load(&self, queue: Queue) -> Result<QueueLoad>;

    /// Takes ready jobs of all scopes, the least turn first, and returns them in that order: they are running, their
    /// version and `attempts` are raised by 1, `lease` is set, and so is `started_at` of those that had none. No job is
    /// given to two claims.
    async fn claim_jobs(&self, claim: &JobClaim) -> Result<Vec<ScopedJob>>;

    /// Extends the leases of running jobs that this server has; returns for each whether it has it. Versions stay.
    async fn renew_jobs(
        &self,
        owner: PlatformId,
        jobs: &[(Option<AgentId>, JobId)],
        until: Timestamp,
    ) -> Result<Vec<bool>>;

    /// Does what is due at `now` for up to `at_most` jobs of each of the following, in any order: scheduled jobs become
    /// ready; running jobs whose lease has ended become ready, without a lease, their `lost` raised by 1; jobs that have
    /// ended are removed. Those that become ready have their version raised by 1 and no `due_at`; their turn stays.
    /// Returns up to `at_most` erased jobs unchanged.
    async fn wake_jobs(&self, queue: Queue, now: Timestamp, at_most: u32) -> Result<Woken>;

    /// Changes jobs of a scope, all of them or none.
    ///
    /// # Errors
    /// In this order: [`Missing`](super::StorageErrorKind::Missing) without such an agent,
    /// [`ReplayExists`](super::StorageErrorKind::ReplayExists), for each contact in turn `Missing`
    /// without it and [`Stale`](super::StorageErrorKind::Stale) when another version of it is stored, `Stale` when
    /// another version of a job, of a record or of the account is
    /// stored, [`QuotaExceeded`](super::StorageErrorKind::QuotaExceeded) of the unit
    /// [`Jobs`](super::QuotaUnit::Jobs) when more jobs would be unfinished than may be; then for each document in turn
    /// `QuotaExceeded` when the files and documents of the agent would have more bytes than its `max_bytes`, the earlier
    /// ones and not the discarded ones counted, [`AlreadyExists`](super::StorageErrorKind::AlreadyExists) for a used id,
    /// be it by an earlier one; then `AlreadyExists` when the ledger has an entry of a time and id.
    async fn save_jobs(&self, scope: Option<&AgentId>, write: &JobsWrite) -> Result<()>;
}
