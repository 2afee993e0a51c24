//! JSON Schemas (2020-12) that come from types: what the OpenAPI document says of requests and responses.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Json, Object, RawObject};

/// A type with a JSON form, and the schema of that form.
pub trait JsonSchema {
    /// The name under which the OpenAPI document lists the schema. Without one the schema stands wherever it is used.
    const NAME: Option<&'static str> = None;

    /// The schema.
    fn schema() -> Value;

    /// The schema as other schemas hold it: by its name, if it has one.
    fn reference() -> Value {
        Self::NAME.map_or_else(Self::schema, |name| json!({ "$ref": format!("#/components/schemas/{name}") }))
    }

    /// The schema of the value or `null`.
    fn or_null() -> Value {
        nullable(Self::reference())
    }

    /// The schema of a success whose `data` is the value.
    fn envelope() -> Value {
        json!({
            "type": "object",
            "required": ["success", "message", "data"],
            "properties": { "success": { "const": true }, "message": { "type": "string" }, "data": Self::reference() },
        })
    }
}

fn nullable(mut schema: Value) -> Value {
    if schema.get("$ref").is_some() {
        return json!({ "anyOf": [schema, { "type": "null" }] });
    }
    if let Some(name) = schema.get("type").cloned() {
        schema["type"] = json!([name, "null"]);
    }
    if let Some(values) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        values.push(Value::Null);
    }
    schema
}

/// Gives types that have no members the schema of their JSON.
#[macro_export]
macro_rules! schemas {
    ($($type:ty: { $($schema:tt)* },)*) => {$(
        impl $crate::json::JsonSchema for $type {
            fn schema() -> serde_json::Value {
                serde_json::json!({ $($schema)* })
            }
        }
    )*};
}

schemas! {
    (): { "type": "null" },
    bool: { "type": "boolean" },
    str: { "type": "string" },
    &str: { "type": "string" },
    String: { "type": "string" },
    u16: { "type": "integer" },
    u32: { "type": "integer" },
    u64: { "type": "integer" },
    i64: { "type": "integer" },
    usize: { "type": "integer" },
    f64: { "type": "number" },
    Json: {},
    Value: {},
    Object: { "type": "object", "additionalProperties": true },
    RawObject: { "type": "object", "additionalProperties": true },
}

impl<T: JsonSchema> JsonSchema for Option<T> {
    fn schema() -> Value {
        T::or_null()
    }
}

impl<T: JsonSchema> JsonSchema for [T] {
    fn schema() -> Value {
        json!({ "type": "array", "items": T::reference() })
    }
}

impl<T: JsonSchema> JsonSchema for Vec<T> {
    fn schema() -> Value {
        <[T]>::schema()
    }

    /// A list has its pagination next to `data`.
    fn envelope() -> Value {
        json!({
            "type": "object",
            "required": ["success", "message", "data", "pagination"],
            "properties": {
                "success": { "const": true },
                "message": { "type": "string" },
                "data": Self::schema(),
                "pagination": { "$ref": "#/components/schemas/Pagination" },
            },
        })
    }
}

/// What the service sets when it stores a record: `null` in the record of a dry run, which the schema of the stored
/// record leaves out.
#[derive(Serialize)]
#[serde(transparent)]
pub struct OnceStored<T>(pub Option<T>);

impl<T: JsonSchema> JsonSchema for OnceStored<T> {
    fn schema() -> Value {
        T::schema()
    }
}

/// A boolean that is always the same.
#[derive(Serialize)]
#[serde(transparent)]
pub struct Constant<const VALUE: bool>(pub bool);

impl<const VALUE: bool> JsonSchema for Constant<VALUE> {
    fn schema() -> Value {
        json!({ "const": VALUE })
    }
}

/// Gives types that are serialized like another one its schema.
#[macro_export]
macro_rules! same_schema {
    ($($type:ty => $other:ty,)*) => {$(
        impl $crate::json::JsonSchema for $type {
            const NAME: Option<&'static str> = <$other as $crate::json::JsonSchema>::NAME;

            fn schema() -> serde_json::Value {
                <$other as $crate::json::JsonSchema>::schema()
            }
        }
    )*};
}

