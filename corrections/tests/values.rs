//! Stated values against schemas, and schemas in a manifest.

use corrections::{check, definitions};
use openapi_core::extraction::ExtractionSchema;
use openapi_core::json::{Json, Object};
use proptest::prelude::*;
use serde_json::{Value, json};

fn object(value: &Value) -> Object {
    match Json::from(value) {
        Json::Object(members) => members,
        other => panic!("not an object: {other:?}"),
    }
}

fn faults(schema: &Value, values: &Value) -> Vec<(String, &'static str)> {
    let schema = ExtractionSchema::parse(schema.to_string().as_bytes()).expect("a schema");
    let faults = check(&schema, &object(values)).err().unwrap_or_default();
    faults.listed().iter().map(|fault| (fault.field.clone(), fault.rule.as_str())).collect()
}

#[test]
fn values_have_the_types_and_rules_of_their_fields() {
    let schema = json!({
        "s": { "type": "string", "pattern": "^A" }, "n": { "type": "number", "minimum": 2 },
        "i": { "type": "integer" }, "d": { "type": "date" }, "t": { "type": "datetime" }, "b": { "type": "boolean" },
        "e": { "type": "email" }, "p": { "type": "phone" }, "u": { "type": "url" }, "c": { "type": "currency", "maximum": 9 },
        "a": { "type": "array", "items": { "type": "integer" } }, "w": { "type": "array" },
        "o": { "type": "object", "properties": { "x": { "type": "date", "required": true } } }, "f": { "type": "object" },
    });
    let right = json!({
        "s": "Acme", "n": 2.5, "i": 3, "d": "2026-01-31", "t": "2026-01-31T10:00:00Z", "b": false, "e": "a@example.com",
        "p": "+44 20 7946 0958", "u": "https://example.com/", "c": { "amount": 9, "currency": "EUR" }, "a": [1, 2],
        "w": ["x"], "o": { "x": null }, "f": { "k": "v", "n": 1 },
    });
    assert_eq!(faults(&schema, &right), []);
    let none: serde_json::Map<String, Value> =
        right.as_object().expect("members").keys().map(|name| (name.clone(), Value::Null)).collect();
    assert_eq!(faults(&schema, &Value::Object(none)), [], "a document may have nothing");
    for (name, value, path, rule) in [
        ("s", json!(1), "s", "type"),
        ("s", json!("Bcme"), "s", "pattern"),
        ("n", json!("2"), "n", "type"),
        ("n", json!(1), "n", "minimum"),
        ("i", json!(1.5), "i", "type"),
        ("d", json!("31.01.2026"), "d", "format"),
        ("t", json!("2026-01-31"), "t", "format"),
        ("b", json!("true"), "b", "type"),
        ("e", json!("a@"), "e", "format"),
        ("p", json!("none"), "p", "format"),
        ("u", json!("example.com"), "u", "format"),
        ("c", json!(9), "c", "type"),
        ("c", json!({ "amount": 9 }), "c", "type"),
        ("c", json!({ "amount": 9, "currency": "euro" }), "c", "type"),
        ("c", json!({ "amount": 10, "currency": null }), "c", "maximum"),
        ("a", json!(1), "a", "type"),
        ("a", json!([1, "2"]), "a[1]", "type"),
        ("a", json!([null]), "a[0]", "required"),
        ("w", json!([1]), "w[0]", "type"),
        ("o", json!([]), "o", "type"),
        ("o", json!({ "x": "soon" }), "o.x", "format"),
        ("o", json!({ "y": 1 }), "o.y", "unknown"),
        ("f", json!({ "k": [] }), "f.k", "type"),
        ("z", json!(1), "z", "unknown"),
    ] {
        let mut values = right.clone();
        values[name] = value.clone();
        assert_eq!(faults(&schema, &values), [(format!("values.{path}"), rule)], "{value}");
    }
    let long = json!({ "w": vec!["x".repeat(1_000); 70] });
    assert_eq!(faults(&schema, &long), [("values".to_owned(), "maxSize")]);
}

proptest! {
    /// A schema survives the way into a manifest and back: the evaluation asks for what the job did.
    #[test]
    fn definitions_are_the_schema_again(
        required in any::<bool>(),
        kind in proptest::sample::select(vec!["string", "number", "date", "currency", "integer", "datetime", "boolean"]),
        text in "[a-z]{1,9}",
    ) {
        let mut leaf = json!({ "type": kind, "description": text, "required": required, "example": text, "format": text });
        match kind {
            "string" => { leaf["pattern"] = json!("^a"); leaf["enum"] = json!([text, "x-1"]); }
            "number" | "integer" | "currency" => { leaf["minimum"] = json!(1.5); leaf["enum"] = json!([2, 3]); }
            "date" => leaf["maximum"] = json!("2026-01-31"),
            "datetime" => leaf["maximum"] = json!("2026-01-31T10:00:00Z"),
            _ => {}
        }
        let row = json!({ "type": "object", "properties": { "leaf": leaf, "other": { "type": "url" } } });
        let schema = json!({ "leaf": leaf, "rows": { "type": "array", "items": row }, "plain": { "type": "array" } });
        let parsed = ExtractionSchema::parse(schema.to_string().as_bytes()).expect("a schema");
        // As the manifest of an evaluation set is read.
        fn unnamed(definition: &Value) -> Value {
            let mut members = definition.as_object().expect("a definition").clone();
            let _ = members.remove("name");
            if let Some(items) = members.get("items") { let items = unnamed(items); members.insert("items".to_owned(), items); }
            if let Some(Value::Array(properties)) = members.get("properties") {
                let properties = fields(properties);
                members.insert("properties".to_owned(), properties);
            }
            Value::Object(members)
        }
        fn fields(definitions: &[Value]) -> Value {
            definitions.iter().map(|it| (it["name"].as_str().expect("a name").to_owned(), unnamed(it))).collect::<serde_json::Map<_, _>>().into()
        }
        let definitions = serde_json::to_value(definitions(&parsed)).expect("JSON");
        let again = fields(definitions.as_array().expect("a list")).to_string();
        prop_assert_eq!(ExtractionSchema::parse(again.as_bytes()).expect("a schema"), parsed);
    }
}
