//! Moving records in the model.

use super::{StoredFile, StoredSubmission, StoredTemplate, Tenant, World};
use openapi_core::agents::Agent;
use openapi_core::contacts::ContactKeys;
use openapi_core::ports::BlobKey;
use openapi_core::storage::{Record, RecordKey, RecordKind, Result, StorageErrorKind};
use openapi_core::values::AgentId;

impl Tenant {
    pub(super) fn of(agent: Agent) -> Self {
        Tenant {
            agent,
            schemas: Vec::new(),
            keys: Default::default(),
            contacts: Default::default(),
            external: Default::default(),
            files: Default::default(),
            documents: Default::default(),
            templates: Default::default(),
            submissions: Default::default(),
            replays: Default::default(),
            windows: Default::default(),
            credits: None,
            ledger: Default::default(),
            knowledge: Default::default(),
            passages: Default::default(),
            conversations: Default::default(),
            messages: Default::default(),
            records: Default::default(),
        }
    }
}

impl World {
    pub(crate) fn agents_after(&self, after: Option<&AgentId>, at_most: u32) -> Vec<Agent> {
        let behind = self.agents.values().filter(|tenant| after.is_none_or(|after| tenant.agent.id > *after));
        let mut agents: Vec<Agent> = behind.map(|tenant| tenant.agent.clone()).collect();
        agents.sort_by(|a, b| a.id.cmp(&b.id));
        agents.truncate(at_most as usize);
        agents
    }

    /// Every record of a kind, by its key.
    fn records_of(&self, id: &AgentId, kind: RecordKind) -> Vec<Record> {
        let Some(tenant) = self.agents.get(id) else { return Vec::new() };
        let mut records: Vec<Record> = match kind {
            RecordKind::ContactSchema => tenant.schemas.iter().cloned().map(Record::ContactSchema).collect(),
            RecordKind::Template => {
                tenant.templates.values().map(|stored| Record::Template(stored.current.clone())).collect()
            }
            RecordKind::TemplateVersion => {
                let versions = |stored: &StoredTemplate| stored.at_each_version().collect::<Vec<_>>();
                tenant.templates.values().flat_map(versions).map(Record::TemplateVersion).collect()
            }
            RecordKind::Contact => {
                tenant.contacts.values().map(|(contact, _)| Record::Contact(contact.clone())).collect()
            }
            RecordKind::File => {
                let record = |stored: &StoredFile| Record::File {
                    file: stored.file.clone(),
                    tombstone: stored.tombstone.clone(),
                };
                tenant.files.values().map(record).collect()
            }
            RecordKind::Document => tenant.documents.values().cloned().map(Record::Document).collect(),
            RecordKind::Purge => {
                let own = self.purges.iter().filter(|(key, _)| key.agent == *id);
                own.map(|(key, due_at)| Record::Purge { file: key.file, due_at: *due_at }).collect()
            }
            RecordKind::Submission => {
                let all = tenant.submissions.values();
                all.map(|stored| Record::Submission(tenant.shown(&stored.submission))).collect()
            }
            RecordKind::Revision => tenant.submissions.values().flat_map(revisions).collect(),
            RecordKind::Replay => tenant.replays.values().cloned().map(Record::Replay).collect(),
            RecordKind::RateWindow => {
                let windows = tenant.windows.iter();
                windows
                    .map(|(key, window)| Record::RateWindow { key: *key, window: window.clone() })
                    .collect()
            }
            RecordKind::CreditAccount => tenant.credits.iter().cloned().map(Record::CreditAccount).collect(),
            RecordKind::CreditEntry => tenant.ledger.values().cloned().map(Record::CreditEntry).collect(),
            RecordKind::Knowledge => tenant.knowledge.values().cloned().map(Record::Knowledge).collect(),
            RecordKind::Passage => {
                let passages = tenant.passages.iter();
                passages
                    .map(|((document, _), it)| Record::Passage { document: *document, passage: it.clone() })
                    .collect()
            }
            RecordKind::Conversation => {
                let conversations = tenant.conversations.values().cloned().map(Box::new);
                conversations.map(Record::Conversation).collect()
            }
            RecordKind::Message => {
                let messages = tenant.messages.iter();
                messages
                    .map(|((conversation, _), it)| Record::Message {
                        conversation: *conversation,
                        message: it.clone(),
                    })
                    .collect()
            }
            RecordKind::AgentRecord => tenant.records.values().cloned().map(Record::AgentRecord).collect(),
            RecordKind::Audit => {
                let own = self.audit.values().filter(|entry| entry.agent_id.as_ref() == Some(id));
                own.cloned().map(Record::Audit).collect()
            }
            RecordKind::Key => tenant.keys.values().cloned().map(Record::Key).collect(),
        };
        records.sort_by_key(Record::key);
        records
    }

    pub(crate) fn records(
        &self,
        agent: &AgentId,
        kind: RecordKind,
        after: Option<&RecordKey>,
        at_most: u32,
    ) -> Vec<Record> {
        let mut records = self.records_of(agent, kind);
        records.retain(|record| after.is_none_or(|after| record.key() > *after));
        records.truncate(at_most as usize);
        records
    }

