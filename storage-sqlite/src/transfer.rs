//! Moving records: reading them in the order of their keys, and storing them unchanged.

use async_trait::async_trait;
use openapi_core::agents::Agent;
use openapi_core::contacts::{Contact, ContactKeys};
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{Result as StorageResult, StorageErrorKind};
use openapi_core::values::AgentId;
use rusqlite::types::Value;
use rusqlite::{Connection, ErrorCode, ToSql, params, params_from_iter};
use storage_common::transfer::tables::{self, Table};
use storage_common::transfer::{KeyParts, TransferKey, TransferKind, TransferRow, TransferStore};
use storage_common::{agent_columns, records};

use crate::chat::{conversations, knowledge, messages};
use crate::error::{Error, Result};
use crate::readers::snapshot;
use crate::rows::{self, code, signed};
use crate::store::SqliteStorage;
use crate::{
    agents, audit_chain, contact_schemas, contacts, credits, documents, files, forms, keys, replays, shapes,
    tenant,
};

#[async_trait]
impl TransferStore for SqliteStorage {
    async fn agents_after(&self, after: Option<&AgentId>, at_most: u32) -> StorageResult<Vec<Agent>> {
        let after = after.cloned();
        self.readers
            .read(move |db, _| {
                let after = after.as_ref().map_or("", AgentId::as_str);
                let sql =
                    concat!("SELECT ", agent_columns!(), " FROM agent WHERE id > ?1 ORDER BY id LIMIT ?2");
                rows::all(db, sql, params![after, at_most], |r| records::agent(r))
            })
            .await
    }

    async fn records(
        &self,
        agent: &AgentId,
        kind: TransferKind,
        after: Option<&TransferKey>,
        at_most: u32,
    ) -> StorageResult<Vec<TransferRow>> {
        let (agent, after) = (agent.clone(), after.cloned());
        self.readers
            .read(move |db, _| {
                snapshot(db, |db| {
                    let Some(number) = tenant::number(db, &agent)? else { return Ok(Vec::new()) };
                    let tenant = Tenant { id: &agent, number };
                    let (sql, values) = self::after(&tenant, kind, after.as_ref(), at_most)?;
                    rows::all(db, &sql, params_from_iter(values), |r| tables::record(&agent, kind, r))
                })
            })
            .await
    }

    async fn last_record(&self, agent: &AgentId, kind: TransferKind) -> StorageResult<Option<TransferKey>> {
        let agent = agent.clone();
        self.readers
            .read(move |db, _| {
                snapshot(db, |db| {
                    let Some(number) = tenant::number(db, &agent)? else { return Ok(None) };
                    let (_, value) = table_of(&Tenant { id: &agent, number }, kind);
                    rows::first(db, &last(kind), [value], |r| tables::key(kind, r))
                })
            })
            .await
    }

    async fn put_agent(&self, agent: &Agent) -> StorageResult<()> {
        let agent = agent.clone();
        self.writer.write_of_agent(move |db| put_agent(db, &agent)).await
    }

    async fn put_records(&self, agent: &AgentId, records: &[TransferRow]) -> StorageResult<()> {
        let (agent, records) = (agent.clone(), records.to_vec());
        self.writer
            .write(move |db| {
                let number = tenant::number(db, &agent)?.ok_or(StorageErrorKind::Missing)?;
                let tenant = Tenant { id: &agent, number };
                let schema = match records.first() {
                    Some(TransferRow::Contact(_)) => contact_schemas::of_number(db, number)?,
                    _ => None,
                };
                records
                    .iter()
                    .try_for_each(|record| put(db, &tenant, schema.as_ref(), record))
                    .map_err(refused)
            })
            .await
    }
}

/// An agent as its rows name it: by the id or by the number.
pub(crate) struct Tenant<'a> {
    pub(crate) id: &'a AgentId,
    pub(crate) number: i64,
}

