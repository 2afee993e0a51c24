//! Connection pools: idle connections make room, a listener's connections do not use up another's, and strangers leave a
//! reserve to those with a key.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use openapi_core::admin::IssuedKey;
use server_hyper::proxies::TrustedProxies;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};

use super::support::{Options, Server, StandIn, api, get, send, start, talk};

/// A connection from another loopback address.
async fn connect_from(host: u8, to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, host], 0))).unwrap();
    socket.connect(to).await.unwrap()
}

/// A request with a valid key on a connection of its own.
async fn with_key(host: u8, server: &Server, key: &IssuedKey) -> u16 {
    let request = format!(
        "GET /v1/open/contacts/chatbots/acme HTTP/1.1\r\nHost: a\r\nX-API-Key: {}\r\nX-API-Secret: {}\r\n\r\n",
        key.key.api_key,
        key.secret.expose()
    );
    let stream = connect_from(host, server.address).await;
    talk(stream, request.as_bytes(), Duration::from_millis(50)).await.answers[0].status
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(5), "{what}");
        sleep(Duration::from_millis(5)).await;
    }
}

fn refused(server: &Server) -> bool {
    server.metrics.encode().contains("openapi_connections_refused_total{")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_connections_to_a_full_pool_refuse_nobody() {
    let (web, key) = api().await;
    let options = Options { connections: 50, reserved: 5, per_address: 20, ..Options::default() };
    let server = start(web, options).await;
    // Silent ones, some in the middle of a head, and some at rest after a request.
    let mut idle = Vec::new();
    for number in 0..300_u32 {
        let mut stream = connect_from(10 + (number % 11) as u8, server.address).await;
        match number % 3 {
            0 => {}
            1 => stream.write_all(b"GET / HTTP/1.1\r\nX-A: ").await.unwrap(),
            _ => {
                // The server may have closed it already to make room.
                let _ = stream.write_all(get("/v1/open/health").as_bytes()).await;
            }
        }
        idle.push(stream);
    }
    for _ in 0..20 {
        assert_eq!(with_key(200, &server, &key).await, 200);
    }
    let stream = connect_from(201, server.address).await;
    let heard = talk(stream, get("/v1/open/health").as_bytes(), Duration::from_millis(50)).await;
    assert_eq!(heard.answers[0].status, 200, "others are served too");
    let text = server.metrics.encode();
    assert!(text.contains("openapi_connections_evicted_total{listener=\"open-api\"}"), "{text}");
    drop(idle);
    until("every connection ends", || {
        server.metrics.encode().contains("openapi_connections{listener=\"open-api\"} 0\n")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_pool_of_one_listener_leaves_the_other_alone() {
    let (web, key) = api().await;
    let widget = start(StandIn, Options { connections: 40, per_address: 4, ..Options::default() }).await;
    let server = start(web, Options { connections: 40, per_address: 4, ..Options::default() }).await;
    let mut held = Vec::new();
    for number in 0..200_u32 {
        let mut stream = connect_from(10 + (number % 20) as u8, widget.address).await;
        let _ = stream.write_all(get("/slow/60000").as_bytes()).await;
        held.push(stream);
    }
    until("the widget's pool is full", || refused(&widget)).await;
    for _ in 0..20 {
        assert_eq!(with_key(200, &server, &key).await, 200);
    }
    assert!(!refused(&server));
    drop(held);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reserve_is_left_to_networks_with_a_key() {
    let (web, key) = api().await;
    let options = Options { connections: 20, reserved: 4, per_address: 0, ..Options::default() };
    let server = start(web, options).await;
    assert_eq!(with_key(200, &server, &key).await, 200);
    // A request in progress cannot be evicted: these wait for the rest of their body.
    let head = format!(
        "POST /v1/open/contacts/chatbots/acme HTTP/1.1\r\nHost: a\r\nX-API-Key: {}\r\nX-API-Secret: {}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{{",
        key.key.api_key,
        key.secret.expose()
    );
    let mut held = Vec::new();
    for busy in 1..=16 {
        let mut stream = connect_from(10, server.address).await;
        stream.write_all(head.as_bytes()).await.unwrap();
        held.push(stream);
        let in_flight = format!("openapi_http_requests_in_flight {busy}\n");
        until("the request is in progress", || server.metrics.encode().contains(&in_flight)).await;
    }
    let stranger = connect_from(11, server.address).await;
    let heard = talk(stranger, get("/v1/open/health").as_bytes(), Duration::from_millis(50)).await;
    assert_eq!(heard.answers[0].status, 503);
    for _ in 0..10 {
        assert_eq!(with_key(200, &server, &key).await, 200);
    }
}

#[tokio::test]
async fn a_connection_that_makes_room_gets_its_response_first() {
    let options = Options { connections: 1, ..Options::default() };
    let server = start(StandIn, options).await;
    let mut first = TcpStream::connect(server.address).await.unwrap();
    first.write_all(get("/big/300000").as_bytes()).await.unwrap();
    until("the response is ready", || server.metrics.encode().contains("openapi_http_requests_total")).await;
    let mut whole = Vec::new();
    let newcomer = async {
        sleep(Duration::from_millis(50)).await;
        send(server.address, get("/ok").as_bytes()).await.answers[0].status
    };
    let (read, _) = tokio::join!(timeout(Duration::from_secs(5), first.read_to_end(&mut whole)), newcomer);
    read.expect("the connection ends").unwrap();
    assert!(whole.len() > 300_000, "{} bytes", whole.len());
}

#[tokio::test]
async fn plain_text_comes_from_proxies_only() {
    let proxies = TrustedProxies::new(vec!["127.0.0.7/32".parse().unwrap()]);
    let options = Options { proxies, is_for_proxies_only: true, ..Options::default() };
    let server = start(StandIn, options).await;
    let refused = send(server.address, get("/ok").as_bytes()).await;
    assert_eq!(refused.answers[0].status, 400);
    assert!(refused.answers[0].text().contains("from its proxies only"), "{refused:?}");
    assert!(refused.closed && !refused.reset);
    let heard =
        talk(connect_from(7, server.address).await, get("/ok").as_bytes(), Duration::from_millis(50)).await;
    assert_eq!(heard.answers[0].text(), "ok");
    let text = server.metrics.encode();
    assert!(
        text.contains("openapi_connections_refused_total{listener=\"open-api\",reason=\"plain_text\"} 1"),
        "{text}"
    );
}
