//! The audit log.

use async_trait::async_trait;
use openapi_core::audit::AuditEntry;
use openapi_core::storage::{AuditQuery, AuditStore, StorageError};
use openapi_core::values::{AgentId, ContactId};
use sqlx::PgConnection;
use storage_common::records::{self, audit_subject};
use storage_common::{audit_columns, in_transaction};

use crate::connect::execute;
use crate::error::Result;
use crate::rows::{Statement, json_text, object_text};
use crate::store::PostgresStorage;

/// Adds an entry.
pub(crate) async fn append(db: &mut PgConnection, entry: &AuditEntry) -> Result<()> {
    append_all(db, [entry]).await.map(drop)
}

/// Adds the entries that are not stored yet and returns how many.
pub(crate) async fn append_all<'e>(
    db: &mut PgConnection,
    entries: impl IntoIterator<Item = &'e AuditEntry>,
) -> Result<u64> {
    let mut rows = Rows::default();
    for entry in entries {
        rows.push(entry)?;
    }
    if rows.at.is_empty() {
        return Ok(0);
    }
    let statement = Statement::new(
        "INSERT INTO audit (agent, at, id, contact, subject, resource, action, actor, address, request_id, details) \
         SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[], $6::text[], \
         $7::text[], $8::text[], $9::text[], $10::text[], $11::text[]) ON CONFLICT DO NOTHING",
    )
    .bind(rows.agent)?
    .bind(rows.at)?
    .bind(rows.id)?
    .bind(rows.contact)?
    .bind(rows.subject)?
    .bind(rows.resource)?
    .bind(rows.action)?
    .bind(rows.actor)?
    .bind(rows.address)?
    .bind(rows.request_id)?
    .bind(rows.details)?;
    execute(db, statement).await
}

/// The columns of entries.
#[derive(Default)]
struct Rows<'e> {
    agent: Vec<&'e str>,
    at: Vec<i64>,
    id: Vec<&'e [u8]>,
    contact: Vec<Option<&'e [u8]>>,
    subject: Vec<Option<Vec<u8>>>,
    resource: Vec<Option<&'e str>>,
    action: Vec<&'e str>,
    actor: Vec<String>,
    address: Vec<Option<String>>,
    request_id: Vec<Option<&'e str>>,
    details: Vec<Option<&'e str>>,
}

impl<'e> Rows<'e> {
    fn push(&mut self, entry: &'e AuditEntry) -> Result<()> {
        self.agent.push(entry.agent_id.as_ref().map_or("", AgentId::as_str));
        self.at.push(entry.at.millis());
        self.id.push(entry.id.as_bytes());
        self.contact.push(entry.contact_id.as_ref().map(|contact| contact.as_bytes().as_slice()));
        self.subject.push(audit_subject(entry).map(|contact| contact.as_bytes().to_vec()));
        self.resource.push(entry.resource.as_deref());
        self.action.push(entry.action.as_str());
        self.actor.push(json_text(&entry.actor)?);
        self.address.push(entry.address.map(|address| address.to_string()));
        self.request_id.push(entry.request_id.as_deref());
        self.details.push(object_text(&entry.details));
        Ok(())
    }
}

/// Empties the payloads of the entries about a contact and about what belongs to it.
pub(crate) async fn empty_payloads(db: &mut PgConnection, agent: &AgentId, contact: ContactId) -> Result<()> {
    let statement = Statement::new(
        "UPDATE audit SET details = NULL WHERE agent = $1 AND subject = $2 AND details IS NOT NULL",
    )
    .bind(agent.as_str())?
    .bind(contact.as_bytes().as_slice())?;
    execute(db, statement).await?;
    Ok(())
}

/// The statement that reads a part of the log.
pub(crate) fn entries(query: &AuditQuery) -> Result<Statement> {
    let (beyond, within, direction) = if query.newest_first { ("<", ">=", " DESC") } else { (">", "<=", "") };
    let mut statement = Statement::new(concat!("SELECT ", audit_columns!(), " FROM audit"));
    let mut order = format!("at{direction}, id{direction}");
    let after = query.after.as_ref();
    if query.agent.is_some() || after.is_some() {
        let before_all = if query.newest_first { i64::MAX } else { i64::MIN };
        let at = statement.add(after.map_or(before_all, |(at, _)| at.millis()))?;
        let id = statement.add(after.map_or(&[] as &[u8], |(_, id)| id.as_bytes()))?;
        match &query.agent {
            // A range of the primary key and not an equality, as in `transfer::read`.
            Some(agent) => {
                let agent = statement.add(agent.as_str())?;
                statement.push(&format!(
                    " WHERE (agent, at, id) {beyond} ({agent}, {at}, {id}) AND agent {within} {agent}"
                ));
                order = format!("agent{direction}, {order}");
            }
            None => statement.push(&format!(" WHERE (at, id) {beyond} ({at}, {id})")),
        }
    }
    statement.push(&format!(" ORDER BY {order} LIMIT {}", query.limit));
    Ok(statement)
}

#[async_trait]
impl AuditStore for PostgresStorage {
    async fn append_audit(&self, entry: &AuditEntry) -> Result<(), StorageError> {
        in_transaction!(self.db.write(), append(entry))
    }

    async fn audit_entries(&self, query: &AuditQuery) -> Result<Vec<AuditEntry>, StorageError> {
        self.db.read_all(entries(query)?, |r| records::audit_entry(r)).await
    }
}
