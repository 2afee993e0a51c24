//! Endpoints that are down, overloaded, slow, or break off.

use std::time::Duration;

use conversations::{ChatError, ChatEvent, ChatResponder as _, Outcome};
use futures_util::StreamExt as _;
use llm::{ApiKey, ConfigError, EndpointConfig};
use openapi_core::ports::{FixedClock, SequentialIds};
use openapi_core::values::Timestamp;
use responders::LlmResponder;
use serde_json::json;
use tokio::time::Instant;

use crate::{KEY, NOW, ask, endpoint, responder, responder_of, turn};
use llm::stub::{Part, Reply, Stub, delta_event, event};

fn good() -> Reply {
    Reply::deltas(&["Yes."])
}

fn stream(text: String) -> Reply {
    Reply::parts(vec![Part::Bytes(text.into_bytes())])
}

#[tokio::test]
async fn a_request_is_repeated_once_before_the_first_delta() {
    let busy = |status| Reply::error(status, "busy").with("retry-after", "0.2");
    for first in [
        busy(429),
        busy(500),
        busy(503),
        stream(String::new()),
        stream("data: {\"choices\": [".to_owned()),
        stream(event(&json!({ "error": { "message": "overloaded" } }))),
    ] {
        let stub = Stub::replies(vec![first.clone(), good()]).await;
        assert_eq!(ask(&responder(&stub), turn("?")).await.text, "Yes.");
        assert_eq!(stub.received().len(), 2);
        let stub = Stub::replies(vec![first]).await;
        assert_eq!(ask(&responder(&stub), turn("?")).await.error(), ChatError::Unavailable);
        assert_eq!(stub.received().len(), 2);
    }
}

#[tokio::test]
async fn a_short_pause_is_waited_for_and_a_long_one_is_not() {
    let stub = Stub::replies(vec![Reply::error(429, "busy").with("retry-after", "0.4"), good()]).await;
    let begun = Instant::now();
    assert_eq!(ask(&responder(&stub), turn("?")).await.text, "Yes.");
    assert!(begun.elapsed() >= Duration::from_millis(400));
    let date = "Wed, 21 Oct 2026 07:18:00 GMT";
    for wait in ["5.5", "600", "Wed, 21 Oct 2026 07:28:00 GMT"] {
        let stub = Stub::replies(vec![
            Reply::error(429, "busy").with("retry-after", wait).with("date", date),
            good(),
        ])
        .await;
        let begun = Instant::now();
        assert_eq!(ask(&responder(&stub), turn("?")).await.error(), ChatError::Unavailable);
        assert!(begun.elapsed() < Duration::from_secs(3) && stub.received().len() == 1, "{wait}");
    }
}

#[tokio::test]
async fn what_fails_after_the_first_delta_is_not_repeated() {
    for broken in [
        stream(delta_event("Half an answer")),
        stream(format!(
            "{}{}",
            delta_event("Half an answer"),
            event(&json!({ "error": { "message": "broken" } }))
        )),
        stream(format!("{}data: no json\n\n", delta_event("Half an answer"))),
    ] {
        let stub = Stub::replies(vec![broken, good()]).await;
        let said = ask(&responder(&stub), turn("?")).await;
        assert!(said.text.starts_with("Half an"), "{said:?}");
        assert_eq!((said.error(), stub.received().len()), (ChatError::Unavailable, 1));
    }
    // One that only leaves out the mark of the end has not failed.
    let end = event(&json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] }));
    let stub = Stub::replies(vec![stream(format!("{}{end}", delta_event("Whole.")))]).await;
    assert_eq!(ask(&responder(&stub), turn("?")).await.outcome(), Outcome::Answered);
}

#[tokio::test]
async fn silence_before_and_within_an_answer_is_a_timeout() {
    let head = Part::Bytes(delta_event("Half ").into_bytes());
    for parts in [vec![Part::Hang], vec![head, Part::Hang]] {
        let stub = Stub::replies(vec![Reply::parts(parts)]).await;
        let begun = Instant::now();
        let said = ask(&responder(&stub), turn("?")).await;
        assert_eq!(said.error(), ChatError::Timeout);
        assert!(begun.elapsed() >= Duration::from_millis(700) && begun.elapsed() < Duration::from_secs(5));
        assert_eq!(stub.received().len(), 1);
    }
}

#[tokio::test]
async fn the_deadline_of_the_turn_holds() {
    let drip: Vec<Part> =
        (0..200).flat_map(|_| [Part::Bytes(delta_event("x").into_bytes()), Part::Wait(50)]).collect();
    let stub = Stub::replies(vec![Reply::parts(drip)]).await;
    let mut turn = turn("?");
    turn.deadline = Timestamp::from_millis(NOW.millis() + 600);
    let begun = Instant::now();
    let said = ask(&responder(&stub), turn.clone()).await;
    assert_eq!(said.error(), ChatError::Timeout);
    assert!(!said.text.is_empty() && begun.elapsed() < Duration::from_secs(4));
    turn.deadline = NOW;
    assert_eq!(ask(&responder(&stub), turn).await.error(), ChatError::Timeout);
}

