//! Documents: writing keys and values, and reading fields without deserialising the document.

use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{Binary, Bson, DateTime, Document, RawBsonRef, RawDocument, doc};
use openapi_core::values::{AgentId, Timestamp};
use serde::Serialize;
use storage_common::codes::Code;
use storage_common::fields;
pub(crate) use storage_common::fields::{FieldReader, object_text};

use crate::error::{Error, Result, corrupt};

/// Bytes as a value.
pub(crate) fn binary(bytes: &[u8]) -> Binary {
    Binary { subtype: BinarySubtype::Generic, bytes: bytes.to_vec() }
}

/// The `_id` of a record of a tenant. The order of its fields is part of its value.
pub(crate) fn key(agent: &AgentId, id: &[u8]) -> Document {
    doc! { "agent": agent.as_str(), "id": binary(id) }
}

/// A time as a value.
pub(crate) fn time(time: Timestamp) -> DateTime {
    DateTime::from_millis(time.millis())
}

/// A count as a value.
pub(crate) fn integer(count: u64) -> Result<i64> {
    fields::signed(count)
}

/// A value as JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<String> {
    fields::json_text(value)
}

/// Adds a field unless its value is absent: absent and null are the same in a document of this store.
pub(crate) fn put(document: &mut Document, name: &str, value: Option<impl Into<Bson>>) {
    if let Some(value) = value {
        document.insert(name, value);
    }
}

/// Typed values of a field; the error names the type that the field has.
pub(crate) trait Value<'d>: Sized {
    fn wrong(self, kind: &str) -> Error;
    fn str(self) -> Result<&'d str>;
    fn integer(self) -> Result<i64>;
    fn time(self) -> Result<Timestamp>;
    fn slice(self) -> Result<&'d [u8]>;
}

impl<'d> Value<'d> for RawBsonRef<'d> {
    fn wrong(self, kind: &str) -> Error {
        corrupt(format_args!("a field of a document is no {kind} but {:?}", self.element_type()))
    }

    fn str(self) -> Result<&'d str> {
        self.as_str().ok_or_else(|| self.wrong("text"))
    }

    fn integer(self) -> Result<i64> {
        let number = self.as_i64().or_else(|| self.as_i32().map(i64::from));
        number.ok_or_else(|| self.wrong("integer"))
    }

    fn time(self) -> Result<Timestamp> {
        let time = self.as_datetime().ok_or_else(|| self.wrong("time"))?;
        Ok(Timestamp::from_millis(time.timestamp_millis()))
    }

    fn slice(self) -> Result<&'d [u8]> {
        Ok(self.as_binary().ok_or_else(|| self.wrong("binary"))?.bytes)
    }
}

/// Reads the fields of a document by name; a dot separates the names of nested documents.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'d>(pub(crate) &'d RawDocument);

impl<'d> Fields<'d> {
    pub(crate) fn optional(self, name: &str) -> Result<Option<RawBsonRef<'d>>> {
        let (mut document, mut name) = (self.0, name);
        while let Some((outer, inner)) = name.split_once('.') {
            document = Fields(document).within(outer)?.0;
            name = inner;
        }
        Ok(document.get(name).map_err(corrupt)?.filter(|value| value.as_null().is_none()))
    }

    pub(crate) fn value(self, name: &str) -> Result<RawBsonRef<'d>> {
        self.optional(name)?.ok_or_else(|| corrupt(format_args!("a document has no field '{name}'")))
    }

    /// The fields of a nested document.
    pub(crate) fn within(self, name: &str) -> Result<Fields<'d>> {
        let value = self.value(name)?;
        value.as_document().map(Fields).ok_or_else(|| value.wrong("document"))
    }

    /// `_id.id`.
    pub(crate) fn id<const N: usize>(mut self) -> Result<[u8; N]> {
        self.bytes("_id.id")
    }

    /// `_id.agent`.
    pub(crate) fn agent(mut self) -> Result<AgentId> {
        self.text("_id.agent")
    }
}

impl<'d> FieldReader<'d> for Fields<'d> {
    type Error = Error;

    fn optional_str(&mut self, name: &str) -> Result<Option<&'d str>> {
        self.optional(name)?.map(Value::str).transpose()
    }

    fn optional_integer(&mut self, name: &str) -> Result<Option<i64>> {
        self.optional(name)?.map(Value::integer).transpose()
    }

    fn optional_slice(&mut self, name: &str) -> Result<Option<&'d [u8]>> {
        self.optional(name)?.map(Value::slice).transpose()
    }

    fn optional_time(&mut self, name: &str) -> Result<Option<Timestamp>> {
        self.optional(name)?.map(Value::time).transpose()
    }
}

/// A [`Code`] as a value.
pub(crate) fn code(value: impl Code) -> i32 {
    value.code().into()
}

/// A filter for documents of a tenant by `_id`. The separate condition on the tenant lets the router of a sharded cluster
/// choose the shard and leave the others out of a transaction. A find with this filter names
/// [`index::BY_KEY`](crate::migrate::index::BY_KEY).
pub(crate) fn keyed(agent: &AgentId, ids: Vec<Document>) -> Document {
    doc! { "_id": { "$in": ids }, "_id.agent": agent.as_str() }
}

/// The `_id` of each document, as values of a filter.
pub(crate) fn ids(documents: &[mongodb::bson::RawDocumentBuf]) -> Result<Vec<Bson>> {
    let id = |document: &mongodb::bson::RawDocumentBuf| {
        Bson::try_from(Fields(document).value("_id")?).map_err(corrupt)
    };
    documents.iter().map(id).collect()
}

/// A filter for all documents of a tenant: its range of `_id`, and the tenant itself for the router of a sharded cluster.
pub(crate) fn of_agent(agent: &AgentId) -> Document {
    let agent = agent.as_str();
    doc! {
        "_id": { "$gt": { "agent": agent }, "$lt": { "agent": agent, "id": Bson::MaxKey } },
        "_id.agent": agent,
    }
}
