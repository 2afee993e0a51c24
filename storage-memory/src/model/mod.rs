//! The model: storage semantics as plain data and pure functions. Tests compare each store with it step by step.

mod chat;
mod extraction;
mod files;
mod forms;
mod jobs;
mod shapes;
mod stored;
mod transfer;

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use conversations::{Conversation, KnowledgeDocument, Message, Passage};
use jobs::Jobs;
use openapi_core::access::{ApiKey, KeyLookup, KeySelector, StoredKey};
use openapi_core::agents::{Agent, AgentStatus};
use openapi_core::audit::{ChainHead, ChainedEntry, SealedEntry};
use openapi_core::contacts::{Contact, ContactKeys, ContactRef, UniqueValue};
use openapi_core::credits::{CreditAccount, CreditEntry};
use openapi_core::events::EventType;
use openapi_core::ports::BlobKey;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{
    AuditQuery, ChainPosition, ChainQuery, ContactPage, ContactQuery, ContactWrite, Duplicate, Effects,
    IdempotencyKey, IdempotencyRecord, LogEntry, RecordKey, Result, SortPosition, StorageErrorKind,
    StoredDocument, StoredRecord, Subject, Window,
};
use openapi_core::values::{
    AgentId, AuditId, ContactId, ConversationId, ExternalId, FileId, KeyId, KnowledgeId, PlatformId,
    SubmissionId, TemplateId, Timestamp,
};
use stored::{StoredFile, StoredSubmission, StoredTemplate};

/// All stored data.
#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    agents: HashMap<AgentId, Tenant>,
    api_keys: HashMap<ApiKey, (AgentId, KeyId)>,
    key_ids: HashMap<KeyId, AgentId>,
    audit: BTreeMap<(Timestamp, AuditId), ChainedEntry>,
    /// The end of each chain of the audit log.
    chains: BTreeMap<Option<AgentId>, ChainHead>,
    /// Blobs due for deletion, each with the instant from which it may be deleted.
    purges: BTreeMap<BlobKey, Timestamp>,
    /// Records without an agent.
    installation: BTreeMap<RecordKey, StoredRecord>,
    /// Jobs without an agent.
    installation_jobs: Jobs,
    /// The agents whose log has new events, until their readers are woken.
    changed: Vec<(AgentId, Vec<EventType>)>,
}

/// All data of one tenant.
#[derive(Clone, Debug)]
struct Tenant {
    agent: Agent,
    schemas: Vec<ContactSchema>,
    keys: BTreeMap<KeyId, StoredKey>,
    contacts: BTreeMap<ContactId, (Contact, ContactKeys)>,
    external: HashMap<ExternalId, ContactId>,
    files: BTreeMap<FileId, StoredFile>,
    documents: BTreeMap<FileId, StoredDocument>,
    templates: BTreeMap<TemplateId, StoredTemplate>,
    submissions: BTreeMap<SubmissionId, StoredSubmission>,
    replays: HashMap<IdempotencyKey, IdempotencyRecord>,
    credits: Option<CreditAccount>,
    ledger: BTreeMap<(Timestamp, PlatformId), CreditEntry>,
    knowledge: BTreeMap<KnowledgeId, KnowledgeDocument>,
    passages: BTreeMap<(KnowledgeId, u32), Passage>,
    conversations: BTreeMap<ConversationId, Conversation>,
    messages: BTreeMap<(ConversationId, u64), Message>,
    records: BTreeMap<RecordKey, StoredRecord>,
    log: BTreeMap<u64, LogEntry>,
    jobs: Jobs,
}

impl Tenant {
    fn schema_version(&self) -> u64 {
        self.schemas.last().map_or(0, |schema| schema.version)
    }