/// The table of a kind, and the value by which it names the agent.
fn table_of(agent: &Tenant<'_>, kind: TransferKind) -> (Table, Value) {
    let by_id = matches!(kind, TransferKind::Purge | TransferKind::Audit);
    let agent = if by_id { agent.id.as_str().to_owned().into() } else { agent.number.into() };
    (Table::of(kind), agent)
}

/// The index that has the records in the order of their keys, where SQLite might choose another one.
const fn index(kind: TransferKind) -> &'static str {
    match kind {
        TransferKind::Contact => " INDEXED BY contact_by_id",
        TransferKind::Submission => " INDEXED BY form_submission_by_id",
        TransferKind::Conversation => " INDEXED BY conversation_by_id",
        TransferKind::Audit => " INDEXED BY audit_by_agent",
        _ => "",
    }
}

/// The statement and the values for up to `at_most` records after a key, in the order of their keys.
pub(crate) fn after(
    agent: &Tenant<'_>,
    kind: TransferKind,
    after: Option<&TransferKey>,
    at_most: u32,
) -> Result<(String, Vec<Value>)> {
    let (Table { columns, table, joined, key, agent: of }, agent) = table_of(agent, kind);
    let mut values = vec![agent];
    match kind.key_parts::<Error>(after)? {
        KeyParts::Id(id) => values.push(id.into()),
        KeyParts::Number(number) => values.push(number.into()),
        KeyParts::Version(id, version) => values.extend([id.into(), version.into()]),
        KeyParts::Named(number, id) => values.extend([number.into(), id.into()]),
        KeyParts::Time(at, id) => values.extend([at.millis().into(), id.into()]),
    }
    let following = vec!["?"; values.len() - 1].join(", ");
    values.push(at_most.into());
    // A cross join reads the tables in this order.
    let joined =
        joined.map(|(table, alias, on)| format!(" CROSS JOIN {table} {alias} ON {on}")).unwrap_or_default();
    let (index, key) = (index(kind), key.join(", "));
    let sql = format!(
        "SELECT {columns} FROM {table}{index}{joined} WHERE {of} = ? AND ({key}) > ({following}) ORDER BY {key} LIMIT ?"
    );
    Ok((sql, values))
}

/// The statement for the greatest key of a kind.
pub(crate) fn last(kind: TransferKind) -> String {
    let Table { table, key, agent: of, .. } = Table::of(kind);
    let descending: Vec<String> = key.iter().map(|column| format!("{column} DESC")).collect();
    let (index, key, descending) = (index(kind), key.join(", "), descending.join(", "));
    format!("SELECT {key} FROM {table}{index} WHERE {of} = ?1 ORDER BY {descending} LIMIT 1")
}

fn put_agent(db: &Connection, agent: &Agent) -> Result<()> {
    if tenant::number(db, &agent.id)?.is_none() {
        return agents::put_new(db, agent, 0).map(drop);
    }
    db.prepare_cached(
        "UPDATE agent SET name = ?2, status = ?3, created_at = ?4, updated_at = ?5 WHERE id = ?1",
    )?
    .execute(params![
        agent.id.as_str(),
        agent.name.as_str(),
        code(agent.status),
        agent.created_at.millis(),
        agent.updated_at.millis()
    ])?;
    Ok(())
}

fn put_contact_schema(db: &Connection, agent: i64, schema: &ContactSchema) -> Result<()> {
    contact_schemas::put(db, agent, schema)?;
    let version = signed(schema.version)?;
    db.prepare_cached("UPDATE agent SET schema_version = max(schema_version, ?2) WHERE n = ?1")?
        .execute([agent, version])?;
    Ok(())
}

fn put_contact(db: &Connection, agent: i64, schema: Option<&ContactSchema>, contact: &Contact) -> Result<()> {
    let keys = ContactKeys::of(contact, schema.ok_or(StorageErrorKind::Missing)?);
    let external = contact.external_reference_id.as_ref();
    if let Some(duplicate) = contacts::duplicate(db, agent, Some(contact.id), external, &keys.unique)? {
        return Err(duplicate.into());
    }
    contacts::put_new(db, agent, contact, &keys)
}

