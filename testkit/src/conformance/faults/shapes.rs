//! Faults in records and event logs.

use super::*;

/// Whether a page of a log shows that a contact was erased.
fn has_erased(page: &LogPage) -> bool {
    page.entries.iter().any(|entry| entry.body.is_none())
}

impl Faulty {
    /// Every scope, beginning with `scope`.
    pub(super) fn every_scope(&self, scope: Option<&AgentId>) -> Vec<Option<AgentId>> {
        let agents = self.agents.lock().expect("lock").clone();
        let others = agents.into_iter().map(Some).chain([None]);
        std::iter::once(scope.cloned()).chain(others).collect()
    }

    fn key_of(&self, key: &RecordKey) -> RecordKey {
        if self.is(PlantedFault::RecordIdsShared) { key.kind.into() } else { key.clone() }
    }

    pub(super) async fn record(
        &self,
        scope: Option<&AgentId>,
        key: &RecordKey,
    ) -> Result<Option<StoredRecord>> {
        match self.fault {
            Some(PlantedFault::KnowledgeVersionHidden) if key.kind == RecordKind::Knowledge => {
                return Ok(None);
            }
            Some(PlantedFault::RecordCrossesScopes) => {
                for scope in self.every_scope(scope) {
                    if let Some(record) = self.inner.record(scope.as_ref(), key).await? {
                        return Ok(Some(record));
                    }
                }
            }
            Some(PlantedFault::RecordKindsShared) => {
                for kind in RecordKind::ALL.iter().copied() {
                    if let Some(record) = self.inner.record(scope, &kind.into()).await? {
                        return Ok(Some(record));
                    }
                }
            }
            _ => {}
        }
        let found = self.inner.record(scope, &self.key_of(key)).await?;
        Ok(found.map(|mut record| {
            if self.is(PlantedFault::RecordLosesDueTime) {
                record.due_at = None;
            }
            record
        }))
    }

    pub(super) async fn record_by_unique(
        &self,
        scope: Option<&AgentId>,
        kind: RecordKind,
        unique: &[u8; 32],
    ) -> Result<Option<StoredRecord>> {
        if self.is(PlantedFault::UniqueValueCrossesKinds) {
            for kind in RecordKind::ALL.iter().copied().rev() {
                if let Some(found) = self.inner.record_by_unique(scope, kind, unique).await? {
                    return Ok(Some(found));
                }
            }
        }
        self.inner.record_by_unique(scope, kind, unique).await
    }

    pub(super) async fn records_of(
        &self,
        scope: Option<&AgentId>,
        kind: RecordKind,
        after: Option<&RecordId>,
        at_most: u32,
    ) -> Result<Vec<StoredRecord>> {
        let at_most = if self.is(PlantedFault::RecordsUnbounded) { u32::MAX } else { at_most };
        let mut page = self.inner.records_of(scope, kind, after, at_most).await?;
        if self.is(PlantedFault::RecordPositionInclusive)
            && let Some(after) = after
        {
            let key = RecordKey::new(kind, after.clone());
            page.splice(0..0, self.inner.record(scope, &key).await?);
        }
        Ok(page)
    }

    pub(super) async fn all_records(
        &self,
        kind: RecordKind,
        after: Option<&(Option<AgentId>, RecordId)>,
        at_most: u32,
    ) -> Result<Vec<(Option<AgentId>, StoredRecord)>> {
        let mut all = self.inner.all_records(kind, after, at_most).await?;
        if self.is(PlantedFault::RecordsOfInstallationMissing) {
            all.retain(|(scope, _)| scope.is_some());
        }
        Ok(all)
    }

    pub(super) async fn due_records(
        &self,
        kind: RecordKind,
        now: Timestamp,
        at_most: u32,
    ) -> Result<Vec<(Option<AgentId>, StoredRecord)>> {
        let at_most = if self.is(PlantedFault::DueRecordsUnbounded) { u32::MAX } else { at_most };
        let now = if self.is(PlantedFault::DueTimeExclusive) { now.plus_millis(-1) } else { now };
        let mut due = self.inner.due_records(kind, now, at_most).await?;
        if self.is(PlantedFault::DueRecordsById) {
            due.sort_by(|(_, a), (_, b)| a.key.cmp(&b.key));
        }
        Ok(due)
    }

