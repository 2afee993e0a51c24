//! Agents, keys, rate windows, the audit log, stored answers.

use std::net::IpAddr;

use async_trait::async_trait;
use openapi_core::access::{ApiKey, Key, KeyLookup, KeySelector, StoredKey};
use openapi_core::agents::{Agent, AgentStatus};
use openapi_core::audit::AuditEntry;
use openapi_core::json::RawObject;
use openapi_core::ports::BlobKey;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::StorageErrorKind::{AlreadyExists, Missing, Stale};
use openapi_core::storage::{
    AgentStore, AuditQuery, AuditStore, HealthProbe, IdempotencyKey, IdempotencyRecord, IdempotencyStore,
    KeyStore, RateLimitStore, RateLimitWindow, Result,
};
use openapi_core::values::{AgentId, KeyId, Timestamp};

use crate::MapStorage;
use crate::tables::refuse_stale;

#[async_trait]
impl AgentStore for MapStorage {
    async fn insert_agent(&self, agent: &Agent, schema: &ContactSchema, audit: &AuditEntry) -> Result<()> {
        let mut tables = self.tables();
        if tables.agents.contains_key(&agent.id) {
            return Err(AlreadyExists.into());
        }
        tables.agents.insert(agent.id.clone(), agent.clone());
        tables.schemas.put(&agent.id, schema.version, schema.clone());
        tables.note(audit);
        Ok(())
    }

    async fn agent(&self, id: &AgentId) -> Result<Option<Agent>> {
        Ok(self.tables().agents.get(id).cloned())
    }

    async fn agents(&self) -> Result<Vec<Agent>> {
        let tables = self.tables();
        let living = tables.agents.values().filter(|agent| agent.status != AgentStatus::Deleted);
        let mut agents: Vec<Agent> = living.cloned().collect();
        agents.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        Ok(agents)
    }

    async fn update_agent(&self, agent: &Agent, audit: &AuditEntry) -> Result<()> {
        let mut tables = self.change(&agent.id)?;
        let stored = tables.agents.get_mut(&agent.id).ok_or(Missing)?;
        *stored = Agent { created_at: stored.created_at, ..agent.clone() };
        tables.note(audit);
        Ok(())
    }

    async fn purge_agent(&self, id: &AgentId, at_most: u32) -> Result<u64> {
        let tables = &mut *self.tables();
        if tables.agents.get(id).is_none_or(|agent| agent.status != AgentStatus::Deleted) {
            return Ok(0);
        }
        let mut left = at_most;
        tables.contacts.purge(id, &mut left);
        let contents = [tables.files.purge(id, &mut left), tables.documents.purge(id, &mut left)].concat();
        tables.submissions.purge(id, &mut left);
        tables.templates.purge(id, &mut left);
        tables.keys.purge(id, &mut left);
        tables.schemas.purge(id, &mut left);
        tables.replays.purge(id, &mut left);
        tables.windows.purge(id, &mut left);
        tables.credits.purge(id, &mut left);
        tables.ledger.purge(id, &mut left);
        tables.messages.purge(id, &mut left);
        tables.conversations.purge(id, &mut left);
        tables.passages.purge(id, &mut left);
        tables.knowledge.purge(id, &mut left);
        tables.records.purge(id, &mut left);
        let own = tables.audit.values_mut().filter(|entry| entry.agent_id.as_ref() == Some(id));
        for entry in own.filter(|entry| !entry.details.is_empty()).take(left as usize) {
            entry.details = RawObject::default();
            left -= 1;
        }
        let at_once = Timestamp::from_millis(0);
        tables.purges.extend(contents.into_iter().map(|file| (BlobKey::new(id.clone(), file), at_once)));
        Ok(u64::from(at_most - left))
    }
}

#[async_trait]
impl KeyStore for MapStorage {
    async fn look_up_key(&self, api_key: &ApiKey) -> Result<Option<KeyLookup>> {
        let tables = self.tables();
        let found = tables.keys.all().find(|(_, _, stored)| stored.key.api_key == *api_key);
        Ok(found.and_then(|(agent, _, stored)| {
            let agent_status = tables.agents.get(agent)?.status;
            Some(KeyLookup { stored: stored.clone(), agent_status })
        }))
    }

    async fn find_key(&self, selector: &KeySelector) -> Result<Option<StoredKey>> {
        let tables = self.tables();
        let is_meant = |key: &Key| match selector {
            KeySelector::Id(id) => key.id == *id,
            KeySelector::ApiKey(api_key) => key.api_key == *api_key,
        };
        let mut living = tables.keys.all().filter(|(agent, _, _)| tables.is_living(agent));
        Ok(living.find(|(_, _, stored)| is_meant(&stored.key)).map(|(_, _, stored)| stored.clone()))
    }

