//! Schemas and examples of document extraction in the description.

use serde_json::{Value, json};

pub(super) use crate::endpoints::shapes::{envelope, envelope_example, reference};
use crate::extraction::{ExtractionType, MAX_FIELDS, SCHEMA_EXAMPLES, SchemaExamples};

/// All examples, as they are answered.
pub(super) fn schema_examples_example() -> Value {
    json!(SchemaExamples)
}

/// The body of an extraction.
pub(super) fn extraction_envelope() -> Value {
    json!({
        "type": "object",
        "required": ["success", "message", "data", "metadata"],
        "properties": {
            "success": { "const": true },
            "message": { "type": "string" },
            "data": { "type": "object", "additionalProperties": true, "description": "The value of every field of the schema; `null` where the document has none." },
            "metadata": reference("ExtractionMetadata"),
        },
    })
}

/// The answer of the contract's story, shortened to its first and its missing field.
pub(super) fn extraction_example() -> Value {
    json!({
        "success": true,
        "message": "Document extracted successfully",
        "data": { "invoiceNumber": "INV-2043", "dueDate": null },
        "metadata": {
            "confidence": 0.475,
            "fieldConfidences": { "invoiceNumber": 0.95, "dueDate": 0 },
            "validation": {
                "isValid": false,
                "errors": [{
                    "field": "dueDate", "message": "dueDate was not found in the document", "value": null,
                    "type": "required",
                }],
                "warnings": [], "missingRequired": ["dueDate"], "lowConfidence": [],
            },
            "processingTime": 2140,
            "document": {
                "fileName": "invoice.pdf", "contentType": "application/pdf", "fileSize": 91_822,
                "sha256": "cd769bfb7da4b2e71c073ac3884dbb7fae4098ebdb6768b16e7492467a112b30",
                "pageCount": 2, "characterCount": 3_120, "ocrApplied": false, "language": "en", "stored": false,
                "fileId": null,
            },
            "usage": { "creditsCharged": 2, "creditsRemaining": 998 },
            "engine": "builtin",
            "fields": {
                "invoiceNumber": { "confidence": 0.95, "page": 1, "sourceText": "INV-2043", "boundingBox": null },
            },
        },
    })
}

/// The form of an extraction.
fn new_extraction() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["document", "schema"],
        "properties": {
            "document": {
                "type": "string",
                "contentMediaType": "application/octet-stream",
                "description": "The document: 1 byte to 20 MiB, at most 50 pages, 1,000,000 characters or 40 megapixels. Its type is decided by its content.",
            },
            "schema": {
                "type": "string",
                "contentMediaType": "application/json",
                "contentSchema": { "$ref": "#/components/schemas/ExtractionSchema" },
                "description": "The fields to be found, as JSON: the service's own schema, or a standard JSON Schema of an object.",
            },
            "customInstructions": {
                "type": "string",
                "maxLength": 4_000,
                "description": "Guidance for an engine that can follow it; changes neither the schema nor the form of the answer.",
            },
            "saveToStorage": {
                "type": "string",
                "enum": ["true", "false", "1", "0"],
                "default": "false",
                "description": "Whether the service keeps the document, encrypted, for 90 days.",
            },
        },
    })
}

/// The document of an extraction.
fn document() -> Value {
    let count = json!({ "type": "integer", "minimum": 0 });
    let text = json!({ "type": "string" });
    json!({
        "type": "object",
        "required": [
            "fileName", "contentType", "fileSize", "sha256", "pageCount", "characterCount", "ocrApplied", "language",
            "stored", "fileId",
        ],
        "properties": {
            "fileName": text,
            "contentType": text,
            "fileSize": count,
            "sha256": { "type": "string", "pattern": "^[0-9a-f]{64}$" },
            "pageCount": { "type": ["integer", "null"], "minimum": 0, "description": "`null` for text and DOCX." },
            "characterCount": count,
            "ocrApplied": { "type": "boolean" },
            "language": { "type": ["string", "null"], "description": "ISO 639-1, where it was detected." },
            "stored": { "type": "boolean" },
            "fileId": { "type": ["string", "null"] },
        },
    })
}

/// The evidence of one extracted value.
fn evidence() -> Value {
    let edge = json!({ "type": "number" });
    json!({
        "type": "object",
        "required": ["confidence", "page", "sourceText", "boundingBox"],
        "properties": {
            "confidence": { "type": "number", "minimum": 0, "maximum": 1 },
            "page": { "type": ["integer", "null"], "minimum": 1 },
            "sourceText": { "type": "string", "description": "The text of the document that says it." },
            "boundingBox": {
                "type": ["object", "null"],
                "description": "In points (1/72 inch) from the top left corner of the page.",
                "required": ["x", "y", "width", "height"],
                "properties": { "x": edge, "y": edge, "width": edge, "height": edge },
            },
        },
    })
}