fn put(
    db: &Connection,
    agent: &Tenant<'_>,
    schema: Option<&ContactSchema>,
    record: &TransferRow,
) -> Result<()> {
    let refuse_known = |sql: &str, values: &[&dyn ToSql]| -> Result<()> {
        if rows::exists(db, sql, values)? {
            return Err(StorageErrorKind::AlreadyExists.into());
        }
        Ok(())
    };
    match record {
        TransferRow::ContactSchema(schema) => put_contact_schema(db, agent.number, schema),
        TransferRow::Template(template) => forms::put_standing(db, agent.number, template),
        TransferRow::TemplateVersion(template) => {
            let version = signed(template.version)?;
            refuse_known(
                "SELECT 1 FROM form_template_version WHERE agent = ?1 AND template = ?2 AND version = ?3",
                params![agent.number, template.id.as_bytes(), version],
            )?;
            forms::put_content(db, agent.number, template)
        }
        TransferRow::Contact(contact) => put_contact(db, agent.number, schema, contact),
        TransferRow::File { file, tombstone } => {
            files::put_new(db, agent.number, file, &file.file_name.sort_key())?;
            tombstone.iter().try_for_each(|tombstone| files::bury(db, agent.number, tombstone))
        }
        TransferRow::Document(document) => documents::put_new(db, agent.number, document),
        TransferRow::Purge { file, due_at } => {
            refuse_known(
                "SELECT 1 FROM blob_purge WHERE agent = ?1 AND file = ?2",
                params![agent.id.as_str(), file.as_bytes()],
            )?;
            files::make_due(db, agent.id, *file, *due_at)
        }
        TransferRow::Submission(submission) => forms::put_new(db, agent.number, submission),
        TransferRow::Revision { submission, revision } => {
            forms::keep(db, agent.number, *submission, revision)
        }
        TransferRow::IdempotencyRecord(replay) => {
            refuse_known(
                "SELECT 1 FROM replay WHERE agent = ?1 AND key = ?2",
                params![agent.number, replay.key.0],
            )?;
            replays::put(db, agent.number, replay)
        }
        TransferRow::CreditAccount(account) => credits::put_new(db, agent.number, account),
        TransferRow::CreditEntry(entry) => credits::note(db, agent.number, entry),
        TransferRow::Knowledge(document) => knowledge::put_new(db, agent.number, document),
        TransferRow::Passage { document, passage } => {
            knowledge::put_passage(db, agent.number, *document, passage)
        }
        TransferRow::Conversation(it) => conversations::put_new(db, agent.id, agent.number, it),
        TransferRow::Message { conversation, message } => {
            let seq = signed(message.seq)?;
            refuse_known(
                "SELECT 1 FROM message WHERE agent = ?1 AND conversation = ?2 AND seq = ?3",
                params![agent.number, conversation.as_bytes(), seq],
            )?;
            messages::put(db, agent.number, *conversation, message)
        }
        TransferRow::Record(record) => shapes::records::put_new(db, agent.number, record),
        TransferRow::Log(entry) => shapes::log::put(db, agent.number, entry),
        TransferRow::Job(job) => shapes::jobs::put_new(db, agent.number, job),
        TransferRow::Audit(entry) => {
            refuse_known(
                "SELECT 1 FROM audit WHERE at = ?1 AND id = ?2",
                params![entry.at.millis(), entry.id.as_bytes()],
            )?;
            audit_chain::put(db, entry)
        }
        TransferRow::Key(stored) => keys::put_new(db, agent.number, stored),
    }
}

/// The meaning of a violated constraint: the key is taken, or the record refers to an absent one.
fn refused(error: Error) -> Error {
    match &error {
        Error::Driver(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
            let is_foreign = error
                .sqlite_error()
                .is_some_and(|error| error.extended_code == rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY);
            Error::Known(if is_foreign { StorageErrorKind::Missing } else { StorageErrorKind::AlreadyExists })
        }
        _ => error,
    }
}
