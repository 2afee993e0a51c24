//! Rows and statements.

use std::borrow::Cow;

use openapi_core::json::RawObject;
use openapi_core::values::{StoredText, Timestamp};
use serde::de::DeserializeOwned;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments, Decode, Encode, Postgres, Row, Type, ValueRef};

use storage_common::codes::Code;
use storage_common::fields::{self, FieldReader};
pub(crate) use storage_common::fields::{bounded, object_text};

use crate::error::{Error, Result};

/// Reads the columns of a row one after another.
///
/// Its methods need no names; those of [`FieldReader`] are for the shared readers of records, whose names it ignores.
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

    /// A `smallint`.
    pub(crate) fn small(&mut self) -> Result<i16> {
        self.next()
    }

    pub(crate) fn str(&mut self) -> Result<&'r str> {
        self.next()
    }

    pub(crate) fn text<T: StoredText>(&mut self) -> Result<T> {
        FieldReader::text(self, "")
    }

    pub(crate) fn integer(&mut self) -> Result<i64> {
        self.next()
    }

    pub(crate) fn count(&mut self) -> Result<u64> {
        FieldReader::count(self, "")
    }

    pub(crate) fn time(&mut self) -> Result<Timestamp> {
        FieldReader::time(self, "")
    }

    pub(crate) fn bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        FieldReader::bytes(self, "")
    }

    pub(crate) fn optional_bytes<const N: usize>(&mut self) -> Result<Option<[u8; N]>> {
        FieldReader::optional_bytes(self, "")
    }

    pub(crate) fn code<C: Code>(&mut self) -> Result<C> {
        FieldReader::code(self, "")
    }

    pub(crate) fn object(&mut self) -> Result<RawObject> {
        FieldReader::object(self, "")
    }

    pub(crate) fn json<T: DeserializeOwned>(&mut self) -> Result<T> {
        FieldReader::json(self, "")
    }

    pub(crate) fn optional_json<T: DeserializeOwned>(&mut self) -> Result<Option<T>> {
        FieldReader::optional_json(self, "")
    }
}

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
