//! The workers: they claim jobs under a lease, renew it while a job runs, and settle what it came to.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use super::settle::{End, settle};
use super::work::{Outcome, run};
use super::{after, record};
use crate::extraction::{ExtractionJob, JobError};
use crate::platform::{JobFigures, Platform};
use crate::ports::timeout;
use crate::reply::{ApiError, ErrorCode};
use crate::storage::retry::retry_on_conflict;
use crate::storage::{
    Job, JobChange, JobClaim, JobState, JobsWrite, Queue, ScopedJob, StorageError, StorageErrorKind, Woken,
};
use crate::values::{PlatformId, Timestamp};

/// How long a lease lasts.
const LEASE_MILLIS: u64 = 60_000;
/// How often a worker looks for jobs, and at a job that runs.
const TICK_MILLIS: u64 = 1_000;
/// After how many of these a lease is renewed.
const RENEWAL_TICKS: u32 = 15;
/// How many jobs are woken at a time.
const WOKEN_AT_ONCE: u32 = 100;
/// How many lost leases end a job: it ends its servers.
const MAX_LOST: u32 = 3;
/// How long a job may wait and run in all.
const MAX_AGE_MILLIS: i64 = 24 * 3_600_000;
/// The pauses while the engine is away; the last one is repeated.
const PAUSES_SECONDS: [u64; 6] = [5, 15, 45, 120, 360, 600];

