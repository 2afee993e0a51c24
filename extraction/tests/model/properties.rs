//! Whatever a model says, the findings have the shape of the schema or there are none.

use std::sync::Mutex;

use openapi_core::extraction::{
    ExtractError, Extraction, ExtractionField, ExtractionSchema, ExtractionType, Finding,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};

use crate::{INVOICE, engine, extract, schema};
use llm::stub::{Reply, Stub};

const FIELDS: &str = r#"{ "number": { "type": "string" }, "issued": { "type": "date" }, "at": { "type": "datetime" },
    "total": { "type": "currency" }, "count": { "type": "integer" }, "paid": { "type": "boolean" },
    "mail": { "type": "email" }, "tags": { "type": "array" }, "notes": { "type": "object" },
    "rows": { "type": "array", "items": { "type": "object", "properties": { "number": { "type": "number" },
        "tags": { "type": "array", "items": { "type": "date" } } } } } }"#;

const NAMES: [&str; 17] = [
    "number", "issued", "at", "total", "count", "paid", "mail", "tags", "notes", "rows", "value", "quote",
    "page", "currency", "amount", "name", "other",
];

/// JSON that is often nearly what is asked for.
fn json_value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        Just("INV-2043".to_owned()),
        Just("15 January 2026".to_owned()),
        Just("£1,234.50".to_owned()),
        Just("99/99/9999".to_owned()),
        Just("2026-02-30T25:61:00+99:99".to_owned()),
        "\\PC{0,12}",
        ".{0,6}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0..4_u32).prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 8, |inner| {
        let name = prop::sample::select(&NAMES[..]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(value, quote, page)| json!({ "value": value, "quote": quote, "page": page })),
            prop::collection::vec((name, inner), 0..8).prop_map(|members| {
                Value::Object(
                    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>(),
                )
            }),
        ]
    })
}

fn has_shape(field: &ExtractionField, finding: &Finding) -> bool {
    let text = ExtractionField::of(ExtractionType::String);
    match (field.kind, finding) {
        (_, Finding::Absent) => true,
        (ExtractionType::Array, Finding::Array(elements)) => {
            elements.iter().all(|element| has_shape(field.items.as_deref().unwrap_or(&text), element))
        }
        (ExtractionType::Object, Finding::Object(members)) => {
            members.iter().all(|(name, member)| match &field.properties {
                Some(properties) => properties
                    .iter()
                    .find(|(known, _)| known == name)
                    .is_some_and(|(_, property)| has_shape(property, member)),
                None => has_shape(&text, member),
            })
        }
        (ExtractionType::Array | ExtractionType::Object, _) => false,
        (_, Finding::Leaf(_)) => true,
        _ => false,
    }
}

fn assert_shape(schema: &ExtractionSchema, findings: &[Finding]) {
    assert_eq!(findings.len(), schema.fields().len());
    for ((name, field), finding) in schema.fields().iter().zip(findings) {
        assert!(has_shape(field, finding), "{name}: {finding:?}");
    }
    let result = Extraction::of(schema, findings.to_vec(), &[]);
    assert_eq!(result.data.len(), schema.fields().len());
}

#[test]
fn any_json_gives_findings_of_the_shape_or_none() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let said = std::sync::Arc::new(Mutex::new(Value::Null));
    let words = said.clone();
    let stub = runtime.block_on(Stub::with(move |_, _| {
        let value = words.lock().expect("no panic").clone();
        Reply::content(value.to_string())
    }));
    let engine = engine(&stub);
    let schema = schema(FIELDS);
    let counts = Mutex::new((0, 0));
    let mut runner = TestRunner::new(Config { cases: 250, failure_persistence: None, ..Config::default() });
    runner
        .run(&json_value(), |value| {
            *said.lock().expect("no panic") = value.clone();
            match runtime.block_on(extract(&engine, INVOICE, FIELDS)) {
                Ok(answer) => {
                    assert_shape(&schema, &answer.findings);
                    counts.lock().expect("no panic").0 += 1;
                }
                Err(ExtractError::BadAnswer(_)) => counts.lock().expect("no panic").1 += 1,
                Err(error) => panic!("{value}: {error:?}"),
            }
            Ok(())
        })
        .expect("it holds");
    let (good, bad) = *counts.lock().expect("no panic");
    assert!(good > 15 && bad > 15, "both ways are taken: {good} {bad}");
}

#[test]
fn any_envelope_is_read_or_refused() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let said = std::sync::Arc::new(Mutex::new(Vec::new()));
    let words = said.clone();
    let stub = runtime.block_on(Stub::with(move |_, _| {
        Reply::Http(200, Vec::new(), words.lock().expect("no panic").clone())
    }));
    let engine = engine(&stub);
    let envelope = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..60),
        json_value()
            .prop_map(|value| json!({ "choices": [{ "message": { "content": value } }] }).to_string().into()),
        json_value().prop_map(|value| json!({ "choices": value }).to_string().into()),
        json_value().prop_map(|value| json!({ "choices": [value] }).to_string().into()),
    ];
    let mut runner = TestRunner::new(Config { cases: 120, failure_persistence: None, ..Config::default() });
    runner
        .run(&envelope, |body: Vec<u8>| {
            *said.lock().expect("no panic") = body;
            let result = runtime.block_on(extract(&engine, INVOICE, FIELDS));
            assert!(matches!(result, Ok(_) | Err(ExtractError::BadAnswer(_))), "{result:?}");
            Ok(())
        })
        .expect("it holds");
}
