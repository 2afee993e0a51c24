//! The OpenAPI document of the console.

use serde_json::{Map, Value, json};

use super::named;
use crate::input::Position;
use crate::operation::{Access, Entry, Metadata};
use crate::operations::OPERATIONS;

/// `openapi/console-v1.json`.
#[must_use]
pub fn openapi() -> String {
    let mut paths = Map::new();
    for entry in OPERATIONS {
        let path = paths.entry(entry.metadata.path.to_owned()).or_insert_with(|| json!({}));
        path[entry.metadata.method.as_str().to_ascii_lowercase()] = operation(entry);
    }
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Console API",
            "version": "1.0.0",
            "description": "What operators do. Sign in, then send the session's cookie; a change needs the header `X-Console` and the `Origin` of the console. Scripts send a service token instead.",
        },
        "servers": [{ "url": "/console/v1" }],
        "paths": paths,
        "components": {
            "schemas": named(),
            "securitySchemes": {
                "session": { "type": "apiKey", "in": "cookie", "name": "__Host-console" },
                "token": { "type": "http", "scheme": "bearer" },
            },
        },
    });
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

fn operation(entry: &Entry) -> Value {
    let members = (entry.members)();
    let parameters: Vec<Value> = members
        .iter()
        .filter_map(|(position, name, required, schema)| {
            let position = match position {
                Position::Path => "path",
                Position::Query => "query",
                Position::Body | Position::Content => return None,
            };
            Some(json!({ "name": name, "in": position, "required": required, "schema": schema }))
        })
        .collect();
    let (schema, name) = (entry.output)();
    let data = name.map_or(schema, |name| json!({ "$ref": format!("#/components/schemas/{name}") }));
    let content = if entry.metadata.traits.is_live {
        json!({ "text/event-stream": { "schema": data } })
    } else {
        json!({ "application/json": { "schema": {
            "type": "object",
            "required": ["success", "message", "data"],
            "properties": { "success": { "const": true }, "message": { "type": "string" }, "data": data },
        } } })
    };
    let mut operation = json!({
        "operationId": entry.metadata.name,
        "summary": entry.metadata.summary,
        "parameters": parameters,
        "security": security(entry.metadata),
        "responses": { "2XX": { "description": "Done.", "content": content } },
    });
    if entry.metadata.traits.is_landing {
        let location = json!({ "description": "A page of the console.", "schema": { "type": "string" } });
        operation["responses"] =
            json!({ "303": { "description": "Leads on.", "headers": { "Location": location } } });
    }
    if let Some(body) = body(&members) {
        operation["requestBody"] = body;
    }
    operation
}

/// What proves who calls.
fn security(metadata: &Metadata) -> Value {
    match (metadata.access, metadata.admits_tokens()) {
        (Access::Public, _) => json!([]),
        (_, true) => json!([{ "session": [] }, { "token": [] }]),
        (_, false) => json!([{ "session": [] }]),
    }
}

fn body(members: &[crate::operation::InputMember]) -> Option<Value> {
    if members.iter().any(|(position, ..)| *position == Position::Content) {
        return Some(json!({ "required": true, "content": { "application/octet-stream": {} } }));
    }
    let of_body = members.iter().filter(|(position, ..)| *position == Position::Body);
    let properties: Map<String, Value> =
        of_body.clone().map(|(_, name, _, schema)| ((*name).to_owned(), schema.clone())).collect();
    if properties.is_empty() {
        return None;
    }
    let required: Vec<&str> =
        of_body.filter(|(_, _, required, _)| *required).map(|(_, name, ..)| *name).collect();
    let schema = json!({ "type": "object", "required": required, "properties": properties, "additionalProperties": false });
    Some(json!({ "content": { "application/json": { "schema": schema } } }))
}
