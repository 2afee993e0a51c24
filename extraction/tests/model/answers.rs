//! Answers that are good, odd, and unusable at first.

use openapi_core::extraction::{ExtractError, ExtractionWarning, Finding};
use serde_json::{Value, json};

use extraction::document::PageImage;
use extraction::engine::model::ModelEngine;

use crate::{
    INVOICE, INVOICE_DATA, KEY, SCHEMA, TIMEOUT, config, data, document, engine, extract, invoice, schema,
};
use llm::stub::{Reply, Stub};

#[tokio::test]
async fn a_good_answer_becomes_findings() {
    let stub = Stub::replies(vec![Reply::content(invoice().to_string())]).await;
    let engine = engine(&stub);
    let answer = extract(&engine, INVOICE, SCHEMA).await.expect("an answer");
    assert_eq!(data(SCHEMA, &answer), INVOICE_DATA);
    assert_eq!(
        (answer.effort.requests, answer.effort.input_tokens, answer.effort.output_tokens),
        (1, 100, 10)
    );
    assert_eq!((answer.language, answer.warnings.as_slice()), (Some("en"), &[][..]));
    assert_eq!(engine.name(), "stub");
    let seen = &stub.received()[0];
    assert!(seen.head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", seen.head);
    assert!(seen.head.contains(&format!("authorization: Bearer {KEY}\r\n")), "{}", seen.head);
    assert_eq!((&seen.body["model"], &seen.body["temperature"]), (&json!("some-model"), &json!(0.0)));
    let shape = &seen.body["response_format"]["json_schema"];
    assert_eq!(shape["strict"], true);
    assert_strict(&shape["schema"]);
    assert!(seen.text().contains("Total: £1,234.50"));
}

/// Whether every object of a schema requires all of its members and allows no other, as strict endpoints want it.
fn assert_strict(schema: &Value) {
    if let Some(members) = schema["properties"].as_object() {
        let names: Vec<&String> = members.keys().collect();
        assert_eq!(schema["required"], json!(names));
        assert_eq!(schema["additionalProperties"], false);
        members.values().for_each(assert_strict);
    }
    if let Some(items) = schema.get("items") {
        assert_strict(items);
    }
}

#[tokio::test]
async fn every_kind_of_field_has_a_strict_shape() {
    let fields = r#"{ "a": { "type": "array", "description": "Rows", "items": { "type": "object", "properties": {
        "b c": { "type": "currency" }, "d": { "type": "array" } } } }, "e": { "type": "object" },
        "f": { "type": "integer", "minimum": 1, "maximum": 9, "enum": [1, 2] },
        "g": { "type": "string", "pattern": "^A", "example": "AB", "format": "A#" } }"#;
    let stub = Stub::replies(vec![Reply::content(r#"{"a": []}"#)]).await;
    let answer = extract(&engine(&stub), INVOICE, fields).await.expect("an answer");
    assert_eq!(answer.findings, vec![Finding::Absent; 4]);
    assert_strict(&stub.received()[0].body["response_format"]["json_schema"]["schema"]);
}

#[tokio::test]
async fn odd_but_good_answers_are_taken() {
    let text = invoice().to_string();
    let fenced = format!("Sure, here it is:\n```json\n{text}\n```\nAnything else?");
    for reply in [
        Reply::content(fenced),
        Reply::content(json!([{ "type": "text", "text": text }])),
        Reply::content(json!([&text[..10], { "type": "text", "text": &text[10..] }])),
        Reply::content(invoice()),
        Reply::content(format!("<think>{{\"number\": 1}}</think>{text}")),
        Reply::content(json!({ "result": invoice() }).to_string()),
        Reply::finished(text.as_str(), "length"),
        Reply::json(200, json!({ "choices": [{ "message": { "content": text } }], "usage": null })),
        Reply::json(200, json!({ "choices": [{ "text": text }] })),
    ] {
        let stub = Stub::replies(vec![reply, Reply::error(500, "only once")]).await;
        let answer = extract(&engine(&stub), INVOICE, SCHEMA).await.expect("an answer");
        assert_eq!(data(SCHEMA, &answer), INVOICE_DATA);
        assert_eq!(stub.received().len(), 1);
    }
}

#[tokio::test]
async fn an_unusable_answer_is_repaired_once() {
    // Valid responses, but too long: one declares its length, one does not.
    let Reply::Http(_, _, mut padded) = Reply::content(invoice().to_string()) else { panic!("an answer") };
    padded.resize(5 << 20, b' ');
    let endless = [b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n", padded.as_slice()].concat();
    for bad in [
        Reply::content("I cannot find anything."),
        Reply::content(json!({ "number": [1, 2] }).to_string()),
        Reply::content(json!({ "error": "busy" }).to_string()),
        Reply::content(""),
        Reply::content(Value::Null),
        Reply::json(
            200,
            json!({ "choices": [{ "message": { "content": null, "refusal": "I must not." } }] }),
        ),
        Reply::Http(200, Vec::new(), b"<html>Welcome</html>".to_vec()),
        Reply::Http(200, Vec::new(), vec![0xff, 0, 0xfe]),
        Reply::Http(204, Vec::new(), Vec::new()),
        Reply::Http(200, Vec::new(), padded),
        Reply::Raw(endless),
    ] {
        let stub = Stub::replies(vec![bad.clone(), Reply::content(invoice().to_string())]).await;
        let answer = extract(&engine(&stub), INVOICE, SCHEMA).await.expect("an answer");
        assert_eq!(data(SCHEMA, &answer), INVOICE_DATA);
        let seen = stub.received();
        assert_eq!(seen.len(), 2);
        let last =
            seen[1].body["messages"].as_array().and_then(|all| all.last()).expect("messages").to_string();
        assert!(last.contains("That answer cannot be used"), "{last}");

        let stub = Stub::replies(vec![bad]).await;
        let error = extract(&engine(&stub), INVOICE, SCHEMA).await.expect_err("no answer");
        assert!(matches!(error, ExtractError::BadAnswer(_)), "{error:?}");
        assert_eq!(stub.received().len(), 2, "one repair, not more");
        assert!(!error.to_string().contains("INV-2043"), "{error}");
    }
}

#[tokio::test]
async fn the_fault_is_named_to_the_model() {
    let wrong = json!({ "number": leaf_without_value(), "total": 1 });
    let stub =
        Stub::replies(vec![Reply::content(wrong.to_string()), Reply::content(invoice().to_string())]).await;
    extract(&engine(&stub), INVOICE, SCHEMA).await.expect("an answer");
    let text = stub.received()[1].text();
    assert!(text.contains("number must be an object of value, quote and page"), "{text}");
}

fn leaf_without_value() -> Value {
    json!({ "text": "INV-2043" })
}

#[tokio::test]
async fn a_document_without_text_is_not_asked_about() {
    let stub = Stub::replies(vec![Reply::content("{}")]).await;
    let answer = extract(&engine(&stub), " \n ", SCHEMA).await.expect("an answer");
    assert_eq!(answer.findings, vec![Finding::Absent; 3]);
    assert_eq!(answer.warnings, [ExtractionWarning::NoText]);
    assert_eq!(stub.received().len(), 0);
}

/// What the reader sees of a page goes all the way to the model.
#[cfg(feature = "worker")]
#[tokio::test]
async fn a_photograph_is_shown_to_a_model_that_takes_images() {
    use std::sync::Arc;

    use extraction::worker::Reader;
    use extraction::{Extractor, Models};
    use openapi_core::extraction::{DocumentExtractor as _, DocumentLimits, ExtractionTask, SentDocument};

    let mut photograph = std::io::Cursor::new(Vec::new());
    let image = image::GrayImage::from_fn(300, 200, |x, y| image::Luma([(x ^ y) as u8]));
    image.write_to(&mut photograph, image::ImageFormat::Png).expect("memory takes it");
    let content = photograph.into_inner();
    let stub = Stub::replies(vec![Reply::content(invoice().to_string())]).await;
    for images in [false, true] {
        let mut config = config(&stub);
        config.endpoint.images = images;
        let engine = Arc::new(ModelEngine::new(config).expect("an engine"));
        let models = Models { of_all: Some(engine), ..Models::default() };
        let extractor = Extractor::new(Reader::InProcess).with_models(models);
        let document = SentDocument { content: content.clone().into(), file_name: "a.png".to_owned() };
        let opened = extractor.open(document, DocumentLimits::default(), TIMEOUT).await.expect("it is read");
        let task = ExtractionTask {
            schema: schema(SCHEMA),
            instructions: None,
            agent: "acme".parse().expect("a name"),
            timeout: TIMEOUT,
        };
        let found = opened.extract(task).await.expect("an answer");
        assert!(found.warnings.contains(&ExtractionWarning::NoText));
    }
    // Without text and without images there is nothing to ask about.
    let [seen] = &stub.received()[..] else { panic!("{} requests", stub.received().len()) };
    let url = seen.body["messages"][1]["content"][1]["image_url"]["url"].as_str().unwrap_or_default();
    assert!(url.starts_with("data:image/jpeg;base64,/9j/"), "{url}");
}

#[tokio::test]
async fn images_go_to_models_that_take_them_and_prove_nothing() {
    let image = |page, size| PageImage { page, media_type: "image/png", bytes: vec![7; size] };
    let stub = Stub::replies(vec![Reply::content(invoice().to_string())]).await;
    let mut config = config(&stub);
    config.max_image_bytes = 100;
    let images = [image(1, 60), image(2, 10), image(1, 60), image(1, 9)];
    // A model that takes none gets none.
    let plain = ModelEngine::new(config.clone()).expect("an engine");
    plain.extract(&document(INVOICE), &images, &schema(SCHEMA), None, TIMEOUT).await.expect("an answer");
    assert!(stub.received()[0].body["messages"][1]["content"].is_string());
    config.endpoint.images = true;
    let engine = ModelEngine::new(config).expect("an engine");
    assert_eq!(engine.max_image_bytes(), 100);
    engine.extract(&document(INVOICE), &images, &schema(SCHEMA), None, TIMEOUT).await.expect("an answer");
    let content = stub.received()[1].body["messages"][1]["content"].clone();
    let parts = content.as_array().expect("parts");
    assert_eq!(parts.len(), 3, "text, and the images of page 1 that fit");
    assert_eq!(
        parts[1]["image_url"]["url"].as_str().map(|url| &url[..26]),
        Some("data:image/png;base64,BwcH")
    );
    // A image of a page without text: what the model reads there stands nowhere.
    let answer = engine.extract(&document(" "), &images[..1], &schema(SCHEMA), None, TIMEOUT).await;
    let answer = answer.expect("an answer");
    assert_eq!(data(SCHEMA, &answer), INVOICE_DATA);
    assert_eq!(answer.warnings, [ExtractionWarning::NoText]);
    for finding in &answer.findings {
        assert_eq!(crate::leaf_of(finding).confidence, openapi_core::extraction::Confidence::UNMATCHED);
    }
}
