//! Reading files.

use openapi_core::files::{ContactFile, FileKind, Sha256Digest};
use openapi_core::ports::{BlobEntry, BlobKey};
use openapi_core::storage::{
    FilePage, FilePosition, FileQuery, FileSort, FileSortKey, FileTombstone, FileUsage, Order, Window,
};
use openapi_core::values::{AgentId, ContactId, FileId, Timestamp};
use sqlx::PgConnection;
use sqlx::postgres::PgRow;

use crate::connect::fetch_one;
use crate::error::{Result, corrupt};
use crate::rows::{Columns, Statement, bounded};

/// The columns in the order in which [`file`] reads them.
macro_rules! columns {
    () => {
        "f.id, f.contact, f.name, f.size, f.content_type, f.sha256, f.source, f.uploaded_by, f.created_at, f.updated_at"
    };
}

/// What [`file_or_tombstone`] reads.
pub(crate) const ALL_COLUMNS: &str = concat!(columns!(), ", f.deleted_at, f.deleted_by, f.reason");

/// Reads a file that is there, or was.
pub(crate) fn file_or_tombstone(
    agent: &AgentId,
    row: &PgRow,
) -> Result<(ContactFile, Option<FileTombstone>)> {
    let mut columns = Columns::of(row);
    let file = read(agent, &mut columns)?;
    let tombstone = if columns.is_absent()? { None } else { Some(read_tombstone(file.id, &mut columns)?) };
    Ok((file, tombstone))
}

/// Reads a row.
pub(super) fn file(agent: &AgentId, row: &PgRow) -> Result<ContactFile> {
    read(agent, &mut Columns::of(row))
}

fn read(agent: &AgentId, columns: &mut Columns<'_>) -> Result<ContactFile> {
    Ok(ContactFile {
        id: FileId::from_bytes(columns.bytes()?),
        agent_id: agent.clone(),
        contact_id: ContactId::from_bytes(columns.bytes()?),
        file_name: columns.text()?,
        file_size: columns.count()?,
        content_type: FileKind::of_media_type(columns.str()?),
        sha256: Sha256Digest(columns.bytes()?),
        source: columns.str()?.to_owned(),
        uploaded_by: columns.json()?,
        created_at: columns.time()?,
        updated_at: columns.time()?,
    })
}