    async fn keys(&self, agent: &AgentId) -> Result<Vec<StoredKey>> {
        let Some(tables) = self.of(agent) else { return Ok(Vec::new()) };
        let mut keys: Vec<StoredKey> = tables.keys.of(agent).map(|(_, key)| key.clone()).collect();
        keys.sort_by_key(|stored| (stored.key.created_at, stored.key.id));
        Ok(keys)
    }

    async fn insert_key(&self, agent: &AgentId, key: &StoredKey, audit: &AuditEntry) -> Result<()> {
        let mut tables = self.change(agent)?;
        let is_taken = |known: &StoredKey| known.key.id == key.key.id || known.key.api_key == key.key.api_key;
        if tables.keys.all().any(|(_, _, known)| is_taken(known)) {
            return Err(AlreadyExists.into());
        }
        tables.keys.put(agent, key.key.id, key.clone());
        tables.note(audit);
        Ok(())
    }

    async fn update_key(
        &self,
        agent: &AgentId,
        expected_version: u64,
        key: &StoredKey,
        audit: &AuditEntry,
    ) -> Result<()> {
        let mut tables = self.change(agent)?;
        let stored = tables.keys.row_mut(agent, &key.key.id).ok_or(Missing)?;
        if stored.version != expected_version {
            return Err(Stale.into());
        }
        let used = (stored.key.last_used_at, stored.key.last_used_address);
        *stored = key.clone();
        (stored.key.last_used_at, stored.key.last_used_address) = used;
        tables.note(audit);
        Ok(())
    }

    async fn record_key_use(
        &self,
        agent: &AgentId,
        key: KeyId,
        at: Timestamp,
        address: Option<IpAddr>,
    ) -> Result<()> {
        let Some(mut tables) = self.of(agent) else { return Ok(()) };
        let stored = tables.keys.row_mut(agent, &key);
        if let Some(stored) = stored.filter(|stored| stored.key.last_used_at.is_none_or(|last| last <= at)) {
            (stored.key.last_used_at, stored.key.last_used_address) = (Some(at), address);
        }
        Ok(())
    }
}

#[async_trait]
impl RateLimitStore for MapStorage {
    async fn rate_limit_window(&self, agent: &AgentId, key: KeyId) -> Result<Option<RateLimitWindow>> {
        Ok(self.of(agent).and_then(|tables| tables.windows.row(agent, &key).cloned()))
    }

    async fn save_rate_limit_window(
        &self,
        agent: &AgentId,
        key: KeyId,
        window: &RateLimitWindow,
    ) -> Result<()> {
        let Some(mut tables) = self.of(agent) else { return Ok(()) };
        refuse_stale(tables.windows.row(agent, &key).map(|stored| stored.version), window.version)?;
        tables.windows.put(agent, key, window.clone());
        Ok(())
    }
}

#[async_trait]
impl AuditStore for MapStorage {
    async fn append_audit(&self, entry: &AuditEntry) -> Result<()> {
        self.tables().note(entry);
        Ok(())
    }

    async fn audit_entries(&self, query: &AuditQuery) -> Result<Vec<AuditEntry>> {
        let tables = self.tables();
        let asked = tables.audit.iter().filter(|(_, entry)| {
            query.agent.as_ref().is_none_or(|agent| entry.agent_id.as_ref() == Some(agent))
        });
        let limit = query.limit as usize;
        let entries = |found: &mut dyn Iterator<Item = (&(Timestamp, _), &AuditEntry)>| {
            found.take(limit).map(|(_, entry)| entry.clone()).collect()
        };
        Ok(if query.newest_first {
            entries(&mut asked.rev().filter(|(place, _)| query.after.is_none_or(|after| **place < after)))
        } else {
            entries(&mut asked.filter(|(place, _)| query.after.is_none_or(|after| **place > after)))
        })
    }
}

#[async_trait]
impl IdempotencyStore for MapStorage {
    async fn replay(
        &self,
        agent: &AgentId,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Result<Option<IdempotencyRecord>> {
        let Some(tables) = self.of(agent) else { return Ok(None) };
        Ok(tables.replays.row(agent, key).filter(|replay| replay.expires_at > now).cloned())
    }

    async fn sweep_idempotency_records(&self, now: Timestamp, at_most: u32) -> Result<u64> {
        let mut tables = self.tables();
        let expired: Vec<(AgentId, IdempotencyKey)> = tables
            .replays
            .all()
            .filter(|(_, _, replay)| replay.expires_at <= now)
            .map(|(agent, key, _)| (agent.clone(), *key))
            .take(at_most as usize)
            .collect();
        for (agent, key) in &expired {
            tables.replays.remove(agent, key);
        }
        Ok(expired.len() as u64)
    }
}

#[async_trait]
impl HealthProbe for MapStorage {
    async fn probe(&self) -> Result<()> {
        Ok(())
    }
}
