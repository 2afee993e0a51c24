//! Faults in credits and documents.

use super::*;

impl Faulty {
    /// All documents of an agent.
    pub(super) async fn documents_of(&self, agent: &AgentId) -> Result<Vec<StoredDocument>> {
        self.inner.documents(agent, None, u32::MAX).await
    }

    pub(super) async fn bytes_of_documents(&self, agent: &AgentId) -> Result<u64> {
        Ok(self.documents_of(agent).await?.iter().map(|document| document.stored_size).sum())
    }

    async fn spoil_document(&self, agent: &AgentId, write: &mut DocumentWrite) -> Result<()> {
        let bytes = &mut write.max_bytes;
        match self.fault {
            Some(PlantedFault::DocumentQuotaIgnored) => *bytes = None,
            Some(PlantedFault::DocumentQuotaOffByOne) => *bytes = bytes.map(|bytes| bytes + 1),
            // As if only files counted.
            Some(PlantedFault::DocumentBytesNotCounted) => {
                let retained = self.bytes_of_documents(agent).await?;
                *bytes = bytes.map(|bytes| bytes + retained);
            }
            Some(PlantedFault::DocumentLosesDigest) => {
                write.document.sha256 = openapi_core::files::Sha256Digest([0; 32]);
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) async fn is_document(&self, key: &BlobKey) -> Result<bool> {
        Ok(self.inner.document(&key.agent, key.file).await?.is_some())
    }
}

impl Faulty {
    pub(super) async fn credit_account(&self, agent: &AgentId) -> Result<Option<CreditAccount>> {
        if self.is(PlantedFault::CreditsCrossAgents) {
            for agent in self.every_agent(agent) {
                if let Some(account) = self.inner.credit_account(&agent).await? {
                    return Ok(Some(account));
                }
            }
        }
        self.inner.credit_account(agent).await
    }

    pub(super) async fn save_credits(&self, agent: &AgentId, write: &CreditWrite) -> Result<()> {
        let mut write = write.clone();
        match self.fault {
            Some(PlantedFault::CreditsWithoutLedger) => write.entry = None,
            Some(PlantedFault::CreditsWithoutAudit) => write.effects.audit.clear(),
            Some(PlantedFault::CreditAnswerNotStored) => write.effects.replay = None,
            Some(PlantedFault::CreditVersionIgnored) => {
                let stored = self.inner.credit_account(agent).await?;
                if let Some(account) = &mut write.account {
                    account.version = stored.map_or(0, |stored| stored.version) + 1;
                }
            }
            Some(PlantedFault::CreditsStoredBeforeLedger) => {
                // The account is saved separately, and stays when the rest is rejected.
                let effects = Effects::default();
                let account = CreditWrite { entry: None, document: None, effects, ..write.clone() };
                self.inner.save_credits(agent, &account).await?;
                write.account = None;
            }
            Some(PlantedFault::DocumentStoredBeforeCredits) => {
                // The other way round.
                let effects = Effects::default();
                let document = CreditWrite { account: None, entry: None, effects, ..write.clone() };
                self.inner.save_credits(agent, &document).await?;
                write.document = None;
            }
            _ => {}
        }
        if let Some(document) = &mut write.document {
            self.spoil_document(agent, document).await?;
        }
        let takes_twice = match self.fault {
            Some(PlantedFault::CreditEntryTakenTwice) => write.entry.is_some(),
            Some(PlantedFault::DocumentIdTakenTwice) => write.document.is_some(),
            _ => false,
        };
        match self.inner.save_credits(agent, &write).await {
            Err(error) if takes_twice && error.kind == StorageErrorKind::AlreadyExists => Ok(()),
            result => result,
        }
    }

    pub(super) async fn credit_entries(&self, query: &LedgerQuery) -> Result<Vec<CreditEntry>> {
        let mut query = query.clone();
        let limit = query.limit as usize;
        if self.is(PlantedFault::LedgerPositionInclusive)
            && let Some((_, id)) = &mut query.before
        {
            let mut bytes = *id.as_bytes();
            bytes[11] = bytes[11].saturating_add(1);
            *id = PlatformId::from_bytes(bytes);
        }
        if self.is(PlantedFault::LedgerUnbounded) {
            query.limit = u32::MAX;
        }
        let mut entries = self.inner.credit_entries(&query).await?;
        if self.is(PlantedFault::LedgerCrossesAgents) {
            for agent in self.others(&query.agent) {
                entries.extend(self.inner.credit_entries(&LedgerQuery { agent, ..query.clone() }).await?);
            }
            entries.sort_by_key(|entry| std::cmp::Reverse((entry.at, entry.id)));
            entries.truncate(limit);
        }
        if self.is(PlantedFault::LedgerSkipsTies)
            && let Some((at, _)) = query.before
        {
            entries.retain(|entry| entry.at != at);
        }
        if self.is(PlantedFault::LedgerOldestFirst) {
            entries.reverse();
        }
        Ok(entries)
    }
}

impl Faulty {
    pub(super) async fn insert_document(&self, agent: &AgentId, write: &DocumentWrite) -> Result<()> {
        let mut write = write.clone();
        self.spoil_document(agent, &mut write).await?;
        match self.inner.insert_document(agent, &write).await {
            Err(error)
                if self.is(PlantedFault::DocumentIdTakenTwice)
                    && error.kind == StorageErrorKind::AlreadyExists =>
            {
                Ok(())
            }
            result => result,
        }
    }

    pub(super) async fn discard_document(
        &self,
        agent: &AgentId,
        document: FileId,
        now: Timestamp,
    ) -> Result<()> {
        let mut now = now;
        match self.fault {
            Some(PlantedFault::DiscardLeavesDocument) => return Ok(()),
            Some(PlantedFault::DiscardKeepsTime) => {
                let stored = self.inner.document(agent, document).await?;
                now = stored.map_or(now, |stored| stored.expires_at);
            }
            Some(PlantedFault::DiscardCrossesAgents) => {
                for agent in self.others(agent) {
                    self.inner.discard_document(&agent, document, now).await?;
                }
            }
            _ => {}
        }
        self.inner.discard_document(agent, document, now).await
    }

    pub(super) async fn document(&self, agent: &AgentId, document: FileId) -> Result<Option<StoredDocument>> {
        if self.is(PlantedFault::DocumentCrossesAgents) {
            for agent in self.every_agent(agent) {
                if let Some(document) = self.inner.document(&agent, document).await? {
                    return Ok(Some(document));
                }
            }
        }
        self.inner.document(agent, document).await
    }

    pub(super) async fn documents(
        &self,
        agent: &AgentId,
        after: Option<FileId>,
        at_most: u32,
    ) -> Result<Vec<StoredDocument>> {
        if self.is(PlantedFault::DocumentsListedAgain) {
            let mut all = self.documents_of(agent).await?;
            all.retain(|document| after.is_none_or(|after| document.id >= after));
            all.truncate(at_most as usize);
            return Ok(all);
        }
        let at_most = if self.is(PlantedFault::DocumentsUnbounded) { u32::MAX } else { at_most };
        self.inner.documents(agent, after, at_most).await
    }
}
