//! The shape of a model's reply, as JSON Schema for strict endpoints: every member is required, and no other is allowed.

use openapi_core::extraction::{ExtractionField, ExtractionSchema, ExtractionType};
use serde_json::{Map, Value, json};

/// The schema of the answer for the fields that a caller wants. Every scalar becomes an object of its value, the quote
/// that says it and its page; what is absent has `null` for a value, and an empty array.
pub(super) fn of(schema: &ExtractionSchema) -> Value {
    object(schema.fields().iter().map(|(name, field)| (name.as_str(), node(field))), None)
}

fn object<'a>(members: impl Iterator<Item = (&'a str, Value)>, description: Option<&str>) -> Value {
    let members: Map<String, Value> = members.map(|(name, member)| (name.to_owned(), member)).collect();
    let required: Vec<&String> = members.keys().collect();
    let mut schema = json!({
        "type": "object",
        "properties": members,
        "required": required,
        "additionalProperties": false,
    });
    if let Some(description) = description {
        schema["description"] = description.into();
    }
    schema
}

fn node(field: &ExtractionField) -> Value {
    match field.kind {
        ExtractionType::Array => {
            let items = field
                .items
                .as_deref()
                .map_or_else(|| node(&ExtractionField::of(ExtractionType::String)), node);
            described(json!({ "type": "array", "items": items }), field.description.as_deref())
        }
        ExtractionType::Object => match &field.properties {
            Some(properties) => object(
                properties.iter().map(|(name, property)| (name.as_str(), node(property))),
                field.description.as_deref(),
            ),
            None => {
                let text = json!({ "type": ["string", "null"] });
                let page = json!({ "type": ["integer", "null"] });
                let pair = [("name", json!({ "type": "string" })), ("value", text.clone())];
                let pair = pair.into_iter().chain([("quote", text), ("page", page)]);
                let pairs = json!({ "type": "array", "items": object(pair, None) });
                described(pairs, Some(field.description.as_deref().unwrap_or("Labels and their values")))
            }
        },
        _ => leaf(field),
    }
}

fn described(mut schema: Value, description: Option<&str>) -> Value {
    if let Some(description) = description {
        schema["description"] = description.into();
    }
    schema
}

fn leaf(field: &ExtractionField) -> Value {
    let kind = match field.kind {
        ExtractionType::Number | ExtractionType::Currency => "number",
        ExtractionType::Integer => "integer",
        ExtractionType::Boolean => "boolean",
        _ => "string",
    };
    let text = json!({ "type": ["string", "null"] });
    let mut members = vec![("value", json!({ "type": [kind, "null"] }))];
    if field.kind == ExtractionType::Currency {
        members.push(("currency", text.clone()));
    }
    members.extend([("quote", text), ("page", json!({ "type": ["integer", "null"] }))]);
    let words = words(field);
    object(members.into_iter(), (!words.is_empty()).then_some(words.as_str()))
}

/// What a value is, in words: the rules that JSON Schema of strict endpoints does not have.
fn words(field: &ExtractionField) -> String {
    let mut words: Vec<String> = field.description.iter().cloned().collect();
    let kind = match field.kind {
        ExtractionType::Date => "Date as YYYY-MM-DD.",
        ExtractionType::Datetime => "Date and time as RFC 3339.",
        ExtractionType::Email => "Email address.",
        ExtractionType::Phone => "Telephone number as written.",
        ExtractionType::Url => "Absolute URL.",
        ExtractionType::Currency => "Amount, with the ISO 4217 code of its currency.",
        _ => "",
    };
    if !kind.is_empty() {
        words.push(kind.to_owned());
    }
    if !field.options.is_empty() {
        let options: Vec<String> = field.options.iter().map(openapi_core::json::Json::to_text).collect();
        words.push(format!(
            "One of {}; where the document has none of them, the value as written.",
            options.join(", ")
        ));
    }
    if let Some(format) = &field.format {
        words.push(format!("Written as {format} in the document."));
    }
    if let Some(example) = &field.example {
        words.push(format!("For example {}.", example.to_text()));
    }
    if let Some(pattern) = &field.pattern {
        words.push(format!("Matches {}.", pattern.as_str()));
    }
    for (word, bound) in [("At least", &field.minimum), ("At most", &field.maximum)] {
        if let Some(bound) = bound {
            words.push(format!("{word} {}.", bound.text()));
        }
    }
    words.join(" ")
}
