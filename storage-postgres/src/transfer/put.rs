//! Storing records unchanged. Contacts, stored responses, passages, messages, small records, events, jobs and audit entries, of
//! which there are many, share statements.

use std::collections::HashSet;

use ::conversations::{Message, Passage};
use openapi_core::agents::Agent;
use openapi_core::audit::ChainedEntry;
use openapi_core::contacts::{Contact, ContactKeys};
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{IdempotencyRecord, Job, LogEntry, StorageErrorKind, StoredRecord};
use openapi_core::values::{AgentId, ConversationId, KnowledgeId};
use sqlx::PgConnection;
use storage_common::transfer::TransferRow;

use crate::chat::{conversations, knowledge};
use crate::connect::{execute, fetch_one, without_timeout};
use crate::error::{Error, Result, code};
use crate::rows::{RowReader, Statement, code as code_of, signed};
use crate::{
    agents, audit, contact_schemas, contacts, content, credits, documents, files, forms, keys, replays,
    shapes,
};

/// As [`storage_common::transfer::TransferStore::put_agent`].
pub(super) async fn agent(db: &mut PgConnection, agent: &Agent) -> Result<()> {
    if agents::insert(db, agent, 0).await? {
        return Ok(());
    }
    let statement = Statement::new(
        "UPDATE agent SET name = $2, status = $3, created_at = $4, updated_at = $5 WHERE id = $1",
    )
    .bind(agent.id.as_str())?
    .bind(agent.name.as_str())?
    .bind(code_of(agent.status))?
    .bind(agent.created_at.millis())?
    .bind(agent.updated_at.millis())?;
    execute(db, statement).await?;
    Ok(())
}

/// As [`storage_common::transfer::TransferStore::put_records`].
pub(super) async fn records(db: &mut PgConnection, agent: &AgentId, records: &[TransferRow]) -> Result<()> {
    without_timeout(db).await?;
    let held = Statement::new("SELECT 1 FROM agent WHERE id = $1 FOR NO KEY UPDATE").bind(agent.as_str())?;
    fetch_one(db, held).await?.ok_or(StorageErrorKind::Missing)?;
    let mut known = HashSet::with_capacity(records.len());
    if !records.iter().all(|record| known.insert((record.kind(), record.key()))) {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    insert_records(db, agent, records).await.map_err(refused)
}

/// A violated constraint means that the key of a record is taken.
fn refused(error: Error) -> Error {
    const UNIQUE_VIOLATION: &str = "23505";
    match &error {
        Error::Driver(error) if code(error) == Some(UNIQUE_VIOLATION) => {
            Error::Known(StorageErrorKind::AlreadyExists)
        }
        _ => error,
    }
}

fn new(is_new: bool) -> Result<()> {
    if is_new { Ok(()) } else { Err(StorageErrorKind::AlreadyExists.into()) }
}

async fn insert_records(db: &mut PgConnection, agent: &AgentId, rows: &[TransferRow]) -> Result<()> {
    let mut of_contacts: Vec<&Contact> = Vec::new();
    let mut responses: Vec<&IdempotencyRecord> = Vec::new();
    let mut entries: Vec<&ChainedEntry> = Vec::new();
    let mut passages: Vec<(KnowledgeId, &Passage)> = Vec::new();
    let mut messages: Vec<(ConversationId, &Message)> = Vec::new();
    let (mut records, mut events): (Vec<&StoredRecord>, Vec<(&str, LogEntry)>) = (Vec::new(), Vec::new());
    let mut jobs: Vec<&Job> = Vec::new();
    let (mut templates, mut submissions): (Vec<&[u8]>, Vec<&[u8]>) = (Vec::new(), Vec::new());
    let mut bytes = 0;
    for row in rows {
        match row {
            TransferRow::ContactSchema(schema) => put_schema(db, agent, schema).await?,
            TransferRow::Template(template) => {
                new(forms::templates::insert_base(db, agent, template).await?)?;
            }
            TransferRow::TemplateVersion(template) => {
                refuse_version(db, agent, template.id.as_bytes(), template.version).await?;
                forms::templates::insert_content(db, agent, template).await?;
                templates.push(template.id.as_bytes());
            }
            TransferRow::Contact(contact) => of_contacts.push(contact),
            TransferRow::File { file, tombstone } => {
                new(files::insert(db, agent, file, &file.file_name.sort_key()).await?)?;
                match tombstone {
                    Some(tombstone) => files::bury(db, agent, tombstone).await?,
                    None => bytes += signed(file.file_size)?,
                }
            }
            TransferRow::Document(document) => {
                new(documents::insert(db, agent, document).await?)?;
                bytes += signed(document.stored_size)?;
            }
            TransferRow::Purge { file, due_at } => {
                let statement =
                    Statement::new("INSERT INTO blob_purge (agent, file, due_at) VALUES ($1, $2, $3)")
                        .bind(agent.as_str())?
                        .bind(file.as_bytes().as_slice())?
                        .bind(due_at.millis())?;
                execute(db, statement).await?;
            }
            TransferRow::Submission(submission) => new(forms::row::insert(db, agent, submission).await?)?,
            TransferRow::Revision { submission, revision } => {
                forms::write::insert_revision(db, agent, *submission, revision).await?;
                submissions.push(submission.as_bytes());
            }
            TransferRow::IdempotencyRecord(replay) => responses.push(replay),
            TransferRow::CreditAccount(account) => new(credits::insert(db, agent, account).await?)?,
            TransferRow::CreditEntry(entry) => new(credits::append(db, agent, entry).await?)?,
            TransferRow::Knowledge(document) => new(knowledge::insert(db, agent, document).await?)?,
            TransferRow::Passage { document, passage } => passages.push((*document, passage)),
            TransferRow::Conversation(it) => new(conversations::write::insert(db, agent, it).await?)?,
            TransferRow::Message { conversation, message } => messages.push((*conversation, message)),
            TransferRow::Record(record) => records.push(record),
            TransferRow::Log(entry) => events.push((agent.as_str(), entry.clone())),
            TransferRow::Job(job) => jobs.push(job),
            TransferRow::Audit(entry) => entries.push(entry),
            TransferRow::Key(stored) => new(keys::insert(db, agent, stored).await?)?,
        }
    }
    refuse_orphans(db, agent, templates, submissions).await?;
    if bytes != 0 {
        content::add_bytes(db, agent, bytes).await?;
    }
    put_contacts(db, agent, &of_contacts).await?;
    let stored = "SELECT 1 FROM unnest($2::bytea[]) AS u (key) JOIN replay r ON r.agent = $1 AND r.key = u.key \
                  LIMIT 1";
    let keys_of_responses = responses.iter().map(|response| response.key.0.as_slice()).collect();
    refuse(db, stored, agent, keys_of_responses, StorageErrorKind::AlreadyExists).await?;
    replays::insert_all(db, responses.into_iter().map(|response| (agent, response))).await?;
    knowledge::insert_passages(db, agent, &passages).await?;
    conversations::write::insert_messages(db, agent, &messages).await?;
    shapes::records::insert(db, Some(agent), &records).await?;
    shapes::log::insert(db, &events).await?;
    shapes::jobs::insert(db, agent, &jobs).await?;
    let count = entries.len() as u64;
    new(audit::put_all(db, Some(agent), &entries).await? == count)
}

/// As [`storage_common::transfer::TransferStore::put_chain_without_agent`].
pub(super) async fn chain_without_agent(db: &mut PgConnection, entries: &[ChainedEntry]) -> Result<()> {
    without_timeout(db).await?;
    let entries: Vec<&ChainedEntry> = entries.iter().collect();
    let stored = audit::put_all(db, None, &entries).await.map_err(refused)?;
    new(stored == entries.len() as u64)
}

/// Refuses versions of absent templates and data of absent submissions.
async fn refuse_orphans(
    db: &mut PgConnection,
    agent: &AgentId,
    templates: Vec<&[u8]>,
    submissions: Vec<&[u8]>,
) -> Result<()> {
    let absent = "SELECT 1 FROM unnest($2::bytea[]) AS u (id) WHERE NOT EXISTS \
                  (SELECT 1 FROM form_template t WHERE t.agent = $1 AND t.id = u.id) LIMIT 1";
    refuse(db, absent, agent, templates, StorageErrorKind::Missing).await?;
    let absent = "SELECT 1 FROM unnest($2::bytea[]) AS u (id) WHERE NOT EXISTS \
                  (SELECT 1 FROM form_submission s WHERE s.agent = $1 AND s.id = u.id) LIMIT 1";
    refuse(db, absent, agent, submissions, StorageErrorKind::Missing).await
}

/// Fails with `kind` when a query for ids of the tenant has a row.
async fn refuse(
    db: &mut PgConnection,
    query: &'static str,
    agent: &AgentId,
    ids: Vec<&[u8]>,
    kind: StorageErrorKind,
) -> Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    let statement = Statement::new(query).bind(agent.as_str())?.bind(ids)?;
    fetch_one(db, statement).await?.map_or(Ok(()), |_| Err(kind.into()))
}