    /// A change as a fault makes it.
    async fn planted(&self, scope: Option<&AgentId>, change: &RecordChange) -> Result<RecordChange> {
        let key = self.key_of(change.key());
        let stored = self.inner.record(scope, &key).await?.map_or(0, |stored| stored.version);
        Ok(match change {
            RecordChange::Remove { version, .. } => {
                let ignored = self.is(PlantedFault::RecordRemovalIgnoresVersion) && stored > 0;
                RecordChange::Remove { key, version: if ignored { stored } else { *version } }
            }
            RecordChange::Save(record) => {
                let mut record = StoredRecord { key, ..record.clone() };
                if self.is(PlantedFault::RecordVersionIgnored) {
                    record.version = stored + 1;
                }
                if self.is(PlantedFault::RecordMembersSorted) {
                    let members = record.body.members();
                    let mut members: Vec<_> =
                        members.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect();
                    members.sort_by(|(a, _), (b, _)| a.cmp(b));
                    record.body = RawObject::new(&members.into_iter().collect());
                }
                RecordChange::Save(record)
            }
        })
    }

    pub(super) async fn save_records(&self, scope: Option<&AgentId>, write: &RecordsWrite) -> Result<()> {
        let mut planted = RecordsWrite { changes: Vec::new(), effects: self.without_events(&write.effects) };
        for change in &write.changes {
            planted.changes.push(self.planted(scope, change).await?);
        }
        if self.is(PlantedFault::RecordWithoutAudit) {
            planted.effects.audit.clear();
        }
        if self.is(PlantedFault::RecordsSavedOneByOne) {
            for change in &planted.changes {
                let changes = vec![change.clone()];
                self.inner
                    .save_records(scope, &RecordsWrite { changes, effects: Effects::default() })
                    .await?;
            }
            planted.changes.clear();
        }
        let result = self.inner.save_records(scope, &planted).await;
        let Err(error) = &result else { return result };
        if self.is(PlantedFault::RefusedRecordNoted) {
            self.note(&write.effects).await?;
        }
        if self.is(PlantedFault::UniqueValueTakenTwice) && error.kind == StorageErrorKind::DuplicateRecord {
            return Ok(());
        }
        self.refused_events(scope, &write.effects).await?;
        result
    }

    /// The effects of a write of which a fault loses events.
    pub(super) fn without_events(&self, effects: &Effects) -> Effects {
        let mut effects = effects.clone();
        match self.fault {
            Some(PlantedFault::ChangeWithoutEvent) => effects.events.clear(),
            Some(PlantedFault::FurtherEventsLost) => effects.events.truncate(1),
            _ => {}
        }
        effects
    }

    /// What a fault makes of the events of a rejected write.
    pub(super) async fn refused_events(&self, agent: Option<&AgentId>, effects: &Effects) -> Result<()> {
        let Some(agent) = agent.filter(|_| !effects.events.is_empty()) else { return Ok(()) };
        if self.is(PlantedFault::EventOfRefusedChange) {
            let effects = Effects { events: effects.events.clone(), ..Effects::default() };
            // Nothing can be planted into an absent agent.
            let changes = Vec::new();
            let _ = self.inner.save_records(Some(agent), &RecordsWrite { changes, effects }).await;
        }
        self.refused.lock().expect("lock").push(agent.clone());
        Ok(())
    }