#[tokio::test]
async fn dropping_the_stream_ends_the_request_within_a_second() {
    for parts in [vec![Part::Hang], vec![Part::Bytes(delta_event("Half ").into_bytes()), Part::Hang]] {
        let stub = Stub::replies(vec![Reply::parts(parts)]).await;
        let mut endpoint = endpoint(&stub);
        endpoint.idle_timeout = Duration::from_secs(60);
        let mut stream = responder_of(endpoint).0.respond(turn("?"));
        let _ = tokio::time::timeout(Duration::from_millis(300), async {
            while stream.next().await.is_some() {}
        })
        .await;
        drop(stream);
        let begun = Instant::now();
        while stub.disconnects() == 0 {
            assert!(begun.elapsed() < Duration::from_secs(1), "the connection is still there");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

#[tokio::test]
async fn an_endpoint_that_keeps_failing_is_left_alone_for_a_while() {
    let stub = Stub::with(|nth, _| if nth < 5 { Reply::error(401, KEY) } else { good() }).await;
    let (responder, clock) = responder_of(endpoint(&stub));
    for requests in [1, 2, 3, 4, 5, 5, 5] {
        assert_eq!(ask(&responder, turn("?")).await.error(), ChatError::Unavailable);
        assert_eq!(stub.received().len(), requests);
    }
    clock.advance_millis(30_000);
    assert_eq!(ask(&responder, turn("?")).await.text, "Yes.");
}

#[tokio::test]
async fn long_lines_and_bodies_end_the_answer() {
    let long = format!("data: {}", "x".repeat(10_000));
    let stub = Stub::replies(vec![Reply::parts(vec![Part::Bytes(long.into_bytes()), Part::Hang])]).await;
    let mut endpoint = endpoint(&stub);
    endpoint.max_event_bytes = 4_096;
    endpoint.max_response_bytes = 8_192;
    let (responder, _) = responder_of(endpoint);
    assert_eq!(ask(&responder, turn("?")).await.error(), ChatError::Unavailable);
    let comments = ": still here\n\n".repeat(1_000);
    let whole = Reply::json(200, json!({ "choices": [{ "message": { "content": "x".repeat(10_000) } }] }));
    for reply in [stream(comments), whole] {
        let stub = Stub::replies(vec![reply]).await;
        let mut endpoint = crate::endpoint(&stub);
        endpoint.max_event_bytes = 4_096;
        endpoint.max_response_bytes = 8_192;
        assert_eq!(ask(&responder_of(endpoint).0, turn("?")).await.error(), ChatError::Unavailable);
    }
}

#[tokio::test]
async fn a_model_that_refuses_has_refused() {
    let refusal = event(&json!({ "choices": [{ "delta": { "refusal": "No." }, "finish_reason": "stop" }] }));
    let filtered = event(&json!({ "choices": [{ "delta": {}, "finish_reason": "content_filter" }] }));
    for said in [refusal, filtered] {
        let stub = Stub::replies(vec![stream(format!("{said}data: [DONE]\n\n"))]).await;
        assert_eq!(ask(&responder(&stub), turn("?")).await.error(), ChatError::Refused);
        assert_eq!(stub.received().len(), 1);
    }
}

#[tokio::test]
async fn nobody_there_and_unknown_endpoints_are_unavailable() {
    let stub = Stub::replies(vec![good()]).await;
    let responder = responder(&stub);
    let mut turn = turn("?");
    turn.agent.settings.llm.endpoint = "https://elsewhere.example/v1".to_owned();
    assert_eq!(ask(&responder, turn.clone()).await.events, [ChatEvent::Error(ChatError::Unavailable)]);
    assert!(stub.received().is_empty() && responder.most(&turn).tokens() == 0);
    turn.agent.settings.llm.endpoint = "default".to_owned();
    drop(stub);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(ask(&responder, turn).await.error(), ChatError::Unavailable);
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = Stub::replies(vec![good()]).await;
    let location = format!("{}/chat/completions", elsewhere.url());
    let stub = Stub::replies(vec![Reply::error(307, "moved").with("location", &location)]).await;
    assert_eq!(ask(&responder(&stub), turn("?")).await.error(), ChatError::Unavailable);
    assert_eq!((stub.received().len(), elsewhere.received().len()), (1, 0));
}

#[test]
fn endpoints_that_cannot_work_are_refused() {
    let made = |endpoint: EndpointConfig| {
        let clock = std::sync::Arc::new(FixedClock::at(NOW));
        let ids = std::sync::Arc::new(SequentialIds::default());
        LlmResponder::new([("a".to_owned(), endpoint)], clock, ids).map(|_| ()).map_err(|(_, error)| error)
    };
    let at = |address: &str| EndpointConfig::parse(address, "model");
    for good in ["http://localhost/v1", "https://host/v1/", "https://host/v1/chat/completions?api-version=1"]
    {
        assert_eq!(at(good).and_then(made), Ok(()), "{good}");
    }
    for bad in ["", "host/v1", "ftp://host", "https://user:pass@host/v1", "file:///etc"] {
        assert_eq!(at(bad).and_then(made), Err(ConfigError::Url), "{bad}");
    }
    for bad in ["", " ", "a\nb"] {
        assert_eq!(ApiKey::new(bad).map(|_| ()), Err(ConfigError::ApiKey), "{bad:?}");
    }
    let mut endpoint = at("https://host/v1?key=Secret").expect("a URL");
    endpoint.api_key = Some(ApiKey::new(KEY).expect("a key"));
    let shown = format!("{endpoint:?}");
    assert!(shown.contains("https://host/v1") && !shown.contains("Secret"), "{shown}");
    endpoint.price.input = f64::NAN;
    assert!(matches!(made(endpoint), Err(ConfigError::Setting(_))));
}
