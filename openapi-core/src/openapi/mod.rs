//! The OpenAPI 3.1 document, made from the table of endpoints.

mod headers;
mod operations;

pub use operations::operation;

use serde_json::{Map, Value, json};

use crate::access::Scope;
use crate::contacts::{Contact, ContactChanges, NewContact, Preview};
use crate::endpoints::{ENDPOINTS, contacts};
use crate::events::Event;
use crate::extraction::{
    DeletedJob, ExtractionBatch, ExtractionField, ExtractionJob, ExtractionMetadata, ExtractionSchema,
    QueuedBatch, QueuedDocument, SchemaExample, SchemaExamples,
};
use crate::files::ContactFile;
use crate::forms::body::{Batch, Change, NewForm};
use crate::forms::{
    FormField, Structure, Submission, SubmissionPreview, TemplateDocument, TemplateSummary, WithHistory,
};
use crate::json::JsonSchema;
use crate::operation::EndpointGroup;
use crate::reply::{ApiError, CONTRACT_VERSION, Pagination};
use crate::schema::FieldDefinition;
use crate::service::{
    ArchiveRequest, BatchResult, DeleteRequest, DeletedFile, NewExtraction, NewExtractionBatch,
    NewExtractionJob, NewFile, SignedUrl,
};
use crate::service_info::ServiceInfo;
use crate::validation::ValidationError;

/// The document of a service with these names and the endpoints of these groups.
#[must_use]
pub fn document(service_info: &ServiceInfo, groups: &[EndpointGroup]) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for endpoint in ENDPOINTS.iter().chain(groups.iter().flat_map(|group| group.endpoints)) {
        let path = endpoint.meta.template(service_info.id_segment());
        let item = paths.entry(path).or_insert_with(|| json!({}));
        item[endpoint.meta.method.as_str().to_lowercase()] = operation(endpoint);
    }
    // Large parts are moved in, because `json!` copies what it is given.
    let mut document = json!({
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
            { "name": "Events", "description": "What happened, in order and without a gap." },
            { "name": "Webhooks", "description": "Endpoints that events are sent to." },
            { "name": "Document extraction", "description": "From documents to the fields of a schema." },
            { "name": "Health", "description": "Whether the service can answer." },
            { "name": "Description", "description": "This document." },
        ],
        "security": [{ "ApiKey": [], "ApiSecret": [] }],
        "paths": null,
        "components": {
            "securitySchemes": {
                "ApiKey": { "type": "apiKey", "in": "header", "name": "X-API-Key", "description": "The public identifier of the key." },
                "ApiSecret": { "type": "apiKey", "in": "header", "name": "X-API-Secret", "description": "The secret of the key." },
            },
            "headers": headers::components(),
        },
    });
    document["paths"] = paths.into();
    document["components"]["schemas"] = schemas(groups).into();
    for group in groups {
        if let Value::Object(webhooks) = (group.webhooks)() {
            document["webhooks"] = webhooks.into();
        }
    }
    document
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

/// The schemas of the document that operations refer to, by name.
#[must_use]
pub fn schemas(groups: &[EndpointGroup]) -> Map<String, Value> {
    macro_rules! named {
        ($($type:ty),+ $(,)?) => { [$((<$type>::NAME.unwrap_or_default().to_owned(), <$type>::schema())),+] };
    }
    let core = named! {
        Event, Contact, Preview, NewContact, ContactChanges, contacts::SchemaDocument, FieldDefinition,
        ArchiveRequest, ContactFile, NewFile, SignedUrl, DeleteRequest, DeletedFile, WithHistory,
        Submission, SubmissionPreview, NewForm, Batch, Change, BatchResult, TemplateSummary,
        TemplateDocument<'_>, Structure<'_>, FormField, ExtractionField, ExtractionSchema,
        NewExtraction, NewExtractionJob, NewExtractionBatch, ExtractionJob, ExtractionBatch,
        QueuedBatch, QueuedDocument, DeletedJob, ExtractionMetadata, SchemaExample, SchemaExamples,
        Pagination, ValidationError, ApiError,
    };
    core.into_iter().chain(groups.iter().flat_map(|group| (group.schemas)())).collect()
}
