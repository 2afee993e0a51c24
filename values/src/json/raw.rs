//! An object as its JSON text: stored, returned and copied without being parsed again.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::{Json, Object, parse};

/// A JSON object as text. The hot path copies it; [`RawObject::members`] parses it.
///
/// Read once when it is made; `{}`, the common case, costs nothing.
#[derive(Clone, Default)]
pub struct RawObject(Option<Box<RawValue>>);

impl RawObject {
    /// The text of `members`.
    #[must_use]
    pub fn new(members: &Object) -> Self {
        if members.is_empty() {
            return RawObject(None);
        }
        // A tree of strings, numbers and containers always serialises.
        RawObject(serde_json::value::to_raw_value(members).ok())
    }

    /// The text of a value that serialises to an object; anything else has no members.
    #[must_use]
    pub fn of(value: &impl Serialize) -> Self {
        let raw = serde_json::value::to_raw_value(value).ok();
        RawObject(raw.filter(|raw| raw.get().starts_with('{') && raw.get() != "{}"))
    }

    /// Takes text, for example from a database column, and checks that it is one object.
    ///
    /// # Errors
    /// When the text is not exactly one JSON object.
    pub fn from_text(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        let text = text.into();
        if text == "{}" {
            return Ok(RawObject(None));
        }
        let raw = RawValue::from_string(text)?;
        if raw.get().starts_with('{') {
            Ok(RawObject(Some(raw)))
        } else {
            Err(Error::custom("not a JSON object"))
        }
    }

    /// The JSON text, without white space around names and values.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_ref().map_or("{}", |raw| raw.get())
    }

    /// Whether the object has no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The members.
    #[must_use]
    pub fn members(&self) -> Object {
        match parse(self.as_str().as_bytes()) {
            Ok(Json::Object(members)) => members,
            _ => Object::new(),
        }
    }

    /// The value of one top-level member.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Json> {
        self.members().remove(name)
    }
}

impl PartialEq for RawObject {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for RawObject {}

impl fmt::Debug for RawObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for RawObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Some(raw) => raw.serialize(serializer),
            None => serializer.serialize_map(Some(0))?.end(),
        }
    }
}

impl<'de> Deserialize<'de> for RawObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        RawObject::from_text(raw.get()).map_err(Error::custom)
    }
}
