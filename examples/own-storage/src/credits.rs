//! Credits and their ledgers.

use async_trait::async_trait;
use openapi_core::credits::{CreditAccount, CreditEntry};
use openapi_core::storage::StorageErrorKind::AlreadyExists;
use openapi_core::storage::{CreditStore, CreditWrite, LedgerQuery, Result};
use openapi_core::values::AgentId;

use crate::MapStorage;
use crate::tables::refuse_stale;

#[async_trait]
impl CreditStore for MapStorage {
    async fn credit_account(&self, agent: &AgentId) -> Result<Option<CreditAccount>> {
        Ok(self.of(agent).and_then(|tables| tables.credits.row(agent, &()).cloned()))
    }

    async fn save_credits(&self, agent: &AgentId, write: &CreditWrite) -> Result<()> {
        let mut tables = self.change(agent)?;
        tables.refuse_answered(agent, write.replay.as_ref(), write.at)?;
        if let Some(account) = &write.account {
            refuse_stale(tables.credits.row(agent, &()).map(|stored| stored.version), account.version)?;
        }
        if let Some(document) = &write.document {
            tables.refuse_document(agent, document)?;
        }
        let place = write.entry.as_ref().map(|entry| (entry.at, entry.id));
        if place.is_some_and(|place| tables.ledger.row(agent, &place).is_some()) {
            return Err(AlreadyExists.into());
        }
        if let Some(account) = &write.account {
            tables.credits.put(agent, (), account.clone());
        }
        if let Some(entry) = &write.entry {
            tables.ledger.put(agent, (entry.at, entry.id), entry.clone());
        }
        if let Some(write) = &write.document {
            tables.keep_document(agent, &write.document);
        }
        tables.keep_answer(agent, write.replay.as_ref());
        if let Some(audit) = &write.audit {
            tables.note(audit);
        }
        Ok(())
    }

    async fn credit_entries(&self, query: &LedgerQuery) -> Result<Vec<CreditEntry>> {
        let Some(tables) = self.of(&query.agent) else { return Ok(Vec::new()) };
        let newest_first = tables.ledger.of(&query.agent).rev();
        let older = newest_first.filter(|(place, _)| query.before.is_none_or(|before| **place < before));
        Ok(older.take(query.limit as usize).map(|(_, entry)| entry.clone()).collect())
    }
}
