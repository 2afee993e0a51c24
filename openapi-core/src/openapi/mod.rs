//! The OpenAPI 3.1 document, made from the table of endpoints.

mod headers;
mod operations;
pub mod reference;

use serde_json::{Map, Value, json};

use crate::access::Scope;
use crate::endpoints::{ENDPOINTS, contacts, extraction, files, forms};
use crate::reply::{CONTRACT_VERSION, ErrorCode};
use crate::service_info::ServiceInfo;
use crate::validation::{Location, ValidationCode};

/// The document of a service with these names.
#[must_use]
pub fn document(service_info: &ServiceInfo) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for endpoint in ENDPOINTS {
        let path = endpoint.meta.template(service_info.id_segment());
        let item = paths.entry(path).or_insert_with(|| json!({}));
        item[endpoint.meta.method.as_str().to_lowercase()] = operations::operation(endpoint);
    }
    json!({
        "openapi": "3.1.0",
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "info": {
            "title": format!("{} Open API", service_info.service_name()),
            "version": CONTRACT_VERSION,
            "summary": "Contacts of AI chat agents with a built-in CRM",
            "description": description(),
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": service_info.public_url() }],
        "tags": [
            { "name": "Contacts", "description": "People in the CRM of an agent." },
            { "name": "Files", "description": "Files of contacts." },
            { "name": "Forms", "description": "Form templates and what is submitted under them." },
            { "name": "Document extraction", "description": "From documents to the fields of a schema." },
            { "name": "Health", "description": "Whether the service can answer." },
            { "name": "Description", "description": "This document." },
        ],
        "security": [{ "ApiKey": [], "ApiSecret": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "ApiKey": { "type": "apiKey", "in": "header", "name": "X-API-Key", "description": "The public identifier of the key." },
                "ApiSecret": { "type": "apiKey", "in": "header", "name": "X-API-Secret", "description": "The secret of the key." },
            },
            "headers": headers::components(),
            "schemas": schemas(),
        },
    })
}

fn description() -> String {
    let scopes: Vec<String> = Scope::ALL
        .iter()
        .map(|scope| {
            let actions: Vec<&str> = scope.actions().iter().map(|action| action.as_str()).collect();
            format!("`{}` ({})", scope.as_str(), actions.join(", "))
        })
        .collect();
    format!(
        "Server-to-server access to one agent. Every request but the health check, downloads by signed URLs and this document carries the headers `X-API-Key` and `X-API-Secret`. A key is scoped to exactly one agent and has permissions of the scopes {}. Errors have one envelope; clients treat an unknown `code` by its HTTP status.",
        scopes.join(", ")
    )
}

fn schemas() -> Value {
    let mut schemas: Map<String, Value> = contacts::components()
        .into_iter()
        .chain(files::components())
        .chain(forms::components())
        .chain(extraction::components())
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect();
    schemas.insert(
        "Pagination".to_owned(),
        json!({
            "type": "object",
            "required": [
                "currentPage", "totalPages", "totalItems", "itemsPerPage", "hasNextPage", "hasPreviousPage", "nextCursor",
            ],
            "properties": {
                "currentPage": { "type": "integer", "minimum": 1 },
                "totalPages": { "type": "integer", "minimum": 0 },
                "totalItems": { "type": "integer", "minimum": 0, "description": "Exact." },
                "itemsPerPage": { "type": "integer", "minimum": 1, "maximum": 100 },
                "hasNextPage": { "type": "boolean" },
                "hasPreviousPage": { "type": "boolean" },
                "nextCursor": { "type": ["string", "null"], "description": "To be passed as `cursor`; `null` on the last page." },
            },
        }),
    );
    let locations = [Location::Body, Location::Query, Location::Path, Location::Header, Location::Form]
        .map(Location::as_str);
    schemas.insert(
        "ValidationError".to_owned(),
        json!({
            "type": "object",
            "required": ["field", "message", "value", "type", "in"],
            "properties": {
                "field": { "type": "string", "description": "The offending field, with dots and `[i]`." },
                "message": { "type": "string" },
                "value": { "description": "The offending scalar; `null` for objects, arrays, missing and sensitive values." },
                "type": { "type": "string", "enum": ValidationCode::ALL.map(ValidationCode::as_str) },
                "in": { "type": "string", "enum": locations },
            },
        }),
    );
    schemas.insert(
        "Error".to_owned(),
        json!({
            "type": "object",
            "required": ["success", "message", "code", "requestId"],
            "properties": {
                "success": { "const": false },
                "message": { "type": "string" },
                "code": { "type": "string", "enum": ErrorCode::ALL.iter().map(|code| code.as_str()).collect::<Vec<_>>() },
                "requestId": { "type": "string" },
                "validationErrors": { "type": "array", "items": { "$ref": "#/components/schemas/ValidationError" } },
                "details": { "type": "object", "additionalProperties": true },
                "version": { "type": "string", "description": "On the health check only." },
            },
        }),
    );
    schemas.into()
}
