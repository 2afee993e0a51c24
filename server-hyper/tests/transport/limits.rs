//! Limits before authentication: the memory of unfinished heads, requests for the reference, and what a response says when
//! its connection ends.

use std::time::Duration;

use openapi_core::api::AddressLimits;
use server_hyper::serve::docs::Docs;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::support::{Options, StandIn, api, api_with, get, send, start, talk};

/// The resident memory of this process, in KiB.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Runs in a process of its own under nextest, so no other test counts.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unfinished_heads_take_little_memory() {
    let server = start(StandIn, Options { connections: 1_000, ..Options::default() }).await;
    let mut head = b"GET / HTTP/1.1\r\nHost: a\r\nX-A: ".to_vec();
    head.resize(250_000, b'a');
    let before = resident_kib();
    let mut held = Vec::new();
    for _ in 0..200 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        // The server may refuse the head before it has all of it.
        let _ = timeout(Duration::from_millis(50), stream.write_all(&head)).await;
        held.push(stream);
    }
    let grown = resident_kib().saturating_sub(before);
    assert!(grown < 200 * 100, "{grown} KiB for 200 heads");
}

#[tokio::test]
async fn a_head_that_is_too_long_is_answered_before_its_end() {
    let server = start(StandIn, Options::default()).await;
    for (bytes, status) in [
        (format!("GET / HTTP/1.1\r\nHost: a\r\nX-A: {}", "a".repeat(40_000)), 431),
        (format!("GET / HTTP/1.1\r\nHost: a\r\n{}", "a".repeat(40_000)), 431),
        (format!("GET / HTTP/1.1\r\nHost: a\r\n{}", "X-A: bcd\r\n".repeat(90) + &"X".repeat(40_000)), 431),
        (format!("GET /{}", "a".repeat(40_000)), 414),
        ("\r\n".repeat(20_000), 431),
    ] {
        // Nothing more comes: the server does not wait for the end of the head.
        let heard = send(server.address, bytes.as_bytes()).await;
        assert_eq!(heard.answers.len(), 1, "{}…: {heard:?}", &bytes[..20]);
        assert_eq!(heard.answers[0].status, status, "{}…", &bytes[..20]);
        assert_eq!(heard.answers[0].header("connection"), Some("close"));
        assert!(heard.closed && !heard.reset, "{}…", &bytes[..20]);
    }
}

#[tokio::test]
async fn a_response_says_whether_its_connection_ends() {
    let server = start(StandIn, Options::default()).await;
    let post = |path: &str, length: usize, sent: usize, further: &str| {
        let body = "x".repeat(sent);
        format!("POST {path} HTTP/1.1\r\nHost: a\r\n{further}Content-Length: {length}\r\n\r\n{body}")
    };
    for (what, request, ends) in [
        ("a body that was read", post("/body", 10, 10, ""), false),
        ("a short body that nobody read", post("/refuse", 10, 10, ""), false),
        ("a body that has not arrived", post("/refuse", 10, 3, ""), true),
        ("a long body that nobody read", post("/refuse", 400_000, 400_000, ""), true),
        ("a body that waits for permission", post("/refuse", 10, 0, "Expect: 100-continue\r\n"), true),
        (
            "chunks that nobody read",
            "POST /refuse HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n".to_owned(),
            false,
        ),
        (
            "chunks without an end",
            "POST /refuse HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n".to_owned(),
            true,
        ),
        ("a panic before the body was read", post("/panic", 10, 3, ""), true),
    ] {
        let stream = TcpStream::connect(server.address).await.unwrap();
        let heard = talk(stream, request.as_bytes(), Duration::from_millis(200)).await;
        assert_eq!(heard.answers.len(), 1, "{what}: {heard:?}");
        let says = heard.answers[0].header("connection") == Some("close");
        assert_eq!((says, heard.closed), (ends, ends), "{what}: {heard:?}");
        if !ends {
            let both = format!("{request}{}", get("/ok"));
            let heard = send(server.address, both.as_bytes()).await;
            assert_eq!(heard.answers.len(), 2, "{what}: the next request is answered");
        }
    }
}

#[tokio::test]
async fn the_reference_counts_like_health_checks() {
    let limits = AddressLimits { health: 4, download: 0, unrouted: 0, failed_authentication: 0 };
    let (web, _) = api_with(limits, Some(Docs::new())).await;
    let server = start(web, Options::default()).await;
    let mut bytes = 0;
    let mut statuses = Vec::new();
    for path in [
        "/docs",
        "/docs/swagger-ui-bundle.js",
        "/openapi.json",
        "/docs/swagger-ui-bundle.js",
        "/docs",
        "/docs/init.js",
    ] {
        let answer = send(server.address, get(path).as_bytes()).await.answers.remove(0);
        statuses.push(answer.status);
        bytes += answer.body.len();
        if answer.status == 429 {
            assert!(
                answer.header("retry-after").is_some() && answer.text().contains("TOO_MANY_FAILED_ATTEMPTS")
            );
        }
    }
    assert_eq!(statuses, [200, 200, 200, 200, 429, 429]);
    assert!(bytes < 2 << 20, "{bytes} bytes");
}

#[tokio::test]
async fn the_reference_can_be_switched_off() {
    let limits = AddressLimits { health: 0, download: 0, unrouted: 0, failed_authentication: 0 };
    let (web, _) = api_with(limits, None).await;
    let server = start(web, Options::default()).await;
    for path in ["/docs", "/docs/", "/docs/init.js", "/openapi.json"] {
        let answer = send(server.address, get(path).as_bytes()).await.answers.remove(0);
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.text().contains("\"code\":"), "{path}");
    }
    assert_eq!(send(server.address, get("/v1/open/health").as_bytes()).await.answers[0].status, 200);
    let (web, _) = api().await;
    let server = start(web, Options::default()).await;
    assert_eq!(send(server.address, get("/openapi.json").as_bytes()).await.answers[0].status, 200);
}
