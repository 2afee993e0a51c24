//! The OpenAPI document as a whole: every schema is valid, every example matches its schema, and the document shows
//! every contract rule that it can express.

use std::collections::BTreeSet;

use contract_tests::document::{DOCUMENT, compile, members};
use contract_tests::table::endpoints;
use openapi_core::operation::{Access, BodyKind};
use serde_json::{Value, json};

/// Every operation with its path and method.
fn operations() -> Vec<(&'static str, &'static str, &'static Value)> {
    let paths = members(&DOCUMENT["paths"]).iter();
    paths
        .flat_map(|(path, item)| {
            members(item).iter().map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
        })
        .collect()
}

/// Calls `visit` with every object in a value and its location.
fn walk(value: &Value, position: &str, visit: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Object(object) => {
            visit(position, value);
            // The content of an example is data, whatever its member names.
            let described =
                object.iter().filter(|(name, _)| !matches!(name.as_str(), "example" | "examples"));
            described.for_each(|(name, member)| walk(member, &format!("{position}/{name}"), visit));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| walk(item, &format!("{position}/{at}"), visit));
        }
        _ => {}
    }
}

#[test]
fn it_is_an_openapi_3_1_document() {
    assert_eq!(DOCUMENT["openapi"], "3.1.0");
    assert_eq!(DOCUMENT["info"]["version"], "1.0.0");
    assert_eq!(DOCUMENT["servers"], json!([{ "url": "https://api.example.com" }]));
    assert!(!DOCUMENT.to_string().contains("nullable"), "3.0 keywords do not belong here");
}

/// Every other test judges replies by operations that were made one by one.
#[test]
fn every_operation_is_found_by_its_id() {
    let mut ids = BTreeSet::new();
    for (path, method, operation) in operations() {
        let id = operation["operationId"].as_str().expect("an id");
        assert!(ids.insert(id), "{method} {path}: another operation has the id {id}");
        assert_eq!(contract_tests::document::operation(id), operation, "{method} {path}");
    }
}

/// Generators drop a schema with an array whose items they do not know.
#[test]
fn every_array_says_what_its_items_are() {
    let mut arrays = 0;
    walk(&DOCUMENT, "", &mut |position, schema| {
        let is_array = match schema.get("type") {
            Some(Value::String(kind)) => kind == "array",
            Some(Value::Array(kinds)) => kinds.contains(&json!("array")),
            _ => false,
        };
        if is_array {
            assert!(schema.get("items").is_some(), "{position} does not say what its items are");
            arrays += 1;
        }
    });
    assert!(arrays > 20, "{arrays}");
}

/// Equivalent to omission in JSON Schema, but client generators read omission as an object without members, and `null`
/// alone or a boolean constant with its type as types that they lack.
#[test]
fn constructs_that_client_generators_misread_are_absent() {
    let mut open = 0;
    walk(&DOCUMENT, "", &mut |position, schema| {
        let kinds = schema.get("type").map(|kind| kind.as_array().cloned().unwrap_or(vec![kind.clone()]));
        let is = |name: &str| kinds.as_ref().is_some_and(|kinds| kinds.contains(&json!(name)));
        let is_alone = kinds.as_ref().is_some_and(|kinds| kinds.len() == 1) && !position.contains("/anyOf/");
        let says_its_members =
            schema.get("properties").is_some() || schema.get("additionalProperties").is_some();
        assert!(!is("object") || says_its_members, "{position} does not declare its members");
        assert!(!(is("null") && is_alone), "{position} is only null");
        assert!(!(is("boolean") && schema.get("const").is_some()), "{position} has a constant and its type");
        open += usize::from(schema.get("additionalProperties") == Some(&json!(true)));
    });
    assert!(open >= 10, "only {open} objects are open");
}

#[test]
fn references_resolve() {
    let mut count = 0;
    walk(&DOCUMENT, "", &mut |position, value| {
        if let Some(reference) = value.get("$ref").and_then(Value::as_str) {
            count += 1;
            let target = DOCUMENT.pointer(reference.strip_prefix('#').unwrap_or("none"));
            assert!(target.is_some(), "{position}: {reference}");
        }
    });
    assert!(count > 50);
}

#[test]
fn every_component_is_used() {
    let text = DOCUMENT.to_string();
    for kind in ["schemas", "headers"] {
        for name in members(&DOCUMENT["components"][kind]).keys() {
            assert!(text.contains(&format!("\"#/components/{kind}/{name}\"")), "{kind} {name} is not used");
        }
    }
}

