//! `Retry-After` means the same to whole and to streaming responses.

use std::time::Duration;

use llm::stub::{Part, Reply, Stub};
use llm::{Budget, Client, EndpointConfig, Error, Message, Request, RetryPolicy, Role};
use tokio::time::Instant;

const DATE: &str = "Wed, 21 Oct 2026 07:28:00 GMT";

fn client(stub: &Stub) -> Client {
    let mut config = EndpointConfig::parse(&stub.url(), "some-model").expect("a URL");
    config.max_event_bytes = 2_048;
    Client::new(config).expect("a client")
}

fn request() -> Request<'static> {
    Request {
        model: None,
        messages: vec![Message::new(Role::User, "?")],
        tools: &[],
        format: None,
        temperature: None,
        max_output_tokens: 9,
    }
}

fn policy(max_wait: Duration) -> RetryPolicy {
    RetryPolicy { max_retries: 2, max_wait }
}

async fn complete(stub: &Stub, max_wait: Duration, timeout: Duration) -> Result<String, Error> {
    let budget = Budget::new(9, timeout);
    client(stub).complete(&request(), policy(max_wait), &budget).await.map(|completion| completion.text)
}

#[tokio::test]
async fn a_wait_is_honoured_in_seconds_and_as_a_date() {
    let minute = Duration::from_secs(60);
    for (after, least) in [("0.3", 300), ("Wed, 21 Oct 2026 07:28:01 GMT", 1_000)] {
        let busy = Reply::error(429, "busy").with("retry-after", after).with("date", DATE);
        let stub = Stub::replies(vec![busy, Reply::content("yes")]).await;
        let begun = Instant::now();
        assert_eq!(complete(&stub, minute, minute).await, Ok("yes".to_owned()), "{after}");
        assert!(begun.elapsed() >= Duration::from_millis(least), "{after}: {:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn a_wait_beyond_the_policy_or_the_deadline_fails_at_once_and_is_reported() {
    let minute = Duration::from_secs(60);
    for after in ["30", "Wed, 21 Oct 2026 07:28:30 GMT"] {
        let busy = Reply::error(503, "busy").with("retry-after", after).with("date", DATE);
        let stub = Stub::replies(vec![busy]).await;
        let begun = Instant::now();
        let errors = [
            complete(&stub, Duration::from_secs(5), minute).await.expect_err("too long for the policy"),
            complete(&stub, minute, Duration::from_secs(5)).await.expect_err("too long for the deadline"),
            client(&stub).stream(&request()).await.map(|_| ()).expect_err("busy"),
        ];
        assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
        for error in &errors {
            let is_reported =
                matches!(error, Error::Transient { retry_after: Some(wait), .. } if wait.as_secs() == 30);
            assert!(is_reported, "{error:?}");
        }
        assert_eq!(policy(Duration::from_secs(5)).wait(0, &errors[2]), None);
        assert!(policy(minute).wait(0, &errors[2]).is_some_and(|wait| wait.as_secs() >= 30));
        assert_eq!(stub.received().len(), 3);
    }
}

#[tokio::test]
async fn events_before_one_that_is_too_long_are_given() {
    let long = format!("data: {}\n\n", "x".repeat(3_000));
    let stream = [llm::stub::delta_event("a"), long].concat();
    let stub = Stub::replies(vec![Reply::parts(vec![Part::Bytes(stream.into_bytes())])]).await;
    let client = client(&stub);
    let mut chunks = client.stream(&request()).await.expect("a stream");
    assert_eq!(chunks.next().await.expect("a chunk").map(|chunk| chunk.text), Some("a".to_owned()));
    assert!(matches!(chunks.next().await, Err(Error::Transient { .. })));
}
