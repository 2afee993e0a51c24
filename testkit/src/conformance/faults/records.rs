//! Faults in idempotency records and the audit log.

use super::*;

impl Faulty {
    pub(super) async fn replay(
        &self,
        agent: &AgentId,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Result<Option<IdempotencyRecord>> {
        let now = if self.is(PlantedFault::AnswersNeverExpire) { Timestamp::from_millis(0) } else { now };
        let own = self.inner.replay(agent, key, now).await?;
        if own.is_none() && self.is(PlantedFault::AnswersShared) {
            for other in self.others(agent) {
                if let Some(replay) = self.inner.replay(&other, key, now).await? {
                    return Ok(Some(replay));
                }
            }
        }
        Ok(own)
    }

    pub(super) async fn sweep_idempotency_records(&self, now: Timestamp, at_most: u32) -> Result<u64> {
        let at_most = if self.is(PlantedFault::SweepUnbounded) { u32::MAX } else { at_most };
        self.inner.sweep_idempotency_records(now, at_most).await
    }
}

impl Faulty {
    pub(super) async fn audit_entries(&self, query: &AuditQuery) -> Result<Vec<ChainedEntry>> {
        let mut query = query.clone();
        if self.is(PlantedFault::AuditAlwaysNewestFirst) {
            query.newest_first = true;
        }
        if self.is(PlantedFault::AuditCrossesAgents) {
            query.agent = None;
        }
        let mut entries = self.inner.audit_entries(&query).await?;
        if self.is(PlantedFault::AuditSkipsTies)
            && let Some((at, _)) = query.after
        {
            entries.retain(|entry| entry.at != at);
        }
        for entry in &mut entries {
            let planted = self.entries();
            if let Some(planted) =
                planted.iter().find(|planted| (planted.id, planted.at) == (entry.id, entry.at))
            {
                *entry = planted.clone();
            }
        }
        Ok(entries)
    }

    pub(super) async fn append_audit(&self, entry: &SealedEntry) -> Result<()> {
        match self.inner.append_audit(entry).await {
            Err(error)
                if error.kind == StorageErrorKind::Missing && self.is(PlantedFault::AuditOfUnknownAgents) =>
            {
                Ok(())
            }
            appended => appended,
        }
    }

    pub(super) async fn audit_chain(&self, query: &ChainQuery) -> Result<Vec<ChainedEntry>> {
        let mut entries = self.inner.audit_chain(query).await?;
        match self.fault {
            Some(PlantedFault::ChainSortedByTime) => entries.sort_by_key(|entry| (entry.at, entry.id)),
            Some(PlantedFault::ChainNumbersTaken) => {
                for entry in &mut entries {
                    let link = entry.link.as_mut();
                    link.into_iter().for_each(|link| link.sequence = link.sequence.min(6));
                }
            }
            Some(PlantedFault::ChainCrossesAgents) if entries.is_empty() => {
                for other in query.chain.iter().flat_map(|agent| self.others(agent)) {
                    let other = ChainQuery { chain: Some(other), ..query.clone() };
                    entries.extend(self.inner.audit_chain(&other).await?);
                }
            }
            Some(PlantedFault::EraseKeepsSalt) => {
                let emptied = entries.iter_mut().filter(|entry| entry.details.is_empty());
                emptied.flat_map(|entry| &mut entry.link).for_each(|link| link.salt = Some([9; 16]));
            }
            _ => {}
        }
        Ok(entries)
    }

    pub(super) async fn audit_head(&self, chain: Option<&AgentId>) -> Result<ChainHead> {
        let mut head = self.inner.audit_head(chain).await?;
        if self.is(PlantedFault::ChainHeadLags) {
            head.sequence = head.sequence.saturating_sub(1);
        }
        Ok(head)
    }

    pub(super) async fn purge_audit(&self, through: &ChainPosition, entry: &SealedEntry) -> Result<u64> {
        let (mut through, mut noted) = (*through, true);
        match self.fault {
            Some(PlantedFault::AuditPurgeRemovesMore) => {
                through = (through.0 + 1, through.1.plus_millis(60_000), through.2);
            }
            Some(PlantedFault::AuditPurgeNotNoted) => noted = false,
            _ => {}
        }
        let before = self.inner.audit_head(entry.agent_id.as_ref()).await?;
        let removed = self.inner.purge_audit(&through, entry).await?;
        if !noted {
            // The end of the chain goes back, as if the entry had never been added.
            let after = self.inner.audit_head(entry.agent_id.as_ref()).await?;
            assert!(removed == 0 || after.sequence == before.sequence + 1);
            let everything = (after.sequence, entry.at, entry.id);
            self.inner.purge_audit(&everything, entry).await?;
        }
        if removed == 0 && self.is(PlantedFault::EmptyAuditPurgeNoted) {
            self.inner.append_audit(entry).await?;
        }
        if self.is(PlantedFault::AuditPurgeCrossesAgents) {
            for other in entry.agent_id.iter().flat_map(|agent| self.others(agent)) {
                let head = self.inner.audit_head(Some(&other)).await?;
                let last = ChainQuery { chain: Some(other), after: None, limit: 1 };
                let Some(first) = self.inner.audit_chain(&last).await?.pop() else { continue };
                let unrelated = AuditEntry { agent_id: first.agent_id.clone(), ..first.entry.clone() };
                let unrelated =
                    SealedEntry::new(unrelated, &crate::conformance::fixture::server_keys(), [9; 16]);
                self.inner.purge_audit(&(head.sequence, first.at, first.id), &unrelated).await?;
            }
        }
        Ok(removed)
    }
}
