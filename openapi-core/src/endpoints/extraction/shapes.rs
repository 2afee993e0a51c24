//! Schemas and examples of document extraction in the description.

use serde_json::{Value, json};

pub(super) use crate::endpoints::shapes::{envelope, envelope_example, reference};
use crate::extraction::{ExtractionType, MAX_FIELDS, SCHEMA_EXAMPLES, SchemaExamples};

/// All examples, as they are answered.
pub(super) fn schema_examples_example() -> Value {
    json!(SchemaExamples)
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
        ("SchemaExample", example),
        ("SchemaExamples", examples),
    ]
}
