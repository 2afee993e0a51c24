//! Storing records unchanged, many with one command.
//!
//! Taken keys are looked up first, because a violated constraint would be retried as a race.

use std::collections::HashSet;

use ::conversations::Passage;
use mongodb::bson::{Document, doc};
use openapi_core::agents::Agent;
use openapi_core::audit::ChainedEntry;
use openapi_core::contacts::{Contact, ContactKeys};
use openapi_core::storage::{IdempotencyRecord, StorageErrorKind};
use openapi_core::values::{AgentId, KnowledgeId};
use storage_common::transfer::{TransferKind, TransferRow};

use super::read;
use crate::chat::{conversations, knowledge};
use crate::document::{code, integer, key, keyed, time};
use crate::error::Result;
use crate::migrate::{collection, index};
use crate::shapes::{jobs, log, records};
use crate::tenant::{self, TenantState};
use crate::transaction::{Find, Transaction, Update};
use crate::{
    agents, audit, contact_schemas, contacts, content, credits, documents as stored_documents, files, forms,
    keys, replays,
};

/// As [`storage_common::transfer::TransferStore::put_agent`].
pub(super) async fn agent(tx: &mut Transaction, agent: &Agent) -> Result<()> {
    if tenant::lock_any(tx, Some(&agent.id)).await?.is_none() {
        return agents::insert(tx, agent, 0).await;
    }
    let status = code(agent.status);
    let change = doc! { "$set": {
        "name": agent.name.as_str(),
        "status": status,
        "createdAt": time(agent.created_at),
        "updatedAt": time(agent.updated_at),
    } };
    tx.update(collection::AGENTS, &[Update::one(doc! { "_id": agent.id.as_str() }, change)]).await?;
    tenant::change(tx, &agent.id, doc! { "$set": { "status": status } }).await
}

/// As [`storage_common::transfer::TransferStore::put_records`].
pub(super) async fn records(tx: &mut Transaction, agent: &AgentId, records: &[TransferRow]) -> Result<()> {
    let state = tenant::lock_any(tx, Some(agent)).await?.ok_or(StorageErrorKind::Missing)?;
    let Some(kind) = records.first().map(TransferRow::kind) else { return Ok(()) };
    refuse_known(tx, agent, kind, records).await?;
    let mut batch = Batch::default();
    for record in records {
        batch.add(tx, agent, record).await?;
    }
    if kind == TransferKind::Revision {
        refuse_absent(tx, agent, collection::SUBMISSIONS, submissions(agent, records)).await?;
    }
    batch.insert(tx, agent, kind, &state).await
}

/// Records of one kind that are inserted together.
#[derive(Default)]
struct Batch<'r> {
    contacts: Vec<&'r Contact>,
    responses: Vec<&'r IdempotencyRecord>,
    entries: Vec<&'r ChainedEntry>,
    passages: Vec<(KnowledgeId, &'r Passage)>,
    /// The records of every other kind, as documents of its collection.
    documents: Vec<Document>,
    /// How many bytes the contents of the records take.
    bytes: i64,
}

impl<'r> Batch<'r> {
    /// Adds a record. The kinds that change more than one collection are written at once.
    async fn add(&mut self, tx: &mut Transaction, agent: &AgentId, record: &'r TransferRow) -> Result<()> {
        match record {
            TransferRow::ContactSchema(schema) => {
                contact_schemas::insert(tx, agent, schema).await?;
                let version = integer(schema.version)?;
                tenant::change(tx, agent, doc! { "$max": { "schema": version } }).await?;
            }
            TransferRow::Template(template) => {
                self.documents.push(forms::templates::document(agent, template)?);
            }
            TransferRow::TemplateVersion(template) => {
                let of = key(agent, template.id.as_bytes());
                refuse_absent(tx, agent, collection::TEMPLATES, vec![of]).await?;
                forms::templates::insert_content(tx, agent, template).await?;
            }
            TransferRow::Contact(contact) => self.contacts.push(contact),
            TransferRow::File { file, tombstone } => {
                let mut document = files::document(agent, file, &file.file_name.sort_key())?;
                match tombstone {
                    Some(tombstone) => document.extend(files::tombstone(tombstone)?),
                    None => self.bytes += integer(file.file_size)?,
                }
                self.documents.push(document);
            }
            TransferRow::Document(document) => {
                self.documents.push(stored_documents::stored(agent, document)?);
                self.bytes += integer(document.stored_size)?;
            }
            TransferRow::Purge { file, due_at } => {
                self.documents.push(doc! { "_id": key(agent, file.as_bytes()), "dueAt": time(*due_at) });
            }
            TransferRow::Submission(submission) => self.documents.push(forms::row::document(submission)?),
            TransferRow::Revision { submission, revision } => {
                self.documents.push(forms::write::revision(agent, *submission, revision)?);
            }
            TransferRow::IdempotencyRecord(replay) => self.responses.push(replay),
            TransferRow::CreditAccount(account) => {
                self.documents.push(credits::account_document(agent, account)?);
            }
            TransferRow::CreditEntry(entry) => self.documents.push(credits::entry_document(agent, entry)?),
            TransferRow::Knowledge(document) => self.documents.push(knowledge::stored(agent, document)?),
            TransferRow::Passage { document, passage } => self.passages.push((*document, passage)),
            TransferRow::Conversation(it) => self.documents.push(conversations::write::document(agent, it)?),
            TransferRow::Message { conversation, message } => {
                self.documents.push(conversations::write::message_document(agent, *conversation, message)?);
            }
            TransferRow::Record(record) => self.documents.push(records::document(Some(agent), record)?),
            TransferRow::Log(entry) => {
                self.documents.push(log::document(agent, entry)?);
                let newest = integer(entry.seq)?;
                tenant::change(tx, agent, doc! { "$max": { "events": newest } }).await?;
            }
            TransferRow::Job(job) => self.documents.push(jobs::document(Some(agent), job)?),
            TransferRow::Audit(entry) => self.entries.push(entry),
            TransferRow::Key(stored) => keys::insert(tx, agent, stored).await?,
        }
        Ok(())
    }

