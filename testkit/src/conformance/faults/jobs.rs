//! Faults in queues of jobs.

use super::*;
use openapi_core::storage::{
    Job, JobChange, JobClaim, JobPage, JobQuery, JobState, JobsWrite, Queue, QueueFront, QueueLoad,
    ScopedJob, Woken,
};
use openapi_core::values::JobId;

impl Faulty {
    pub(super) async fn job(&self, scope: Option<&AgentId>, id: JobId) -> Result<Option<Job>> {
        if self.is(PlantedFault::JobCrossesScopes) {
            for scope in self.every_scope(scope) {
                if let Some(job) = self.inner.job(scope.as_ref(), id).await? {
                    return Ok(Some(job));
                }
            }
        }
        let mut found = self.inner.job(scope, id).await?;
        if let Some(job) = &mut found {
            match self.fault {
                Some(PlantedFault::JobLosesLease) => job.lease = None,
                Some(PlantedFault::JobLosesReserve) => job.reserved = Default::default(),
                _ => {}
            }
        }
        Ok(found)
    }

    pub(super) async fn jobs(&self, scope: Option<&AgentId>, query: &JobQuery) -> Result<JobPage> {
        let mut query = query.clone();
        match self.fault {
            Some(PlantedFault::JobStatesIgnored) => query.states.clear(),
            Some(PlantedFault::JobBatchIgnored) => query.batch = None,
            Some(PlantedFault::JobClientIgnored) => query.client_id = None,
            _ => {}
        }
        let mut page = self.inner.jobs(scope, &query).await?;
        match self.fault {
            Some(PlantedFault::JobTotalOfPage) => page.total = page.jobs.len() as u64,
            Some(PlantedFault::JobsOldestFirst) => page.jobs.reverse(),
            Some(PlantedFault::JobPositionInclusive) => {
                if let Window::After { position: (_, id), .. } = &query.window {
                    page.jobs.splice(0..0, self.inner.job(scope, *id).await?);
                }
            }
            Some(PlantedFault::JobListShowsResults) => {
                for job in &mut page.jobs {
                    job.result = self.inner.job(scope, job.id).await?.and_then(|job| job.result);
                }
            }
            _ => {}
        }
        Ok(page)
    }

    pub(super) async fn count_jobs(
        &self,
        scope: Option<&AgentId>,
        queue: Queue,
        batch: &str,
    ) -> Result<Vec<(JobState, u64)>> {
        let mut counts = self.inner.count_jobs(scope, queue, batch).await?;
        if self.is(PlantedFault::BatchCountsUnsorted) {
            counts.reverse();
        }
        Ok(counts)
    }

    pub(super) async fn queue_front(&self, queue: Queue, scope: Option<&AgentId>) -> Result<QueueFront> {
        let mut front = self.inner.queue_front(queue, scope).await?;
        let load = self.inner.queue_load(queue).await?;
        match self.fault {
            Some(PlantedFault::HeadIgnoresRunning) if load.ready == 0 => front.head = 0,
            Some(PlantedFault::AgentsDoNotTakeTurns) => front.head = front.head.max(front.last),
            Some(PlantedFault::LastIgnoresScheduled) if load.scheduled > 0 => front.last = 0,
            _ => {}
        }
        Ok(front)
    }

    pub(super) async fn queue_load(&self, queue: Queue) -> Result<QueueLoad> {
        let mut load = self.inner.queue_load(queue).await?;
        if self.is(PlantedFault::QueueLoadWithoutAge) {
            load.oldest = None;
        }
        Ok(load)
    }

    pub(super) async fn claim_jobs(&self, claim: &JobClaim) -> Result<Vec<ScopedJob>> {
        let at_most = if self.is(PlantedFault::ClaimUnbounded) { u32::MAX } else { claim.at_most };
        let mut claimed = self.inner.claim_jobs(&JobClaim { at_most, ..*claim }).await?;
        match self.fault {
            Some(PlantedFault::ClaimIgnoresTurn) => claimed.sort_by_key(|it| it.job.id),
            Some(PlantedFault::ClaimKeepsVersion) => claimed.iter_mut().for_each(|it| it.job.version -= 1),
            Some(PlantedFault::ClaimWithoutStart) => {
                claimed.iter_mut().for_each(|it| it.job.started_at = None);
            }
            Some(PlantedFault::ClaimTwice) => {
                // The first of them stays ready.
                if let Some(ScopedJob { scope, job }) = claimed.first() {
                    let job =
                        Job { state: JobState::Ready, version: job.version + 1, lease: None, ..job.clone() };
                    let write = JobsWrite::new(claim.now, vec![JobChange::Save(Box::new(job))]);
                    self.inner.save_jobs(scope.as_ref(), &write).await?;
                }
            }
            _ => {}
        }
        Ok(claimed)
    }

