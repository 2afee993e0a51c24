//! Records, queues of jobs and event logs.

use async_trait::async_trait;
use openapi_core::storage::{
    ChangeNotifier, ChangeSource, Job, JobClaim, JobPage, JobQuery, JobState, JobsWrite, LogPage, LogStore,
    Queue, QueueFront, QueueLoad, QueueStore, RecordId, RecordKey, RecordKind, RecordStore, RecordsWrite,
    Result, ScopedJob, StoredRecord, Woken,
};
use openapi_core::values::{AgentId, JobId, PlatformId, Timestamp};

use crate::MemoryStorage;

#[async_trait]
impl RecordStore for MemoryStorage {
    async fn record(&self, scope: Option<&AgentId>, key: &RecordKey) -> Result<Option<StoredRecord>> {
        Ok(self.read().record(scope, key))
    }

    async fn record_by_unique(
        &self,
        scope: Option<&AgentId>,
        kind: RecordKind,
        unique: &[u8; 32],
    ) -> Result<Option<StoredRecord>> {
        Ok(self.read().record_by_unique(scope, kind, unique))
    }

    async fn records_of(
        &self,
        scope: Option<&AgentId>,
        kind: RecordKind,
        after: Option<&RecordId>,
        at_most: u32,
    ) -> Result<Vec<StoredRecord>> {
        Ok(self.read().records_of(scope, kind, after, at_most))
    }

    async fn all_records(
        &self,
        kind: RecordKind,
        after: Option<&(Option<AgentId>, RecordId)>,
        at_most: u32,
    ) -> Result<Vec<(Option<AgentId>, StoredRecord)>> {
        Ok(self.read().all_records(kind, after, at_most))
    }

    async fn due_records(
        &self,
        kind: RecordKind,
        now: Timestamp,
        at_most: u32,
    ) -> Result<Vec<(Option<AgentId>, StoredRecord)>> {
        Ok(self.read().due_records(kind, now, at_most))
    }

    async fn save_records(&self, scope: Option<&AgentId>, write: &RecordsWrite) -> Result<()> {
        self.write().save_records(scope, write)
    }
}

#[async_trait]
impl LogStore for MemoryStorage {
    async fn log(&self, agent: &AgentId, after: u64, at_most: u32) -> Result<LogPage> {
        Ok(self.read().log(agent, after, at_most))
    }

    async fn log_heads(&self, agents: &[AgentId]) -> Result<Vec<u64>> {
        let world = self.read();
        Ok(agents.iter().map(|agent| world.log(agent, u64::MAX, 0).head).collect())
    }

    async fn sweep_log(&self, agent: &AgentId, before: Timestamp, at_most: u32) -> Result<u64> {
        Ok(self.write().sweep_log(agent, before, at_most))
    }

    async fn scrub_logs(&self, _at_most: u32) -> Result<u64> {
        Ok(0)
    }
}

#[async_trait]
impl QueueStore for MemoryStorage {
    async fn job(&self, scope: Option<&AgentId>, id: JobId) -> Result<Option<Job>> {
        Ok(self.read().job(scope, id))
    }

    async fn jobs(&self, scope: Option<&AgentId>, query: &JobQuery) -> Result<JobPage> {
        Ok(self.read().jobs(scope, query))
    }

    async fn count_jobs(
        &self,
        scope: Option<&AgentId>,
        queue: Queue,
        batch: &str,
    ) -> Result<Vec<(JobState, u64)>> {
        Ok(self.read().count_jobs(scope, queue, batch))
    }

    async fn queue_front(&self, queue: Queue, scope: Option<&AgentId>) -> Result<QueueFront> {
        Ok(self.read().queue_front(queue, scope))
    }

    async fn queue_load(&self, queue: Queue) -> Result<QueueLoad> {
        Ok(self.read().queue_load(queue))
    }

    async fn claim_jobs(&self, claim: &JobClaim) -> Result<Vec<ScopedJob>> {
        Ok(self.write().claim_jobs(claim))
    }

    async fn renew_jobs(
        &self,
        owner: PlatformId,
        jobs: &[(Option<AgentId>, JobId)],
        until: Timestamp,
    ) -> Result<Vec<bool>> {
        Ok(self.write().renew_jobs(owner, jobs, until))
    }

    async fn wake_jobs(&self, queue: Queue, now: Timestamp, at_most: u32) -> Result<Woken> {
        Ok(self.write().wake_jobs(queue, now, at_most))
    }

    async fn save_jobs(&self, scope: Option<&AgentId>, write: &JobsWrite) -> Result<()> {
        self.write().save_jobs(scope, write)
    }
}

impl ChangeSource for MemoryStorage {
    fn notifier(&self) -> &ChangeNotifier {
        &self.notifier
    }
}
