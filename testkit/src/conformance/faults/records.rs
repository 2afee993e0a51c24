//! Faults in idempotency records, rate-limit windows and the audit log.

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
    pub(super) async fn rate_limit_window(
        &self,
        agent: &AgentId,
        key: KeyId,
    ) -> Result<Option<RateLimitWindow>> {
        let key = if self.is(PlantedFault::RateWindowShared) { KeyId::from_bytes([0; 12]) } else { key };
        self.inner.rate_limit_window(agent, key).await
    }

    pub(super) async fn save_rate_limit_window(
        &self,
        agent: &AgentId,
        key: KeyId,
        window: &RateLimitWindow,
    ) -> Result<()> {
        let key = if self.is(PlantedFault::RateWindowShared) { KeyId::from_bytes([0; 12]) } else { key };
        let mut window = window.clone();
        if self.is(PlantedFault::RateWindowOverwritten) {
            let stored = self.inner.rate_limit_window(agent, key).await?;
            window.version = stored.map_or(0, |stored| stored.version) + 1;
        }
        self.inner.save_rate_limit_window(agent, key, &window).await
    }
}

impl Faulty {
    pub(super) async fn audit_entries(&self, query: &AuditQuery) -> Result<Vec<AuditEntry>> {
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
}