    fn duplicate(
        &self,
        except: Option<ContactId>,
        external: Option<&ExternalId>,
        unique: &[UniqueValue],
    ) -> Option<Duplicate> {
        let other = |id: &ContactId| Some(*id) != except;
        let duplicate = |field: &str, (contact, _): &(Contact, ContactKeys)| Duplicate {
            field: field.to_owned(),
            existing: contact.id,
            archived: contact.is_archived(),
        };
        if let Some(holder) = external.and_then(|id| self.external.get(id)).filter(|id| other(id)) {
            return self.contacts.get(holder).map(|holder| duplicate("externalReferenceId", holder));
        }
        unique.iter().find_map(|value| {
            let mut others = self.contacts.iter().filter(|(id, _)| other(id));
            let (_, holder) = others.find(|(_, (_, keys))| keys.unique.contains(value))?;
            Some(duplicate(&value.field, holder))
        })
    }

    fn put(&mut self, write: &ContactWrite) {
        let contact = &write.contact;
        if let Some(before) =
            self.contacts.get(&contact.id).and_then(|(before, _)| before.external_reference_id.as_ref())
        {
            self.external.remove(before);
        }
        if let Some(external) = &contact.external_reference_id {
            self.external.insert(external.clone(), contact.id);
        }
        self.contacts.insert(contact.id, (contact.clone(), write.keys.clone()));
    }

    fn refuse_replayed(&self, effects: &Effects, at: Timestamp) -> Result<()> {
        let stored = effects.replay.as_ref().and_then(|replay| self.replays.get(&replay.key));
        if stored.is_some_and(|known| known.expires_at > at) {
            return Err(StorageErrorKind::ReplayExists.into());
        }
        Ok(())
    }

    /// The checks shared by insert and update.
    fn check(&self, write: &ContactWrite) -> Result<()> {
        if write.schema_version != self.schema_version() {
            return Err(StorageErrorKind::Stale.into());
        }
        self.refuse_replayed(&write.effects, write.at)?;
        let contact = &write.contact;
        match self.duplicate(Some(contact.id), contact.external_reference_id.as_ref(), &write.keys.unique) {
            Some(duplicate) => Err(duplicate.into()),
            None => Ok(()),
        }
    }
}

/// The part of a list that a window selects, in the order of `compare`.
fn window<P, T: Clone>(
    mut found: Vec<(P, &T)>,
    window: &Window<P>,
    compare: impl Fn(&P, &P) -> Ordering,
) -> Vec<T> {
    found.sort_by(|(a, _), (b, _)| compare(a, b));
    let (skip, limit) = match window {
        Window::Page { offset, limit } => (usize::try_from(*offset).unwrap_or(usize::MAX), *limit),
        Window::After { position, limit } => {
            let following = |(candidate, _): &(P, &T)| compare(candidate, position).is_gt();
            (found.iter().position(following).unwrap_or(found.len()), *limit)
        }
    };
    found.into_iter().skip(skip).take(limit as usize).map(|(_, item)| item.clone()).collect()
}

impl World {
    /// An agent that exists and is not deleted.
    fn tenant(&self, id: &AgentId) -> Option<&Tenant> {
        self.agents.get(id).filter(|tenant| tenant.agent.status != AgentStatus::Deleted)
    }

    fn tenant_mut(&mut self, id: &AgentId) -> Result<&mut Tenant> {
        self.agents
            .get_mut(id)
            .filter(|tenant| tenant.agent.status != AgentStatus::Deleted)
            .ok_or(StorageErrorKind::Missing.into())
    }

    pub(crate) fn insert_agent(
        &mut self,
        agent: &Agent,
        schema: &ContactSchema,
        effects: &Effects,
    ) -> Result<()> {
        if self.agents.contains_key(&agent.id) {
            return Err(StorageErrorKind::AlreadyExists.into());
        }
        let tenant = Tenant { schemas: vec![schema.clone()], ..Tenant::of(agent.clone()) };
        self.agents.insert(agent.id.clone(), tenant);
        self.apply(&agent.id, effects);
        Ok(())
    }

    pub(crate) fn agent(&self, id: &AgentId) -> Option<Agent> {
        self.agents.get(id).map(|tenant| tenant.agent.clone())
    }

