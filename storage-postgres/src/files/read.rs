//! Reading files.

use openapi_core::ports::BlobKey;
use openapi_core::storage::{
    FilePage, FilePosition, FileQuery, FileSort, FileSortKey, FileUsage, Order, Window,
};
use openapi_core::values::{AgentId, ContactId, FileId, Timestamp};
use sqlx::postgres::PgRow;
use storage_common::{file_columns, records};

use crate::content;
use crate::error::Result;
use crate::rows::{self, RowReader, Statement, bounded};

pub(super) fn one(agent: &AgentId, id: FileId) -> Result<Statement> {
    Statement::new(concat!(
        "SELECT ",
        file_columns!(),
        " FROM agent a JOIN file f ON f.agent = a.id",
        " WHERE a.id = $1 AND a.status <> 2 AND f.id = $2 AND f.deleted_at IS NULL"
    ))
    .bind(agent.as_str())?
    .bind(id.as_bytes().as_slice())
}

pub(super) fn tombstone(agent: &AgentId, id: FileId) -> Result<Statement> {
    Statement::new(
        "SELECT f.deleted_at, f.deleted_by, f.reason FROM agent a JOIN file f ON f.agent = a.id \
         WHERE a.id = $1 AND a.status <> 2 AND f.id = $2 AND f.deleted_at IS NOT NULL",
    )
    .bind(agent.as_str())?
    .bind(id.as_bytes().as_slice())
}

/// How much a contact and its tenant store.
pub(super) fn usage(agent: &AgentId, contact: ContactId) -> Result<Statement> {
    Statement::new(
        "SELECT (SELECT count(*) FROM file f WHERE f.agent = a.id AND f.contact = $2 AND f.deleted_at IS NULL), \
         coalesce((SELECT t.bytes FROM file_total t WHERE t.agent = a.id), 0) \
         FROM agent a WHERE a.id = $1 AND a.status <> 2",
    )
    .bind(agent.as_str())?
    .bind(contact.as_bytes().as_slice())
}

/// Reads a row of [`usage`].
pub(super) fn used(r: &mut RowReader<'_>) -> Result<FileUsage> {
    Ok(FileUsage { files_of_contact: r.count()?, bytes_of_agent: r.count()? })
}

/// The statement of a page: each row has the total and a file, or NULL for an empty page.
pub(crate) fn page(agent: &AgentId, query: &FileQuery) -> Result<Statement> {
    let key = match query.sort {
        FileSort::CreatedAt => "created_at",
        FileSort::FileName => "name_key",
        FileSort::FileSize => "size",
    };
    let (direction, beyond) = match query.order {
        Order::Ascending => ("", ">"),
        Order::Descending => (" DESC", "<"),
    };
    let mut statement = Statement::new("");
    let agent = statement.add(agent.as_str())?;
    let contact = statement.add(query.contact.as_bytes().as_slice())?;
    let (after, slice) = match &query.window {
        Window::Page { offset, limit } => {
            (String::new(), format!("LIMIT {limit} OFFSET {}", statement.add(bounded(*offset))?))
        }
        Window::After { position: FilePosition { key: value, id }, limit } => {
            let value = match value {
                FileSortKey::Time(time) => statement.add(time.millis())?,
                FileSortKey::Name(name) => statement.add(name.as_str())?,
                FileSortKey::Size(size) => statement.add(bounded(*size))?,
            };
            let id = statement.add(id.as_bytes().as_slice())?;
            (format!(" AND (f.{key}, f.id) {beyond} ({value}, {id})"), format!("LIMIT {limit}"))
        }
    };
    let of_contact = format!("f.agent = {agent} AND f.contact = {contact} AND f.deleted_at IS NULL");
    statement.push(&format!(
        "SELECT t.total, {} FROM (SELECT count(*) AS total FROM file f WHERE {of_contact}) t \
         LEFT JOIN (SELECT f.* FROM file f WHERE {of_contact}{after} \
         ORDER BY f.{key}{direction}, f.id{direction} {slice}) f ON true \
         WHERE EXISTS (SELECT 1 FROM agent a WHERE a.id = {agent} AND a.status <> 2) \
         ORDER BY f.{key}{direction}, f.id{direction}",
        file_columns!()
    ));
    Ok(statement)
}

/// Reads the rows of [`page`].
pub(super) fn listed(agent: &AgentId, rows: &[PgRow]) -> Result<FilePage> {
    let (files, total) = rows::page(rows, |r| records::file(agent, r))?;
    Ok(FilePage { files, total })
}

/// For each file whether it exists, is not deleted and belongs to the contact; one row for each, in order.
pub(crate) fn of_contact(agent: &AgentId, contact: ContactId, files: &[FileId]) -> Result<Statement> {
    Statement::new(
        "SELECT f.id IS NOT NULL FROM unnest($3::bytea[]) WITH ORDINALITY AS wanted (id, n) \
         LEFT JOIN file f ON f.agent = $1 AND f.id = wanted.id AND f.contact = $2 AND f.deleted_at IS NULL \
         AND EXISTS (SELECT 1 FROM agent a WHERE a.id = $1 AND a.status <> 2) ORDER BY wanted.n",
    )
    .bind(agent.as_str())?
    .bind(contact.as_bytes().as_slice())?
    .bind(files.iter().map(|file| file.as_bytes().as_slice()).collect::<Vec<_>>())
}

pub(super) fn due(now: Timestamp, at_most: u32) -> Result<Statement> {
    Statement::new(
        "SELECT agent, file FROM blob_purge WHERE due_at <= $1 ORDER BY due_at, agent, file LIMIT $2",
    )
    .bind(now.millis())?
    .bind(i64::from(at_most))
}

pub(super) fn known(keys: &[BlobKey]) -> Result<Statement> {
    let (agents, files) = content::split(keys);
    Statement::new(
        "SELECT EXISTS (SELECT 1 FROM blob_purge p WHERE p.agent = k.agent AND p.file = k.file) \
         OR EXISTS (SELECT 1 FROM file f WHERE f.agent = k.agent AND f.id = k.file) \
         OR EXISTS (SELECT 1 FROM document d WHERE d.agent = k.agent AND d.id = k.file) \
         FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY AS k (agent, file, n) ORDER BY k.n",
    )
    .bind(agents)?
    .bind(files)
}

/// The files of all tenants by key: a scan of the primary key that looks up the tenants one by one.
pub(crate) fn needed(after: Option<&BlobKey>, at_most: u32) -> Result<Statement> {
    let (agent, file) = after.map_or(("", [0; 12]), |key| (key.agent.as_str(), *key.file.as_bytes()));
    Statement::new(
        "SELECT f.agent, f.id, f.size, f.server_key FROM file f WHERE (f.agent, f.id) > ($1, $2) AND f.deleted_at IS NULL \
         AND EXISTS (SELECT 1 FROM agent a WHERE a.id = f.agent AND a.status <> 2) \
         ORDER BY f.agent, f.id LIMIT $3",
    )
    .bind(agent)?
    .bind(file.as_slice())?
    .bind(i64::from(at_most))
}
