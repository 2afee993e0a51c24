//! Reading files.

use openapi_core::files::ContactFile;
use openapi_core::ports::BlobKey;
use openapi_core::storage::{
    FileBlob, FilePage, FilePosition, FileQuery, FileSort, FileSortKey, FileTombstone, FileUsage, Order,
    Window,
};
use openapi_core::values::{AgentId, ContactId, FileId, Timestamp};
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};
use storage_common::fields::bounded;
use storage_common::{file_columns, records};

use super::usage;
use crate::error::Result;
use crate::{rows, tenant};

/// All files of an agent, deleted ones included, each after its sort key.
pub(crate) const EVERY_OF_AGENT: &str =
    concat!("SELECT f.name_key, ", file_columns!(), " FROM file f WHERE f.agent = ?1");

pub(super) fn one(db: &Connection, agent: &AgentId, id: FileId) -> Result<Option<ContactFile>> {
    let sql = concat!(
        "SELECT ",
        file_columns!(),
        " FROM agent a CROSS JOIN file f ON f.agent = a.n",
        " WHERE a.id = ?1 AND a.status <> 2 AND f.id = ?2 AND f.deleted_at IS NULL"
    );
    rows::first(db, sql, params![agent.as_str(), id.as_bytes()], |r| records::file(agent, r))
}

pub(super) fn tombstone(db: &Connection, agent: &AgentId, id: FileId) -> Result<Option<FileTombstone>> {
    let sql = "SELECT f.deleted_at, f.deleted_by, f.reason FROM agent a CROSS JOIN file f ON f.agent = a.n \
               WHERE a.id = ?1 AND a.status <> 2 AND f.id = ?2 AND f.deleted_at IS NOT NULL";
    rows::first(db, sql, params![agent.as_str(), id.as_bytes()], |r| records::tombstone(id, r))
}

pub(super) fn usage(db: &Connection, agent: i64, contact: ContactId) -> Result<FileUsage> {
    Ok(FileUsage { files_of_contact: count(db, agent, contact)?, bytes_of_agent: usage::bytes(db, agent)? })
}

fn count(db: &Connection, agent: i64, contact: ContactId) -> Result<u64> {
    let sql = "SELECT count(*) FROM file WHERE agent = ?1 AND contact = ?2 AND deleted_at IS NULL";
    rows::count(db, sql, params![agent, contact.as_bytes()])
}

pub(super) fn page(db: &Connection, id: &AgentId, query: &FileQuery) -> Result<FilePage> {
    let Some(agent) = tenant::living(db, id)? else { return Ok(FilePage::default()) };
    let total = count(db, agent.number, query.contact)?;
    let (sql, values) = statement(agent.number, query);
    let files = rows::all(db, &sql, params_from_iter(values), |r| records::file(id, r))?;
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
    let integer = |number: u64| Value::Integer(bounded(number));
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
        file_columns!()
    );
    (sql, values)
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
    let sql = "SELECT agent, file FROM blob_purge WHERE due_at <= ?1 ORDER BY due_at, agent, file LIMIT ?2";
    rows::all(db, sql, params![now.millis(), at_most], |r| records::blob_key(r))
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

pub(super) fn needed(db: &Connection, after: Option<&BlobKey>, at_most: u32) -> Result<Vec<FileBlob>> {
    let mut entries = Vec::new();
    // First the remaining files of the agent at which the last page ended, then those of the following agents.
    let start = after.map_or(("", [0; 12]), |key| (key.agent.as_str(), *key.file.as_bytes()));
    for sql in [
        "SELECT a.id, f.id, f.size, f.server_key FROM agent a CROSS JOIN file f INDEXED BY file_by_id ON f.agent = a.n \
         WHERE a.id = ?1 AND a.status <> 2 AND f.id > ?2 AND f.deleted_at IS NULL ORDER BY f.id LIMIT ?3",
        "SELECT a.id, f.id, f.size, f.server_key FROM agent a CROSS JOIN file f INDEXED BY file_by_id ON f.agent = a.n \
         WHERE a.id > ?1 AND a.status <> 2 AND f.deleted_at IS NULL AND f.id >= ?2 ORDER BY a.id, f.id LIMIT ?3",
    ] {
        let left = (at_most as usize).saturating_sub(entries.len());
        let key_of_row = if entries.is_empty() && sql.contains("a.id = ?1") { start.1 } else { [0; 12] };
        rows::each(db, sql, params![start.0, key_of_row, left as i64], |r| {
            entries.push(records::file_blob(r)?);
            Ok(())
        })?;
    }
    Ok(entries)
}