#[test]
fn every_schema_compiles() {
    for (name, schema) in members(&DOCUMENT["components"]["schemas"]) {
        assert!(jsonschema::meta::is_valid(schema), "{name}");
        let _ = compile(&json!({ "$ref": format!("#/components/schemas/{name}") }));
    }
    walk(&DOCUMENT["paths"], "", &mut |_, value| {
        if let Some(schema) = value.get("schema").filter(|schema| schema.is_object()) {
            let _ = compile(schema);
        }
    });
}

#[test]
fn every_example_matches_its_schema() {
    let mut count = 0;
    walk(&DOCUMENT["paths"], "", &mut |position, value| {
        let Some(schema) = value.get("schema") else { return };
        let validator = compile(schema);
        let named = value.get("examples").and_then(Value::as_object).into_iter().flatten();
        let examples = named.map(|(_, example)| &example["value"]).chain(value.get("example"));
        for example in examples {
            count += 1;
            let faults: Vec<String> = validator.iter_errors(example).map(|fault| fault.to_string()).collect();
            assert!(faults.is_empty(), "{position}: {faults:?}\n{example:#}");
        }
    });
    assert!(count > 100);
}

#[test]
fn every_endpoint_is_there() {
    let operations = operations();
    assert_eq!(operations.len(), endpoints().count());
    for endpoint in endpoints() {
        let meta = endpoint.meta;
        let path = meta.template("platformid");
        let found = operations
            .iter()
            .find(|(known, method, _)| *known == path && method.to_uppercase() == meta.method.as_str());
        let (_, _, operation) = found.unwrap_or_else(|| panic!("{path}"));
        assert_eq!(operation["operationId"], meta.id);
        for text in ["summary", "description"] {
            assert!(operation[text].as_str().is_some_and(|text| !text.is_empty()), "{} {text}", meta.id);
        }
        match meta.access {
            Access::Public | Access::Link => assert_eq!(operation["security"], json!([])),
            Access::Key(permission) => {
                assert_eq!(operation.get("security"), None, "the document's own applies");
                assert_eq!(operation["x-permission"], permission.to_string());
            }
        }
        assert_eq!(operation.get("requestBody").is_some(), meta.body != BodyKind::None);
    }
    assert_eq!(DOCUMENT["security"], json!([{ "ApiKey": [], "ApiSecret": [] }]));
}

#[test]
fn every_parameter_is_declared() {
    for (path, _, operation) in operations() {
        let parameters = operation["parameters"].as_array().expect("parameters");
        let of = |position: &str| -> Vec<&str> {
            let parameters = parameters.iter().filter(|parameter| parameter["in"] == position);
            parameters.map(|parameter| parameter["name"].as_str().expect("a name")).collect()
        };
        let in_path: Vec<&str> =
            path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}')).collect();
        assert_eq!(of("path"), in_path);
        let all: Vec<(&str, &str)> = parameters
            .iter()
            .map(|parameter| {
                (parameter["in"].as_str().unwrap_or_default(), parameter["name"].as_str().unwrap_or_default())
            })
            .collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "{path}: a parameter twice");
        for parameter in parameters {
            let of_link = operation["operationId"] == "downloadFile" && parameter["in"] == "query";
            assert_eq!(parameter["in"] == "path" || of_link, parameter["required"] == true);
            assert!(parameter["description"].as_str().is_some_and(|text| !text.is_empty()));
        }
    }
}

/// The column "Request" of contract 4.
#[test]
fn query_parameters_are_those_of_the_contract() {
    let expect = |id: &str, expected: &[&str]| {
        let parameters =
            contract_tests::document::operation(id)["parameters"].as_array().expect("parameters");
        let names: Vec<&str> = parameters
            .iter()
            .filter(|parameter| parameter["in"] == "query")
            .map(|parameter| parameter["name"].as_str().expect("a name"))
            .collect();
        assert_eq!(names, expected, "{id}");
    };
    expect("submitForm", &["dryRun"]);
    expect("submitForms", &["dryRun"]);
    expect("getSubmission", &[]);
    expect("updateSubmission", &[]);
    expect("getLatestSubmission", &["includeDrafts"]);
    expect("listTemplates", &["page", "limit", "cursor"]);
    expect("pullEvents", &["after", "types", "limit", "wait"]);
    expect("streamEvents", &["after", "types"]);
    expect("getTemplateSchema", &[]);
    expect("getTemplateStructure", &[]);
    expect(
        "listSubmissions",
        &["page", "limit", "cursor", "templateId", "status", "includeSuperseded", "clientId"],
    );
    expect(
        "listContacts",
        &[
            "page",
            "limit",
            "cursor",
            "search",
            "status",
            "tag",
            "sortBy",
            "sortOrder",
            "includeArchived",
            "primaryEmail",
            "createdSince",
            "updatedSince",
        ],
    );
}

