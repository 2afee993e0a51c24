//! The model engine against an endpoint of these tests: good, odd, slow, broken and hostile.

mod answers;
mod dialects;
mod evidence;
mod failures;
mod long;
mod properties;

use std::time::Duration;

use extraction::document::{Document, Limits, read};
use extraction::engine::model::{Answer, ModelConfig, ModelEngine};
use llm::{ApiKey, EndpointConfig};
use openapi_core::extraction::{ExtractError, Extraction, ExtractionSchema, Finding, Leaf};
use openapi_core::json::Json;
use serde_json::{Value, json};

use llm::stub::Stub;

const KEY: &str = "sk-Secret0123456789";
const TIMEOUT: Duration = Duration::from_secs(20);

const INVOICE: &str = "Invoice INV-2043\nDate of issue: 15 January 2026\nTotal: £1,234.50\nPaid: no\n";
const SCHEMA: &str =
    r#"{ "number": { "type": "string" }, "issued": { "type": "date" }, "total": { "type": "number" } }"#;

fn document(text: &str) -> Document {
    read(text.as_bytes(), &Limits::default()).expect("text is read")
}

fn schema(text: &str) -> ExtractionSchema {
    ExtractionSchema::parse(text.as_bytes()).expect("a schema")
}

fn config(stub: &Stub) -> ModelConfig {
    let mut config = ModelConfig::new(EndpointConfig::parse(&stub.url(), "some-model").expect("a URL"));
    config.name = "stub".to_owned();
    config.endpoint.api_key = Some(ApiKey::new(KEY).expect("a key"));
    config
}

fn engine(stub: &Stub) -> ModelEngine {
    ModelEngine::new(config(stub)).expect("an engine")
}

async fn extract(engine: &ModelEngine, text: &str, fields: &str) -> Result<Answer, ExtractError> {
    engine.extract(&document(text), &[], &schema(fields), None, TIMEOUT).await
}

/// A leaf as a model gives it.
fn leaf(value: impl Into<Value>, quote: &str) -> Value {
    json!({ "value": value.into(), "quote": quote, "page": 1 })
}

fn invoice() -> Value {
    json!({
        "number": leaf("INV-2043", "Invoice INV-2043"),
        "issued": leaf("2026-01-15", "15 January 2026"),
        "total": leaf(1234.5, "£1,234.50"),
    })
}

/// The values of an answer, as the service gives them.
fn data(fields: &str, answer: &Answer) -> String {
    Json::Object(Extraction::of(&schema(fields), answer.findings.clone(), &answer.warnings).data).to_text()
}

const INVOICE_DATA: &str = r#"{"number":"INV-2043","issued":"2026-01-15","total":1234.5}"#;

fn leaf_of(finding: &Finding) -> &Leaf {
    match finding {
        Finding::Leaf(leaf) => leaf,
        other => panic!("no leaf: {other:?}"),
    }
}
