//! Credits and documents in the model.

use super::World;
use crate::credits::{CreditAccount, CreditEntry};
use crate::ports::BlobKey;
use crate::storage::{
    CreditWrite, DocumentWrite, Excess, ExcessUnit, LedgerQuery, Result, StorageErrorKind, StoredDocument,
};
use crate::values::{AgentId, FileId};

impl World {
    pub(crate) fn credit_account(&self, agent: &AgentId) -> Option<CreditAccount> {
        self.tenant(agent)?.credits.clone()
    }

    pub(crate) fn save_credits(&mut self, agent: &AgentId, write: &CreditWrite) -> Result<()> {
        let tenant = self.tenant_mut(agent)?;
        tenant.refuse_replayed(write.replay.as_ref(), write.at)?;
        if let Some(account) = &write.account {
            let stored = tenant.credits.as_ref().map_or(0, |stored| stored.version);
            if stored.checked_add(1) != Some(account.version) {
                return Err(StorageErrorKind::Stale.into());
            }
        }
        if let Some(DocumentWrite { document, max_octets: Some(limit) }) = &write.document {
            let actual = tenant.octets().saturating_add(document.stored_size);
            if actual > *limit {
                let excess = Excess { unit: ExcessUnit::Bytes, limit: *limit, actual };
                return Err(StorageErrorKind::QuotaExceeded(excess).into());
            }
        }
        let is_noted = |entry: &CreditEntry| tenant.ledger.contains_key(&(entry.at, entry.id));
        // Files and documents share the place where their contents are.
        let is_used = |write: &DocumentWrite| {
            let id = &write.document.id;
            tenant.documents.contains_key(id) || tenant.files.contains_key(id)
        };
        if write.entry.as_ref().is_some_and(is_noted) || write.document.as_ref().is_some_and(is_used) {
            return Err(StorageErrorKind::AlreadyExists.into());
        }
        if let Some(account) = &write.account {
            tenant.credits = Some(account.clone());
        }
        tenant.ledger.extend(write.entry.iter().map(|entry| ((entry.at, entry.id), entry.clone())));
        tenant.replays.extend(write.replay.iter().map(|replay| (replay.key, replay.clone())));
        if let Some(DocumentWrite { document, .. }) = &write.document {
            tenant.documents.insert(document.id, document.clone());
            self.purges.insert(BlobKey::new(agent.clone(), document.id), document.expires_at);
        }
        if let Some(audit) = &write.audit {
            self.append_audit(audit);
        }
        Ok(())
    }

    pub(crate) fn credit_entries(&self, query: &LedgerQuery) -> Vec<CreditEntry> {
        let Some(tenant) = self.tenant(&query.agent) else { return Vec::new() };
        let older =
            tenant.ledger.iter().rev().filter(|(place, _)| query.before.is_none_or(|it| **place < it));
        older.take(query.limit as usize).map(|(_, entry)| entry.clone()).collect()
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
        let behind = tenant.documents.values().filter(|document| after.is_none_or(|it| document.id > it));
        behind.take(at_most as usize).cloned().collect()
    }
}
