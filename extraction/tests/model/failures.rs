//! Endpoints that are down, overloaded, slow, or not what they seem.

use std::time::Duration;

use extraction::engine::model::{ModelConfig, ModelEngine};
use llm::{ApiKey, ConfigError, EndpointConfig};
use openapi_core::extraction::ExtractError;
use serde_json::json;
use tokio::time::Instant;

use crate::{INVOICE, INVOICE_DATA, KEY, SCHEMA, config, data, document, engine, extract, invoice, schema};
use llm::stub::{Reply, Stub};

fn good() -> Reply {
    Reply::content(invoice().to_string())
}

#[tokio::test]
async fn an_overloaded_endpoint_is_asked_again_when_it_says() {
    let busy = Reply::error(429, "slow down").with("retry-after", "0.3");
    let stub =
        Stub::replies(vec![busy, Reply::error(503, "starting").with("retry-after", "0"), good()]).await;
    let begun = Instant::now();
    let answer = extract(&engine(&stub), INVOICE, SCHEMA).await.expect("an answer");
    assert_eq!(data(SCHEMA, &answer), INVOICE_DATA);
    assert_eq!(answer.effort.requests, 3);
    assert!(begun.elapsed() >= Duration::from_millis(300), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_broken_endpoint_is_unavailable_after_some_tries() {
    let stub = Stub::replies(vec![Reply::error(500, KEY).with("retry-after", "0.01")]).await;
    let error = extract(&engine(&stub), INVOICE, SCHEMA).await.expect_err("it is broken");
    let ExtractError::Unavailable { reason, retry_after } = &error else { panic!("{error:?}") };
    assert!(reason.contains("500"), "{reason}");
    assert_eq!(*retry_after, Some(Duration::from_millis(10)));
    assert_eq!(stub.received().len(), 4);
}

#[tokio::test]
async fn a_pause_longer_than_the_timeout_is_not_waited_for() {
    let stub = Stub::replies(vec![Reply::error(429, "later").with("retry-after", "600")]).await;
    let begun = Instant::now();
    let error = extract(&engine(&stub), INVOICE, SCHEMA).await.expect_err("it is busy");
    let pause = Duration::from_secs(600);
    assert!(matches!(&error, ExtractError::Unavailable { retry_after: Some(after), .. } if *after == pause));
    assert!(begun.elapsed() < Duration::from_secs(5));
    // What is not a matter of time is not tried again either.
    let spent = json!({ "error": { "message": "pay", "code": "insufficient_quota" } });
    let stub = Stub::replies(vec![Reply::json(429, spent)]).await;
    let error = extract(&engine(&stub), INVOICE, SCHEMA).await.expect_err("it is spent");
    assert!(error.to_string().contains("insufficient_quota"), "{error}");
    assert_eq!(stub.received().len(), 1);
}

#[tokio::test]
async fn a_silent_or_dripping_endpoint_times_out() {
    for reply in [Reply::Hang, Reply::Drip] {
        let stub = Stub::replies(vec![reply]).await;
        let begun = Instant::now();
        let timeout = Duration::from_millis(700);
        let result = engine(&stub).extract(&document(INVOICE), &[], &schema(SCHEMA), None, timeout).await;
        assert!(matches!(result, Err(ExtractError::TimedOut)), "{result:?}");
        let elapsed = begun.elapsed();
        assert!(elapsed >= timeout && elapsed < Duration::from_secs(4), "{elapsed:?}");
    }
}

#[tokio::test]
async fn dropping_the_future_ends_the_request() {
    for reply in [Reply::Hang, Reply::Drip] {
        let stub = Stub::replies(vec![reply]).await;
        let engine = engine(&stub);
        let waited =
            tokio::time::timeout(Duration::from_millis(300), extract(&engine, INVOICE, SCHEMA)).await;
        assert!(waited.is_err(), "{waited:?}");
        let begun = Instant::now();
        while stub.disconnects() == 0 {
            assert!(begun.elapsed() < Duration::from_secs(5), "the connection is still there");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_asked_for_again() {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n{\"choices\": [";
    for broken in [head.as_bytes().to_vec(), b"HTTP/1.1 200".to_vec(), Vec::new(), b"SSH-2.0-x\r\n".to_vec()]
    {
        let stub = Stub::replies(vec![Reply::Raw(broken), good()]).await;
        let answer = extract(&engine(&stub), INVOICE, SCHEMA).await.expect("an answer");
        assert_eq!(data(SCHEMA, &answer), INVOICE_DATA);
    }
}

#[tokio::test]
async fn nobody_at_the_port_is_unavailable() {
    let stub = Stub::replies(vec![good()]).await;
    let mut config = config(&stub);
    config.max_retries = 1;
    drop(stub);
    tokio::time::sleep(Duration::from_millis(50)).await;
    let engine = ModelEngine::new(config).expect("an engine");
    let error = extract(&engine, INVOICE, SCHEMA).await.expect_err("nobody is there");
    assert!(matches!(&error, ExtractError::Unavailable { .. }), "{error:?}");
    assert!(error.to_string().contains("cannot be reached"), "{error}");
}

#[tokio::test]
async fn permanent_errors_are_reported_at_once() {
    for (status, word) in
        [(401, "key"), (403, "key"), (404, "name of the model"), (307, "not followed"), (402, "402")]
    {
        let elsewhere = Stub::replies(vec![good()]).await;
        let reply =
            Reply::error(status, KEY).with("location", &format!("{}/chat/completions", elsewhere.url()));
        let stub = Stub::replies(vec![reply]).await;
        let engine = engine(&stub);
        let error = extract(&engine, INVOICE, SCHEMA).await.expect_err("refused");
        let ExtractError::Unavailable { reason, .. } = &error else { panic!("{error:?}") };
        assert!(reason.contains(word) && reason.contains(&status.to_string()), "{reason}");
        assert_eq!((stub.received().len(), elsewhere.received().len()), (1, 0));
        for shown in [format!("{error:?} {error}"), format!("{engine:?}")] {
            assert!(!shown.contains(KEY) && !shown.contains("Secret"), "{shown}");
        }
    }
}

#[tokio::test]
async fn the_requests_for_one_document_are_bounded() {
    let stub = Stub::replies(vec![Reply::error(500, "broken").with("retry-after", "0")]).await;
    let mut config = config(&stub);
    config.max_retries = 1_000;
    config.max_requests = 7;
    let engine = ModelEngine::new(config).expect("an engine");
    let error = extract(&engine, INVOICE, SCHEMA).await.expect_err("it is broken");
    assert!(matches!(&error, ExtractError::Unavailable { .. }), "{error:?}");
    assert_eq!(stub.received().len(), 7);
}

#[test]
fn a_configuration_that_cannot_work_is_refused() {
    let made = |endpoint: &str| {
        EndpointConfig::parse(endpoint, "model").and_then(|it| ModelEngine::new(ModelConfig::new(it)))
    };
    for good in ["http://localhost/v1", "https://host/v1/", "https://host/v1/chat/completions?api-version=1"]
    {
        assert!(made(good).is_ok(), "{good}");
    }
    for bad in ["", "host/v1", "ftp://host", "https://user:pass@host/v1", "file:///etc"] {
        assert_eq!(made(bad).map(|_| ()), Err(ConfigError::Url), "{bad}");
    }
    for bad in ["", " ", "a\nb", "ключ\u{0}"] {
        assert_eq!(ApiKey::new(bad).map(|_| ()), Err(ConfigError::ApiKey), "{bad:?}");
    }
    let mut config =
        ModelConfig::new(EndpointConfig::parse("https://host/v1?key=Secret", "model").expect("a URL"));
    config.endpoint.api_key = Some(ApiKey::new(KEY).expect("a key"));
    let shown = format!("{config:?}");
    assert!(shown.contains("https://host/v1") && !shown.contains("Secret"), "{shown}");
    config.max_parallel = 0;
    assert!(matches!(ModelEngine::new(config).map(|_| ()), Err(ConfigError::Setting(_))));
}
