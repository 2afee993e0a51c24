//! Schemas in the manifest of an evaluation set.

use openapi_core::extraction::{Bound, ExtractionField, ExtractionSchema};
use openapi_core::json::{Json, Object};

/// The fields of a schema as the manifest of an evaluation set has them: in order, each a definition with its name.
#[must_use]
pub fn definitions(schema: &ExtractionSchema) -> Vec<Object> {
    named(schema.fields())
}

fn named(fields: &[(String, ExtractionField)]) -> Vec<Object> {
    let definition = |(name, field): &(String, ExtractionField)| {
        let mut members = Object::new();
        members.insert("name", name.as_str().into());
        define(&mut members, field);
        members
    };
    fields.iter().map(definition).collect()
}

fn define(members: &mut Object, field: &ExtractionField) {
    members.insert("type", field.kind.as_str().into());
    if field.required {
        members.insert("required", Json::Bool(true));
    }
    let pattern = field.pattern.as_ref().map(|pattern| pattern.as_str());
    for (name, text) in [
        ("description", field.description.as_deref()),
        ("format", field.format.as_deref()),
        ("pattern", pattern),
    ] {
        if let Some(text) = text {
            members.insert(name, text.into());
        }
    }
    for (name, bound) in [("minimum", &field.minimum), ("maximum", &field.maximum)] {
        if let Some(bound) = bound {
            let value = match bound {
                Bound::Number(number) => Json::Number(number.clone()),
                bound => Json::String(bound.text()),
            };
            members.insert(name, value);
        }
    }
    if let Some(example) = &field.example {
        members.insert("example", example.clone());
    }
    if !field.options.is_empty() {
        members.insert("enum", Json::Array(field.options.clone()));
    }
    if let Some(items) = &field.items {
        let mut item = Object::new();
        define(&mut item, items);
        members.insert("items", Json::Object(item));
    }
    if let Some(properties) = &field.properties {
        members.insert("properties", Json::Array(named(properties).into_iter().map(Json::Object).collect()));
    }
}