    pub(crate) fn agents(&self) -> Vec<Agent> {
        let living = self.agents.values().filter(|tenant| tenant.agent.status != AgentStatus::Deleted);
        let mut agents: Vec<Agent> = living.map(|tenant| tenant.agent.clone()).collect();
        agents.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        agents
    }

    pub(crate) fn update_agent(&mut self, agent: &Agent, effects: &Effects) -> Result<()> {
        let tenant = self.tenant_mut(&agent.id)?;
        tenant.agent = Agent { created_at: tenant.agent.created_at, ..agent.clone() };
        self.apply(&agent.id, effects);
        Ok(())
    }

    pub(crate) fn purge_agent(&mut self, id: &AgentId, at_most: u32) -> u64 {
        let Some(tenant) =
            self.agents.get_mut(id).filter(|tenant| tenant.agent.status == AgentStatus::Deleted)
        else {
            return 0;
        };
        let mut left = at_most as usize;
        let mut removed = 0;
        let mut take = |count: usize| {
            let taken = count.min(left);
            left -= taken;
            removed += taken as u64;
            taken
        };
        pop(&mut tenant.contacts, &mut take);
        if tenant.contacts.is_empty() {
            tenant.external.clear();
        }
        let files = pop(&mut tenant.files, &mut take).into_iter().map(|(file, _)| file);
        let documents = pop(&mut tenant.documents, &mut take).into_iter().map(|(document, _)| document);
        for blob in files.chain(documents) {
            self.purges.insert(BlobKey::new(id.clone(), blob), Timestamp::from_millis(0));
        }
        pop(&mut tenant.submissions, &mut take);
        pop(&mut tenant.templates, &mut take);
        for (key_id, key) in pop(&mut tenant.keys, &mut take) {
            self.api_keys.remove(&key.key.api_key);
            self.key_ids.remove(&key_id);
        }
        let schemas = take(tenant.schemas.len());
        tenant.schemas.drain(..schemas);
        let replays: Vec<IdempotencyKey> =
            tenant.replays.keys().copied().take(take(tenant.replays.len())).collect();
        replays.iter().for_each(|key| {
            tenant.replays.remove(key);
        });
        if tenant.credits.is_some() && take(1) == 1 {
            tenant.credits = None;
        }
        pop(&mut tenant.ledger, &mut take);
        pop(&mut tenant.messages, &mut take);
        pop(&mut tenant.conversations, &mut take);
        pop(&mut tenant.passages, &mut take);
        pop(&mut tenant.knowledge, &mut take);
        pop(&mut tenant.records, &mut take);
        pop(&mut tenant.log, &mut take);
        pop(&mut tenant.jobs, &mut take);
        let payloads = self
            .audit
            .values_mut()
            .filter(|entry| entry.agent_id.as_ref() == Some(id) && !entry.details.is_empty());
        for entry in payloads {
            if take(1) == 0 {
                break;
            }
            entry.erase_payload();
        }
        removed
    }

    pub(crate) fn look_up_key(&self, api_key: &ApiKey) -> Option<KeyLookup> {
        let (agent, id) = self.api_keys.get(api_key)?;
        let tenant = self.agents.get(agent)?;
        Some(KeyLookup { stored: tenant.keys.get(id)?.clone(), agent_status: tenant.agent.status })
    }

    pub(crate) fn find_key(&self, selector: &KeySelector) -> Option<StoredKey> {
        let (agent, id) = match selector {
            KeySelector::Id(id) => (self.key_ids.get(id)?, id),
            KeySelector::ApiKey(api_key) => self.api_keys.get(api_key).map(|(agent, id)| (agent, id))?,
        };
        self.tenant(agent)?.keys.get(id).cloned()
    }

    pub(crate) fn keys(&self, agent: &AgentId) -> Vec<StoredKey> {
        let mut keys: Vec<StoredKey> =
            self.tenant(agent).map(|tenant| tenant.keys.values().cloned().collect()).unwrap_or_default();
        keys.sort_by_key(|stored| (stored.key.created_at, stored.key.id));
        keys
    }

