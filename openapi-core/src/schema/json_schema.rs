//! The JSON Schema (2020-12) of the create body under a contact schema: `jsonSchema` of the schema endpoint
//! (contract 2.1.4). For an update its `required` lists are ignored.

use serde_json::{Map, Value, json};

use super::{ContactSchema, FieldDefinition, FieldType};
use crate::json::Json;
use crate::values::{Email, Tag, TextValue};

impl ContactSchema {
    /// The JSON Schema of the create body. Text is measured as stored: white space around single-line text, which is
    /// trimmed, counts here and not there.
    #[must_use]
    pub fn json_schema(&self) -> Value {
        let properties: Map<String, Value> = self
            .fields
            .iter()
            .map(|field| {
                (
                    field.name.clone(),
                    if field.name == "customFields" { self.custom_schema(field) } else { standard(field) },
                )
            })
            .collect();
        let custom_required = self.custom_fields.iter().any(FieldDefinition::must_be_sent);
        let required: Vec<&str> = self
            .fields
            .iter()
            .filter(|field| field.must_be_sent() || field.name == "customFields" && custom_required)
            .map(|field| field.name.as_str())
            .collect();
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "additionalProperties": false,
            "required": required,
            "properties": properties,
        })
    }

    fn custom_schema(&self, field: &FieldDefinition) -> Value {
        let required: Vec<&str> = self
            .custom_fields
            .iter()
            .filter(|field| field.must_be_sent())
            .map(|field| field.name.as_str())
            .collect();
        let nullable = !field.required && required.is_empty();
        let mut schema = Map::new();
        schema.insert("type".into(), type_of("object", nullable));
        schema.insert("maxProperties".into(), 100.into());
        if field.required {
            schema.insert("minProperties".into(), 1.into());
        }
        if !required.is_empty() {
            schema.insert("required".into(), json!(required));
        }
        let declared: Map<String, Value> =
            self.custom_fields.iter().map(|field| (field.name.clone(), custom(field))).collect();
        schema.insert("properties".into(), declared.into());
        if !self.allow_undeclared_custom_fields {
            // A `null` member is absence and never refused.
            schema.insert("additionalProperties".into(), json!({ "type": "null" }));
        }
        schema.into()
    }
}

fn type_of(name: &str, nullable: bool) -> Value {
    if nullable { json!([name, "null"]) } else { name.into() }
}

fn standard(field: &FieldDefinition) -> Value {
    if field.read_only {
        return json!({ "readOnly": true });
    }
    let nullable = !field.must_be_sent();
    match field.kind {
        FieldType::Tags => {
            let mut schema = json!({ "type": type_of("array", nullable), "maxItems": Tag::MAX_COUNT, "items": { "type": "string", "maxLength": 64 } });
            if !nullable {
                schema["minItems"] = 1.into();
            }
            schema
        }
        FieldType::Select => options(field, nullable),
        FieldType::Datetime => json!({ "type": type_of("string", nullable), "format": "date-time" }),
        FieldType::Date | FieldType::PhoneCode => json!({ "type": type_of("string", nullable) }),
        FieldType::Email => with_lengths(Email::json_schema(), field, nullable),
        _ => with_lengths(json!({ "type": "string" }), field, nullable),
    }
}

/// A text schema with the definition's own lengths and pattern.
fn with_lengths(base: Value, field: &FieldDefinition, nullable: bool) -> Value {
    let mut schema = json!({ "type": type_of("string", nullable) });
    if let Some(format) = base.get("format") {
        schema["format"] = format.clone();
    }
    if let Some(least) =
        field.min_length.or_else(|| (!nullable && field.kind != FieldType::Email).then_some(1))
    {
        schema["minLength"] = least.into();
    }
    if let Some(most) = field.max_length.map(Value::from).or_else(|| base.get("maxLength").cloned()) {
        schema["maxLength"] = most;
    }
    if let Some(pattern) = &field.pattern {
        schema["pattern"] = pattern.clone().into();
    }
    schema
}

fn options(field: &FieldDefinition, nullable: bool) -> Value {
    let mut values: Vec<Value> =
        field.options.iter().flatten().map(|option| option.value.clone().into()).collect();
    if nullable {
        values.push(Value::Null);
    }
    json!({ "enum": values })
}

fn custom(field: &FieldDefinition) -> Value {
    let nullable = !field.must_be_sent();
    match field.kind {
        FieldType::String => with_lengths(json!({ "maxLength": 1_000 }), field, nullable),
        FieldType::Text => with_lengths(json!({ "maxLength": 5_000 }), field, nullable),
        FieldType::Email => with_lengths(Email::json_schema(), field, nullable),
        FieldType::Phone => with_lengths(json!({ "maxLength": 32 }), field, nullable),
        FieldType::PhoneCode => with_lengths(json!({}), field, nullable),
        FieldType::Url => with_lengths(json!({ "format": "iri", "maxLength": 2_048 }), field, nullable),
        FieldType::Integer | FieldType::Number => {
            let mut schema = json!({ "type": type_of(field.kind.as_str(), nullable) });
            for (name, bound) in [("minimum", &field.minimum), ("maximum", &field.maximum)] {
                if let Some(Json::Number(bound)) = bound {
                    schema[name] = serde_json::from_str(bound.as_str()).unwrap_or(Value::Null);
                }
            }
            schema
        }
        FieldType::Boolean => json!({ "type": type_of("boolean", nullable) }),
        FieldType::Date => json!({ "type": type_of("string", nullable), "format": "date" }),
        FieldType::Datetime => json!({ "type": type_of("string", nullable), "format": "date-time" }),
        FieldType::Select => options(field, nullable),
        FieldType::Multiselect => {
            let mut schema = json!({ "type": type_of("array", nullable), "uniqueItems": true, "items": options(field, false) });
            if !nullable {
                schema["minItems"] = 1.into();
            }
            schema
        }
        FieldType::Tags => {
            let mut schema = json!({ "type": type_of("array", nullable), "maxItems": Tag::MAX_COUNT, "items": { "type": "string", "minLength": 1, "maxLength": 64 } });
            if !nullable {
                schema["minItems"] = 1.into();
            }
            schema
        }
        FieldType::Object => {
            let mut schema = json!({ "type": type_of("object", nullable) });
            if !nullable {
                schema["minProperties"] = 1.into();
            }
            schema
        }
    }
}
