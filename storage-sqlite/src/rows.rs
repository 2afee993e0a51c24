//! Rows and statements.

use rusqlite::{Connection, Params, Row};
use storage_common::codes::Code;
pub(crate) use storage_common::fields::object_text;
use storage_common::fields::{self, FieldReader};
use storage_common::unnamed_fields;

use crate::error::{Error, Result, corrupt};

/// Reads the columns of a row one after another.
///
/// The names of [`FieldReader`] are for documents; this reader ignores them.
pub(crate) struct RowReader<'r> {
    row: &'r Row<'r>,
    at: usize,
}

impl<'r> RowReader<'r> {
    pub(crate) fn new(row: &'r Row<'r>) -> Self {
        RowReader { row, at: 0 }
    }

    /// A reader of the same row that starts at a column.
    pub(crate) fn at(&self, at: usize) -> Self {
        RowReader { row: self.row, at }
    }

    fn next(&mut self) -> Result<rusqlite::types::ValueRef<'r>> {
        let value = self.row.get_ref(self.at)?;
        self.at += 1;
        Ok(value)
    }
}

unnamed_fields!();

impl<'r> FieldReader<'r> for RowReader<'r> {
    type Error = Error;

    fn optional_str(&mut self, _: &str) -> Result<Option<&'r str>> {
        self.next()?.as_str_or_null().map_err(corrupt)
    }

    fn optional_integer(&mut self, _: &str) -> Result<Option<i64>> {
        self.next()?.as_i64_or_null().map_err(corrupt)
    }

    fn optional_slice(&mut self, _: &str) -> Result<Option<&'r [u8]>> {
        self.next()?.as_blob_or_null().map_err(corrupt)
    }
}

/// Calls `read` with each row of a statement.
pub(crate) fn each(
    db: &Connection,
    sql: &str,
    values: impl Params,
    mut read: impl FnMut(&mut RowReader<'_>) -> Result<()>,
) -> Result<()> {
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    while let Some(row) = rows.next()? {
        read(&mut RowReader::new(row))?;
    }
    Ok(())
}

/// The rows of a statement, each read by `read`.
pub(crate) fn all<T>(
    db: &Connection,
    sql: &str,
    values: impl Params,
    mut read: impl FnMut(&mut RowReader<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut found = Vec::new();
    each(db, sql, values, |r| {
        found.push(read(r)?);
        Ok(())
    })?;
    Ok(found)
}

/// The first row of a statement, read by `read`.
pub(crate) fn first<T>(
    db: &Connection,
    sql: &str,
    values: impl Params,
    read: impl FnOnce(&mut RowReader<'_>) -> Result<T>,
) -> Result<Option<T>> {
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    rows.next()?.map(|row| read(&mut RowReader::new(row))).transpose()
}

/// The number in the first column of the first row, such as a version.
pub(crate) fn number(db: &Connection, sql: &str, values: impl Params) -> Result<Option<u64>> {
    first(db, sql, values, |r| r.count())
}

/// The same of a statement that always has a row, such as a count.
pub(crate) fn count(db: &Connection, sql: &str, values: impl Params) -> Result<u64> {
    number(db, sql, values)?.ok_or_else(|| corrupt("a count has no row"))
}

/// Whether a statement has a row.
pub(crate) fn exists(db: &Connection, sql: &str, values: impl Params) -> Result<bool> {
    Ok(db.prepare_cached(sql)?.exists(values)?)
}

/// A [`Code`] as an integer.
pub(crate) fn code(value: impl Code) -> i64 {
    value.code().into()
}

/// A value as JSON.
pub(crate) fn json_text(value: &impl serde::Serialize) -> Result<String> {
    fields::json_text(value)
}

/// A version or another count as SQLite stores it.
pub(crate) fn signed(count: u64) -> Result<i64> {
    fields::signed(count)
}
