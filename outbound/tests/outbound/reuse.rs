//! Idle connections: used again for the same target and address only, and never trusted.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::Method;
use openapi_core::ports::{Outbound, OutboundRequest};
use outbound::{HttpOutbound, SystemDialer};
use tokio::io::AsyncWriteExt as _;

use crate::support::{Answers, Receiver, client, get, parts, policy, read_head};

const EMPTY: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

#[tokio::test]
async fn a_connection_serves_several_requests() {
    let receiver = Receiver::answering(EMPTY).await;
    let client = client(receiver.port());
    for _ in 0..5 {
        assert_eq!(client.send(get(receiver.url("/"))).await.unwrap().status, 200);
    }
    assert_eq!(receiver.connections(), 1);
}

/// Two names on one address share no connection, because one of them may not be verified for the other.
#[tokio::test]
async fn names_share_no_connection() {
    let receiver = Receiver::answering(EMPTY).await;
    let port = receiver.port();
    let answers = Answers::of(&[("a.example", &[&["127.0.0.2"]]), ("b.example", &[&["127.0.0.2"]])]);
    let client = HttpOutbound::new(policy(&["127.0.0.2"], &[port]), parts(answers, Arc::new(SystemDialer)));
    for name in ["a", "b", "a", "b"] {
        client.send(get(format!("http://{name}.example:{port}/"))).await.unwrap();
    }
    assert_eq!(receiver.connections(), 2);
}

/// What a receiver sends without a request answers none.
#[tokio::test]
async fn a_second_response_is_not_used() {
    let receiver = Receiver::answering(
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
    )
    .await;
    let client = client(receiver.port());
    for _ in 0..3 {
        assert_eq!(client.send(get(receiver.url("/"))).await.unwrap().status, 200);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(receiver.connections(), 3);
}

/// A receiver that answers the first request of each connection and hangs up at the second.
async fn hanging_up(requests: Arc<AtomicUsize>) -> Receiver {
    Receiver::new(move |mut stream, _| {
        let requests = Arc::clone(&requests);
        async move {
            read_head(&mut stream).await?;
            requests.fetch_add(1, Ordering::SeqCst);
            stream.write_all(EMPTY.as_bytes()).await?;
            read_head(&mut stream).await?;
            requests.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
    })
    .await
}

#[tokio::test]
async fn a_repeatable_request_survives_a_closed_connection() {
    let requests = Arc::new(AtomicUsize::new(0));
    let receiver = hanging_up(Arc::clone(&requests)).await;
    let client = client(receiver.port());
    let request =
        |is_repeatable| OutboundRequest { method: Method::POST, is_repeatable, ..get(receiver.url("/")) };
    assert_eq!(client.send(request(true)).await.unwrap().status, 200);
    assert_eq!(client.send(request(true)).await.unwrap().status, 200);
    assert_eq!((receiver.connections(), requests.load(Ordering::SeqCst)), (2, 3));
    // The second connection is idle now. A request that must not be repeated fails on it.
    assert_eq!(client.send(request(false)).await.unwrap_err().word(), "response");
    assert_eq!(requests.load(Ordering::SeqCst), 4);
}

/// Idle connections end by themselves, and no connection is used for long.
#[tokio::test(start_paused = true)]
async fn connections_age() {
    let receiver = Receiver::answering(EMPTY).await;
    let client = client(receiver.port());
    let send = || async {
        let request = OutboundRequest { timeout_millis: 600_000, ..get(receiver.url("/")) };
        client.send(request).await.unwrap();
    };
    send().await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    send().await;
    assert_eq!(receiver.connections(), 1);
    tokio::time::sleep(Duration::from_secs(16)).await;
    send().await;
    assert_eq!(receiver.connections(), 2);
    for _ in 0..7 {
        tokio::time::sleep(Duration::from_secs(10)).await;
        send().await;
    }
    assert_eq!(receiver.connections(), 3);
}
