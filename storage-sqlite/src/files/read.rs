//! Reading files.

use openapi_core::files::{ContactFile, FileKind, Sha256Digest};
use openapi_core::ports::{BlobEntry, BlobKey};
use openapi_core::storage::{
    FilePage, FilePosition, FileQuery, FileSort, FileSortKey, FileTombstone, FileUsage, Order, Window,
};
use openapi_core::values::{AgentId, ContactId, FileId, Timestamp};
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params, params_from_iter};

use super::usage;
use crate::contacts::Columns;
use crate::error::{Result, corrupt};
use crate::tenant;

/// The columns in the order in which [`file`] reads them.
macro_rules! columns {
    () => {
        "f.id, f.contact, f.name, f.size, f.content_type, f.sha256, f.source, f.uploaded_by, f.created_at, f.updated_at"
    };
}

/// The number of these columns.
const COLUMNS: usize = 10;

/// All files of an agent, deleted ones included, each with its sort key and the time of its deletion after the
/// columns of [`file`].
pub(crate) const EVERY_OF_AGENT: &str =
    concat!("SELECT ", columns!(), ", f.name_key, f.deleted_at FROM file f WHERE f.agent = ?1");

/// The same in the order of their ids after one, each with its tombstone after the
/// columns of [`file`].
pub(crate) const AFTER: &str = concat!(
    "SELECT ",
    columns!(),
    ", f.deleted_at, f.deleted_by, f.reason FROM file f WHERE f.agent = ?1 AND f.id > ?2 ORDER BY f.id LIMIT ?3"
);

