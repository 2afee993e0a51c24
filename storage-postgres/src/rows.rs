//! Rows and statements.

use std::borrow::Cow;

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments, Decode, Encode, Postgres, Row, Type, ValueRef};

use storage_common::codes::Code;
use storage_common::fields::{self, FieldReader};
pub(crate) use storage_common::fields::{bounded, object_text};
use storage_common::unnamed_fields;

use crate::error::{Error, Result, corrupt};

/// Reads the columns of a row one after another.
///
/// The names of [`FieldReader`] are for documents; this reader ignores them.
pub(crate) struct RowReader<'r> {
    row: &'r PgRow,
    at: usize,
}

impl<'r> RowReader<'r> {
    pub(crate) fn new(row: &'r PgRow) -> Self {
        RowReader::at(row, 0)
    }

    /// The same, starting at a column.
    pub(crate) fn at(row: &'r PgRow, at: usize) -> Self {
        RowReader { row, at }
    }

    fn next<T: Decode<'r, Postgres> + Type<Postgres>>(&mut self) -> Result<T> {
        let value = self.row.try_get(self.at)?;
        self.at += 1;
        Ok(value)
    }

    /// Whether the next column is NULL; the reader does not advance.
    pub(crate) fn is_absent(&self) -> Result<bool> {
        Ok(self.row.try_get_raw(self.at)?.is_null())
    }

    pub(crate) fn bool(&mut self) -> Result<bool> {
        self.next()
    }

    /// A number that may be absent.
    pub(crate) fn number(&mut self) -> Result<Option<i64>> {
        self.next()
    }

    /// A count that is 0 when it is absent.
    pub(crate) fn optional_count(&mut self) -> Result<u64> {
        u64::try_from(self.number()?.unwrap_or(0)).map_err(corrupt)
    }

    /// A `smallint`.
    pub(crate) fn small(&mut self) -> Result<i16> {
        self.next()
    }
}

unnamed_fields!();

impl<'r> FieldReader<'r> for RowReader<'r> {
    type Error = Error;

    fn optional_str(&mut self, _: &str) -> Result<Option<&'r str>> {
        self.next()
    }

    fn optional_integer(&mut self, _: &str) -> Result<Option<i64>> {
        self.next()
    }

    fn code_number(&mut self, _: &str) -> Result<i64> {
        self.small().map(i64::from)
    }

    fn optional_slice(&mut self, _: &str) -> Result<Option<&'r [u8]>> {
        self.next()
    }
}

/// The rows of a page: each has the total and a record, which `read` reads, or NULL for an empty page.
pub(crate) fn page<T>(
    rows: &[PgRow],
    mut read: impl FnMut(&mut RowReader<'_>) -> Result<T>,
) -> Result<(Vec<T>, u64)> {
    let (mut found, mut total) = (Vec::new(), 0);
    for row in rows {
        let mut columns = RowReader::new(row);
        total = columns.count()?;
        if columns.is_absent()? {
            break;
        }
        found.push(read(&mut columns)?);
    }
    Ok((found, total))
}

/// A [`Code`] as a `smallint`.
pub(crate) fn code(value: impl Code) -> i16 {
    value.code().into()
}

/// A value as JSON.
pub(crate) fn json_text(value: &impl serde::Serialize) -> Result<String> {
    fields::json_text(value)
}

/// A version or another count as PostgreSQL stores it.
pub(crate) fn signed(count: u64) -> Result<i64> {
    fields::signed(count)
}

/// A statement with its values.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) sql: Cow<'static, str>,
    pub(crate) values: PgArguments,
    /// Whether the connection caches it as a prepared statement. One whose best plan depends on its values is planned each
    /// time.
    pub(crate) is_persistent: bool,
}

impl Statement {
    pub(crate) fn new(sql: impl Into<Cow<'static, str>>) -> Self {
        Statement { sql: sql.into(), values: PgArguments::default(), is_persistent: true }
    }

    /// A statement that PostgreSQL plans for its values each time.
    pub(crate) fn unprepared(sql: impl Into<Cow<'static, str>>) -> Self {
        Statement { is_persistent: false, ..Statement::new(sql) }
    }

    /// Adds the value of the next parameter.
    pub(crate) fn bind<'v>(mut self, value: impl Encode<'v, Postgres> + Type<Postgres>) -> Result<Self> {
        self.add(value)?;
        Ok(self)
    }

    /// The same, for a statement that is assembled; returns the parameter's name in the text.
    pub(crate) fn add<'v>(&mut self, value: impl Encode<'v, Postgres> + Type<Postgres>) -> Result<String> {
        self.values.add(value).map_err(|error| Error::Driver(sqlx::Error::Encode(error)))?;
        Ok(format!("${}", self.values.len()))
    }

    pub(crate) fn push(&mut self, sql: &str) {
        self.sql.to_mut().push_str(sql);
    }
}