    pub(super) async fn log(&self, agent: &AgentId, after: u64, at_most: u32) -> Result<LogPage> {
        let (mut after, mut at_most) = (after, at_most);
        match self.fault {
            Some(PlantedFault::LogPositionInclusive) => after = after.saturating_sub(1),
            Some(PlantedFault::LogUnbounded) => at_most = u32::MAX,
            _ => {}
        }
        let mut page = self.inner.log(agent, after, at_most).await?;
        let last = page.entries.last().map_or(0, |entry| entry.seq);
        match self.fault {
            Some(PlantedFault::NumberLost) if self.refused.lock().expect("lock").contains(agent) => {
                let later = page.entries.iter_mut().skip(1);
                later.for_each(|entry| entry.seq += 1);
            }
            Some(PlantedFault::EventsNumberedByTime) => {
                page.entries.sort_by_key(|entry| entry.at);
                (after + 1..).zip(&mut page.entries).for_each(|(seq, entry)| entry.seq = seq);
            }
            Some(PlantedFault::NumbersSharedByAgents) => {
                let heads = self.inner.log_heads(&self.others(agent)).await?;
                page.entries.iter_mut().for_each(|entry| entry.seq += heads.iter().sum::<u64>());
            }
            Some(PlantedFault::EventsSwapped) => {
                if let [first, second, ..] = page.entries.as_mut_slice() {
                    std::mem::swap(&mut first.seq, &mut second.seq);
                    std::mem::swap(first, second);
                }
            }
            Some(PlantedFault::EventLosesActor) => {
                for body in page.entries.iter_mut().filter_map(|entry| entry.body.as_mut()) {
                    let text = body.as_str().replace("operator", "system");
                    *body = RawObject::from_text(text).unwrap_or_default();
                }
            }
            Some(PlantedFault::LogCrossesAgents) if page.head == 0 => {
                for other in self.others(agent) {
                    let theirs = self.inner.log(&other, after, at_most).await?;
                    page = if theirs.head > 0 { theirs } else { page };
                }
            }
            Some(PlantedFault::LogHeadOfPage) => page.head = last,
            Some(PlantedFault::LogBeginsWithFirst) => page.oldest = page.oldest.min(1),
            Some(PlantedFault::NewestEventSwept) if self.swept.lock().expect("lock").contains(agent) => {
                page = LogPage::default();
            }
            Some(PlantedFault::ErasedEventsShown) => {
                let erased = page.entries.iter_mut().filter(|entry| entry.body.is_none());
                erased.for_each(|entry| entry.body = Some(RawObject::default()));
            }
            Some(PlantedFault::EraseEmptiesOtherEvents) if has_erased(&page) => {
                let others = page.entries.iter_mut().filter(|entry| entry.contact.is_some());
                others.for_each(|entry| entry.body = None);
            }
            Some(PlantedFault::EraseEmptiesItsEvent) => {
                let erasures = page.entries.iter_mut().filter(|entry| entry.kind == EventType::ContactErased);
                erasures.for_each(|entry| entry.body = None);
            }
            _ => {}
        }
        Ok(page)
    }

    pub(super) async fn log_heads(&self, agents: &[AgentId]) -> Result<Vec<u64>> {
        let mut heads = self.inner.log_heads(agents).await?;
        if self.is(PlantedFault::LogHeadsSorted) {
            heads.sort_unstable();
        }
        Ok(heads)
    }

    pub(super) async fn sweep_log(&self, agent: &AgentId, before: Timestamp, at_most: u32) -> Result<u64> {
        let at_most = if self.is(PlantedFault::EventSweepUnbounded) { u32::MAX } else { at_most };
        let log = self.inner.log(agent, 0, u32::MAX).await?.entries;
        let before = match self.fault {
            Some(PlantedFault::SweepIgnoresTime) => Timestamp::from_millis(i64::MAX),
            // As if the newer events before the last older one were as old.
            Some(PlantedFault::SweepPassesNewer) => {
                let older =
                    log.iter().rposition(|entry| entry.at < before).map_or(0, |position| position + 1);
                let newest = log[..older].iter().map(|entry| entry.at).max();
                newest.map_or(before, |at| at.plus_millis(1))
            }
            _ => before,
        };
        let removed = self.inner.sweep_log(agent, before, at_most).await?;
        if log.last().is_some_and(|newest| newest.at < before) {
            self.swept.lock().expect("lock").push(agent.clone());
        }
        Ok(removed)
    }

    pub(super) async fn scrub_logs(&self, at_most: u32) -> Result<u64> {
        let left = self.inner.scrub_logs(at_most).await?;
        Ok(if self.is(PlantedFault::ScrubNeverEnds) { left + 1 } else { left })
    }

    pub(super) fn notifier(&self) -> &ChangeNotifier {
        if self.is(PlantedFault::NotifierSilent) { &self.silence } else { self.inner.notifier() }
    }
}
