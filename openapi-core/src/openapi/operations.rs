//! One operation of the document.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::headers;
use crate::events::EventCursor;
use crate::json::JsonSchema;
use crate::operation::{Access, BodyKind, Conditional, Endpoint, examples};
use crate::reply::ErrorCode;
use crate::values::{AgentId, ExternalId, Line, TextValue};

/// The operation of an endpoint, as the document shows it.
#[must_use]
pub fn operation(endpoint: &Endpoint) -> Value {
    let meta = endpoint.meta;
    let mut operation = json!({
        "operationId": meta.id,
        "tags": [meta.tag],
        "summary": meta.summary,
        "description": meta.description,
    });
    operation["parameters"] = parameters(endpoint).into();
    operation["responses"] = responses(endpoint).into();
    if endpoint.deprecated {
        operation["deprecated"] = true.into();
    }
    match meta.access {
        Access::Public | Access::Link => operation["security"] = json!([]),
        Access::Key(permission) => operation["x-permission"] = permission.to_string().into(),
    }
    if let Some(schema) = (endpoint.request_schema)() {
        let mut content = json!({});
        content["schema"] = schema;
        if let Some(example) = endpoint.request_example() {
            content["example"] = example;
        }
        let media_type = if meta.body.is_json() { "application/json" } else { "multipart/form-data" };
        operation["requestBody"] = json!({ "required": meta.body != BodyKind::Optional });
        operation["requestBody"]["content"][media_type] = content;
    }
    operation
}

/// A platform id as a path may spell it.
fn platform_id() -> Value {
    json!({ "type": "string", "pattern": "^[0-9A-Fa-f]{24}$" })
}

fn parameters(endpoint: &Endpoint) -> Vec<Value> {
    let meta = endpoint.meta;
    let path = meta.path_parameters().map(|name| {
        let (schema, example, description) = match name {
            "agentId" => (AgentId::json_schema(), "695b6f80de7378c4412112d3", "The key's agent."),
            "externalReferenceId" => (ExternalId::json_schema(), "crm-1001", "Your own id of the contact, percent-encoded."),
            "templateId" => (platform_id(), "69623f40cde3f537d8e4bddb", "The platform id of the template."),
            "submissionId" => (platform_id(), "697dcbc5e0d14b96a816c9e5", "The platform id of the submission."),
            "endpointId" => (platform_id(), "69a4c6b2e8f1d3a5b7c9e0f1", "The platform id of the endpoint."),
            "jobId" => (platform_id(), "697dd3a2c4e5f60718293a4b", "The platform id of the job."),
            "batchId" => (Line::<64>::json_schema(), "may", "The id of the batch, percent-encoded."),
            "fileId" => (platform_id(), "697dc94b74a1f572c54b78cf", "The platform id of the file."),
            _ => (platform_id(), "697dc8165d4ffa83cfc35cfc", "The platform id of the contact."),
        };
        json!({ "name": name, "in": "path", "required": true, "description": description, "schema": schema, "example": example })
    });
    let query = meta.query.iter().map(|parameter| {
        json!({
            "name": parameter.name,
            "in": "query",
            "required": meta.access == Access::Link,
            "description": parameter.description,
            "schema": (parameter.schema)(),
        })
    });
    let header = |name: &str, description: &str, schema: Value| json!({ "name": name, "in": "header", "description": description, "schema": schema });
    let mut headers = Vec::new();
    if meta.idempotent {
        let schema = json!({ "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$" });
        headers.push(header(
            "Idempotency-Key",
            "Makes repeating the request safe: for 24 h the same key gives the same answer.",
            schema,
        ));
    }
    if meta.conditional == Conditional::Write {
        headers.push(header(
            "If-Match",
            "Entity tags, one of which must be the current one; or `*`.",
            json!({ "type": "string" }),
        ));
    }
    if meta.conditional == Conditional::Read {
        headers.push(header(
            "If-None-Match",
            "Entity tags; 304 when one is the current one.",
            json!({ "type": "string" }),
        ));
    }
    if meta.query.iter().any(|parameter| parameter.name == "upsert") {
        headers.push(header(
            "If-None-Match",
            "`*` with `upsert=true` creates only: 412 when the contact exists.",
            json!({ "type": "string" }),
        ));
    }
    if meta.id == "streamEvents" {
        headers.push(header(
            "Last-Event-ID",
            "The last `id` of an earlier stream; takes precedence over `after`.",
            EventCursor::schema(),
        ));
    }
    path.chain(query).chain(headers).collect()
}

fn responses(endpoint: &Endpoint) -> Map<String, Value> {
    let meta = endpoint.meta;
    let mut responses = Map::new();
    for status in meta.success {
        let dry_run = (endpoint.dry_run_schema)().filter(|_| *status == 200);
        let mut body = json!({});
        body["schema"] = dry_run.unwrap_or_else(endpoint.response_schema);
        let main = if meta.success.contains(&201) { Some(&201) } else { meta.success.last() };
        let is_main = main == Some(status);
        let is_content = meta.access == Access::Link;
        if is_main && !is_content {
            body["example"] = (endpoint.response_example)();
        }
        let dry_runs = (endpoint.dry_run_schema)().is_some();
        let description = match (status, dry_runs) {
            (201, _) => "Created",
            (200, true) => "Valid: the answer to a dry run; id and times are `null`",
            (207, _) => "Processed: at least one element failed",
            (206, _) => "The part that `Range` names",
            _ => "Done",
        };
        let media_type = match body["schema"]["contentMediaType"].as_str() {
            // The media type of a file is its own.
            Some("application/octet-stream") => "*/*",
            other => other.unwrap_or("application/json"),
        }
        .to_owned();
        let mut response =
            json!({ "description": description, "headers": headers::of_success(endpoint, *status) });
        response["content"][media_type] = body;
        responses.insert(status.to_string(), response);
    }
    if meta.conditional == Conditional::Read {
        responses.insert(
            "304".to_owned(),
            json!({ "description": "Not modified", "headers": headers::of_success(endpoint, 304) }),
        );
    }
    let mut by_status: BTreeMap<u16, Vec<ErrorCode>> = BTreeMap::new();
    for code in meta.error_codes() {
        by_status.entry(code.status()).or_default().push(code);
    }
    for (status, codes) in by_status {
        let lines: Vec<String> =
            codes.iter().map(|code| format!("`{}`: {}", code.as_str(), code.when())).collect();
        let examples: Map<String, Value> =
            codes.iter().map(|code| (code.as_str().to_owned(), error_example(*code))).collect();
        let names: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
        let mut response = json!({
            "description": lines.join("\n\n"),
            "headers": headers::of_error(endpoint, status),
            "content": { "application/json": {
                "schema": { "allOf": [
                    { "$ref": "#/components/schemas/Error" },
                    { "properties": { "code": { "enum": names } } },
                ] },
            } },
        });
        response["content"]["application/json"]["examples"] = examples.into();
        responses.insert(status.to_string(), response);
    }
    responses
}

/// An example body of an error.
fn error_example(code: ErrorCode) -> Value {
    let mut example = json!({ "value": {
        "success": false,
        "message": code.when(),
        "code": code.as_str(),
        "requestId": "019c13a3-6137-710c-9fa1-91a5ee824f39",
    } });
    for (name, value) in examples::of_error(code.as_str()).and_then(Value::as_object).into_iter().flatten() {
        example["value"][name] = value.clone();
    }
    example
}
