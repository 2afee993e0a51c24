//! Documents: how keys and values are written, and reading them without building anything in between.

use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{Binary, Bson, DateTime, Document, RawBsonRef, RawDocument, doc};
use openapi_core::json::RawObject;
use openapi_core::values::{AgentId, StoredText, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Result, corrupt};

/// Bytes as a value.
pub(crate) fn bytes(bytes: &[u8]) -> Binary {
    Binary { subtype: BinarySubtype::Generic, bytes: bytes.to_vec() }
}

/// The `_id` of something of an agent. The order of its fields is part of its value.
pub(crate) fn key(agent: &AgentId, id: &[u8]) -> Document {
    doc! { "agent": agent.as_str(), "id": bytes(id) }
}

/// A time as a value.
pub(crate) fn time(time: Timestamp) -> DateTime {
    DateTime::from_millis(time.millis())
}

/// A count as a value.
pub(crate) fn integer(count: u64) -> Result<i64> {
    i64::try_from(count).map_err(corrupt)
}

/// A value as its JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(corrupt)
}

/// The text of an object; `None` for `{}`.
pub(crate) fn object_text(object: &RawObject) -> Option<&str> {
    (!object.is_empty()).then(|| object.as_str())
}

/// Adds a field unless there is no value for it: absent and null are one in a document of this store.
pub(crate) fn put(document: &mut Document, name: &str, value: Option<impl Into<Bson>>) {
    if let Some(value) = value {
        document.insert(name, value);
    }
}

/// Values read from a field, with the field's name in the fault.
pub(crate) trait Value<'d>: Sized {
    fn wrong(self, kind: &str) -> crate::error::Fault;
    fn str(self) -> Result<&'d str>;
    fn integer(self) -> Result<i64>;
    fn time(self) -> Result<Timestamp>;
    fn bytes<const N: usize>(self) -> Result<[u8; N]>;

    fn text<T: StoredText>(self) -> Result<T> {
        self.str().map(T::from_stored)
    }

    fn count(self) -> Result<u64> {
        u64::try_from(self.integer()?).map_err(corrupt)
    }

    fn object(self) -> Result<RawObject> {
        RawObject::from_text(self.str()?).map_err(corrupt)
    }

    fn json<T: DeserializeOwned>(self) -> Result<T> {
        serde_json::from_str(self.str()?).map_err(corrupt)
    }
}

impl<'d> Value<'d> for RawBsonRef<'d> {
    fn wrong(self, kind: &str) -> crate::error::Fault {
        corrupt(format_args!("a field of a document is no {kind} but {:?}", self.element_type()))
    }

    fn str(self) -> Result<&'d str> {
        self.as_str().ok_or_else(|| self.wrong("text"))
    }

    fn integer(self) -> Result<i64> {
        let number = self.as_i64().or_else(|| self.as_i32().map(i64::from));
        number.ok_or_else(|| self.wrong("whole number"))
    }

    fn time(self) -> Result<Timestamp> {
        let time = self.as_datetime().ok_or_else(|| self.wrong("time"))?;
        Ok(Timestamp::from_millis(time.timestamp_millis()))
    }

    fn bytes<const N: usize>(self) -> Result<[u8; N]> {
        let binary = self.as_binary().ok_or_else(|| self.wrong("bytes"))?;
        binary.bytes.try_into().map_err(corrupt)
    }
}

/// Reads the fields of a document by name.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'d>(pub(crate) &'d RawDocument);

impl<'d> Fields<'d> {
    pub(crate) fn optional(self, name: &str) -> Result<Option<RawBsonRef<'d>>> {
        Ok(self.0.get(name).map_err(corrupt)?.filter(|value| value.as_null().is_none()))
    }

    pub(crate) fn value(self, name: &str) -> Result<RawBsonRef<'d>> {
        self.optional(name)?.ok_or_else(|| corrupt(format_args!("a document has no field '{name}'")))
    }

    pub(crate) fn str(self, name: &str) -> Result<&'d str> {
        self.value(name)?.str()
    }

    pub(crate) fn text<T: StoredText>(self, name: &str) -> Result<T> {
        self.value(name)?.text()
    }

    pub(crate) fn optional_text<T: StoredText>(self, name: &str) -> Result<Option<T>> {
        self.optional(name)?.map(Value::text).transpose()
    }

    pub(crate) fn optional_string(self, name: &str) -> Result<Option<String>> {
        Ok(self.optional(name)?.map(Value::str).transpose()?.map(str::to_owned))
    }

    pub(crate) fn integer(self, name: &str) -> Result<i64> {
        self.value(name)?.integer()
    }

    pub(crate) fn count(self, name: &str) -> Result<u64> {
        self.value(name)?.count()
    }

    pub(crate) fn time(self, name: &str) -> Result<Timestamp> {
        self.value(name)?.time()
    }

    pub(crate) fn optional_time(self, name: &str) -> Result<Option<Timestamp>> {
        self.optional(name)?.map(Value::time).transpose()
    }

    pub(crate) fn bytes<const N: usize>(self, name: &str) -> Result<[u8; N]> {
        self.value(name)?.bytes()
    }

    pub(crate) fn optional_bytes<const N: usize>(self, name: &str) -> Result<Option<[u8; N]>> {
        self.optional(name)?.map(Value::bytes).transpose()
    }

    /// An object; absent is `{}`.
    pub(crate) fn object(self, name: &str) -> Result<RawObject> {
        self.optional(name)?.map_or_else(|| Ok(RawObject::default()), Value::object)
    }

    pub(crate) fn json<T: DeserializeOwned>(self, name: &str) -> Result<T> {
        self.value(name)?.json()
    }

    pub(crate) fn optional_json<T: DeserializeOwned>(self, name: &str) -> Result<Option<T>> {
        self.optional(name)?.map(Value::json).transpose()
    }

    /// The fields of a document within this one.
    pub(crate) fn within(self, name: &str) -> Result<Fields<'d>> {
        let value = self.value(name)?;
        value.as_document().map(Fields).ok_or_else(|| value.wrong("document"))
    }

    /// The bytes of `_id.id`.
    pub(crate) fn id<const N: usize>(self) -> Result<[u8; N]> {
        self.within("_id")?.bytes("id")
    }

    /// The agent of `_id.agent`.
    pub(crate) fn agent(self) -> Result<AgentId> {
        self.within("_id")?.text("agent")
    }
}

/// A filter that lets through documents of an agent by their `_id`. The agent is named once more, so that a router of a
/// sharded cluster knows which shard to ask, and need not make the others part of a transaction; whoever reads by it
/// names [`index::BY_KEY`](crate::migrate::index::BY_KEY).
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

/// A filter that lets through everything of an agent, by the part of `_id` that is its own. The agent is named once
/// more, so that a router of a sharded cluster knows which shard to ask.
pub(crate) fn of_agent(agent: &AgentId) -> Document {
    let agent = agent.as_str();
    doc! {
        "_id": { "$gt": { "agent": agent }, "$lt": { "agent": agent, "id": Bson::MaxKey } },
        "_id.agent": agent,
    }
}
