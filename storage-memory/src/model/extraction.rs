//! Credits and documents in the model.

use super::{Tenant, World};
use openapi_core::credits::{CreditAccount, CreditEntry};
use openapi_core::ports::BlobKey;
use openapi_core::storage::{
    CreditWrite, DocumentWrite, LedgerQuery, QuotaExcess, QuotaUnit, Result, StorageErrorKind, StoredDocument,
};
use openapi_core::values::{AgentId, FileId, Timestamp};

impl Tenant {
    /// Rejects a document that exceeds the quota, or whose id a document or file already uses: both share one blob
    /// namespace.
    fn refuse_document(&self, DocumentWrite { document, max_bytes }: &DocumentWrite) -> Result<()> {
        let actual = self.bytes().saturating_add(document.stored_size);
        if let Some(limit) = max_bytes.filter(|limit| actual > *limit) {
            let excess = QuotaExcess { unit: QuotaUnit::Bytes, limit, actual };
            return Err(StorageErrorKind::QuotaExceeded(excess).into());
        }
        if self.documents.contains_key(&document.id) || self.files.contains_key(&document.id) {
            return Err(StorageErrorKind::AlreadyExists.into());
        }
        Ok(())
    }
}

impl World {
    pub(crate) fn credit_account(&self, agent: &AgentId) -> Option<CreditAccount> {
        self.tenant(agent)?.credits.clone()
    }

    pub(crate) fn save_credits(&mut self, agent: &AgentId, write: &CreditWrite) -> Result<()> {
        let tenant = self.tenant_mut(agent)?;
        tenant.refuse_replayed(&write.effects, write.at)?;
        if let Some(account) = &write.account {
            let stored = tenant.credits.as_ref().map_or(0, |stored| stored.version);
            if stored.checked_add(1) != Some(account.version) {
                return Err(StorageErrorKind::Stale.into());
            }
        }
        if let Some(document) = &write.document {
            tenant.refuse_document(document)?;
        }
        if let Some(entry) = &write.entry
            && tenant.ledger.contains_key(&(entry.at, entry.id))
        {
            return Err(StorageErrorKind::AlreadyExists.into());
        }
        if let Some(account) = &write.account {
            tenant.credits = Some(account.clone());
        }
        tenant.ledger.extend(write.entry.iter().map(|entry| ((entry.at, entry.id), entry.clone())));
        if let Some(DocumentWrite { document, .. }) = &write.document {
            tenant.documents.insert(document.id, document.clone());
            self.purges.insert(BlobKey::new(agent.clone(), document.id), document.expires_at);
        }
        self.apply(agent, &write.effects);
        Ok(())
    }

    pub(crate) fn credit_entries(&self, query: &LedgerQuery) -> Vec<CreditEntry> {
        let Some(tenant) = self.tenant(&query.agent) else { return Vec::new() };
        let older = tenant
            .ledger
            .iter()
            .rev()
            .filter(|(candidate, _)| query.before.is_none_or(|it| **candidate < it));
        older.take(query.limit as usize).map(|(_, entry)| entry.clone()).collect()
    }

    pub(crate) fn insert_document(&mut self, agent: &AgentId, write: &DocumentWrite) -> Result<()> {
        let tenant = self.tenant_mut(agent)?;
        tenant.refuse_document(write)?;
        let document = &write.document;
        tenant.documents.insert(document.id, document.clone());
        self.purges.insert(BlobKey::new(agent.clone(), document.id), document.expires_at);
        Ok(())
    }

    pub(crate) fn discard_document(&mut self, agent: &AgentId, document: FileId, now: Timestamp) {
        let Ok(tenant) = self.tenant_mut(agent) else { return };
        if tenant.documents.remove(&document).is_some() {
            self.purges.insert(BlobKey::new(agent.clone(), document), now);
        }
    }

    pub(crate) fn document(&self, agent: &AgentId, document: FileId) -> Option<StoredDocument> {
        self.tenant(agent)?.documents.get(&document).cloned()
    }

    pub(crate) fn documents(
        &self,
        agent: &AgentId,
        after: Option<FileId>,
        at_most: u32,
    ) -> Vec<StoredDocument> {
        let Some(tenant) = self.tenant(agent) else { return Vec::new() };
        let following = tenant.documents.values().filter(|document| after.is_none_or(|it| document.id > it));
        following.take(at_most as usize).cloned().collect()
    }
}
