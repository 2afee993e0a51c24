//! Jobs in the model.

use std::collections::BTreeMap;

use super::{Tenant, World, shapes, window};
use openapi_core::agents::AgentStatus;
use openapi_core::json::RawObject;
use openapi_core::ports::BlobKey;
use openapi_core::storage::{
    DocumentWrite, Job, JobChange, JobClaim, JobLease, JobPage, JobPosition, JobQuery, JobState, JobsWrite,
    Queue, QueueFront, QueueLoad, QuotaExcess, QuotaUnit, Result, ScopedJob, StorageErrorKind, Subject,
    Woken,
};
use openapi_core::values::{AgentId, JobId, PlatformId, Timestamp};

pub(super) type Jobs = BTreeMap<JobId, Job>;

impl Tenant {
    /// Erases the jobs of a contact or conversation.
    pub(super) fn erase_jobs(&mut self, subject: Subject, at: Timestamp) {
        for job in self.jobs.values_mut().filter(|job| job.subject == Some(subject)) {
            job.state = JobState::Erased;
            job.version += 1;
            job.due_at = Some(at);
            (job.lease, job.batch, job.client_id, job.subject) = (None, None, None, None);
            (job.body, job.result) = (RawObject::default(), None);
        }
    }

    /// What keeps a write from being stored, besides its jobs.
    fn refuse_jobs_write(&self, write: &JobsWrite) -> Result<()> {
        self.refuse_replayed(&write.effects, write.at)?;
        for (contact, version) in write.contacts.iter().copied() {
            self.refuse_stale(contact, version)?;
        }
        refuse_stale_jobs(&self.jobs, &write.changes)?;
        shapes::refuse_stale_records(&self.records, &write.records)?;
        if let Some(account) = &write.account {
            let stored = self.credits.as_ref().map_or(0, |stored| stored.version);
            if stored.checked_add(1) != Some(account.version) {
                return Err(StorageErrorKind::Stale.into());
            }
        }
        refuse_excess(&self.jobs, write)?;
        self.refuse_documents(write)?;
        let mut entries: Vec<_> = write.entries.iter().map(|entry| (entry.at, entry.id)).collect();
        entries.sort_unstable();
        let is_twice = entries.windows(2).any(|pair| pair[0] == pair[1]);
        if is_twice || entries.iter().any(|key| self.ledger.contains_key(key)) {
            return Err(StorageErrorKind::AlreadyExists.into());
        }
        Ok(())
    }

    fn refuse_documents(&self, write: &JobsWrite) -> Result<()> {
        let discarded = write.discard.iter().filter_map(|id| self.documents.get(id));
        let mut bytes = self.bytes() - discarded.map(|document| document.stored_size).sum::<u64>();
        let mut ids = Vec::new();
        for DocumentWrite { document, max_bytes } in &write.documents {
            bytes = bytes.saturating_add(document.stored_size);
            if let Some(limit) = max_bytes.filter(|limit| bytes > *limit) {
                let excess = QuotaExcess { unit: QuotaUnit::Bytes, limit, actual: bytes };
                return Err(StorageErrorKind::QuotaExceeded(excess).into());
            }
            let is_document =
                self.documents.contains_key(&document.id) && !write.discard.contains(&document.id);
            let is_taken = is_document || self.files.contains_key(&document.id);
            if is_taken || ids.contains(&document.id) {
                return Err(StorageErrorKind::AlreadyExists.into());
            }
            ids.push(document.id);
        }
        Ok(())
    }
}

fn refuse_stale_jobs(jobs: &Jobs, changes: &[JobChange]) -> Result<()> {
    for change in changes {
        let stored = jobs.get(&change.id()).map_or(0, |job| job.version);
        if change.expected() != Some(stored) {
            return Err(StorageErrorKind::Stale.into());
        }
    }
    Ok(())
}

fn refuse_excess(jobs: &Jobs, write: &JobsWrite) -> Result<()> {
    let Some((queue, limit)) = write.max_unfinished else { return Ok(()) };
    let counts = |job: &&Job| job.queue == queue && job.state.is_unfinished();
    let is_changed = |job: &&Job| write.changes.iter().any(|change| change.id() == job.id);
    let others = jobs.values().filter(counts).filter(|job| !is_changed(job)).count() as u64;
    let saved = write.changes.iter().filter_map(|change| match change {
        JobChange::Save(job) => Some(&**job),
        JobChange::Remove { .. } => None,
    });
    let actual = others + saved.filter(counts).count() as u64;
    if actual > limit {
        return Err(
            StorageErrorKind::QuotaExceeded(QuotaExcess { unit: QuotaUnit::Jobs, limit, actual }).into()
        );
    }
    Ok(())
}