    pub(crate) fn insert_key(&mut self, agent: &AgentId, key: &StoredKey, effects: &Effects) -> Result<()> {
        let taken = self.api_keys.contains_key(&key.key.api_key) || self.key_ids.contains_key(&key.key.id);
        let tenant = self.tenant_mut(agent)?;
        if taken {
            return Err(StorageErrorKind::AlreadyExists.into());
        }
        tenant.keys.insert(key.key.id, key.clone());
        self.api_keys.insert(key.key.api_key.clone(), (agent.clone(), key.key.id));
        self.key_ids.insert(key.key.id, agent.clone());
        self.apply(agent, effects);
        Ok(())
    }

    pub(crate) fn update_key(
        &mut self,
        agent: &AgentId,
        expected_version: u64,
        key: &StoredKey,
        effects: &Effects,
    ) -> Result<()> {
        let tenant = self.tenant_mut(agent)?;
        let stored = tenant.keys.get_mut(&key.key.id).ok_or(StorageErrorKind::Missing)?;
        if stored.version != expected_version {
            return Err(StorageErrorKind::Stale.into());
        }
        let (last_used_at, last_used_address) = (stored.key.last_used_at, stored.key.last_used_address);
        *stored = key.clone();
        stored.key.last_used_at = last_used_at;
        stored.key.last_used_address = last_used_address;
        self.apply(agent, effects);
        Ok(())
    }

    pub(crate) fn record_key_use(
        &mut self,
        agent: &AgentId,
        key: KeyId,
        at: Timestamp,
        address: Option<IpAddr>,
    ) {
        let Ok(tenant) = self.tenant_mut(agent) else { return };
        let stored =
            tenant.keys.get_mut(&key).filter(|stored| stored.key.last_used_at.is_none_or(|last| last <= at));
        if let Some(stored) = stored {
            stored.key.last_used_at = Some(at);
            stored.key.last_used_address = address;
        }
    }

    pub(crate) fn contact_schema(&self, agent: &AgentId) -> Option<ContactSchema> {
        self.tenant(agent)?.schemas.last().cloned()
    }

    pub(crate) fn contact_schema_history(&self, agent: &AgentId) -> Vec<ContactSchema> {
        self.tenant(agent).map(|tenant| tenant.schemas.clone()).unwrap_or_default()
    }

    pub(crate) fn replace_contact_schema(
        &mut self,
        agent: &AgentId,
        schema: &ContactSchema,
        effects: &Effects,
    ) -> Result<()> {
        let tenant = self.tenant_mut(agent)?;
        if tenant.schema_version() + 1 != schema.version {
            return Err(StorageErrorKind::Stale.into());
        }
        if tenant.schemas.last().is_some_and(|current| current.keys_differ(schema)) {
            let mut rekeyed: BTreeMap<ContactId, (Contact, ContactKeys)> = BTreeMap::new();
            let mut holders: HashMap<UniqueValue, ContactId> = HashMap::new();
            for (id, (contact, _)) in &tenant.contacts {
                let keys = ContactKeys::of(contact, schema);
                for value in &keys.unique {
                    if let Some(holder) = holders.insert(value.clone(), *id) {
                        let archived =
                            tenant.contacts.get(&holder).is_some_and(|(contact, _)| contact.is_archived());
                        return Err(
                            Duplicate { field: value.field.clone(), existing: holder, archived }.into()
                        );
                    }
                }
                rekeyed.insert(*id, (contact.clone(), keys));
            }
            tenant.contacts = rekeyed;
        }
        tenant.schemas.push(schema.clone());
        self.apply(agent, effects);
        Ok(())
    }

    pub(crate) fn contact(&self, agent: &AgentId, contact: &ContactRef) -> Option<Contact> {
        let tenant = self.tenant(agent)?;
        let id = match contact {
            ContactRef::Id(id) => id,
            ContactRef::External(external) => tenant.external.get(external)?,
        };
        tenant.contacts.get(id).map(|(contact, _)| contact.clone())
    }

