//! Storing records as they were. Contacts, stored answers, passages, messages and audit entries, of which there are
//! many, are stored by one statement for all of them.

use std::collections::HashSet;

use ::conversations::{Message, Passage};
use openapi_core::agents::Agent;
use openapi_core::audit::AuditEntry;
use openapi_core::contacts::{Contact, ContactKeys};
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{IdempotencyRecord, StorageErrorKind};
use openapi_core::values::{AgentId, ConversationId, KnowledgeId};
use sqlx::PgConnection;
use storage_common::transfer::TransferRow;

use crate::connect::{execute, fetch_one, without_deadline};
use crate::error::{Fault, Result, code};
use crate::rows::{Columns, Statement, signed};
use crate::{
    agent_records, agents, audit, contact_schemas, contacts, conversations, credits, documents, files, forms,
    keys, knowledge, rate_windows, replays,
};

/// As [`storage_common::transfer::TransferStore::put_agent`].
pub(super) async fn agent(db: &mut PgConnection, agent: &Agent) -> Result<()> {
    if agents::put_new(db, agent, 0).await? {
        return Ok(());
    }
    let statement = Statement::new(
        "UPDATE agent SET name = $2, status = $3, created_at = $4, updated_at = $5 WHERE id = $1",
    )
    .bind(agent.id.as_str())?
    .bind(agent.name.as_str())?
    .bind(agents::status_number(agent.status))?
    .bind(agent.created_at.millis())?
    .bind(agent.updated_at.millis())?;
    execute(db, statement).await?;
    Ok(())
}