fn change(jobs: &mut Jobs, changes: &[JobChange]) {
    for change in changes {
        match change {
            JobChange::Save(job) => {
                jobs.insert(job.id, (**job).clone());
            }
            JobChange::Remove { id, .. } => {
                jobs.remove(id);
            }
        }
    }
}

fn is_shown(job: &Job) -> bool {
    job.state != JobState::Erased
}

impl World {
    fn jobs_in(&self, scope: Option<&AgentId>) -> Option<&Jobs> {
        match scope {
            Some(agent) => self.tenant(agent).map(|tenant| &tenant.jobs),
            None => Some(&self.installation_jobs),
        }
    }

    /// The jobs of a queue, of all scopes.
    fn every_job(&self, queue: Queue) -> impl Iterator<Item = (Option<AgentId>, &Job)> {
        let living = self.agents.values().filter(|tenant| tenant.agent.status != AgentStatus::Deleted);
        let of_agents = living.map(|tenant| (Some(tenant.agent.id.clone()), &tenant.jobs));
        of_agents
            .chain([(None, &self.installation_jobs)])
            .flat_map(|(scope, jobs)| jobs.values().map(move |job| (scope.clone(), job)))
            .filter(move |(_, job)| job.queue == queue)
    }

    fn job_mut(&mut self, scope: Option<&AgentId>, id: JobId) -> Option<&mut Job> {
        match scope {
            Some(agent) => self.tenant_mut(agent).ok()?.jobs.get_mut(&id),
            None => self.installation_jobs.get_mut(&id),
        }
    }

    /// Up to `at_most` jobs of a queue of all scopes.
    fn some_jobs(
        &self,
        queue: Queue,
        at_most: u32,
        wanted: impl Fn(&Job) -> bool,
    ) -> Vec<(Option<AgentId>, JobId)> {
        let found = self.every_job(queue).filter(|(_, job)| wanted(job));
        found.map(|(scope, job)| (scope, job.id)).take(at_most as usize).collect()
    }

    pub(crate) fn job(&self, scope: Option<&AgentId>, id: JobId) -> Option<Job> {
        self.jobs_in(scope)?.get(&id).filter(|job| is_shown(job)).cloned()
    }

    pub(crate) fn jobs(&self, scope: Option<&AgentId>, query: &JobQuery) -> JobPage {
        let Some(jobs) = self.jobs_in(scope) else { return JobPage::default() };
        let wanted = |job: &&Job| {
            job.queue == query.queue
                && is_shown(job)
                && (query.states.is_empty() || query.states.contains(&job.state))
                && (query.batch.is_none() || job.batch == query.batch)
                && (query.client_id.is_none() || job.client_id == query.client_id)
        };
        let found: Vec<(JobPosition, &Job)> =
            jobs.values().filter(wanted).map(|job| ((job.created_at, job.id), job)).collect();
        let total = found.len() as u64;
        let mut jobs = window(found, &query.window, |a, b| b.cmp(a));
        jobs.iter_mut().for_each(|job| job.result = None);
        JobPage { jobs, total }
    }

    pub(crate) fn count_jobs(
        &self,
        scope: Option<&AgentId>,
        queue: Queue,
        batch: &str,
    ) -> Vec<(JobState, u64)> {
        let jobs = self.jobs_in(scope).into_iter().flat_map(BTreeMap::values);
        let mut counts = BTreeMap::new();
        for job in jobs.filter(|job| job.queue == queue && is_shown(job)) {
            if job.batch.as_deref() == Some(batch) {
                *counts.entry(job.state).or_insert(0) += 1;
            }
        }
        counts.into_iter().collect()
    }

    pub(crate) fn queue_front(&self, queue: Queue, scope: Option<&AgentId>) -> QueueFront {
        let turns =
            |state| self.every_job(queue).filter(move |(_, job)| job.state == state).map(|(_, job)| job.turn);
        let head = turns(JobState::Ready).min().or_else(|| turns(JobState::Running).max());
        let own = self.jobs_in(scope).into_iter().flat_map(BTreeMap::values);
        let unfinished = own.filter(|job| job.queue == queue && job.state.is_unfinished());
        QueueFront { head: head.unwrap_or(0), last: unfinished.map(|job| job.turn).max().unwrap_or(0) }
    }

    pub(crate) fn queue_load(&self, queue: Queue) -> QueueLoad {
        let mut load = QueueLoad::default();
        for (_, job) in self.every_job(queue) {
            match job.state {
                JobState::Ready => {
                    load.ready += 1;
                    load.oldest = Some(load.oldest.map_or(job.created_at, |at| at.min(job.created_at)));
                }
                JobState::Scheduled => load.scheduled += 1,
                JobState::Running => load.running += 1,
                _ => {}
            }
        }
        load
    }

