//! Rows and statements: what every resource reads by and asks with.

use std::borrow::Cow;
use std::ops::Range;

use openapi_core::json::RawObject;
use openapi_core::values::{StoredText, Timestamp};
use serde::de::DeserializeOwned;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments, Decode, Encode, Postgres, Row, Type, ValueRef};

use crate::error::{Fault, Result, corrupt};

/// Reads the columns of a row one after another.
pub(crate) struct Columns<'r> {
    source: Source<'r>,
    at: usize,
}

/// Where the columns come from.
enum Source<'r> {
    /// What a statement has found.
    Row(&'r PgRow),
    /// What [`pack`] has made of such a row, from the column at hand on.
    Packed(&'r [u8]),
}

/// What a column may hold, as PostgreSQL sends it.
trait Value<'r>: Decode<'r, Postgres> + Type<Postgres> {
    /// The value of these octets; none when they are no such value.
    fn of_octets(octets: Option<&'r [u8]>) -> Option<Self>;
}

impl<'r> Value<'r> for &'r [u8] {
    fn of_octets(octets: Option<&'r [u8]>) -> Option<Self> {
        octets
    }
}

impl<'r> Value<'r> for &'r str {
    fn of_octets(octets: Option<&'r [u8]>) -> Option<Self> {
        std::str::from_utf8(octets?).ok()
    }
}

impl Value<'_> for i64 {
    fn of_octets(octets: Option<&[u8]>) -> Option<Self> {
        octets?.try_into().ok().map(i64::from_be_bytes)
    }
}

impl Value<'_> for i16 {
    fn of_octets(octets: Option<&[u8]>) -> Option<Self> {
        octets?.try_into().ok().map(i16::from_be_bytes)
    }
}

impl Value<'_> for bool {
    fn of_octets(octets: Option<&[u8]>) -> Option<Self> {
        octets.map(|octets| octets != [0])
    }
}

impl<'r, T: Value<'r>> Value<'r> for Option<T> {
    fn of_octets(octets: Option<&'r [u8]>) -> Option<Self> {
        octets.map_or(Some(None), |octets| T::of_octets(Some(octets)).map(Some))
    }
}

/// The length that stands for NULL.
const NULL: u32 = u32::MAX;

/// Some columns of a row in one piece, for [`Columns::packed`]: of each its length and what it holds.
pub(crate) fn pack(row: &PgRow, columns: Range<usize>) -> Result<Vec<u8>> {
    let mut packed = Vec::with_capacity(512);
    for at in columns {
        let value = row.try_get_raw(at)?;
        if value.is_null() {
            packed.extend_from_slice(&NULL.to_be_bytes());
            continue;
        }
        let octets = value.as_bytes().map_err(|error| Fault::Sqlx(sqlx::Error::Decode(error)))?;
        packed.extend_from_slice(&u32::try_from(octets.len()).map_err(corrupt)?.to_be_bytes());
        packed.extend_from_slice(octets);
    }
    Ok(packed)
}

/// The first column of a packed row; what is left of it stays in `packed`.
fn unpack<'r>(packed: &mut &'r [u8]) -> Option<Option<&'r [u8]>> {
    let (length, rest) = packed.split_first_chunk::<4>()?;
    let length = u32::from_be_bytes(*length);
    let (octets, rest) = if length == NULL {
        (None, rest)
    } else {
        let (octets, rest) = rest.split_at_checked(length as usize)?;
        (Some(octets), rest)
    };
    *packed = rest;
    Some(octets)
}

impl<'r> Columns<'r> {
    pub(crate) fn of(row: &'r PgRow) -> Self {
        Columns::from(row, 0)
    }

    /// The same from a column on.
    pub(crate) fn from(row: &'r PgRow, at: usize) -> Self {
        Columns { source: Source::Row(row), at }
    }

    /// Reads what [`pack`] has made.
    pub(crate) fn packed(packed: &'r [u8]) -> Self {
        Columns { source: Source::Packed(packed), at: 0 }
    }

    fn next<T: Value<'r>>(&mut self) -> Result<T> {
        match &mut self.source {
            Source::Row(row) => {
                let value = row.try_get(self.at)?;
                self.at += 1;
                Ok(value)
            }
            Source::Packed(packed) => {
                unpack(packed).and_then(T::of_octets).ok_or_else(|| corrupt("a kept row is no such row"))
            }
        }
    }

    /// Whether the next column is NULL; it is not passed over.
    pub(crate) fn is_absent(&mut self) -> Result<bool> {
        match &self.source {
            Source::Row(row) => Ok(row.try_get_raw(self.at)?.is_null()),
            Source::Packed(packed) => Ok(unpack(&mut &**packed).is_none_or(|octets| octets.is_none())),
        }
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

    pub(crate) fn octets<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.next::<&[u8]>()?.try_into().map_err(corrupt)
    }

    pub(crate) fn optional_octets<const N: usize>(&mut self) -> Result<Option<[u8; N]>> {
        let octets = self.next::<Option<&[u8]>>()?;
        octets.map(|octets| octets.try_into().map_err(corrupt)).transpose()
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