/// Serializes a type as a JSON object and describes that object, both from one list of members, so that a response and
/// its schema cannot differ:
///
/// ```ignore
/// json_object! { ContactFile as "File" { "description": "A file of a contact." } = |file| {
///     "id": FileId = file.id,
///     "fileSize": u64 { "minimum": 1, "description": "In bytes." } = file.file_size,
///     "error" optional: Failure = file.error.as_ref(),
/// } }
/// ```
///
/// A member has its JSON name, the type of its value, what its schema says beyond the type, and its value. An
/// `optional` member is absent where its value is `None`.
#[macro_export]
macro_rules! json_object {
    ($type:ty $(as $name:literal)? $({ $($about:tt)* })? = |$this:ident| {
        $($member:literal $($optional:ident)? : $kind:ty $({ $($more:tt)* })? = $value:expr,)*
    }) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeStruct;
                let $this = self;
                let mut object = serializer.serialize_struct("object", [$($member),*].len())?;
                $($crate::json_object!(@write object, $member $($optional)?: $kind = $value);)*
                object.end()
            }
        }
        $crate::object_schema! { $type $(as $name)? $({ $($about)* })? = {
            $($member $($optional)?: $kind $({ $($more)* })?,)*
        } }
    };
    (@write $object:ident, $member:literal: $kind:ty = $value:expr) => {{
        let value: &$kind = &$value;
        $object.serialize_field($member, value)?
    }};
    (@write $object:ident, $member:literal optional: $kind:ty = $value:expr) => {{
        if let Some(value) = std::convert::identity::<Option<&$kind>>($value) {
            $object.serialize_field($member, value)?
        }
    }};
}

/// Describes a type as a JSON object, member by member; see [`json_object`].
#[macro_export]
macro_rules! object_schema {
    ($type:ty $(as $name:literal)? $({ $($about:tt)* })? = {
        $($member:literal $($optional:ident)? : $kind:ty $({ $($more:tt)* })?,)*
    }) => {
        impl $crate::json::JsonSchema for $type {
            $(const NAME: Option<&'static str> = Some($name);)?

            fn schema() -> serde_json::Value {
                $crate::json::object(serde_json::json!({ $($($about)*)? }), vec![$((
                    $member,
                    stringify!($($optional)?).is_empty(),
                    <$kind as $crate::json::JsonSchema>::reference(),
                    serde_json::json!({ $($($more)*)? }),
                )),*])
            }
        }
    };
}

/// The schema of an object: what is said about it, and of each member its name, whether it is required, the schema of
/// its type and what is said beyond that.
pub fn object(about: Value, members: Vec<(&'static str, bool, Value, Value)>) -> Value {
    let mut schema = json!({ "type": "object" });
    extend(&mut schema, about);
    let required: Vec<&str> =
        members.iter().filter(|(_, required, ..)| *required).map(|(name, ..)| *name).collect();
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    let properties: Map<String, Value> = members
        .into_iter()
        .map(|(name, _, mut member, more)| {
            extend(&mut member, more);
            (name.to_owned(), member)
        })
        .collect();
    schema["properties"] = properties.into();
    schema
}

fn extend(schema: &mut Value, more: Value) {
    if let (Value::Object(schema), Value::Object(more)) = (schema, more) {
        schema.extend(more);
    }
}

/// The schema of what a dry run answers in place of a stored record: what the service would set is `null`.
pub fn preview_of<T: JsonSchema>(description: &str, set_by_service: &[&str]) -> Value {
    let mut schema = T::schema();
    schema["description"] = description.into();
    // Not `{ "type": "null" }`, which is as true: for some generators of clients that is no type.
    for name in set_by_service {
        schema["properties"][name] = nullable(schema["properties"][name].take());
    }
    schema
}

/// Removes a member from the schema of an object.
pub fn without(mut schema: Value, member: &str) -> Value {
    if let Some(required) = schema["required"].as_array_mut() {
        required.retain(|name| name != member);
    }
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.shift_remove(member);
    }
    schema
}
