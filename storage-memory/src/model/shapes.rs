//! Records and event logs in the model.

use super::{Tenant, World};
use openapi_core::agents::AgentStatus;
use openapi_core::events::{EventType, NewEvent};
use openapi_core::storage::{
    LogPage, RecordChange, RecordId, RecordKey, RecordKind, RecordsWrite, Result, StorageErrorKind,
    StoredRecord, Subject,
};
use openapi_core::values::{AgentId, ContactId, Timestamp};
use std::collections::BTreeMap;

type Records = BTreeMap<RecordKey, StoredRecord>;

impl Tenant {
    /// Appends events to the log.
    pub(super) fn append(&mut self, events: &[NewEvent]) {
        for event in events {
            let seq = self.log.last_key_value().map_or(0, |(seq, _)| *seq) + 1;
            self.log.insert(seq, event.to_entry(seq));
        }
    }

    /// Removes the records of an erased contact or conversation, and erases its jobs.
    pub(super) fn erase_subject(&mut self, subject: Subject, at: Timestamp) {
        self.records.retain(|_, record| record.subject != Some(subject));
        self.erase_jobs(subject, at);
    }

    /// Empties the events of an erased contact.
    pub(super) fn empty_events(&mut self, contact: ContactId) {
        for entry in self.log.values_mut().filter(|entry| entry.contact == Some(contact)) {
            entry.contact = None;
            entry.body = None;
        }
    }
}

pub(super) fn refuse_stale_records(records: &Records, changes: &[RecordChange]) -> Result<()> {
    for change in changes {
        let stored = records.get(change.key()).map_or(0, |record| record.version);
        if change.expected() != Some(stored) {
            return Err(StorageErrorKind::Stale.into());
        }
    }
    Ok(())
}

/// Changes records: removals first.
pub(super) fn change(records: &mut Records, changes: &[RecordChange]) -> Result<()> {
    refuse_stale_records(records, changes)?;
    for change in changes {
        if let RecordChange::Remove { key, .. } = change {
            records.remove(key);
        }
    }
    for change in changes {
        let RecordChange::Save(record) = change else { continue };
        let has_same_value = |other: &StoredRecord| {
            other.key.kind == record.key.kind && other.key != record.key && other.unique == record.unique
        };
        if record.unique.is_some() && records.values().any(has_same_value) {
            return Err(StorageErrorKind::DuplicateRecord.into());
        }
        records.insert(record.key.clone(), record.clone());
    }
    Ok(())
}

impl World {
    fn records_in(&self, scope: Option<&AgentId>) -> Option<&Records> {
        match scope {
            Some(agent) => self.tenant(agent).map(|tenant| &tenant.records),
            None => Some(&self.installation),
        }
    }

    /// The records of a kind of all scopes: those of the installation, then by agent.
    fn every_record(&self, kind: RecordKind) -> Vec<(Option<AgentId>, StoredRecord)> {
        let living = self.agents.values().filter(|tenant| tenant.agent.status != AgentStatus::Deleted);
        let of_agents = living.map(|tenant| (Some(tenant.agent.id.clone()), &tenant.records));
        let mut all: Vec<(Option<AgentId>, StoredRecord)> = of_agents
            .chain([(None, &self.installation)])
            .flat_map(|(scope, records)| records.values().map(move |record| (scope.clone(), record.clone())))
            .filter(|(_, record)| record.key.kind == kind)
            .collect();
        all.sort_by(|(a, first), (b, second)| (a, &first.key).cmp(&(b, &second.key)));
        all
    }

    pub(crate) fn record(&self, scope: Option<&AgentId>, key: &RecordKey) -> Option<StoredRecord> {
        self.records_in(scope)?.get(key).cloned()
    }

    pub(crate) fn record_by_unique(
        &self,
        scope: Option<&AgentId>,
        kind: RecordKind,
        unique: &[u8; 32],
    ) -> Option<StoredRecord> {
        let mut records = self.records_in(scope)?.values();
        records.find(|record| record.key.kind == kind && record.unique.as_ref() == Some(unique)).cloned()
    }

    pub(crate) fn records_of(
        &self,
        scope: Option<&AgentId>,
        kind: RecordKind,
        after: Option<&RecordId>,
        at_most: u32,
    ) -> Vec<StoredRecord> {
        let all = self.records_in(scope).into_iter().flat_map(BTreeMap::values);
        let of_kind = all.filter(|record| record.key.kind == kind);
        let following = of_kind.filter(|record| after.is_none_or(|after| record.key.id > *after));
        following.take(at_most as usize).cloned().collect()
    }

    pub(crate) fn all_records(
        &self,
        kind: RecordKind,
        after: Option<&(Option<AgentId>, RecordId)>,
        at_most: u32,
    ) -> Vec<(Option<AgentId>, StoredRecord)> {
        let mut all = self.every_record(kind);
        all.retain(|(scope, record)| after.is_none_or(|(last, id)| (scope, &record.key.id) > (last, id)));
        all.truncate(at_most as usize);
        all
    }

    pub(crate) fn due_records(
        &self,
        kind: RecordKind,
        now: Timestamp,
        at_most: u32,
    ) -> Vec<(Option<AgentId>, StoredRecord)> {
        let mut due = self.every_record(kind);
        due.retain(|(_, record)| record.due_at.is_some_and(|due_at| due_at <= now));
        due.sort_by_key(|(_, record)| record.due_at);
        due.truncate(at_most as usize);
        due
    }

    pub(crate) fn save_records(&mut self, scope: Option<&AgentId>, write: &RecordsWrite) -> Result<()> {
        let records = match scope {
            Some(agent) => &mut self.tenant_mut(agent)?.records,
            None => &mut self.installation,
        };
        // All or nothing.
        let mut changed = records.clone();
        change(&mut changed, &write.changes)?;
        *records = changed;
        match scope {
            Some(agent) => self.apply(agent, &write.effects),
            None => write.effects.audit.iter().for_each(|entry| self.chain(entry)),
        }
        Ok(())
    }

    pub(crate) fn log(&self, agent: &AgentId, after: u64, at_most: u32) -> LogPage {
        let Some(log) = self.tenant(agent).map(|tenant| &tenant.log) else { return LogPage::default() };
        let following = log.values().filter(|entry| entry.seq > after);
        LogPage {
            entries: following.take(at_most as usize).cloned().collect(),
            oldest: log.first_key_value().map_or(0, |(seq, _)| *seq),
            head: log.last_key_value().map_or(0, |(seq, _)| *seq),
        }
    }

    pub(crate) fn sweep_log(&mut self, agent: &AgentId, before: Timestamp, at_most: u32) -> u64 {
        let Ok(tenant) = self.tenant_mut(agent) else { return 0 };
        let mut removed = 0;
        while removed < u64::from(at_most) && tenant.log.len() > 1 {
            let Some(oldest) = tenant.log.first_entry().filter(|entry| entry.get().at < before) else {
                break;
            };
            oldest.remove();
            removed += 1;
        }
        removed
    }

    /// The agents whose log has grown since the last call, with the types of the new events.
    pub(crate) fn take_changed(&mut self) -> Vec<(AgentId, Vec<EventType>)> {
        std::mem::take(&mut self.changed)
    }
}