pub(super) fn one(agent: &AgentId, id: FileId) -> Result<Statement> {
    Statement::new(concat!(
        "SELECT ",
        columns!(),
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

/// Reads a row of [`tombstone`].
pub(super) fn buried(file: FileId, row: &PgRow) -> Result<FileTombstone> {
    read_tombstone(file, &mut Columns::of(row))
}

fn read_tombstone(file: FileId, columns: &mut Columns<'_>) -> Result<FileTombstone> {
    Ok(FileTombstone { file, at: columns.time()?, by: columns.json()?, reason: columns.optional_text()? })
}

/// How much is stored of a contact and of an agent that is there.
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
pub(super) fn used(row: &PgRow) -> Result<FileUsage> {
    let mut columns = Columns::of(row);
    Ok(FileUsage { files_of_contact: columns.count()?, bytes_of_agent: columns.count()? })
}

/// Bytes of all files and documents of an agent.
pub(crate) async fn bytes(db: &mut PgConnection, agent: &AgentId) -> Result<u64> {
    let statement = Statement::new("SELECT bytes FROM file_total WHERE agent = $1").bind(agent.as_str())?;
    let row = fetch_one(db, statement).await?;
    row.map_or(Ok(0), |row| Columns::of(&row).count())
}

/// The statement of a page: in each row the number of all and a file, or nothing behind the last.
pub(crate) fn page(agent: &AgentId, query: &FileQuery) -> Result<Statement> {
    let key = match query.sort {
        FileSort::CreatedAt => "created_at",
        FileSort::FileName => "name_key",
        FileSort::FileSize => "size",
    };
    let (word, beyond) = match query.order {
        Order::Ascending => ("", ">"),
        Order::Descending => (" DESC", "<"),
    };
    let mut statement = Statement::new("");
    let agent = statement.add(agent.as_str())?;
    let contact = statement.add(query.contact.as_bytes().as_slice())?;
    let (behind, part) = match &query.window {
        Window::Page { offset, limit } => {
            (String::new(), format!("LIMIT {limit} OFFSET {}", statement.add(bounded(*offset))?))
        }
        Window::After { position: FilePosition { key: value, id }, limit } => {
            let value = match value {
                FileSortKey::Time(time) => statement.add(time.millis())?,
                FileSortKey::Name(name) => statement.add(name.as_str())?,
                FileSortKey::Size(bytes) => statement.add(bounded(*bytes))?,
            };
            let id = statement.add(id.as_bytes().as_slice())?;
            (format!(" AND (f.{key}, f.id) {beyond} ({value}, {id})"), format!("LIMIT {limit}"))
        }
    };
    let of_contact = format!("f.agent = {agent} AND f.contact = {contact} AND f.deleted_at IS NULL");
    statement.push(&format!(
        "SELECT t.total, {} FROM (SELECT count(*) AS total FROM file f WHERE {of_contact}) t \
         LEFT JOIN (SELECT f.* FROM file f WHERE {of_contact}{behind} \
         ORDER BY f.{key}{word}, f.id{word} {part}) f ON true \
         WHERE EXISTS (SELECT 1 FROM agent a WHERE a.id = {agent} AND a.status <> 2) \
         ORDER BY f.{key}{word}, f.id{word}",
        columns!()
    ));
    Ok(statement)
}

/// Reads the rows of [`page`].
pub(super) fn listed(agent: &AgentId, rows: &[PgRow]) -> Result<FilePage> {
    let mut page = FilePage::default();
    for row in rows {
        let mut columns = Columns::of(row);
        page.total = columns.count()?;
        if columns.is_absent()? {
            break;
        }
        page.files.push(read(agent, &mut columns)?);
    }
    Ok(page)
}

/// Reads `agent, file`.
pub(super) fn key(row: &PgRow) -> Result<BlobKey> {
    read_key(&mut Columns::of(row))
}

fn read_key(columns: &mut Columns<'_>) -> Result<BlobKey> {
    Ok(BlobKey::new(columns.str()?.parse().map_err(corrupt)?, FileId::from_bytes(columns.bytes()?)))
}

/// Of each file, whether it is there, not deleted, and of this contact; one row for each, in order.
pub(crate) fn of_contact(agent: &AgentId, contact: ContactId, files: &[FileId]) -> Result<Statement> {
    Statement::new(
        "SELECT f.id IS NOT NULL FROM unnest($3::bytea[]) WITH ORDINALITY AS asked (id, place) \
         LEFT JOIN file f ON f.agent = $1 AND f.id = asked.id AND f.contact = $2 AND f.deleted_at IS NULL \
         AND EXISTS (SELECT 1 FROM agent a WHERE a.id = $1 AND a.status <> 2) ORDER BY asked.place",
    )
    .bind(agent.as_str())?
    .bind(contact.as_bytes().as_slice())?
    .bind(files.iter().map(|file| file.as_bytes().as_slice()).collect::<Vec<_>>())
}

/// Reads one truth from each row.
pub(crate) fn truths(rows: &[PgRow]) -> Result<Vec<bool>> {
    rows.iter().map(|row| Columns::of(row).truth()).collect()
}

pub(super) fn due(now: Timestamp, at_most: u32) -> Result<Statement> {
    Statement::new(
        "SELECT agent, file FROM blob_purge WHERE due_at <= $1 ORDER BY due_at, agent, file LIMIT $2",
    )
    .bind(now.millis())?
    .bind(i64::from(at_most))
}

/// The agents and the files of keys, as two columns.
pub(crate) fn split(keys: &[BlobKey]) -> (Vec<&str>, Vec<&[u8]>) {
    keys.iter().map(|key| (key.agent.as_str(), key.file.as_bytes().as_slice())).unzip()
}

pub(super) fn known(keys: &[BlobKey]) -> Result<Statement> {
    let (agents, files) = split(keys);
    Statement::new(
        "SELECT EXISTS (SELECT 1 FROM blob_purge p WHERE p.agent = k.agent AND p.file = k.file) \
         OR EXISTS (SELECT 1 FROM file f WHERE f.agent = k.agent AND f.id = k.file) \
         OR EXISTS (SELECT 1 FROM document d WHERE d.agent = k.agent AND d.id = k.file) \
         FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY AS k (agent, file, place) ORDER BY k.place",
    )
    .bind(agents)?
    .bind(files)
}

/// The files of all agents by key. The walk is along the primary key; the agents are looked up one by one.
pub(crate) fn needed(after: Option<&BlobKey>, at_most: u32) -> Result<Statement> {
    let (agent, file) = after.map_or(("", [0; 12]), |key| (key.agent.as_str(), *key.file.as_bytes()));
    Statement::new(
        "SELECT f.agent, f.id, f.size FROM file f WHERE (f.agent, f.id) > ($1, $2) AND f.deleted_at IS NULL \
         AND EXISTS (SELECT 1 FROM agent a WHERE a.id = f.agent AND a.status <> 2) \
         ORDER BY f.agent, f.id LIMIT $3",
    )
    .bind(agent)?
    .bind(file.as_slice())?
    .bind(i64::from(at_most))
}

/// Reads a row of [`needed`].
pub(super) fn entry(row: &PgRow) -> Result<BlobEntry> {
    let mut columns = Columns::of(row);
    Ok(BlobEntry { key: read_key(&mut columns)?, size: columns.count()? })
}
