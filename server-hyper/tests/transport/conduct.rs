//! How the server behaves: panics, connection limits, proxies, compression, the end, HTTP/2, the reference page.

use std::sync::Arc;
use std::time::{Duration, Instant};

use server_hyper::proxies::TrustedProxies;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::support::{Options, StandIn, api, get, send, start};

#[tokio::test]
async fn a_panic_stays_within_its_request() {
    let server = start(StandIn, Options::default()).await;
    let requests = format!("{}{}", get("/panic"), get("/ok"));
    let heard = send(server.address, requests.as_bytes()).await;
    assert_eq!(heard.answers[0].status, 500);
    assert!(heard.answers[0].text().contains("\"code\":\"INTERNAL_ERROR\""), "{:?}", heard.answers[0]);
    assert!(!heard.answers[0].text().contains("as the test wants"));
    assert_eq!(heard.answers[1].text(), "ok");
    assert!(server.metrics.encode().contains("openapi_panics_total 1"));
    assert!(server.metrics.encode().contains("openapi_http_requests_in_flight 0"));
}

#[tokio::test]
async fn the_request_id_of_a_client_comes_back_even_from_a_panic() {
    let server = start(StandIn, Options::default()).await;
    for (given, echoed) in [("abc-1._", true), ("a b", false), ("", false)] {
        let request = format!("GET /panic HTTP/1.1\r\nHost: a\r\nX-Request-Id: {given}\r\n\r\n");
        let heard = send(server.address, request.as_bytes()).await;
        let id = heard.answers[0].header("x-request-id").unwrap();
        assert_eq!(id == given, echoed, "{given} gave {id}");
        assert!(heard.answers[0].text().contains(id));
    }
}

#[tokio::test]
async fn connections_over_the_limit_get_503() {
    let options = Options { connections: 3, per_address: 2, ..Options::default() };
    let server = start(StandIn, options).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(get("/slow/60000").as_bytes()).await.unwrap();
        held.push(stream);
    }
    while !server.metrics.encode().contains("openapi_http_requests_in_flight 2") {
        sleep(Duration::from_millis(5)).await;
    }
    let heard = send(server.address, get("/").as_bytes()).await;
    assert_eq!(heard.answers[0].status, 503);
    assert!(heard.answers[0].text().contains("Too many connections from this address"));
    assert_eq!(heard.answers[0].header("retry-after"), Some("1"));
    assert!(heard.closed && !heard.reset, "{heard:?}");
    assert!(
        server
            .metrics
            .encode()
            .contains("openapi_connections_refused_total{listener=\"open-api\",reason=\"address\"} 1")
    );
    held.clear();
    // A closed connection frees its slot.
    let begun = Instant::now();
    while send(server.address, get("/").as_bytes()).await.answers[0].status != 200 {
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
}

#[tokio::test]
async fn the_client_behind_a_trusted_proxy_is_known() {
    let peer = |proxies: &str, header: &str| {
        let proxies =
            TrustedProxies::new(proxies.split(' ').filter_map(|block| block.parse().ok()).collect());
        let request = format!("GET /peer HTTP/1.1\r\nHost: a\r\n{header}\r\n\r\n");
        async move {
            let server = start(StandIn, Options { proxies, ..Options::default() }).await;
            send(server.address, request.as_bytes()).await.answers[0].text().to_owned()
        }
    };
    let listed = "X-Forwarded-For: 203.0.113.7, 198.51.100.1, 10.0.0.9";
    assert_eq!(peer("127.0.0.0/8 10.0.0.0/8", listed).await, "198.51.100.1");
    assert_eq!(
        peer("127.0.0.0/8 10.0.0.0/8", "Forwarded: for=203.0.113.7, for=\"[2001:db8::1]:80\"").await,
        "127.0.0.1",
        "the proxies write X-Forwarded-For"
    );
    assert_eq!(peer("", listed).await, "127.0.0.1");
    assert_eq!(peer("192.0.2.0/24", listed).await, "127.0.0.1");
}

