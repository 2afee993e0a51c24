//! Documents that are asked about in parts.

use std::fmt::Write as _;
use std::time::Duration;

use extraction::engine::model::ModelEngine;
use openapi_core::extraction::Finding;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{config, extract, leaf, leaf_of};
use llm::stub::{Reply, Stub};

const FIELDS: &str = r#"{ "title": { "type": "string" }, "sum": { "type": "number" },
    "rows": { "type": "array", "items": { "type": "object", "properties": {
        "name": { "type": "string" }, "price": { "type": "number" } } } } }"#;

fn text() -> String {
    let mut text = "List of articles\n".to_owned();
    for row in 0..200 {
        // Two rows of each kind, which are equal.
        writeln!(text, "Article {}   {}.50 and some more words", row / 2 + 100, row / 2).expect("text");
    }
    text.push_str("Sum 9900.00\n");
    text
}

/// The rows of the part that a request asks about, as a good model would give them.
fn read(body: &Value) -> Value {
    let content = body["messages"][1]["content"].as_str().expect("text");
    let mut rows = Vec::new();
    let mut title = Value::Null;
    let mut sum = Value::Null;
    for line in content.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["Article", number, price, ..] => {
                let name = format!("Article {number}");
                let price: f64 = price.parse().expect("a number");
                rows.push(json!({ "name": leaf(name.as_str(), line), "price": leaf(price, line) }));
            }
            ["List", "of", "articles"] => title = leaf("List of articles", line),
            ["Sum", number] => sum = leaf(number.parse::<f64>().expect("a number"), line),
            _ => {}
        }
    }
    // What a part does not say, a model may make up all the same.
    if title.is_null() {
        title = leaf("Untitled", "Untitled");
    }
    json!({ "title": title, "sum": sum, "rows": rows })
}

fn assert_whole(findings: &[Finding]) {
    assert_eq!(leaf_of(&findings[0]).value, Ok("List of articles".into()));
    assert_eq!(leaf_of(&findings[1]).evidence.source_text, "9900.00");
    let Finding::Array(rows) = &findings[2] else { panic!("{:?}", findings[2]) };
    let names: Vec<String> = rows
        .iter()
        .map(|row| match row {
            Finding::Object(members) => leaf_of(&members[0].1).value.as_ref().expect("a value").to_text(),
            other => panic!("{other:?}"),
        })
        .collect();
    let expected: Vec<String> = (0..200).map(|row| format!("\"Article {}\"", row / 2 + 100)).collect();
    assert_eq!(names, expected, "every row once, in order");
}

#[tokio::test]
async fn parts_come_together_without_the_rows_they_share() {
    let stub = Stub::with(|_, body| Reply::content(read(body).to_string())).await;
    let mut config = config(&stub);
    config.max_part_characters = 1_500;
    let engine = ModelEngine::new(config).expect("an engine");
    let answer = extract(&engine, &text(), FIELDS).await.expect("an answer");
    assert_whole(&answer.findings);
    assert!(stub.received().len() >= 5, "{}", stub.received().len());
    assert_eq!(answer.effort.requests as usize, stub.received().len());
    assert!(stub.received()[0].text().contains("This is part "));
}

#[tokio::test]
async fn what_is_too_long_for_the_model_is_asked_about_in_halves() {
    for way in ["context", "length", "413"] {
        let stub = Stub::with(move |_, body| {
            let is_long = body["messages"][1]["content"].as_str().map_or(0, str::len) > 3_000;
            let answer = read(body).to_string();
            match (is_long, way) {
                (true, "context") => Reply::error(400, "This model's maximum context length is 4096 tokens."),
                (true, "length") => Reply::finished(&answer[..answer.len() / 2], "length"),
                (true, _) => Reply::error(413, "too large"),
                _ => Reply::content(answer),
            }
        })
        .await;
        let engine = ModelEngine::new(config(&stub)).expect("an engine");
        let answer = extract(&engine, &text(), FIELDS).await.expect("an answer");
        assert_whole(&answer.findings);
    }
}

#[tokio::test]
async fn a_model_that_takes_nothing_is_unavailable() {
    let stub = Stub::replies(vec![Reply::error(413, "too large")]).await;
    let engine = ModelEngine::new(config(&stub)).expect("an engine");
    let error = extract(&engine, &text(), FIELDS).await.expect_err("it takes nothing");
    assert!(error.to_string().contains("smallest part"), "{error}");
    assert!(stub.received().len() < 12, "{}", stub.received().len());
}

#[tokio::test]
async fn an_answer_of_lies_about_a_long_document_ends() {
    let mut text = String::new();
    while text.len() < 400_000 {
        writeln!(text, "Article {} of the long list, delivered as agreed", text.len()).expect("text");
    }
    let lie = |nth: usize| {
        let name = format!("Article of the longest list {nth}");
        json!({ "name": leaf(name.as_str(), &format!("{name}, as never agreed")), "price": leaf(nth, "Article") })
    };
    let answer = json!({ "rows": (0..2_000).map(lie).collect::<Vec<_>>() }).to_string();
    let stub = Stub::replies(vec![Reply::content(answer)]).await;
    let mut config = config(&stub);
    config.max_part_characters = 500_000;
    let engine = ModelEngine::new(config).expect("an engine");
    let begun = Instant::now();
    let answer = extract(&engine, &text, FIELDS).await.expect("an answer");
    let Finding::Array(rows) = &answer.findings[2] else { panic!("{:?}", answer.findings[2]) };
    assert_eq!(rows.len(), 2_000);
    // Far more than it takes, also without optimisation; without a bound it is minutes.
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}
