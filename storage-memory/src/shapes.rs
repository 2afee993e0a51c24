//! Records and event logs.

use async_trait::async_trait;
use openapi_core::storage::{
    ChangeNotifier, ChangeSource, LogPage, LogStore, RecordId, RecordKey, RecordKind, RecordStore,
    RecordsWrite, Result, StoredRecord,
};
use openapi_core::values::{AgentId, Timestamp};

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

impl ChangeSource for MemoryStorage {
    fn notifier(&self) -> &ChangeNotifier {
        &self.notifier
    }
}