async fn put_schema(db: &mut PgConnection, agent: &AgentId, schema: &ContactSchema) -> Result<()> {
    contact_schemas::insert(db, agent, schema).await?;
    let statement =
        Statement::new("UPDATE agent SET schema_version = greatest(schema_version, $2) WHERE id = $1")
            .bind(agent.as_str())?
            .bind(signed(schema.version)?)?;
    execute(db, statement).await?;
    Ok(())
}

/// Refuses a version of a template that is stored.
async fn refuse_version(
    db: &mut PgConnection,
    agent: &AgentId,
    template: &[u8; 12],
    version: u64,
) -> Result<()> {
    let statement = Statement::new(
        "SELECT 1 FROM form_template_version WHERE agent = $1 AND template = $2 AND version = $3",
    )
    .bind(agent.as_str())?
    .bind(template.as_slice())?
    .bind(signed(version)?)?;
    new(fetch_one(db, statement).await?.is_none())
}

async fn put_contacts(db: &mut PgConnection, agent: &AgentId, records: &[&Contact]) -> Result<()> {
    if records.is_empty() {
        return Ok(());
    }
    let in_force =
        Statement::new("SELECT body FROM contact_schema WHERE agent = $1 ORDER BY version DESC LIMIT 1")
            .bind(agent.as_str())?;
    let row = fetch_one(db, in_force).await?.ok_or(StorageErrorKind::Missing)?;
    let schema: ContactSchema = RowReader::new(&row).json()?;
    let keyed: Vec<(&Contact, ContactKeys)> =
        records.iter().map(|contact| (*contact, ContactKeys::of(contact, &schema))).collect();
    let owned = keyed.iter().map(|(contact, keys)| (*contact, keys, contact.external_reference_id.as_ref()));
    contacts::refuse_duplicates(db, agent, owned).await?;
    contacts::insert(db, agent, &keyed).await
}
