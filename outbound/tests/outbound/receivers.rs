//! Receivers that are slow, endless, huge, lying or broken: every call ends, with bounded memory.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::{HeaderValue, Method, header};
use openapi_core::ports::{Outbound, OutboundError, OutboundRequest};
use outbound::{Dial, HttpOutbound, SystemDialer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{Answers, Receiver, client, get, parts, policy, read_head};

/// Sends to a receiver that treats the connection so after the head of the request.
async fn error_of<F>(treat: impl Fn(TcpStream) -> F + Send + Sync + Copy + 'static) -> OutboundError
where
    F: Future<Output = io::Result<()>> + Send + 'static,
{
    let receiver = Receiver::new(move |mut stream, _| async move {
        read_head(&mut stream).await?;
        treat(stream).await
    })
    .await;
    let request = OutboundRequest { timeout_millis: 400, ..get(receiver.url("/")) };
    client(receiver.port()).send(request).await.unwrap_err()
}

/// Writes a head and then the same bytes until the client hangs up, which must happen.
async fn forever(stream: &mut TcpStream, head: &str, bytes: &[u8], pause: Duration) -> io::Result<()> {
    stream.write_all(head.as_bytes()).await?;
    loop {
        stream.write_all(bytes).await?;
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
    }
}

const MOMENT: Duration = Duration::from_millis(20);

#[tokio::test]
async fn silent_and_trickling_receivers_time_out() {
    let silent = error_of(|stream| async move {
        tokio::time::sleep(Duration::from_secs(60)).await;
        drop(stream);
        Ok(())
    });
    assert_eq!(silent.await, OutboundError::Timeout("response"));
    let head =
        error_of(|mut stream| async move { forever(&mut stream, "HTTP/1.1 200 OK\r\n", b"x", MOMENT).await });
    assert_eq!(head.await, OutboundError::Timeout("response"));
    let body = error_of(|mut stream| async move {
        forever(&mut stream, "HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", b"x", MOMENT).await
    });
    assert_eq!(body.await, OutboundError::Timeout("response"));
    let informational = error_of(|mut stream| async move {
        forever(&mut stream, "", b"HTTP/1.1 100 Continue\r\n\r\n", MOMENT).await
    });
    assert_eq!(informational.await, OutboundError::Timeout("response"));
}

#[tokio::test]
async fn broken_responses_are_errors() {
    let cases: [(&str, String); 11] = [
        ("garbage", "\0\u{1}\u{2}\r\n\r\n".into()),
        ("no HTTP", "SSH-2.0-OpenSSH_9.2\r\n\r\n".into()),
        ("HTTP/0.9", "<html></html>".into()),
        ("huge head", format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "a".repeat(17 << 10))),
        ("many fields", format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(500))),
        ("head without end", "HTTP/1.1 200 OK\r\nX: y\r\n".into()),
        ("fewer bytes than announced", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc".into()),
        ("two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab".into()),
        ("negative length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n".into()),
        ("bad chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc".into()),
        (
            "huge chunk size",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n".into(),
        ),
    ];
    for (name, answer) in cases {
        let answer = Arc::new(answer);
        let receiver = Receiver::new(move |mut stream, _| {
            let answer = Arc::clone(&answer);
            async move {
                read_head(&mut stream).await?;
                stream.write_all(answer.as_bytes()).await
            }
        })
        .await;
        let error = client(receiver.port()).send(get(receiver.url("/"))).await.unwrap_err();
        assert_eq!(error.word(), "response", "{name}: {error}");
    }
    let reset = error_of(|stream| async move {
        #[expect(deprecated, reason = "a linger of 0 resets and does not block")]
        stream.set_linger(Some(Duration::ZERO))
    });
    assert_eq!(reset.await.word(), "response");
}

/// A body beyond the limit is cut, the response counts, and the connection ends.
#[tokio::test]
async fn long_bodies_are_cut() {
    let hung_up = Arc::new(AtomicUsize::new(0));
    for head in ["Content-Length: 99999999999\r\n", "", "Transfer-Encoding: chunked\r\n"] {
        let ended = Arc::clone(&hung_up);
        let receiver = Receiver::new(move |mut stream, _| {
            let ended = Arc::clone(&ended);
            async move {
                read_head(&mut stream).await?;
                let block = [b'x'; 4096];
                let block = if head.starts_with('T') {
                    [b"1000\r\n", &block[..], b"\r\n"].concat()
                } else {
                    block.to_vec()
                };
                let head = format!("HTTP/1.1 200 OK\r\n{head}\r\n");
                let _ = forever(&mut stream, &head, &block, Duration::ZERO).await;
                ended.fetch_add(1, Ordering::SeqCst);
                Ok(())
            }
        })
        .await;
        let client = client(receiver.port());
        let request = OutboundRequest { max_body_bytes: 10_000, ..get(receiver.url("/")) };
        let response = client.send(request).await.unwrap();
        assert_eq!(
            (response.status.as_u16(), response.body.len(), response.is_truncated),
            (200, 10_000, true)
        );
    }
    while hung_up.load(Ordering::SeqCst) < 3 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn whole_bodies_are_whole() {
    for length in [0, 1, 9_999, 10_000] {
        let answer =
            format!("HTTP/1.1 201 Created\r\nContent-Length: {length}\r\n\r\n{}", "x".repeat(length));
        let receiver = Receiver::answering(answer).await;
        let request = OutboundRequest { max_body_bytes: 10_000, ..get(receiver.url("/")) };
        let response = client(receiver.port()).send(request).await.unwrap();
        assert_eq!(
            (response.status.as_u16(), response.body.len(), response.is_truncated),
            (201, length, false)
        );
    }
}

/// A compressed body is not decompressed, and none is asked for.
#[tokio::test]
async fn nothing_is_decompressed() {
    let receiver = Receiver::new(|mut stream, _| async move {
        let head = read_head(&mut stream).await?.unwrap_or_default();
        let body =
            if head.to_lowercase().contains("accept-encoding: identity\r\n") { "plain" } else { "other" };
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\n{body}");
        stream.write_all(answer.as_bytes()).await
    })
    .await;
    let response = client(receiver.port()).send(get(receiver.url("/"))).await.unwrap();
    assert_eq!(response.body, "plain");
    assert_eq!(response.headers[header::CONTENT_ENCODING], "gzip");
}

/// The request on the wire: the parsed URL, the caller's header fields, the body with its length.
#[tokio::test]
async fn the_request_as_it_is_sent() {
    let receiver = Receiver::new(|mut stream, _| async move {
        let head = read_head(&mut stream).await?.unwrap_or_default();
        let mut body = [0; 3];
        stream.read_exact(&mut body).await?;
        let seen = format!("{head}{}", String::from_utf8_lossy(&body));
        stream
            .write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{seen}", seen.len()).as_bytes())
            .await
    })
    .await;
    let client = client(receiver.port());
    let mut request = get(receiver.url("/a b?c=d#e"));
    request.method = Method::POST;
    request.body = "xyz".into();
    request.headers.insert("webhook-id", HeaderValue::from_static("1"));
    let seen = client.send(request.clone()).await.unwrap().body;
    let seen = String::from_utf8(seen.to_vec()).unwrap().to_lowercase();
    let host = format!("host: receiver.example:{}\r\n", receiver.port());
    for expected in
        ["post /a%20b?c=d http/1.1\r\n", &host, "webhook-id: 1\r\n", "content-length: 3\r\n", "\r\n\r\nxyz"]
    {
        assert!(seen.contains(expected), "{expected} is not in {seen}");
    }
    for name in
        ["host", "connection", "content-length", "transfer-encoding", "upgrade", "expect", "keep-alive"]
    {
        let mut request = request.clone();
        request.headers.insert(name, HeaderValue::from_static("1"));
        assert_eq!(client.send(request).await.unwrap_err().word(), "request", "{name}");
    }
}

#[tokio::test]
async fn closed_ports_and_unknown_names() {
    let unused = std::net::TcpListener::bind("127.0.0.2:0").unwrap().local_addr().unwrap().port();
    let client = client(unused);
    let error = client.send(get(format!("http://receiver.example:{unused}/"))).await.unwrap_err();
    assert_eq!(error.word(), "connect");
    let error = client.send(get(format!("http://unknown.example:{unused}/"))).await.unwrap_err();
    assert_eq!(error.word(), "dns");
}

/// Never answers for one address, and connects to the others.
struct Stalling(SocketAddr);

#[async_trait::async_trait]
impl Dial for Stalling {
    async fn dial(&self, address: SocketAddr) -> io::Result<TcpStream> {
        if address == self.0 {
            std::future::pending::<()>().await;
        }
        SystemDialer.dial(address).await
    }
}

/// An address that does not answer delays the next one by its head start only; one that refuses, not at all.
#[tokio::test]
async fn other_addresses_are_tried() {
    let receiver = Receiver::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let port = receiver.port();
    let resolver = Answers::of(&[("receiver.example", &[&["127.0.0.3", "127.0.0.4", "127.0.0.2"]])]);
    let stalling = Arc::new(Stalling(SocketAddr::from(([127, 0, 0, 3], port))));
    let client = HttpOutbound::new(policy(&["127.0.0.0/8"], &[port]), parts(resolver, stalling));
    assert_eq!(client.send(get(receiver.url("/"))).await.unwrap().status, 200);
    let resolver = Answers::of(&[("receiver.example", &[&["127.0.0.3"]])]);
    let stalling = Arc::new(Stalling(SocketAddr::from(([127, 0, 0, 3], port))));
    let client = HttpOutbound::new(policy(&["127.0.0.0/8"], &[port]), parts(resolver, stalling));
    let request = OutboundRequest { timeout_millis: 300, ..get(receiver.url("/")) };
    assert_eq!(client.send(request).await.unwrap_err(), OutboundError::Timeout("connect"));
}

/// A dropped call ends its connection.
#[tokio::test]
async fn a_dropped_call_hangs_up() {
    let hung_up = Arc::new(AtomicUsize::new(0));
    let ended = Arc::clone(&hung_up);
    let receiver = Receiver::new(move |mut stream, _| {
        let ended = Arc::clone(&ended);
        async move {
            read_head(&mut stream).await?;
            let _ = stream.read_u8().await;
            ended.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
    })
    .await;
    let client = client(receiver.port());
    let call = tokio::time::timeout(Duration::from_millis(200), client.send(get(receiver.url("/"))));
    call.await.unwrap_err();
    while hung_up.load(Ordering::SeqCst) < 1 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