/// As [`storage_common::transfer::TransferStore::put_records`].
pub(super) async fn records(db: &mut PgConnection, agent: &AgentId, records: &[TransferRow]) -> Result<()> {
    without_deadline(db).await?;
    let held = Statement::new("SELECT 1 FROM agent WHERE id = $1 FOR NO KEY UPDATE").bind(agent.as_str())?;
    fetch_one(db, held).await?.ok_or(StorageErrorKind::Missing)?;
    let mut known = HashSet::with_capacity(records.len());
    if !records.iter().all(|record| known.insert((record.kind(), record.key()))) {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    put_all(db, agent, records).await.map_err(refused)
}

/// What a broken constraint says of a record: its key is in use.
fn refused(fault: Fault) -> Fault {
    const UNIQUE_VIOLATION: &str = "23505";
    match &fault {
        Fault::Sqlx(error) if code(error) == Some(UNIQUE_VIOLATION) => {
            Fault::Known(StorageErrorKind::AlreadyExists)
        }
        _ => fault,
    }
}

fn new(is_new: bool) -> Result<()> {
    if is_new { Ok(()) } else { Err(StorageErrorKind::AlreadyExists.into()) }
}

async fn put_all(db: &mut PgConnection, agent: &AgentId, records: &[TransferRow]) -> Result<()> {
    let mut of_contacts: Vec<&Contact> = Vec::new();
    let mut answers: Vec<&IdempotencyRecord> = Vec::new();
    let mut entries: Vec<&AuditEntry> = Vec::new();
    let mut passages: Vec<(KnowledgeId, &Passage)> = Vec::new();
    let mut messages: Vec<(ConversationId, &Message)> = Vec::new();
    let (mut templates, mut submissions): (Vec<&[u8]>, Vec<&[u8]>) = (Vec::new(), Vec::new());
    let mut bytes = 0;
    for record in records {
        match record {
            TransferRow::ContactSchema(schema) => put_schema(db, agent, schema).await?,
            TransferRow::Template(template) => {
                new(forms::templates::put_standing(db, agent, template).await?)?;
            }
            TransferRow::TemplateVersion(template) => {
                refuse_version(db, agent, template.id.as_bytes(), template.version).await?;
                forms::templates::put_content(db, agent, template).await?;
                templates.push(template.id.as_bytes());
            }
            TransferRow::Contact(contact) => of_contacts.push(contact),
            TransferRow::File { file, tombstone } => {
                new(files::put_new(db, agent, file, &file.file_name.sort_key()).await?)?;
                match tombstone {
                    Some(tombstone) => files::bury(db, agent, tombstone).await?,
                    None => bytes += signed(file.file_size)?,
                }
            }
            TransferRow::Document(document) => {
                new(documents::put_new(db, agent, document).await?)?;
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
                forms::write::keep(db, agent, *submission, revision).await?;
                submissions.push(submission.as_bytes());
            }
            TransferRow::IdempotencyRecord(replay) => answers.push(replay),
            TransferRow::RateLimitWindow { key, window } => {
                new(rate_windows::put_new(db, agent, *key, window).await?)?;
            }
            TransferRow::CreditAccount(account) => new(credits::put_new(db, agent, account).await?)?,
            TransferRow::CreditEntry(entry) => new(credits::note(db, agent, entry).await?)?,
            TransferRow::Knowledge(document) => new(knowledge::put_new(db, agent, document).await?)?,
            TransferRow::Passage { document, passage } => passages.push((*document, passage)),
            TransferRow::Conversation(it) => new(conversations::write::put_new(db, agent, it).await?)?,
            TransferRow::Message { conversation, message } => messages.push((*conversation, message)),
            TransferRow::StoredRecord(record) => new(agent_records::put_new(db, agent, record).await?)?,
            TransferRow::Audit(entry) => entries.push(entry),
            TransferRow::Key(stored) => new(keys::put_new(db, agent, stored).await?)?,
        }
    }
    let absent = "SELECT 1 FROM unnest($2::bytea[]) AS u (id) WHERE NOT EXISTS \
                  (SELECT 1 FROM form_template t WHERE t.agent = $1 AND t.id = u.id) LIMIT 1";
    refuse(db, absent, agent, templates, StorageErrorKind::Missing).await?;
    let absent = "SELECT 1 FROM unnest($2::bytea[]) AS u (id) WHERE NOT EXISTS \
                  (SELECT 1 FROM form_submission s WHERE s.agent = $1 AND s.id = u.id) LIMIT 1";
    refuse(db, absent, agent, submissions, StorageErrorKind::Missing).await?;
    if bytes != 0 {
        files::add_bytes(db, agent, bytes).await?;
    }
    put_contacts(db, agent, &of_contacts).await?;
    let stored = "SELECT 1 FROM unnest($2::bytea[]) AS u (key) JOIN replay r ON r.agent = $1 AND r.key = u.key \
                  LIMIT 1";
    let of_answers = answers.iter().map(|answer| answer.key.0.as_slice()).collect();
    refuse(db, stored, agent, of_answers, StorageErrorKind::AlreadyExists).await?;
    replays::put_all(db, answers.into_iter().map(|answer| (agent, answer))).await?;
    knowledge::put_passages(db, agent, &passages).await?;
    conversations::write::put_new_messages(db, agent, &messages).await?;
    let count = entries.len() as u64;
    new(audit::append_all(db, entries).await? == count)
}

/// Ends with `kind` when a question about some ids of the agent has an answer.
async fn refuse(
    db: &mut PgConnection,
    question: &'static str,
    agent: &AgentId,
    ids: Vec<&[u8]>,
    kind: StorageErrorKind,
) -> Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    let statement = Statement::new(question).bind(agent.as_str())?.bind(ids)?;
    fetch_one(db, statement).await?.map_or(Ok(()), |_| Err(kind.into()))
}

async fn put_schema(db: &mut PgConnection, agent: &AgentId, schema: &ContactSchema) -> Result<()> {
    contact_schemas::put(db, agent, schema).await?;
    let statement =
        Statement::new("UPDATE agent SET schema_version = greatest(schema_version, $2) WHERE id = $1")
            .bind(agent.as_str())?
            .bind(signed(schema.version)?)?;
    execute(db, statement).await?;
    Ok(())
}

/// Refuses a version of a template that is there.
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
    let schema: ContactSchema = Columns::of(&row).json()?;
    let keyed: Vec<(&Contact, ContactKeys)> =
        records.iter().map(|contact| (*contact, ContactKeys::of(contact, &schema))).collect();
    let owned = keyed.iter().map(|(contact, keys)| (*contact, keys, contact.external_reference_id.as_ref()));
    contacts::refuse_duplicates(db, agent, owned).await?;
    contacts::put_new(db, agent, &keyed).await
}
