//! Transfer of records in the model.

use super::{StoredFile, StoredSubmission, StoredTemplate, Tenant, World};
use openapi_core::agents::Agent;
use openapi_core::contacts::{Contact, ContactKeys};
use openapi_core::ports::BlobKey;
use openapi_core::storage::{Result, StorageErrorKind};
use openapi_core::values::AgentId;
use storage_common::transfer::{TransferKey, TransferKind, TransferRow};

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
            credits: None,
            ledger: Default::default(),
            knowledge: Default::default(),
            passages: Default::default(),
            conversations: Default::default(),
            messages: Default::default(),
            records: Default::default(),
            log: Default::default(),
            jobs: Default::default(),
        }
    }

    /// Stores a contact; returns whether its id is new.
    fn put_contact(&mut self, contact: &Contact) -> Result<bool> {
        let schema = self.schemas.last().ok_or(StorageErrorKind::Missing)?;
        let keys = ContactKeys::of(contact, schema);
        let external = contact.external_reference_id.as_ref();
        if let Some(duplicate) = self.duplicate(Some(contact.id), external, &keys.unique) {
            return Err(duplicate.into());
        }
        if let Some(external) = external {
            self.external.insert(external.clone(), contact.id);
        }
        Ok(self.contacts.insert(contact.id, (contact.clone(), keys)).is_none())
    }
}

impl World {
    pub(crate) fn agents_after(&self, after: Option<&AgentId>, at_most: u32) -> Vec<Agent> {
        let following =
            self.agents.values().filter(|tenant| after.is_none_or(|after| tenant.agent.id > *after));
        let mut agents: Vec<Agent> = following.map(|tenant| tenant.agent.clone()).collect();
        agents.sort_by(|a, b| a.id.cmp(&b.id));
        agents.truncate(at_most as usize);
        agents
    }

    /// All records of a kind, by key.
    fn rows_of(&self, id: &AgentId, kind: TransferKind) -> Vec<TransferRow> {
        let Some(tenant) = self.agents.get(id) else { return Vec::new() };
        let mut records: Vec<TransferRow> = match kind {
            TransferKind::ContactSchema => {
                tenant.schemas.iter().cloned().map(TransferRow::ContactSchema).collect()
            }
            TransferKind::Template => tenant
                .templates
                .values()
                .map(|stored| TransferRow::Template(stored.current.clone()))
                .collect(),
            TransferKind::TemplateVersion => {
                let versions = |stored: &StoredTemplate| stored.at_each_version().collect::<Vec<_>>();
                tenant.templates.values().flat_map(versions).map(TransferRow::TemplateVersion).collect()
            }
            TransferKind::Contact => {
                tenant.contacts.values().map(|(contact, _)| TransferRow::Contact(contact.clone())).collect()
            }
            TransferKind::File => {
                let record = |stored: &StoredFile| TransferRow::File {
                    file: stored.file.clone(),
                    tombstone: stored.tombstone.clone(),
                };
                tenant.files.values().map(record).collect()
            }
            TransferKind::Document => tenant.documents.values().cloned().map(TransferRow::Document).collect(),
            TransferKind::Purge => {
                let own = self.purges.iter().filter(|(key, _)| key.agent == *id);
                own.map(|(key, due_at)| TransferRow::Purge { file: key.file, due_at: *due_at }).collect()
            }
            TransferKind::Submission => {
                let all = tenant.submissions.values();
                all.map(|stored| TransferRow::Submission(tenant.shown(&stored.submission))).collect()
            }
            TransferKind::Revision => tenant.submissions.values().flat_map(revisions).collect(),
            TransferKind::IdempotencyRecord => {
                tenant.replays.values().cloned().map(TransferRow::IdempotencyRecord).collect()
            }
            TransferKind::CreditAccount => {
                tenant.credits.iter().cloned().map(TransferRow::CreditAccount).collect()
            }
            TransferKind::CreditEntry => {
                tenant.ledger.values().cloned().map(TransferRow::CreditEntry).collect()
            }
            TransferKind::Knowledge => {
                tenant.knowledge.values().cloned().map(TransferRow::Knowledge).collect()
            }
            TransferKind::Passage => passages(tenant),
            TransferKind::Conversation => {
                let conversations = tenant.conversations.values().cloned().map(Box::new);
                conversations.map(TransferRow::Conversation).collect()
            }
            TransferKind::Message => messages(tenant),
            TransferKind::Record => tenant.records.values().cloned().map(TransferRow::Record).collect(),
            TransferKind::Log => tenant.log.values().cloned().map(TransferRow::Log).collect(),
            TransferKind::Job => tenant.jobs.values().cloned().map(Box::new).map(TransferRow::Job).collect(),
            TransferKind::Audit => {
                let own = self.audit.values().filter(|entry| entry.agent_id.as_ref() == Some(id));
                own.cloned().map(TransferRow::Audit).collect()
            }
            TransferKind::Key => tenant.keys.values().cloned().map(TransferRow::Key).collect(),
        };
        records.sort_by_key(TransferRow::key);
        records
    }

    pub(crate) fn records(
        &self,
        agent: &AgentId,
        kind: TransferKind,
        after: Option<&TransferKey>,
        at_most: u32,
    ) -> Vec<TransferRow> {
        let mut records = self.rows_of(agent, kind);
        records.retain(|record| after.is_none_or(|after| record.key() > *after));
        records.truncate(at_most as usize);
        records
    }