    pub(crate) fn last_record(&self, agent: &AgentId, kind: RecordKind) -> Option<RecordKey> {
        self.records_of(agent, kind).last().map(Record::key)
    }

    pub(crate) fn put_agent(&mut self, agent: &Agent) {
        let tenant = self.agents.entry(agent.id.clone()).or_insert_with(|| Tenant::of(agent.clone()));
        tenant.agent = agent.clone();
    }

    pub(crate) fn put_records(&mut self, agent: &AgentId, records: &[Record]) -> Result<()> {
        // All or none.
        let mut world = self.clone();
        records.iter().try_for_each(|record| world.put_record(agent, record))?;
        *self = world;
        Ok(())
    }

    fn put_record(&mut self, id: &AgentId, record: &Record) -> Result<()> {
        let is_key_taken = match record {
            Record::Key(stored) => {
                self.api_keys.contains_key(&stored.key.api_key) || self.key_ids.contains_key(&stored.key.id)
            }
            Record::Audit(entry) => self.audit.contains_key(&(entry.at, entry.id)),
            Record::Purge { file, .. } => self.purges.contains_key(&BlobKey::new(id.clone(), *file)),
            _ => false,
        };
        let tenant = self.agents.get_mut(id).ok_or(StorageErrorKind::Missing)?;
        let is_new = match record {
            Record::ContactSchema(schema) => {
                let is_new = tenant.schemas.iter().all(|known| known.version != schema.version);
                tenant.schemas.push(schema.clone());
                is_new
            }
            Record::Template(template) => {
                let stored = StoredTemplate::of(template.clone());
                tenant.templates.insert(template.id, stored).is_none()
            }
            Record::TemplateVersion(then) => {
                tenant.templates.get_mut(&then.id).ok_or(StorageErrorKind::Missing)?.add(then.clone())
            }
            Record::Contact(contact) => {
                let schema = tenant.schemas.last().ok_or(StorageErrorKind::Missing)?;
                let keys = ContactKeys::of(contact, schema);
                let external = contact.external_reference_id.as_ref();
                if let Some(duplicate) = tenant.duplicate(Some(contact.id), external, &keys.unique) {
                    return Err(duplicate.into());
                }
                if let Some(external) = external {
                    tenant.external.insert(external.clone(), contact.id);
                }
                tenant.contacts.insert(contact.id, (contact.clone(), keys)).is_none()
            }
            Record::File { file, tombstone } => {
                let stored = StoredFile { file: file.clone(), tombstone: tombstone.clone() };
                tenant.files.insert(file.id, stored).is_none()
            }
            Record::Document(document) => tenant.documents.insert(document.id, document.clone()).is_none(),
            Record::Purge { file, due_at } => {
                self.purges.insert(BlobKey::new(id.clone(), *file), *due_at);
                true
            }
            Record::Submission(submission) => {
                let stored = StoredSubmission { submission: submission.clone(), revisions: Vec::new() };
                tenant.submissions.insert(submission.id, stored).is_none()
            }
            Record::Revision { submission, revision } => {
                let stored = tenant.submissions.get_mut(submission).ok_or(StorageErrorKind::Missing)?;
                let is_new = stored.revisions.iter().all(|known| known.version != revision.version);
                stored.revisions.push(revision.clone());
                is_new
            }
            Record::Replay(replay) => tenant.replays.insert(replay.key, replay.clone()).is_none(),
            Record::RateWindow { key, window } => tenant.windows.insert(*key, window.clone()).is_none(),
            Record::CreditAccount(account) => tenant.credits.replace(account.clone()).is_none(),
            Record::CreditEntry(entry) => tenant.ledger.insert((entry.at, entry.id), entry.clone()).is_none(),
            Record::Knowledge(document) => tenant.knowledge.insert(document.id, document.clone()).is_none(),
            Record::Passage { document, passage } => {
                tenant.passages.insert((*document, passage.position), passage.clone()).is_none()
            }
            Record::Conversation(it) => tenant.conversations.insert(it.id, (**it).clone()).is_none(),
            Record::Message { conversation, message } => {
                tenant.messages.insert((*conversation, message.seq), message.clone()).is_none()
            }
            Record::AgentRecord(record) => tenant.records.insert(record.kind, record.clone()).is_none(),
            Record::Audit(entry) => {
                self.append_audit(entry);
                true
            }
            Record::Key(stored) => {
                tenant.keys.insert(stored.key.id, stored.clone());
                self.api_keys.insert(stored.key.api_key.clone(), (id.clone(), stored.key.id));
                self.key_ids.insert(stored.key.id, id.clone());
                true
            }
        };
        if is_key_taken || !is_new {
            return Err(StorageErrorKind::AlreadyExists.into());
        }
        Ok(())
    }
}

fn revisions(stored: &StoredSubmission) -> Vec<Record> {
    let submission = stored.submission.id;
    let all = stored.revisions.iter().cloned();
    all.map(|revision| Record::Revision { submission, revision }).collect()
}
