//! Endpoints that take less than others.

use extraction::engine::model::ModelEngine;
use llm::Structured;
use openapi_core::extraction::ExtractError;
use serde_json::{Value, json};

use crate::{INVOICE, INVOICE_DATA, SCHEMA, config, data, engine, extract, invoice};
use llm::stub::{Reply, Stub};

/// An endpoint that refuses some modes.
async fn refusing(status: u16, refused: &'static [&'static str]) -> Stub {
    Stub::with(move |_, body| {
        let format = body["response_format"]["type"].as_str().unwrap_or("none");
        if refused.contains(&format) {
            Reply::error(status, "response_format is not supported")
        } else {
            Reply::content(invoice().to_string())
        }
    })
    .await
}

#[tokio::test]
async fn weaker_modes_are_tried_and_remembered() {
    for (status, refused, formats) in [
        (400, &["json_schema"][..], &["json_schema", "json_object", "json_object"][..]),
        (422, &["json_schema", "json_object"], &["json_schema", "json_object", "none", "none"]),
        (400, &[], &["json_schema", "json_schema"]),
    ] {
        let stub = refusing(status, refused).await;
        let engine = engine(&stub);
        for _ in 0..2 {
            let answer = extract(&engine, INVOICE, SCHEMA).await.expect("an answer");
            assert_eq!(data(SCHEMA, &answer), INVOICE_DATA);
        }
        let seen = stub.received();
        assert_eq!(seen.iter().map(|seen| seen.format()).collect::<Vec<_>>(), formats);
        // Without a schema next to the messages, the messages contain the shape.
        for seen in seen {
            let has_shape = seen.text().contains("additionalProperties");
            assert_eq!(has_shape, seen.format() != "json_schema");
        }
    }
}

#[tokio::test]
async fn a_mode_that_has_worked_is_used_for_other_schemas() {
    let stub = Stub::with(|nth, _| match nth {
        1 => Reply::error(400, "this schema is too complex"),
        _ => Reply::content(invoice().to_string()),
    })
    .await;
    let engine = engine(&stub);
    for _ in 0..3 {
        extract(&engine, INVOICE, SCHEMA).await.expect("an answer");
    }
    let formats: Vec<String> = stub.received().iter().map(|seen| seen.format().to_owned()).collect();
    assert_eq!(formats, ["json_schema", "json_schema", "json_object", "json_schema"]);
}

#[tokio::test]
async fn a_mode_that_was_chosen_is_the_only_one() {
    for (mode, format) in [
        (Structured::JsonSchema, "json_schema"),
        (Structured::JsonObject, "json_object"),
        (Structured::Prompt, "none"),
    ] {
        let stub = Stub::replies(vec![Reply::content(invoice().to_string()), Reply::error(400, "no")]).await;
        let mut config = config(&stub);
        config.endpoint.structured = mode;
        let engine = ModelEngine::new(config).expect("an engine");
        let answer = extract(&engine, INVOICE, SCHEMA).await.expect("an answer");
        assert_eq!(data(SCHEMA, &answer), INVOICE_DATA);
        let error = extract(&engine, INVOICE, SCHEMA).await.expect_err("refused");
        assert!(
            matches!(&error, ExtractError::Unavailable { reason, .. } if reason.contains("400")),
            "{error:?}"
        );
        let formats: Vec<String> = stub.received().iter().map(|seen| seen.format().to_owned()).collect();
        assert_eq!(formats, [format, format]);
    }
}

#[tokio::test]
async fn parameters_that_a_model_does_not_take_are_left_out() {
    fn refuse(body: &Value, parameter: &str) -> Option<Reply> {
        let text = format!("Unsupported parameter: '{parameter}' is not supported with this model.");
        let error =
            json!({ "error": { "message": text, "param": parameter, "code": "unsupported_parameter" } });
        body.get(parameter).map(|_| Reply::json(400, error))
    }
    let stub = Stub::with(|_, body| {
        refuse(body, "max_tokens")
            .or_else(|| refuse(body, "temperature"))
            .unwrap_or_else(|| Reply::content(invoice().to_string()))
    })
    .await;
    let engine = engine(&stub);
    extract(&engine, INVOICE, SCHEMA).await.expect("an answer");
    extract(&engine, INVOICE, SCHEMA).await.expect("an answer");
    let seen = stub.received();
    assert_eq!(seen.len(), 4, "what was refused is remembered");
    assert_eq!(seen[3].body["max_completion_tokens"], 8_192);
    assert!(seen.iter().all(|seen| seen.format() == "json_schema"));
}

#[tokio::test]
async fn an_endpoint_that_refuses_everything_is_unavailable() {
    let stub = Stub::replies(vec![Reply::error(400, "no such model: INV-2043")]).await;
    let error = extract(&engine(&stub), INVOICE, SCHEMA).await.expect_err("refused");
    assert!(matches!(&error, ExtractError::Unavailable { .. }), "{error:?}");
    // The endpoint's own words may repeat the document.
    assert!(!error.to_string().contains("INV-2043"), "{error}");
    assert_eq!(stub.received().len(), 3);
}
