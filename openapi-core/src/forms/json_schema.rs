//! The JSON Schema (2020-12) of `formData` under a template: `jsonSchema` of the schema endpoint (contract 2.3.1). It
//! expresses everything but conditions, references to files and the bounds of dates.

use serde_json::{Map, Value, json};

use super::compiled::MAX_BLOCK;
use super::{FormField, FormFieldType, FormTemplate, ValidationRules};
use crate::json::Number;
use crate::schema::rules::{MAX_LINE, MAX_URL, TIME_PATTERN};
use crate::values::{Email, TextValue};

impl FormTemplate {
    /// The JSON Schema of complete data. A field with a condition is never in its `required` lists, because it need not
    /// be answered while it is hidden.
    #[must_use]
    pub fn json_schema(&self) -> Value {
        let mut schema =
            Map::from_iter([("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into())]);
        object(&mut schema, "object".into(), &self.fields);
        schema.into()
    }
}

/// Whether the schema demands an answer.
fn is_demanded(field: &FormField) -> bool {
    field.required && field.show_if.is_none()
}

fn object(schema: &mut Map<String, Value>, kind: Value, fields: &[FormField]) {
    let required: Vec<&str> =
        fields.iter().filter(|field| is_demanded(field)).map(|field| field.name.as_str()).collect();
    let properties: Map<String, Value> =
        fields.iter().map(|field| (field.name.clone(), property(field))).collect();
    schema.insert("type".into(), kind);
    schema.insert("additionalProperties".into(), false.into());
    schema.insert("required".into(), json!(required));
    schema.insert("properties".into(), properties.into());
}

fn property(field: &FormField) -> Value {
    let nullable = !is_demanded(field);
    let none = ValidationRules::default();
    let rules = field.validation.as_ref().unwrap_or(&none);
    let kind = |name: &str| if nullable { json!([name, "null"]) } else { name.into() };
    let mut schema = Map::new();
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            schema.insert(name.to_owned(), value);
        }
    };
    match field.kind {
        FormFieldType::Text
        | FormFieldType::Textarea
        | FormFieldType::Email
        | FormFieldType::Phone
        | FormFieldType::Url => {
            let (format, least, most) = text_limits(field, rules);
            set("type", Some(kind("string")));
            set("format", format);
            set("minLength", (least > 0).then(|| least.into()));
            set("maxLength", Some(most.into()));
            set("pattern", rules.pattern.as_deref().map(Value::from));
        }
        FormFieldType::Number | FormFieldType::Integer => {
            set("type", Some(kind(field.kind.as_str())));
            set("minimum", rules.minimum.as_ref().map(number));
            set("maximum", rules.maximum.as_ref().map(number));
            set("multipleOf", rules.multiple_of.as_ref().map(number));
        }
        FormFieldType::Boolean => set("type", Some(kind("boolean"))),
        FormFieldType::Date | FormFieldType::Datetime => {
            let format = if field.kind == FormFieldType::Date { "date" } else { "date-time" };
            set("type", Some(kind("string")));
            set("format", Some(format.into()));
        }
        FormFieldType::Time => {
            set("type", Some(kind("string")));
            set("pattern", Some(TIME_PATTERN.into()));
        }
        FormFieldType::Select | FormFieldType::Radio => set("enum", Some(options(field, nullable))),
        FormFieldType::Multiselect | FormFieldType::Checkboxes => {
            set("type", Some(kind("array")));
            set("minItems", least_items(field, rules).map(Value::from));
            set("maxItems", rules.max_items.map(Value::from));
            set("uniqueItems", Some(true.into()));
            set("items", Some(json!({ "enum": options(field, false) })));
        }
        FormFieldType::File => {
            const ID: &str = "^[0-9a-f]{24}$";
            // One id is too few where several are asked for.
            let mut kinds = if rules.min_items > Some(1) { vec![] } else { vec!["string"] };
            if field.takes_many_files() {
                kinds.push("array");
                set("minItems", least_items(field, rules).map(Value::from));
                set("maxItems", rules.max_items.map(Value::from));
                set("uniqueItems", Some(true.into()));
                set("items", Some(json!({ "type": "string", "pattern": ID })));
            }
            if nullable {
                kinds.push("null");
            }
            set("type", Some(if let [kind] = kinds[..] { kind.into() } else { json!(kinds) }));
            set("pattern", Some(ID.into()));
        }
        FormFieldType::Group => {
            object(&mut schema, kind("object"), field.fields.as_deref().unwrap_or_default());
        }
        FormFieldType::List => {
            set("type", Some(kind("array")));
            set("minItems", least_items(field, rules).map(Value::from));
            set("maxItems", rules.max_items.map(Value::from));
            let mut items = Map::new();
            object(&mut items, "object".into(), field.fields.as_deref().unwrap_or_default());
            schema.insert("items".into(), items.into());
        }
    }
    schema.into()
}

/// The format, the shortest and the longest length of a text.
fn text_limits(field: &FormField, rules: &ValidationRules) -> (Option<Value>, u32, usize) {
    let (format, most) = match field.kind {
        FormFieldType::Textarea => (None, MAX_BLOCK),
        FormFieldType::Email => (Email::json_schema().get("format").cloned(), 254),
        FormFieldType::Phone => (None, 32),
        FormFieldType::Url => (Some("iri".into()), MAX_URL),
        _ => (None, MAX_LINE),
    };
    // A blank answer counts as no answer.
    let least = rules.min_length.unwrap_or(0).max(u32::from(is_demanded(field)));
    let most = rules.max_length.map_or(most, |own| most.min(own as usize));
    (format, least, most)
}

/// The fewest elements: an array that is demanded is not empty.
fn least_items(field: &FormField, rules: &ValidationRules) -> Option<u32> {
    let demanded = u32::from(is_demanded(field));
    Some(rules.min_items.unwrap_or(0).max(demanded)).filter(|least| *least > 0)
}

fn options(field: &FormField, nullable: bool) -> Value {
    let mut values: Vec<Value> =
        field.options.iter().flatten().map(|option| option.value.clone().into()).collect();
    if nullable {
        values.push(Value::Null);
    }
    values.into()
}

fn number(number: &Number) -> Value {
    serde_json::from_str(number.as_str()).unwrap_or(Value::Null)
}