    pub(super) async fn renew_jobs(
        &self,
        owner: PlatformId,
        jobs: &[(Option<AgentId>, JobId)],
        until: Timestamp,
    ) -> Result<Vec<bool>> {
        let renewed = self.inner.renew_jobs(owner, jobs, until).await?;
        if !self.is(PlantedFault::RenewalByAnother) {
            return Ok(renewed);
        }
        let mut all = Vec::new();
        for (scope, id) in jobs {
            let job = self.inner.job(scope.as_ref(), *id).await?;
            all.push(job.is_some_and(|job| job.state == JobState::Running));
        }
        Ok(all)
    }

    pub(super) async fn wake_jobs(&self, queue: Queue, now: Timestamp, at_most: u32) -> Result<Woken> {
        let at_most = if self.is(PlantedFault::WakeUnbounded) { u32::MAX } else { at_most };
        let now = match self.fault {
            Some(PlantedFault::ExpiredLeaseNeverEnds) => Timestamp::from_millis(0),
            Some(PlantedFault::WakeTimeExclusive) => now.plus_millis(-1),
            _ => now,
        };
        let mut woken = self.inner.wake_jobs(queue, now, at_most).await?;
        match self.fault {
            Some(PlantedFault::ErasedJobsForgotten) => woken.erased.clear(),
            Some(PlantedFault::ErasedJobsLoseReserve) => {
                woken.erased.iter_mut().for_each(|it| it.job.reserved = Default::default());
            }
            _ => {}
        }
        Ok(woken)
    }

    pub(super) async fn save_jobs(&self, scope: Option<&AgentId>, write: &JobsWrite) -> Result<()> {
        let mut write = write.clone();
        write.effects = self.without_events(&write.effects);
        match self.fault {
            Some(PlantedFault::SettleIgnoresVersion) => {
                for change in &mut write.changes {
                    let stored = self.inner.job(scope, change.id()).await?.map(|job| job.version);
                    match (change, stored) {
                        (JobChange::Save(job), stored) => job.version = stored.unwrap_or(0) + 1,
                        (JobChange::Remove { version, .. }, Some(stored)) => *version = stored,
                        _ => {}
                    }
                }
            }
            Some(PlantedFault::SettleWithoutLedger) => write.entries.clear(),
            Some(PlantedFault::SettleWithoutAccount) => write.account = None,
            Some(PlantedFault::JobDocumentsLost) => write.documents.clear(),
            Some(PlantedFault::JobRecordsLost) => write.records.clear(),
            Some(PlantedFault::JobRecordsIgnoreVersion) => {
                for change in &mut write.records {
                    let stored = self.inner.record(scope, change.key()).await?.map_or(0, |it| it.version);
                    match change {
                        RecordChange::Save(record) => record.version = stored + 1,
                        RecordChange::Remove { version, .. } => *version = stored,
                    }
                }
            }
            Some(PlantedFault::JobDocumentsStay) => write.discard.clear(),
            Some(PlantedFault::JobsWithoutAudit) => write.effects.audit.clear(),
            Some(PlantedFault::JobAnswerNotStored) => write.effects.replay = None,
            Some(PlantedFault::MaxUnfinishedIgnored) => write.max_unfinished = None,
            Some(PlantedFault::MaxUnfinishedOffByOne) => {
                write.max_unfinished = write.max_unfinished.map(|(queue, limit)| (queue, limit + 1));
            }
            Some(PlantedFault::JobContactIgnored) => write.contacts.clear(),
            Some(PlantedFault::OtherJobContactsIgnored) => write.contacts.truncate(1),
            Some(PlantedFault::JobsSavedOneByOne) => {
                for change in std::mem::take(&mut write.changes) {
                    self.inner.save_jobs(scope, &JobsWrite::new(write.at, vec![change])).await?;
                }
            }
            _ => {}
        }
        let result = self.inner.save_jobs(scope, &write).await;
        if result.is_err() {
            self.refused_events(scope, &write.effects).await?;
        }
        result
    }

    /// Leaves the jobs of an erased contact as they were.
    pub(super) async fn restore_jobs(&self, agent: &AgentId, before: Vec<Job>, at: Timestamp) -> Result<()> {
        for job in before {
            let job = Job { version: job.version + 2, ..job };
            self.inner
                .save_jobs(Some(agent), &JobsWrite::new(at, vec![JobChange::Save(Box::new(job))]))
                .await?;
        }
        Ok(())
    }

    /// The jobs of a contact.
    pub(super) async fn jobs_of(&self, agent: &AgentId, contact: ContactId) -> Result<Vec<Job>> {
        let window = Window::Page { offset: 0, limit: 1_000 };
        let query =
            JobQuery { queue: Queue::Extraction, states: Vec::new(), batch: None, client_id: None, window };
        let mut jobs = self.inner.jobs(Some(agent), &query).await?.jobs;
        jobs.retain(|job| job.subject == Some(openapi_core::storage::Subject::Contact(contact)));
        Ok(jobs)
    }
}