    pub(crate) fn contacts(&self, agent: &AgentId, query: &ContactQuery) -> ContactPage {
        let Some(tenant) = self.tenant(agent) else { return ContactPage::default() };
        let found: Vec<(SortPosition, &Contact)> = tenant
            .contacts
            .values()
            .filter(|(contact, keys)| query.filter.admits(contact, keys))
            .map(|(contact, keys)| {
                (SortPosition { key: query.sort.key(contact, keys), id: contact.id }, contact)
            })
            .collect();
        let total = found.len() as u64;
        let contacts = window(found, &query.window, |a, b| a.compare(b, query.order));
        ContactPage { contacts, total }
    }

    pub(crate) fn duplicate_contact(
        &self,
        agent: &AgentId,
        except: Option<ContactId>,
        external: Option<&ExternalId>,
        unique: &[UniqueValue],
    ) -> Option<Duplicate> {
        self.tenant(agent)?.duplicate(except, external, unique)
    }

    pub(crate) fn insert_contact(&mut self, agent: &AgentId, write: &ContactWrite) -> Result<()> {
        let tenant = self.tenant_mut(agent)?;
        tenant.check(write)?;
        if tenant.contacts.contains_key(&write.contact.id) {
            return Err(StorageErrorKind::AlreadyExists.into());
        }
        tenant.put(write);
        self.apply(agent, &write.effects);
        Ok(())
    }

    pub(crate) fn update_contact(
        &mut self,
        agent: &AgentId,
        expected_version: u64,
        write: &ContactWrite,
    ) -> Result<()> {
        let tenant = self.tenant_mut(agent)?;
        let (stored, _) = tenant.contacts.get(&write.contact.id).ok_or(StorageErrorKind::Missing)?;
        if stored.version != expected_version {
            return Err(StorageErrorKind::Stale.into());
        }
        tenant.check(write)?;
        tenant.put(write);
        self.apply(agent, &write.effects);
        Ok(())
    }

    pub(crate) fn erase_contact(
        &mut self,
        agent: &AgentId,
        id: ContactId,
        at: Timestamp,
        effects: &Effects,
    ) -> Result<()> {
        let tenant = self.tenant_mut(agent)?;
        tenant.contacts.remove(&id).ok_or(StorageErrorKind::Missing)?;
        tenant.external.retain(|_, holder| *holder != id);
        tenant.replays.retain(|_, replay| replay.resource != Some(id));
        tenant.submissions.retain(|_, stored| stored.submission.contact_id != id);
        let mut contents = Vec::new();
        tenant.files.retain(|file, stored| {
            let stays = stored.file.contact_id != id;
            if !stays {
                contents.push((BlobKey::new(agent.clone(), *file), at));
            }
            stays
        });
        let uploads = tenant.erase_conversations(|conversation| conversation.contact_id == Some(id), at);
        tenant.erase_subject(Subject::Contact(id), at);
        tenant.empty_events(id);
        self.purges.extend(contents);
        self.make_due(agent, uploads, at);
        let resource = id.to_string();
        for entry in self.audit.values_mut() {
            let is_about = entry.resource.as_deref() == Some(&resource) || entry.contact_id == Some(id);
            if entry.agent_id.as_ref() == Some(agent) && is_about {
                entry.erase_payload();
            }
        }
        self.apply(agent, effects);
        Ok(())
    }