/// `metadata` of an extraction.
fn metadata() -> Value {
    let confidence = json!({ "type": "number", "minimum": 0, "maximum": 1 });
    let count = json!({ "type": "integer", "minimum": 0 });
    let text = json!({ "type": "string" });
    let texts = json!({ "type": "array", "items": text });
    let notices = json!({ "type": "array", "items": {
        "type": "object",
        "required": ["field", "message", "value", "type"],
        "properties": {
            "field": { "type": ["string", "null"], "description": "The path in `data`." },
            "message": text,
            "value": { "description": "The text of the document that could not be used." },
            "type": text,
        },
    } });
    let validation = json!({
        "type": "object",
        "required": ["isValid", "errors", "warnings", "missingRequired", "lowConfidence"],
        "properties": {
            "isValid": { "type": "boolean", "description": "Whether `errors` is empty." },
            "errors": notices,
            "warnings": notices,
            "missingRequired": texts,
            "lowConfidence": texts,
        },
    });
    json!({
        "type": "object",
        "required": [
            "confidence", "fieldConfidences", "validation", "processingTime", "document", "usage", "engine", "fields",
        ],
        "properties": {
            "confidence": confidence,
            "fieldConfidences": { "type": "object", "additionalProperties": confidence },
            "validation": validation,
            "processingTime": { "type": "integer", "minimum": 0, "description": "In milliseconds." },
            "document": document(),
            "usage": {
                "type": "object",
                "required": ["creditsCharged", "creditsRemaining"],
                "properties": {
                    "creditsCharged": count,
                    "creditsRemaining": { "type": ["integer", "null"], "minimum": 0, "description": "`null` without a balance." },
                },
            },
            "engine": { "type": "string", "description": "`builtin`, or the name that the operator gives another." },
            "fields": {
                "type": "object",
                "description": "The evidence of every scalar that was found, by its path in `data`.",
                "additionalProperties": evidence(),
            },
        },
    })
}

/// The named schemas of document extraction.
pub(crate) fn components() -> Vec<(&'static str, Value)> {
    let types: Vec<&str> = ExtractionType::ALL.iter().map(|kind| kind.as_str()).collect();
    let field = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["type"],
        "properties": {
            "type": { "enum": types },
            "description": { "type": "string", "maxLength": 1_000, "description": "What the field means: helps to find it." },
            "required": { "type": "boolean", "default": false },
            "items": { "$ref": "#/components/schemas/ExtractionField", "description": "Of `array`: what its items are; strings without it." },
            "properties": {
                "type": "object",
                "additionalProperties": { "$ref": "#/components/schemas/ExtractionField" },
                "description": "Of `object`: its members; as found without it.",
            },
            "enum": { "type": "array", "description": "The values that are accepted." },
            "options": { "type": "array", "description": "The same under another name; not both." },
            "format": { "type": "string" },
            "example": {},
            "pattern": { "type": "string", "description": "A regular expression that the value matches." },
            "minimum": {},
            "maximum": {},
        },
    });
    let schema = json!({
        "type": "object",
        "minProperties": 1,
        "maxProperties": MAX_FIELDS,
        "additionalProperties": { "$ref": "#/components/schemas/ExtractionField" },
        "description": "The fields to be found, by name: at most 64 KiB, 500 definitions and 5 levels.",
    });
    let example = json!({
        "type": "object",
        "required": ["title", "description", "schema"],
        "properties": {
            "title": { "type": "string" },
            "description": { "type": "string" },
            "schema": { "$ref": "#/components/schemas/ExtractionSchema" },
        },
    });
    let ids: Vec<&str> = SCHEMA_EXAMPLES.iter().map(|example| example.id).collect();
    let examples = json!({
        "type": "object",
        "required": ids,
        "additionalProperties": { "$ref": "#/components/schemas/SchemaExample" },
        "description": "By the id of the example; there may be more than these.",
    });
    vec![
        ("ExtractionField", field),
        ("ExtractionSchema", schema),
        ("NewExtraction", new_extraction()),
        ("ExtractionMetadata", metadata()),
        ("SchemaExample", example),
        ("SchemaExamples", examples),
    ]
}
