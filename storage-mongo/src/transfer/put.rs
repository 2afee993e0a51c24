//! Storing records unchanged, many with one command.
//!
//! Taken keys are looked up first, because a violated constraint would be retried as a race.

use std::collections::HashSet;

use mongodb::bson::{Document, doc};
use openapi_core::agents::Agent;
use openapi_core::audit::AuditEntry;
use openapi_core::chat::Passage;
use openapi_core::contacts::{Contact, ContactKeys};
use openapi_core::storage::{Record, RecordKind, Replay, StorageErrorKind};
use openapi_core::values::{AgentId, KnowledgeId};

use super::read;
use crate::chat::{agent_records, conversations, knowledge};
use crate::document::{code, integer, key, keyed, time};
use crate::error::Result;
use crate::migrate::{collection, index};
use crate::tenant::{self, TenantState};
use crate::transaction::{Find, Transaction, Update};
use crate::{
    agents, audit, contact_schemas, contacts, content, credits, documents as stored_documents, files, forms,
    keys, rate_windows, replays,
};

/// As [`openapi_core::storage::TransferStore::put_agent`].
pub(super) async fn agent(tx: &mut Transaction, agent: &Agent) -> Result<()> {
    if tenant::lock_any(tx, &agent.id).await?.is_none() {
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

/// As [`openapi_core::storage::TransferStore::put_records`].
pub(super) async fn records(tx: &mut Transaction, agent: &AgentId, records: &[Record]) -> Result<()> {
    let state = tenant::lock_any(tx, agent).await?.ok_or(StorageErrorKind::Missing)?;
    let Some(kind) = records.first().map(Record::kind) else { return Ok(()) };
    refuse_known(tx, agent, kind, records).await?;
    let mut of_contacts: Vec<&Contact> = Vec::new();
    let mut responses: Vec<&Replay> = Vec::new();
    let mut entries: Vec<&AuditEntry> = Vec::new();
    let mut passages: Vec<(KnowledgeId, &Passage)> = Vec::new();
    let mut documents: Vec<Document> = Vec::new();
    let mut bytes = 0;
    for record in records {
        match record {
            Record::ContactSchema(schema) => {
                contact_schemas::insert(tx, agent, schema).await?;
                let version = integer(schema.version)?;
                tenant::change(tx, agent, doc! { "$max": { "schema": version } }).await?;
            }
            Record::Template(template) => documents.push(forms::templates::document(agent, template)?),
            Record::TemplateVersion(template) => {
                let of = key(agent, template.id.as_bytes());
                refuse_absent(tx, agent, collection::TEMPLATES, vec![of]).await?;
                forms::templates::insert_content(tx, agent, template).await?;
            }
            Record::Contact(contact) => of_contacts.push(contact),
            Record::File { file, tombstone } => {
                let mut document = files::document(agent, file, &file.file_name.sort_key())?;
                match tombstone {
                    Some(tombstone) => document.extend(files::tombstone(tombstone)?),
                    None => bytes += integer(file.file_size)?,
                }
                documents.push(document);
            }
            Record::Document(document) => {
                documents.push(stored_documents::stored(agent, document)?);
                bytes += integer(document.stored_size)?;
            }
            Record::Purge { file, due_at } => {
                documents.push(doc! { "_id": key(agent, file.as_bytes()), "dueAt": time(*due_at) });
            }
            Record::Submission(submission) => documents.push(forms::row::document(submission)?),
            Record::Revision { submission, revision } => {
                documents.push(forms::write::revision(agent, *submission, revision)?);
            }
            Record::Replay(replay) => responses.push(replay),
            Record::RateWindow { key, window } => {
                documents.push(rate_windows::document(agent, *key, window)?);
            }
            Record::CreditAccount(account) => documents.push(credits::account_document(agent, account)?),
            Record::CreditEntry(entry) => documents.push(credits::entry_document(agent, entry)?),
            Record::Knowledge(document) => documents.push(knowledge::stored(agent, document)?),
            Record::Passage { document, passage } => passages.push((*document, passage)),
            Record::Conversation(it) => documents.push(conversations::write::document(agent, it)?),
            Record::Message { conversation, message } => {
                documents.push(conversations::write::message_document(agent, *conversation, message)?);
            }
            Record::AgentRecord(record) => documents.push(agent_records::document(agent, record)?),
            Record::Audit(entry) => entries.push(entry),
            Record::Key(stored) => keys::insert(tx, agent, stored).await?,
        }
    }
    if kind == RecordKind::Revision {
        refuse_absent(tx, agent, collection::SUBMISSIONS, submissions(agent, records)).await?;
    }
    if !documents.is_empty() {
        tx.insert(read::collection_of(kind), &documents).await?;
    }
    if bytes != 0 {
        content::add_bytes(tx, agent, bytes).await?;
    }
    if !of_contacts.is_empty() {
        insert_contacts(tx, agent, &state, &of_contacts).await?;
    }
    if !passages.is_empty() {
        knowledge::blocks::insert(tx, agent, &passages).await?;
    }
    if !responses.is_empty() {
        replays::insert(tx, agent, responses).await?;
    }
    if !entries.is_empty() {
        audit::insert(tx, &entries).await?;
    }
    Ok(())
}

/// Refuses records of which one is stored or occurs twice.
async fn refuse_known(
    tx: &mut Transaction,
    agent: &AgentId,
    kind: RecordKind,
    records: &[Record],
) -> Result<()> {
    let mut known = HashSet::with_capacity(records.len());
    let is_once = records.iter().all(|record| known.insert(record.key()));
    // API keys have names beyond their tenant and are looked up one by one, passages in their blocks.
    let is_stored = !matches!(kind, RecordKind::Key | RecordKind::Passage) && {
        let (name, find) = read::stored(agent, kind, records)?;
        !tx.reads().find(name, find).await?.is_empty()
    };
    if is_stored || !is_once {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    Ok(())
}

/// The keys of the submissions of revisions, each once.
fn submissions(agent: &AgentId, records: &[Record]) -> Vec<Document> {
    let mut submissions: Vec<_> = records
        .iter()
        .filter_map(|record| match record {
            Record::Revision { submission, .. } => Some(*submission),
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
