//! Building blocks of the schemas and examples of all endpoints.

use serde_json::{Value, json};

/// A reference to a named schema.
pub(crate) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// The success envelope around `data`.
pub(crate) fn envelope(data: Value) -> Value {
    json!({
        "type": "object",
        "required": ["success", "message", "data"],
        "properties": { "success": { "const": true }, "message": { "type": "string" }, "data": data },
    })
}

/// The success envelope of a list.
pub(crate) fn list_envelope(item: Value) -> Value {
    json!({
        "type": "object",
        "required": ["success", "message", "data", "pagination"],
        "properties": {
            "success": { "const": true },
            "message": { "type": "string" },
            "data": { "type": "array", "items": item },
            "pagination": reference("Pagination"),
        },
    })
}

/// An example of a success.
pub(crate) fn envelope_example(message: &str, data: Value) -> Value {
    json!({ "success": true, "message": message, "data": data })
}

/// An example of a list with one item of two.
pub(crate) fn list_example(message: &str, item: Value) -> Value {
    json!({
        "success": true,
        "message": message,
        "data": [item],
        "pagination": {
            "currentPage": 1, "totalPages": 2, "totalItems": 2, "itemsPerPage": 1,
            "hasNextPage": true, "hasPreviousPage": false, "nextCursor": "eyJvIjoxfQ.8Jk2vQ",
        },
    })
}

/// A schema that takes `null` as well.
pub(crate) fn nullable(mut schema: Value) -> Value {
    if let Some(name) = schema.get("type").cloned() {
        schema["type"] = json!([name, "null"]);
    }
    if let Some(values) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        values.push(Value::Null);
    }
    schema
}

/// A schema with a description.
pub(crate) fn described(mut schema: Value, description: &str) -> Value {
    schema["description"] = description.into();
    schema
}

/// The schema of a platform id.
pub(crate) fn id_schema() -> Value {
    json!({ "type": "string", "pattern": "^[0-9a-f]{24}$" })
}