impl Platform {
    /// Runs what the platform does in the background: the queued extractions. A host drives this future next to the
    /// requests; it ends after [`Platform::stop_background`], and dropped it loses nothing: another server, or this one
    /// later, does the jobs again. It needs a [timer](crate::ports::Timer).
    pub async fn background(&self) {
        let server = self.ports.ids.platform_id(self.now());
        let mut work: Vec<Pin<Box<dyn Future<Output = ()> + Send + '_>>> =
            vec![Box::pin(self.wake_forever())];
        for _ in 0..self.extraction.workers {
            work.push(Box::pin(self.work_forever(server)));
        }
        poll_fn(|cx| {
            work.retain_mut(|work| work.as_mut().poll(cx).is_pending());
            if work.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Ends [`Platform::background`]: no further job is claimed, and those that run are handed back.
    pub fn stop_background(&self) {
        self.extractions.signal.stop();
    }

    /// What the workers of this process did.
    #[must_use]
    pub fn job_figures(&self) -> JobFigures {
        self.extractions.figures()
    }

    async fn work_forever(&self, server: PlatformId) {
        let signal = &self.extractions.signal;
        while !signal.is_stopped() {
            let generation = signal.generation();
            match self.claim(server).await {
                Ok(Some(claimed)) => self.work(server, claimed).await,
                Ok(None) => {
                    timeout(&*self.ports.timer, TICK_MILLIS, signal.after(generation)).await;
                }
                Err(error) => {
                    tracing::warn!(%error, "failed to claim a queued extraction; retrying");
                    self.pause().await;
                }
            }
        }
    }

    /// A tick, or until the stop.
    async fn pause(&self) {
        let mut left = pin!(self.ports.timer.sleep(TICK_MILLIS));
        let signal = &self.extractions.signal;
        let mut stopped = pin!(async {
            while !signal.is_stopped() {
                signal.after(signal.generation()).await;
            }
        });
        poll_fn(
            |cx| {
                if left.as_mut().poll(cx).is_ready() { Poll::Ready(()) } else { stopped.as_mut().poll(cx) }
            },
        )
        .await;
    }

    async fn claim(&self, owner: PlatformId) -> Result<Option<ScopedJob>, StorageError> {
        let now = self.now();
        let until = after(now, LEASE_MILLIS);
        let claim = JobClaim { queue: Queue::Extraction, owner, now, until, at_most: 1 };
        Ok(self.storage.claim_jobs(&claim).await?.pop())
    }

    async fn wake_forever(&self) {
        let signal = &self.extractions.signal;
        while !signal.is_stopped() {
            match self.wake().await {
                Ok(woken) => {
                    if woken.ready + woken.lost > 0 {
                        signal.ring();
                    }
                    if woken.lost > 0 {
                        self.extractions.count_lost(woken.lost);
                        tracing::warn!(
                            jobs = woken.lost,
                            "the leases of queued extractions were lost; they are done again"
                        );
                    }
                }
                Err(error) => tracing::warn!(%error, "failed to look for due extractions; retrying"),
            }
            self.pause().await;
        }
    }

    async fn wake(&self) -> Result<Woken, StorageError> {
        let woken = self.storage.wake_jobs(Queue::Extraction, self.now(), WOKEN_AT_ONCE).await?;
        for erased in &woken.erased {
            self.remove_erased(erased).await?;
        }
        Ok(woken)
    }

    /// Gives back the credits of an erased job and removes it.
    async fn remove_erased(&self, erased: &ScopedJob) -> Result<(), StorageError> {
        let ScopedJob { scope, job } = erased;
        let exhausted = || StorageErrorKind::Stale.into();
        retry_on_conflict(exhausted, |_| async move {
            let removal = JobChange::Remove { id: job.id, version: job.version };
            let mut write = JobsWrite::new(self.now(), vec![removal]);
            if let Some(agent) = scope.as_ref().filter(|_| !job.reserved.is_none()) {
                write.account = self.storage.credit_account(agent).await?.map(|mut account| {
                    account.settle_job(job.reserved, 0);
                    account.version += 1;
                    account
                });
            }
            match self.storage.save_jobs(scope.as_ref(), &write).await {
                Ok(()) => Ok(Some(())),
                Err(error) if error.kind == StorageErrorKind::Missing => Ok(Some(())),
                Err(error) if error.kind == StorageErrorKind::Stale => {
                    // Another server has removed it, or the account has changed.
                    let again = self.storage.wake_jobs(job.queue, Timestamp::from_millis(0), WOKEN_AT_ONCE);
                    let is_there = again.await?.erased.iter().any(|other| other == erased);
                    Ok((!is_there).then_some(()))
                }
                Err(error) => Err(error),
            }
        })
        .await
    }

    /// Does a claimed job and settles it. What fails is done again when the lease has ended.
    async fn work(&self, server: PlatformId, claimed: ScopedJob) {
        let ScopedJob { scope: Some(agent), job } = claimed else { return };
        let id = job.id;
        let Ok(it) = record(&agent, job) else { return };
        self.extractions.observe_wait(self.now().millis_since(it.queued_at()));
        if let Err(error) = self.settle_claimed(server, &it).await {
            tracing::warn!(%agent, %id, %error, "failed to settle a queued extraction; it is done again");
        }
    }

    async fn settle_claimed(&self, server: PlatformId, it: &ExtractionJob) -> Result<(), ApiError> {
        let failed = |code: ErrorCode, message: &str| {
            End::Failed(JobError { code: code.as_str().to_owned(), message: message.to_owned() })
        };
        let end = if it.job.lost >= MAX_LOST {
            failed(ErrorCode::ExtractionFailed, "The servers that read the document did not end")
        } else if self.now().millis_since(it.queued_at()) > MAX_AGE_MILLIS {
            failed(ErrorCode::ExtractionTimeout, "The extraction took too long")
        } else {
            match self.attempt(server, it).await {
                Attempt::Ended(Outcome::Done(document, cost)) => End::Succeeded { document, cost },
                Attempt::Ended(Outcome::Failed(error)) => End::Failed(error),
                Attempt::Ended(Outcome::Again) => return self.give_back(it, true).await,
                Attempt::Stopped => return self.give_back(it, false).await,
                Attempt::TimedOut => failed(ErrorCode::ExtractionTimeout, "The extraction took too long"),
                // Cancelled, erased, or another server's.
                Attempt::Lost => return Ok(()),
            }
        };
        settle(self, it, &end).await.map(drop)
    }

    /// Runs a job while its lease is renewed.
    async fn attempt(&self, server: PlatformId, it: &ExtractionJob) -> Attempt {
        let limit = Duration::from_millis(self.extraction.job_timeout_millis);
        let begun = self.now();
        let mut work = pin!(run(self, it, limit));
        let key = [(Some(it.agent_id.clone()), it.job.id)];
        let mut ticks = 0;
        loop {
            if let Some(outcome) = timeout(&*self.ports.timer, TICK_MILLIS, work.as_mut()).await {
                return Attempt::Ended(outcome);
            }
            if self.extractions.signal.is_stopped() {
                return Attempt::Stopped;
            }
            let spent = u64::try_from(self.now().millis_since(begun)).unwrap_or(0);
            if spent > self.extraction.job_timeout_millis {
                return Attempt::TimedOut;
            }
            ticks += 1;
            if ticks % RENEWAL_TICKS == 0 {
                let until = after(self.now(), LEASE_MILLIS);
                // A store that is away may be there again before the lease ends.
                if let Ok(renewed) = self.storage.renew_jobs(server, &key, until).await
                    && renewed != [true]
                {
                    return Attempt::Lost;
                }
            }
        }
    }

    /// Hands a job back: at once, as if it had not begun, or after a pause.
    async fn give_back(&self, it: &ExtractionJob, pauses: bool) -> Result<(), ApiError> {
        let now = self.now();
        let at = usize::try_from(it.job.attempts.saturating_sub(1)).unwrap_or(usize::MAX);
        let pause = PAUSES_SECONDS.get(at).or(PAUSES_SECONDS.last()).copied().unwrap_or(600);
        let job = Job {
            state: if pauses { JobState::Scheduled } else { JobState::Ready },
            version: it.job.version + 1,
            due_at: pauses.then(|| after(now, pause * 1_000)),
            lease: None,
            attempts: it.job.attempts - u32::from(!pauses),
            ..it.job.clone()
        };
        let write = JobsWrite::new(now, vec![JobChange::Save(Box::new(job))]);
        match self.storage.save_jobs(Some(&it.agent_id), &write).await {
            // Cancelled or erased meanwhile.
            Err(error) if !matches!(error.kind, StorageErrorKind::Stale | StorageErrorKind::Missing) => {
                Err(error.into())
            }
            _ => Ok(()),
        }
    }
}

/// How an attempt ended.
enum Attempt {
    Ended(Outcome),
    Stopped,
    TimedOut,
    Lost,
}
