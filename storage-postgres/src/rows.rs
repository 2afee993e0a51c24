//! Rows and statements: what every resource reads by and asks with.

use std::borrow::Cow;

use openapi_core::json::RawObject;
use openapi_core::values::{StoredText, Timestamp};
use serde::de::DeserializeOwned;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments, Decode, Encode, Postgres, Row, Type, ValueRef};

use crate::error::{Fault, Result, corrupt};

/// Reads the columns of a row one after another.
pub(crate) struct Columns<'r> {
    row: &'r PgRow,
    at: usize,
}

impl<'r> Columns<'r> {
    pub(crate) fn of(row: &'r PgRow) -> Self {
        Columns::from(row, 0)
    }

    /// The same from a column on.
    pub(crate) fn from(row: &'r PgRow, at: usize) -> Self {
        Columns { row, at }
    }

    fn next<T: Decode<'r, Postgres> + Type<Postgres>>(&mut self) -> Result<T> {
        let value = self.row.try_get(self.at)?;
        self.at += 1;
        Ok(value)
    }

    /// Whether the next column is NULL; it is not passed over.
    pub(crate) fn is_absent(&self) -> Result<bool> {
        Ok(self.row.try_get_raw(self.at)?.is_null())
    }

    pub(crate) fn str(&mut self) -> Result<&'r str> {
        self.next()
    }

    pub(crate) fn optional_str(&mut self) -> Result<Option<&'r str>> {
        self.next()
    }

    pub(crate) fn text<T: StoredText>(&mut self) -> Result<T> {
        self.str().map(T::from_stored)
    }

    pub(crate) fn optional_text<T: StoredText>(&mut self) -> Result<Option<T>> {
        Ok(self.optional_str()?.map(T::from_stored))
    }

    pub(crate) fn truth(&mut self) -> Result<bool> {
        self.next()
    }

    /// A small number that stands for one of a few words.
    pub(crate) fn small(&mut self) -> Result<i16> {
        self.next()
    }

    pub(crate) fn integer(&mut self) -> Result<i64> {
        self.next()
    }

    pub(crate) fn optional_integer(&mut self) -> Result<Option<i64>> {
        self.next()
    }

    pub(crate) fn count(&mut self) -> Result<u64> {
        u64::try_from(self.integer()?).map_err(corrupt)
    }

    pub(crate) fn time(&mut self) -> Result<Timestamp> {
        self.integer().map(Timestamp::from_millis)
    }

    pub(crate) fn optional_time(&mut self) -> Result<Option<Timestamp>> {
        Ok(self.optional_integer()?.map(Timestamp::from_millis))
    }

    pub(crate) fn bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.next::<&[u8]>()?.try_into().map_err(corrupt)
    }

    pub(crate) fn optional_bytes<const N: usize>(&mut self) -> Result<Option<[u8; N]>> {
        let bytes = self.next::<Option<&[u8]>>()?;
        bytes.map(|bytes| bytes.try_into().map_err(corrupt)).transpose()
    }

    /// An object; NULL is `{}`.
    pub(crate) fn object(&mut self) -> Result<RawObject> {
        self.optional_str()?
            .map_or_else(|| Ok(RawObject::default()), |text| RawObject::from_text(text).map_err(corrupt))
    }

    /// What a column holds as JSON.
    pub(crate) fn json<T: DeserializeOwned>(&mut self) -> Result<T> {
        serde_json::from_str(self.str()?).map_err(corrupt)
    }

    /// The same of a column that may be NULL.
    pub(crate) fn optional_json<T: DeserializeOwned>(&mut self) -> Result<Option<T>> {
        self.optional_str()?.map(|text| serde_json::from_str(text).map_err(corrupt)).transpose()
    }
}

/// The text of an object; `None` for `{}`.
pub(crate) fn object_text(object: &RawObject) -> Option<&str> {
    (!object.is_empty()).then(|| object.as_str())
}

/// A value as JSON.
pub(crate) fn json_text(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(corrupt)
}

/// A version, or another count that grows with each change, as PostgreSQL holds it.
pub(crate) fn signed(count: u64) -> Result<i64> {
    i64::try_from(count).map_err(corrupt)
}

/// A number of rows, as PostgreSQL counts; more than there can be is all.
pub(crate) fn bounded(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A statement with its values.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) sql: Cow<'static, str>,
    pub(crate) values: PgArguments,
    /// Whether the connection keeps it prepared. A statement whose best plan depends on its values is planned each
    /// time.
    pub(crate) is_kept: bool,
}

impl Statement {
    pub(crate) fn new(sql: impl Into<Cow<'static, str>>) -> Self {
        Statement { sql: sql.into(), values: PgArguments::default(), is_kept: true }
    }

    /// Adds the value of the next parameter.
    pub(crate) fn bind<'v>(mut self, value: impl Encode<'v, Postgres> + Type<Postgres>) -> Result<Self> {
        self.add(value)?;
        Ok(self)
    }

    /// The same, for a statement that is put together; the parameter's name in the text.
    pub(crate) fn add<'v>(&mut self, value: impl Encode<'v, Postgres> + Type<Postgres>) -> Result<String> {
        self.values.add(value).map_err(|error| Fault::Sqlx(sqlx::Error::Encode(error)))?;
        Ok(format!("${}", self.values.len()))
    }

    pub(crate) fn push(&mut self, sql: &str) {
        self.sql.to_mut().push_str(sql);
    }
}
