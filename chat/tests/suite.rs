//! The suite of responders, on those that are shipped and on faulty ones.

use std::future::Future;
use std::pin::Pin;

use chat::KnowledgeResponder;
use chat::suite::{Faulty, violations};
use conversations::ChatSettings;
use openapi_core::ports::Timer;
use openapi_core::values::Timestamp;

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

    use chat::{LlmEndpoint, LlmResponder};
    use openapi_core::ports::{FixedClock, SequentialIds};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}/v1", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            tokio::spawn(async move {
                // What is asked does not matter; it is read as far as it comes at once.
                let _ = connection.read(&mut vec![0; 256 << 10]).await;
                let said = "data: {\"choices\":[{\"delta\":{\"content\":\"In Leeds [1], [7].\"},\"finish_reason\":\"stop\"}]}\n\n";
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
                let _ = connection.write_all(format!("{head}{said}data: [DONE]\n\n").as_bytes()).await;
            });
        }
    });
    let endpoint = LlmEndpoint::at(&address, "model").expect("a URL");
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