    pub(crate) fn replay(
        &self,
        agent: &AgentId,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Option<IdempotencyRecord> {
        self.tenant(agent)?.replays.get(key).filter(|replay| replay.expires_at > now).cloned()
    }

    pub(crate) fn sweep_idempotency_records(&mut self, now: Timestamp, at_most: u32) -> u64 {
        let mut removed = 0;
        for tenant in self.agents.values_mut() {
            tenant.replays.retain(|_, replay| {
                let stays = replay.expires_at > now || removed >= u64::from(at_most);
                removed += u64::from(!stays);
                stays
            });
        }
        removed
    }

    /// Stores the effects of a write of a tenant.
    fn apply(&mut self, agent: &AgentId, effects: &Effects) {
        if let Some(tenant) = self.agents.get_mut(agent) {
            tenant.replays.extend(effects.replay.iter().map(|replay| (replay.key, replay.clone())));
            tenant.append(&effects.events);
        }
        if !effects.events.is_empty() {
            let kinds = effects.events.iter().map(|event| event.data.kind()).collect();
            self.changed.push((agent.clone(), kinds));
        }
        effects.audit.iter().for_each(|entry| self.chain(entry));
    }

    fn chain(&mut self, entry: &SealedEntry) {
        let head = self.chains.entry(entry.agent_id.clone()).or_default();
        self.audit.insert((entry.at, entry.id), head.append(entry));
    }

    fn refuse_unknown(&self, chain: Option<&AgentId>) -> Result<()> {
        match chain {
            Some(agent) if !self.agents.contains_key(agent) => Err(StorageErrorKind::Missing.into()),
            _ => Ok(()),
        }
    }

    pub(crate) fn append_audit(&mut self, entry: &SealedEntry) -> Result<()> {
        self.refuse_unknown(entry.agent_id.as_ref())?;
        self.chain(entry);
        Ok(())
    }

    /// Stores an entry with the position that it has in the chain of another store.
    fn put_audit(&mut self, entry: &ChainedEntry) {
        self.chains.entry(entry.agent_id.clone()).or_default().follow(entry);
        self.audit.insert((entry.at, entry.id), entry.clone());
    }

    pub(crate) fn audit_chain(&self, query: &ChainQuery) -> Vec<ChainedEntry> {
        let mut found: Vec<(ChainPosition, &ChainedEntry)> = self
            .audit
            .values()
            .filter(|entry| entry.agent_id == query.chain)
            .map(|entry| ((entry.sequence(), entry.at, entry.id), entry))
            .filter(|(position, _)| query.after.is_none_or(|after| *position > after))
            .collect();
        found.sort_by_key(|(position, _)| *position);
        found.into_iter().take(query.limit as usize).map(|(_, entry)| entry.clone()).collect()
    }

    pub(crate) fn audit_head(&self, chain: Option<&AgentId>) -> ChainHead {
        self.chains.get(&chain.cloned()).copied().unwrap_or_default()
    }

    pub(crate) fn audit_heads(&self) -> Vec<(Option<AgentId>, ChainHead)> {
        self.chains.iter().map(|(chain, head)| (chain.clone(), *head)).collect()
    }

    pub(crate) fn purge_audit(&mut self, through: &ChainPosition, entry: &SealedEntry) -> Result<u64> {
        self.refuse_unknown(entry.agent_id.as_ref())?;
        let before = self.audit.len();
        self.audit.retain(|_, stored| {
            stored.agent_id != entry.agent_id || (stored.sequence(), stored.at, stored.id) > *through
        });
        let removed = (before - self.audit.len()) as u64;
        if removed > 0 {
            self.chain(entry);
        }
        Ok(removed)
    }

    pub(crate) fn audit_entries(&self, query: &AuditQuery) -> Vec<ChainedEntry> {
        let wanted = |candidate: &(Timestamp, AuditId), entry: &ChainedEntry| {
            let following = query
                .after
                .is_none_or(|after| if query.newest_first { *candidate < after } else { *candidate > after });
            following && query.agent.as_ref().is_none_or(|agent| entry.agent_id.as_ref() == Some(agent))
        };
        let found = self
            .audit
            .iter()
            .filter(|(candidate, entry)| wanted(candidate, entry))
            .map(|(_, entry)| entry.clone());
        let limit = query.limit as usize;
        if query.newest_first { found.rev().take(limit).collect() } else { found.take(limit).collect() }
    }
}

/// Removes as many of the first entries as `take` allows, and returns them.
fn pop<K: Ord, V>(map: &mut BTreeMap<K, V>, take: &mut impl FnMut(usize) -> usize) -> Vec<(K, V)> {
    (0..take(map.len())).filter_map(|_| map.pop_first()).collect()
}