    async fn insert(
        self,
        tx: &mut Transaction,
        agent: &AgentId,
        kind: TransferKind,
        state: &TenantState,
    ) -> Result<()> {
        if !self.documents.is_empty() {
            tx.insert(read::collection_of(kind), &self.documents).await?;
        }
        if self.bytes != 0 {
            content::add_bytes(tx, agent, self.bytes).await?;
        }
        if !self.contacts.is_empty() {
            insert_contacts(tx, agent, state, &self.contacts).await?;
        }
        if !self.passages.is_empty() {
            knowledge::blocks::insert(tx, agent, &self.passages).await?;
        }
        if !self.responses.is_empty() {
            replays::insert(tx, agent, self.responses).await?;
        }
        if !self.entries.is_empty() {
            audit::put_all(tx, Some(agent), state.ends.chain, &self.entries).await?;
        }
        Ok(())
    }
}

/// Refuses records of which one is stored or occurs twice.
async fn refuse_known(
    tx: &mut Transaction,
    agent: &AgentId,
    kind: TransferKind,
    records: &[TransferRow],
) -> Result<()> {
    let mut known = HashSet::with_capacity(records.len());
    let is_once = records.iter().all(|record| known.insert(record.key()));
    // API keys have names beyond their tenant and are looked up one by one, passages in their blocks.
    let is_stored = !matches!(kind, TransferKind::Key | TransferKind::Passage) && {
        let (name, find) = read::stored(agent, kind, records)?;
        !tx.reads().find(name, find).await?.is_empty()
    };
    if is_stored || !is_once {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    Ok(())
}

/// The keys of the submissions of revisions, each once.
fn submissions(agent: &AgentId, records: &[TransferRow]) -> Vec<Document> {
    let mut submissions: Vec<_> = records
        .iter()
        .filter_map(|record| match record {
            TransferRow::Revision { submission, .. } => Some(*submission),
            _ => None,
        })
        .collect();
    submissions.sort_unstable();
    submissions.dedup();
    submissions.iter().map(|id| key(agent, id.as_bytes())).collect()
}

/// Refuses records whose parents are absent.
async fn refuse_absent(tx: &mut Transaction, agent: &AgentId, name: &str, keys: Vec<Document>) -> Result<()> {
    let wanted = keys.len();
    let find = Find {
        filter: keyed(agent, keys),
        projection: Some(doc! { "_id": 1 }),
        hint: Some(index::BY_KEY),
        ..Find::default()
    };
    if tx.reads().find(name, find).await?.len() < wanted {
        return Err(StorageErrorKind::Missing.into());
    }
    Ok(())
}

async fn insert_contacts(
    tx: &mut Transaction,
    agent: &AgentId,
    state: &TenantState,
    records: &[&Contact],
) -> Result<()> {
    let current = contact_schemas::at_version(&mut tx.reads(), agent, state.schema_version).await?;
    let schema = current.ok_or(StorageErrorKind::Missing)?;
    let keyed: Vec<(&Contact, ContactKeys)> =
        records.iter().map(|contact| (*contact, ContactKeys::of(contact, &schema))).collect();
    contacts::insert(tx, agent, &keyed).await
}