/// The groups of contract 4 and the column "Errors" of contract 4.1 and 4.2.
#[test]
fn every_error_is_declared() {
    let every = "BAD_REQUEST VALIDATION_ERROR MISSING_CREDENTIALS INVALID_CREDENTIALS API_KEY_EXPIRED API_KEY_REVOKED INSUFFICIENT_PERMISSIONS IP_NOT_ALLOWED ROUTE_NOT_FOUND METHOD_NOT_ALLOWED URI_TOO_LONG HEADERS_TOO_LARGE RATE_LIMIT_EXCEEDED TOO_MANY_FAILED_ATTEMPTS INTERNAL_ERROR SERVICE_UNAVAILABLE AGENT_FORBIDDEN";
    let json = "INVALID_JSON UNSUPPORTED_MEDIA_TYPE PAYLOAD_TOO_LARGE REQUEST_TIMEOUT";
    let idempotency = "IDEMPOTENCY_KEY_IN_USE IDEMPOTENCY_KEY_REUSED";
    let preconditions = "PRECONDITION_FAILED CONCURRENT_UPDATE";
    let duplicates = "DUPLICATE_EXTERNAL_REFERENCE_ID DUPLICATE_VALUE";
    let update = format!("{every} {json} {preconditions} CONTACT_NOT_FOUND CONTACT_ARCHIVED {duplicates}");
    let archive = format!("{every} {json} {preconditions} CONTACT_NOT_FOUND");
    let get = format!("{every} CONTACT_NOT_FOUND");
    let get_file = format!("{get} FILE_NOT_FOUND");
    let template = format!("{every} TEMPLATE_NOT_FOUND");
    let forms = "CONTACT_ARCHIVED TEMPLATE_INACTIVE CONCURRENT_UPDATE";
    let states = "CONTACT_ARCHIVED SUBMISSION_SUPERSEDED SUBMISSION_LOCKED INVALID_STATUS_TRANSITION";
    // The path of a submit does not name the agent.
    let without_agent = every.replace(" AGENT_FORBIDDEN", "");
    let upload = "UNSUPPORTED_MEDIA_TYPE UNSUPPORTED_FILE_TYPE REQUEST_TIMEOUT";
    for (id, expected) in [
        ("getContactSchema", every.to_owned()),
        ("createContact", format!("{every} {json} {idempotency} {duplicates} CONCURRENT_UPDATE")),
        ("listContacts", every.to_owned()),
        (
            "uploadFile",
            format!("{get} {upload} {idempotency} CONTACT_ARCHIVED FILE_TOO_LARGE STORAGE_QUOTA_EXCEEDED STORAGE_UNAVAILABLE"),
        ),
        ("listFiles", get.clone()),
        ("getFile", get_file.clone()),
        ("signFileUrl", get_file.clone()),
        ("deleteFile", format!("{get_file} {json} {preconditions} CONTACT_ARCHIVED")),
        (
            "downloadFile",
            "BAD_REQUEST URI_TOO_LONG HEADERS_TOO_LARGE INTERNAL_ERROR TOO_MANY_FAILED_ATTEMPTS SIGNED_URL_INVALID SIGNED_URL_EXPIRED FILE_NOT_FOUND RANGE_NOT_SATISFIABLE SERVICE_UNAVAILABLE STORAGE_UNAVAILABLE".to_owned(),
        ),
        (
            "submitForm",
            format!("{without_agent} {json} {idempotency} CONTACT_NOT_FOUND TEMPLATE_NOT_FOUND {forms}"),
        ),
        ("submitForms", format!("{get} {json} {idempotency} {forms}")),
        ("listSubmissions", get.clone()),
        ("getSubmission", format!("{every} SUBMISSION_NOT_FOUND")),
        ("updateSubmission", format!("{every} {json} {preconditions} SUBMISSION_NOT_FOUND {states}")),
        ("getLatestSubmission", format!("{get} TEMPLATE_NOT_FOUND SUBMISSION_NOT_FOUND")),
        ("listTemplates", every.to_owned()),
        ("getTemplateSchema", template.clone()),
        ("getTemplateStructure", template),
        ("getContact", get.clone()),
        ("getContactByPlatformId", get),
        ("updateContact", update.clone()),
        ("updateContactByPlatformId", update),
        ("archiveContact", archive.clone()),
        ("archiveContactByPlatformId", archive.clone()),
        ("unarchiveContact", archive.clone()),
        ("unarchiveContactByPlatformId", archive),
        ("getSchemaExamples", without_agent.clone()),
        ("getEventTypes", without_agent.clone()),
        ("pullEvents", format!("{every} EVENTS_LOST EVENTS_UNAVAILABLE")),
        ("streamEvents", format!("{every} EVENTS_LOST STREAM_LIMIT_EXCEEDED EVENTS_UNAVAILABLE")),
        (
            "extractDocument",
            format!("{without_agent} {upload} {idempotency} DOCUMENT_TOO_LARGE DOCUMENT_ENCRYPTED DOCUMENT_UNREADABLE CONCURRENCY_LIMIT_EXCEEDED INSUFFICIENT_CREDITS STORAGE_QUOTA_EXCEEDED STORAGE_UNAVAILABLE EXTRACTION_UNAVAILABLE EXTRACTION_FAILED EXTRACTION_TIMEOUT"),
        ),
        (
            "queueExtractionBatch",
            format!("{without_agent} {upload} {idempotency} DOCUMENT_TOO_LARGE DOCUMENT_ENCRYPTED DOCUMENT_UNREADABLE CONCURRENCY_LIMIT_EXCEEDED INSUFFICIENT_CREDITS STORAGE_QUOTA_EXCEEDED STORAGE_UNAVAILABLE EXTRACTION_UNAVAILABLE EXTRACTION_FAILED EXTRACTION_TIMEOUT CONTACT_NOT_FOUND FILE_NOT_FOUND CONCURRENT_UPDATE QUEUE_FULL"),
        ),
        (
            "queueExtraction",
            format!("{without_agent} {upload} {idempotency} DOCUMENT_TOO_LARGE DOCUMENT_ENCRYPTED DOCUMENT_UNREADABLE CONCURRENCY_LIMIT_EXCEEDED INSUFFICIENT_CREDITS STORAGE_QUOTA_EXCEEDED STORAGE_UNAVAILABLE EXTRACTION_UNAVAILABLE EXTRACTION_FAILED EXTRACTION_TIMEOUT CONTACT_NOT_FOUND FILE_NOT_FOUND CONCURRENT_UPDATE QUEUE_FULL"),
        ),
        ("listExtractions", without_agent.clone()),
        ("getExtraction", format!("{without_agent} JOB_NOT_FOUND")),
        ("cancelExtraction", format!("{without_agent} JOB_NOT_FOUND JOB_FINISHED CONCURRENT_UPDATE")),
        ("deleteExtraction", format!("{without_agent} JOB_NOT_FOUND CONCURRENT_UPDATE")),
        ("getExtractionBatch", format!("{without_agent} BATCH_NOT_FOUND")),
    ] {
        let responses = members(&contract_tests::document::operation(id)["responses"]);
        let declared: BTreeSet<&str> = responses
            .iter()
            .flat_map(|(_, response)| {
                response["content"]["application/json"]["examples"].as_object().into_iter().flatten()
            })
            .map(|(code, _)| code.as_str())
            .collect();
        assert_eq!(declared, expected.split(' ').collect(), "{id}");
    }
}

#[test]
fn successes_are_those_of_the_contract() {
    for (_, _, operation) in operations() {
        let statuses: Vec<&str> = members(&operation["responses"])
            .keys()
            .map(String::as_str)
            .filter(|status| *status < "400")
            .collect();
        let expected: &[&str] = match operation["operationId"].as_str().expect("an id") {
            "createContact" | "updateContact" | "submitForm" => &["200", "201"],
            "submitForms" => &["200", "201", "207"],
            "getContact"
            | "getContactByPlatformId"
            | "getContactSchema"
            | "getFile"
            | "getSubmission"
            | "getLatestSubmission"
            | "getTemplateSchema"
            | "getWebhookEndpoint" => &["200", "304"],
            "uploadFile" | "queueExtraction" | "queueExtractionBatch" | "createWebhookEndpoint" => &["201"],
            "downloadFile" => &["200", "206", "304"],
            _ => &["200"],
        };
        assert_eq!(statuses, expected, "{}", operation["operationId"]);
    }
}