/// Reads a row.
pub(crate) fn file(agent: &AgentId, row: &Row<'_>) -> Result<ContactFile> {
    let mut columns = Columns::of(row);
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

pub(super) fn one(db: &Connection, agent: &AgentId, id: FileId) -> Result<Option<ContactFile>> {
    let mut statement = db.prepare_cached(concat!(
        "SELECT ",
        columns!(),
        " FROM agent a CROSS JOIN file f ON f.agent = a.n",
        " WHERE a.id = ?1 AND a.status <> 2 AND f.id = ?2 AND f.deleted_at IS NULL"
    ))?;
    let mut rows = statement.query(params![agent.as_str(), id.as_bytes()])?;
    rows.next()?.map(|row| file(agent, row)).transpose()
}

pub(super) fn tombstone(db: &Connection, agent: &AgentId, id: FileId) -> Result<Option<FileTombstone>> {
    let mut statement = db.prepare_cached(
        "SELECT f.deleted_at, f.deleted_by, f.reason FROM agent a CROSS JOIN file f ON f.agent = a.n \
         WHERE a.id = ?1 AND a.status <> 2 AND f.id = ?2 AND f.deleted_at IS NOT NULL",
    )?;
    let mut rows = statement.query(params![agent.as_str(), id.as_bytes()])?;
    rows.next()?.map(|row| read_tombstone(id, &mut Columns::of(row))).transpose()
}

/// Reads the time of a deletion, who did it and why.
fn read_tombstone(file: FileId, columns: &mut Columns<'_>) -> Result<FileTombstone> {
    Ok(FileTombstone { file, at: columns.time()?, by: columns.json()?, reason: columns.optional_text()? })
}

/// Reads a row of [`AFTER`].
pub(crate) fn file_or_tombstone(
    agent: &AgentId,
    row: &Row<'_>,
) -> Result<(ContactFile, Option<FileTombstone>)> {
    let file = file(agent, row)?;
    let deleted_at: Option<i64> = row.get("deleted_at")?;
    let tombstone =
        deleted_at.map(|_| read_tombstone(file.id, &mut Columns::from(row, COLUMNS))).transpose()?;
    Ok((file, tombstone))
}

pub(super) fn usage(db: &Connection, agent: i64, contact: ContactId) -> Result<FileUsage> {
    Ok(FileUsage { files_of_contact: count(db, agent, contact)?, bytes_of_agent: usage::bytes(db, agent)? })
}

fn count(db: &Connection, agent: i64, contact: ContactId) -> Result<u64> {
    let counted: i64 = db
        .prepare_cached("SELECT count(*) FROM file WHERE agent = ?1 AND contact = ?2 AND deleted_at IS NULL")?
        .query_row(params![agent, contact.as_bytes()], |row| row.get(0))?;
    u64::try_from(counted).map_err(corrupt)
}

pub(super) fn page(db: &Connection, id: &AgentId, query: &FileQuery) -> Result<FilePage> {
    let Some(agent) = tenant::living(db, id)? else { return Ok(FilePage::default()) };
    let total = count(db, agent.number, query.contact)?;
    let (sql, values) = statement(agent.number, query);
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut files = Vec::new();
    while let Some(row) = rows.next()? {
        files.push(file(id, row)?);
    }
    Ok(FilePage { files, total })
}

/// The statement of a page and its values.
pub(crate) fn statement(agent: i64, query: &FileQuery) -> (String, Vec<Value>) {
    let column = match query.sort {
        FileSort::CreatedAt => "created_at",
        FileSort::FileName => "name_key",
        FileSort::FileSize => "size",
    };
    let (word, beyond) = match query.order {
        Order::Ascending => ("", ">"),
        Order::Descending => ("DESC", "<"),
    };
    let integer = |number: u64| Value::Integer(i64::try_from(number).unwrap_or(i64::MAX));
    let mut values = vec![Value::Integer(agent), Value::Blob(query.contact.as_bytes().to_vec())];
    let (following, offset, limit) = match &query.window {
        Window::Page { offset, limit } => (String::new(), *offset, *limit),
        Window::After { position: FilePosition { key, id }, limit } => {
            values.push(match key {
                FileSortKey::Time(time) => Value::Integer(time.millis()),
                FileSortKey::Name(name) => Value::Text(name.clone()),
                FileSortKey::Size(bytes) => integer(*bytes),
            });
            values.push(Value::Blob(id.as_bytes().to_vec()));
            (format!(" AND (f.{column}, f.id) {beyond} (?, ?)"), 0, *limit)
        }
    };
    values.extend([integer(limit.into()), integer(offset)]);
    let sql = format!(
        "SELECT {} FROM file f INDEXED BY file_by_contact WHERE f.agent = ? AND f.contact = ? \
         AND f.deleted_at IS NULL{following} ORDER BY f.{column} {word}, f.id {word} LIMIT ? OFFSET ?",
        columns!()
    );
    (sql, values)
}

fn key(agent: &str, file: [u8; 12]) -> Result<BlobKey> {
    Ok(BlobKey::new(agent.parse().map_err(corrupt)?, FileId::from_bytes(file)))
}

/// For each file whether it exists, is not deleted and belongs to the contact.
pub(crate) fn of_contact(
    db: &Connection,
    agent: &AgentId,
    contact: ContactId,
    files: &[FileId],
) -> Result<Vec<bool>> {
    let mut statement = db.prepare_cached(
        "SELECT 1 FROM agent a CROSS JOIN file f ON f.agent = a.n \
         WHERE a.id = ?1 AND a.status <> 2 AND f.id = ?2 AND f.contact = ?3 AND f.deleted_at IS NULL",
    )?;
    let own =
        |file: &FileId| Ok(statement.exists(params![agent.as_str(), file.as_bytes(), contact.as_bytes()])?);
    files.iter().map(own).collect()
}

pub(super) fn due(db: &Connection, now: Timestamp, at_most: u32) -> Result<Vec<BlobKey>> {
    let mut statement = db.prepare_cached(
        "SELECT agent, file FROM blob_purge WHERE due_at <= ?1 ORDER BY due_at, agent, file LIMIT ?2",
    )?;
    let mut rows = statement.query(params![now.millis(), at_most])?;
    let mut keys = Vec::new();
    while let Some(row) = rows.next()? {
        let mut columns = Columns::of(row);
        keys.push(key(columns.str()?, columns.bytes()?)?);
    }
    Ok(keys)
}

pub(super) fn known(db: &Connection, keys: &[BlobKey]) -> Result<Vec<bool>> {
    let mut purges = db.prepare_cached("SELECT 1 FROM blob_purge WHERE agent = ?1 AND file = ?2")?;
    let mut files = db.prepare_cached(
        "SELECT 1 FROM agent a CROSS JOIN file f ON f.agent = a.n WHERE a.id = ?1 AND f.id = ?2",
    )?;
    let mut documents = db.prepare_cached(
        "SELECT 1 FROM agent a CROSS JOIN document d ON d.agent = a.n WHERE a.id = ?1 AND d.id = ?2",
    )?;
    keys.iter()
        .map(|key| {
            let key_of_row = params![key.agent.as_str(), key.file.as_bytes()];
            Ok(purges.exists(key_of_row)? || files.exists(key_of_row)? || documents.exists(key_of_row)?)
        })
        .collect()
}

pub(super) fn needed(db: &Connection, after: Option<&BlobKey>, at_most: u32) -> Result<Vec<BlobEntry>> {
    let mut entries = Vec::new();
    // First the remaining files of the agent at which the last page ended, then those of the following agents.
    let start = after.map_or(("", [0; 12]), |key| (key.agent.as_str(), *key.file.as_bytes()));
    for sql in [
        "SELECT a.id, f.id, f.size FROM agent a CROSS JOIN file f INDEXED BY file_by_id ON f.agent = a.n \
         WHERE a.id = ?1 AND a.status <> 2 AND f.id > ?2 AND f.deleted_at IS NULL ORDER BY f.id LIMIT ?3",
        "SELECT a.id, f.id, f.size FROM agent a CROSS JOIN file f INDEXED BY file_by_id ON f.agent = a.n \
         WHERE a.id > ?1 AND a.status <> 2 AND f.deleted_at IS NULL AND f.id >= ?2 ORDER BY a.id, f.id LIMIT ?3",
    ] {
        let left = (at_most as usize).saturating_sub(entries.len());
        let key_of_row = if entries.is_empty() && sql.contains("a.id = ?1") { start.1 } else { [0; 12] };
        let mut statement = db.prepare_cached(sql)?;
        let mut rows = statement.query(params![start.0, key_of_row, left as i64])?;
        while let Some(row) = rows.next()? {
            let mut columns = Columns::of(row);
            entries.push(BlobEntry { key: key(columns.str()?, columns.bytes()?)?, size: columns.count()? });
        }
    }
    Ok(entries)
}