    pub(crate) fn last_record(&self, agent: &AgentId, kind: TransferKind) -> Option<TransferKey> {
        self.rows_of(agent, kind).last().map(TransferRow::key)
    }

    pub(crate) fn put_agent(&mut self, agent: &Agent) {
        let tenant = self.agents.entry(agent.id.clone()).or_insert_with(|| Tenant::of(agent.clone()));
        tenant.agent = agent.clone();
    }

    pub(crate) fn put_records(&mut self, agent: &AgentId, records: &[TransferRow]) -> Result<()> {
        // All or nothing.
        let mut world = self.clone();
        records.iter().try_for_each(|record| world.put_record(agent, record))?;
        *self = world;
        Ok(())
    }

    /// Whether the key of a record is in use, for the records that are stored outside of their tenant.
    fn is_key_taken(&self, id: &AgentId, record: &TransferRow) -> bool {
        match record {
            TransferRow::Key(stored) => {
                self.api_keys.contains_key(&stored.key.api_key) || self.key_ids.contains_key(&stored.key.id)
            }
            TransferRow::Audit(entry) => self.audit.contains_key(&(entry.at, entry.id)),
            TransferRow::Purge { file, .. } => self.purges.contains_key(&BlobKey::new(id.clone(), *file)),
            _ => false,
        }
    }

    fn put_record(&mut self, id: &AgentId, record: &TransferRow) -> Result<()> {
        let is_key_taken = self.is_key_taken(id, record);
        let tenant = self.agents.get_mut(id).ok_or(StorageErrorKind::Missing)?;
        let is_new = match record {
            TransferRow::ContactSchema(schema) => {
                let is_new = tenant.schemas.iter().all(|known| known.version != schema.version);
                tenant.schemas.push(schema.clone());
                is_new
            }
            TransferRow::Template(template) => {
                let stored = StoredTemplate::of(template.clone());
                tenant.templates.insert(template.id, stored).is_none()
            }
            TransferRow::TemplateVersion(then) => {
                tenant.templates.get_mut(&then.id).ok_or(StorageErrorKind::Missing)?.add(then.clone())
            }
            TransferRow::Contact(contact) => tenant.put_contact(contact)?,
            TransferRow::File { file, tombstone } => {
                let stored = StoredFile { file: file.clone(), tombstone: tombstone.clone() };
                tenant.files.insert(file.id, stored).is_none()
            }
            TransferRow::Document(document) => {
                tenant.documents.insert(document.id, document.clone()).is_none()
            }
            TransferRow::Purge { file, due_at } => {
                self.purges.insert(BlobKey::new(id.clone(), *file), *due_at);
                true
            }
            TransferRow::Submission(submission) => {
                let stored = StoredSubmission { submission: submission.clone(), revisions: Vec::new() };
                tenant.submissions.insert(submission.id, stored).is_none()
            }
            TransferRow::Revision { submission, revision } => {
                let stored = tenant.submissions.get_mut(submission).ok_or(StorageErrorKind::Missing)?;
                let is_new = stored.revisions.iter().all(|known| known.version != revision.version);
                stored.revisions.push(revision.clone());
                is_new
            }
            TransferRow::IdempotencyRecord(replay) => {
                tenant.replays.insert(replay.key, replay.clone()).is_none()
            }
            TransferRow::CreditAccount(account) => tenant.credits.replace(account.clone()).is_none(),
            TransferRow::CreditEntry(entry) => {
                tenant.ledger.insert((entry.at, entry.id), entry.clone()).is_none()
            }
            TransferRow::Knowledge(document) => {
                tenant.knowledge.insert(document.id, document.clone()).is_none()
            }
            TransferRow::Passage { document, passage } => {
                tenant.passages.insert((*document, passage.position), passage.clone()).is_none()
            }
            TransferRow::Conversation(it) => tenant.conversations.insert(it.id, (**it).clone()).is_none(),
            TransferRow::Message { conversation, message } => {
                tenant.messages.insert((*conversation, message.seq), message.clone()).is_none()
            }
            TransferRow::Record(record) => {
                tenant.records.insert(record.key.clone(), record.clone()).is_none()
            }
            TransferRow::Log(entry) => tenant.log.insert(entry.seq, entry.clone()).is_none(),
            TransferRow::Job(job) => tenant.jobs.insert(job.id, (**job).clone()).is_none(),
            TransferRow::Audit(entry) => {
                self.put_audit(entry);
                true
            }
            TransferRow::Key(stored) => {
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

fn passages(tenant: &Tenant) -> Vec<TransferRow> {
    let passages = tenant.passages.iter();
    passages
        .map(|((document, _), passage)| TransferRow::Passage {
            document: *document,
            passage: passage.clone(),
        })
        .collect()
}

fn messages(tenant: &Tenant) -> Vec<TransferRow> {
    let messages = tenant.messages.iter();
    messages
        .map(|((conversation, _), message)| TransferRow::Message {
            conversation: *conversation,
            message: message.clone(),
        })
        .collect()
}

fn revisions(stored: &StoredSubmission) -> Vec<TransferRow> {
    let submission = stored.submission.id;
    let all = stored.revisions.iter().cloned();
    all.map(|revision| TransferRow::Revision { submission, revision }).collect()
}