#[tokio::test]
async fn large_answers_are_compressed_as_the_client_wants() {
    let server = start(StandIn, Options::default()).await;
    let ask = |path: &str, accept: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: {accept}\r\n\r\n");
        async move { send(server.address, request.as_bytes()).await.answers.remove(0) }
    };
    for (accept, encoding) in [
        ("gzip", Some("gzip")),
        ("br", Some("br")),
        ("zstd", Some("zstd")),
        ("gzip;q=0.1, br;q=0.9", Some("br")),
        ("gzip;q=0", None),
        ("identity", None),
        ("deflate", None),
    ] {
        let answer = ask("/big/1032", accept).await;
        assert_eq!(answer.header("content-encoding"), encoding, "{accept}");
        assert!(answer.header("vary").unwrap().eq_ignore_ascii_case("accept-encoding"));
        assert_eq!(answer.body.len() < 1032, encoding.is_some());
        if encoding == Some("gzip") {
            let mut plain = String::new();
            std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&answer.body[..]), &mut plain)
                .unwrap();
            assert_eq!(plain, "abcdefgh".repeat(129));
        }
    }
    for (path, why) in [("/big/1024", "too small"), ("/tagged/8192", "an ETag names the bytes")] {
        let answer = ask(path, "gzip, br, zstd").await;
        assert_eq!(answer.header("content-encoding"), None, "{why}");
        assert!(answer.header("content-length").is_some());
        assert_eq!(answer.header("vary"), None, "{why}");
    }
    let plain = send(server.address, get("/big/4096").as_bytes()).await.answers.remove(0);
    assert_eq!((plain.header("content-encoding"), plain.body.len()), (None, 4096));
    assert!(plain.header("vary").is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_drain_lets_running_requests_end_and_takes_no_more() {
    let server = start(StandIn, Options::default()).await;
    let running: Vec<_> = (0..40)
        .map(|_| tokio::spawn(async move { send(server.address, get("/slow/600").as_bytes()).await }))
        .collect();
    let resting = TcpStream::connect(server.address).await.unwrap();
    let mut used = TcpStream::connect(server.address).await.unwrap();
    used.write_all(get("/").as_bytes()).await.unwrap();
    assert_ne!(used.read(&mut [0; 1024]).await.unwrap(), 0);
    sleep(Duration::from_millis(200)).await;
    let begun = Instant::now();
    server.drain.begin();
    server.accepting.await.unwrap();
    assert!(TcpStream::connect(server.address).await.is_err(), "nobody listens any more");
    for mut stream in [resting, used] {
        let mut rest = Vec::new();
        timeout(Duration::from_millis(300), stream.read_to_end(&mut rest))
            .await
            .expect("a resting connection ends at once")
            .unwrap();
    }
    for request in running {
        let heard = request.await.unwrap();
        assert_eq!(heard.answers[0].text(), "slow");
        assert!(heard.closed && !heard.reset);
    }
    assert_eq!(server.drain.ended(Duration::from_secs(5)).await, 0);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn the_drain_has_an_end() {
    let server = start(StandIn, Options::default()).await;
    let request = tokio::spawn(async move { send(server.address, get("/slow/60000").as_bytes()).await });
    sleep(Duration::from_millis(100)).await;
    server.drain.begin();
    let begun = Instant::now();
    assert_eq!(server.drain.ended(Duration::from_millis(300)).await, 1);
    assert!(begun.elapsed() < Duration::from_secs(1));
    request.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_load_every_request_before_the_drain_is_answered_whole() {
    let server = Arc::new(start(StandIn, Options::default()).await);
    let clients: Vec<_> = (0..16)
        .map(|_| {
            let server = Arc::clone(&server);
            tokio::spawn(async move {
                let mut answered = 0;
                let Ok(mut stream) = TcpStream::connect(server.address).await else { return 0 };
                let mut chunk = vec![0; 4096];
                loop {
                    if stream.write_all(get("/slow/2").as_bytes()).await.is_err() {
                        return answered;
                    }
                    match stream.read(&mut chunk).await {
                        // A request that crossed the end of its connection was not begun: it may be sent again.
                        Ok(0) | Err(_) => return answered,
                        Ok(read) => {
                            let text = String::from_utf8_lossy(&chunk[..read]);
                            assert!(text.starts_with("HTTP/1.1 200") && text.ends_with("slow"), "{text}");
                            answered += 1;
                        }
                    }
                }
            })
        })
        .collect();
    sleep(Duration::from_millis(400)).await;
    server.drain.begin();
    assert_eq!(server.drain.ended(Duration::from_secs(5)).await, 0);
    let mut answered = 0;
    for client in clients {
        answered += timeout(Duration::from_secs(5), client).await.unwrap().unwrap();
    }
    let text = server.metrics.encode();
    assert!(answered > 100, "{answered}");
    assert!(
        text.contains(&format!("openapi_http_requests_total{{route=\"static\",method=\"GET\",status=\"200\",code=\"\"}} {answered}\n")),
        "{answered} were heard\n{text}"
    );
    assert!(
        text.contains("openapi_connections{listener=\"open-api\"} 0\n")
            && text.contains("openapi_http_requests_cancelled_total 0")
    );
}

#[tokio::test]
async fn http2_is_off_and_can_be_switched_on() {
    use http_body_util::BodyExt;
    use hyper_util::rt::{TokioExecutor, TokioIo};
    let (web, _) = api().await;
    let server = start(web, Options { http2: true, ..Options::default() }).await;
    let stream = TokioIo::new(TcpStream::connect(server.address).await.unwrap());
    let (mut client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    let connection = tokio::spawn(connection);
    for _ in 0..2 {
        let request =
            http::Request::get("http://a/v1/open/health").body(http_body_util::Empty::<bytes::Bytes>::new());
        let response = client.send_request(request.unwrap()).await.unwrap();
        assert_eq!((response.status().as_u16(), response.version()), (200, http::Version::HTTP_2));
        assert!(response.into_body().collect().await.unwrap().to_bytes().starts_with(b"{\"success\":true"));
    }
    // HTTP/1.1 is spoken at the same port.
    assert_eq!(send(server.address, get("/v1/open/health").as_bytes()).await.answers[0].status, 200);
    server.drain.begin();
    assert_eq!(server.drain.ended(Duration::from_secs(2)).await, 0);
    timeout(Duration::from_secs(2), connection).await.unwrap().unwrap().unwrap();

    let (web, _) = api().await;
    let server = start(web, Options::default()).await;
    let stream = TokioIo::new(TcpStream::connect(server.address).await.unwrap());
    if let Ok((mut client, connection)) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await
    {
        tokio::spawn(connection);
        let request =
            http::Request::get("http://a/v1/open/health").body(http_body_util::Empty::<bytes::Bytes>::new());
        assert!(client.send_request(request.unwrap()).await.is_err());
    }
}

#[tokio::test]
async fn the_reference_page_is_whole_and_strict() {
    let (web, _) = api().await;
    let server = start(web, Options::default()).await;
    let page = send(server.address, get("/docs").as_bytes()).await.answers.remove(0);
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(
        policy.starts_with("default-src 'none';") && !policy.contains("unsafe") && !policy.contains("http")
    );
    for part in page.text().split('"').filter(|part| part.starts_with("docs/")) {
        let file = send(server.address, get(&format!("/{part}")).as_bytes()).await.answers.remove(0);
        assert_eq!(file.status, 200, "{part}");
        assert!(file.body.len() > 500, "{part}");
        assert_eq!(file.header("cache-control"), Some("public, max-age=31536000, immutable"));
    }
    assert_eq!(send(server.address, get("/openapi.json").as_bytes()).await.answers[0].status, 200);
    assert_eq!(send(server.address, get("/docs/nothing").as_bytes()).await.answers[0].status, 404);
    assert_eq!(
        send(server.address, get("/docs/").as_bytes()).await.answers[0].header("location"),
        Some("../docs")
    );
}