    pub(crate) fn claim_jobs(&mut self, claim: &JobClaim) -> Vec<ScopedJob> {
        let mut ready: Vec<_> = self
            .every_job(claim.queue)
            .filter(|(_, job)| job.state == JobState::Ready)
            .map(|(scope, job)| (job.turn, job.id, scope))
            .collect();
        ready.sort();
        ready.truncate(claim.at_most as usize);
        let mut claimed = Vec::new();
        for (_, id, scope) in ready {
            let Some(job) = self.job_mut(scope.as_ref(), id) else { continue };
            job.state = JobState::Running;
            job.version += 1;
            job.attempts += 1;
            job.lease = Some(JobLease { owner: claim.owner, until: claim.until });
            job.started_at.get_or_insert(claim.now);
            claimed.push(ScopedJob { job: job.clone(), scope });
        }
        claimed
    }

    pub(crate) fn renew_jobs(
        &mut self,
        owner: PlatformId,
        jobs: &[(Option<AgentId>, JobId)],
        until: Timestamp,
    ) -> Vec<bool> {
        let mut renew = |(scope, id): &(Option<AgentId>, JobId)| {
            let Some(job) = self.job_mut(scope.as_ref(), *id) else { return false };
            let lease = job.lease.as_mut().filter(|lease| lease.owner == owner);
            lease.map(|lease| lease.until = until).is_some()
        };
        jobs.iter().map(&mut renew).collect()
    }

    pub(crate) fn wake_jobs(&mut self, queue: Queue, now: Timestamp, at_most: u32) -> Woken {
        let mut woken = Woken::default();
        let is_due = |job: &Job| job.due_at.is_some_and(|due_at| due_at <= now);
        let due = |job: &Job| job.state == JobState::Scheduled && is_due(job);
        let lost = |job: &Job| job.lease.is_some_and(|lease| lease.until <= now);
        let over = |job: &Job| !job.state.is_unfinished() && is_shown(job) && is_due(job);
        let erased = self.every_job(queue).filter(|(_, job)| !is_shown(job)).take(at_most as usize);
        woken.erased = erased.map(|(scope, job)| ScopedJob { scope, job: job.clone() }).collect();
        for (scope, id) in self.some_jobs(queue, at_most, over) {
            match &scope {
                Some(agent) => drop(self.tenant_mut(agent).map(|tenant| tenant.jobs.remove(&id))),
                None => drop(self.installation_jobs.remove(&id)),
            }
            woken.removed += 1;
        }
        let (due, lost) = (self.some_jobs(queue, at_most, due), self.some_jobs(queue, at_most, lost));
        (woken.ready, woken.lost) = (due.len() as u64, lost.len() as u64);
        for (scope, id) in due.into_iter().chain(lost) {
            let Some(job) = self.job_mut(scope.as_ref(), id) else { continue };
            job.lost += u32::from(job.state == JobState::Running);
            job.state = JobState::Ready;
            job.version += 1;
            (job.due_at, job.lease) = (None, None);
        }
        woken
    }

    pub(crate) fn save_jobs(&mut self, scope: Option<&AgentId>, write: &JobsWrite) -> Result<()> {
        let Some(agent) = scope else {
            refuse_stale_jobs(&self.installation_jobs, &write.changes)?;
            refuse_excess(&self.installation_jobs, write)?;
            change(&mut self.installation_jobs, &write.changes);
            write.effects.audit.iter().for_each(|entry| self.chain(entry));
            return Ok(());
        };
        let tenant = self.tenant_mut(agent)?;
        tenant.refuse_jobs_write(write)?;
        change(&mut tenant.jobs, &write.changes);
        shapes::change(&mut tenant.records, &write.records)?;
        if let Some(account) = &write.account {
            tenant.credits = Some(account.clone());
        }
        tenant.ledger.extend(write.entries.iter().map(|entry| ((entry.at, entry.id), entry.clone())));
        let mut due = Vec::new();
        for id in &write.discard {
            if tenant.documents.remove(id).is_some() {
                due.push((BlobKey::new(agent.clone(), *id), write.at));
            }
        }
        for DocumentWrite { document, .. } in &write.documents {
            tenant.documents.insert(document.id, document.clone());
            due.push((BlobKey::new(agent.clone(), document.id), document.expires_at));
        }
        self.purges.extend(due);
        self.apply(agent, &write.effects);
        Ok(())
    }
}
