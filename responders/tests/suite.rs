//! The suite of responders, on those that are shipped and on faulty ones.

use std::future::Future;
use std::pin::Pin;

use conversations::ChatSettings;
use openapi_core::ports::Timer;
use openapi_core::values::Timestamp;
use responders::KnowledgeResponder;
use responders::suite::{Faulty, violations};

const NOW: Timestamp = Timestamp::from_millis(1_780_000_000_000);

struct TokioTimer;

impl Timer for TokioTimer {
    fn sleep(&self, millis: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(tokio::time::sleep(std::time::Duration::from_millis(millis)))
    }
}

#[tokio::test]
async fn knowledge_keeps_the_contract() {
    let found = violations(&KnowledgeResponder, &ChatSettings::default(), NOW, &TokioTimer, 5_000).await;
    assert_eq!(found, Vec::<String>::new());
}

#[cfg(feature = "llm")]
#[tokio::test]
async fn llm_keeps_the_contract() {
    use std::sync::Arc;

    use llm::EndpointConfig;
    use llm::stub::{Reply, Stub};
    use openapi_core::ports::{FixedClock, SequentialIds};
    use responders::LlmResponder;

    let stub = Stub::replies(vec![Reply::deltas(&["In Leeds [1], [7]."])]).await;
    let endpoint = EndpointConfig::parse(&stub.url(), "model").expect("a URL");
    let clock = Arc::new(FixedClock::at(NOW));
    let responder =
        LlmResponder::new([("default".to_owned(), endpoint)], clock, Arc::new(SequentialIds::default()));
    let responder = responder.expect("a responder");
    let found = violations(&responder, &ChatSettings::default(), NOW, &TokioTimer, 10_000).await;
    assert_eq!(found, Vec::<String>::new());
}

#[tokio::test]
async fn faulty_responders_are_found_out() {
    for (faulty, wanted) in [
        (Faulty::Panics, "it panics"),
        (Faulty::Breaks, "0 terminal events"),
        (Faulty::EndsTwice, "2 terminal events"),
        (Faulty::Silent, "it does not end"),
        (Faulty::Endless, "0 terminal events"),
    ] {
        let found = violations(&faulty, &ChatSettings::default(), NOW, &TokioTimer, 200).await;
        let is_found =
            found.iter().any(|finding| finding.contains(wanted) || finding.contains("does not end"));
        assert!(is_found, "{faulty:?}: {found:?}");
    }
}
