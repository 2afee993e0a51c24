//! Clients of HTTP/2 that do not read: streams without a window are cancelled, and idle connections end.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::support::{Options, Server, StandIn, api, get, send, start};

const SHORT: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(5);

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CANCEL: u32 = 8;
const REFUSED: u32 = 7;

/// A client that sends frames as it likes.
struct Client {
    stream: TcpStream,
    next: u32,
    /// The bytes of each response body.
    received: BTreeMap<u32, usize>,
    ended: BTreeSet<u32>,
    resets: BTreeMap<u32, u32>,
    goaway: bool,
    closed: bool,
}

impl Client {
    /// Connects, and grants each stream this window.
    async fn new(server: &Server, window: u32) -> Self {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        let mut client = Client {
            stream,
            next: 1,
            received: BTreeMap::new(),
            ended: BTreeSet::new(),
            resets: BTreeMap::new(),
            goaway: false,
            closed: false,
        };
        let settings = [&[0, 4][..], &window.to_be_bytes()].concat();
        client.send(SETTINGS, 0, 0, &settings).await;
        // The window of the connection is not what limits a response.
        client.send(WINDOW_UPDATE, 0, 0, &(1_u32 << 30).to_be_bytes()).await;
        client
    }

    async fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let length = (payload.len() as u32).to_be_bytes();
        let mut frame = vec![length[1], length[2], length[3], kind, flags];
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        let _ = self.stream.write_all(&frame).await;
    }

    /// Sends a GET request and returns the number of its stream.
    async fn get(&mut self, path: &str) -> u32 {
        // `:method GET` and `:scheme http` of the static table, then `:path` and `:authority` as literals.
        let mut block = vec![0x82, 0x86, 0x04, path.len() as u8];
        block.extend(path.as_bytes());
        block.extend([0x01, 1, b'a']);
        let stream = self.next;
        self.next += 2;
        self.send(HEADERS, 0x05, stream, &block).await;
        stream
    }

    async fn grant(&mut self, stream: u32, bytes: u32) {
        self.send(WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes()).await;
    }

    /// Reads frames, answering pings and settings, until a condition holds or the time is over.
    async fn read_until(&mut self, time: Duration, holds: impl Fn(&Client) -> bool) -> bool {
        let begun = Instant::now();
        while !holds(self) {
            let left = time.saturating_sub(begun.elapsed());
            if left.is_zero() || self.closed {
                return holds(self);
            }
            let mut head = [0; 9];
            match timeout(left, self.stream.read_exact(&mut head)).await {
                Err(_) => return holds(self),
                Ok(Err(_)) => {
                    self.closed = true;
                    continue;
                }
                Ok(Ok(_)) => {}
            }
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
            let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            let mut payload = vec![0; length];
            self.stream.read_exact(&mut payload).await.unwrap();
            match head[3] {
                DATA => {
                    *self.received.entry(stream).or_default() += length;
                }
                RST_STREAM => {
                    self.resets.insert(stream, u32::from_be_bytes(payload[..4].try_into().unwrap()));
                }
                SETTINGS if head[4] & 1 == 0 => self.send(SETTINGS, 1, 0, &[]).await,
                PING if head[4] & 1 == 0 => self.send(PING, 1, 0, &payload).await,
                GOAWAY => self.goaway = true,
                _ => {}
            }
            if matches!(head[3], DATA | HEADERS) && head[4] & 1 == 1 {
                self.ended.insert(stream);
            }
        }
        true
    }
}

async fn server(streams: u32) -> Server {
    let mut options = Options { http2: true, streams, ..Options::default() };
    options.timeouts.write = SHORT;
    start(StandIn, options).await
}

#[tokio::test]
async fn a_stream_of_which_the_client_takes_nothing_is_cancelled() {
    let server = server(100).await;
    // Windows that take nothing, a little, or all but the last byte, of short and long bodies.
    for (window, path) in [
        (0, "/ok"),
        (1, "/ok"),
        (0, "/big/4096"),
        (1, "/big/4096"),
        (4_095, "/big/4096"),
        (1, "/big/1048576"),
        (16_384, "/big/1048576"),
        (1_048_575, "/big/1048576"),
    ] {
        let mut client = Client::new(&server, window).await;
        let begun = Instant::now();
        let streams = [client.get(path).await, client.get(path).await];
        let cancelled = |client: &Client| streams.iter().all(|it| client.resets.get(it) == Some(&CANCEL));
        assert!(client.read_until(LONG, cancelled).await, "{window} of {path}: {:?}", client.resets);
        assert!(begun.elapsed() >= SHORT, "{window} of {path}: {:?}", begun.elapsed());
        assert_eq!(client.received.get(&streams[0]).copied().unwrap_or(0), window as usize, "of {path}");
        // The connection itself goes on.
        let next = client.get("/slow/1").await;
        client.grant(next, 100).await;
        assert!(client.read_until(LONG, |client| client.ended.contains(&next)).await);
    }
    assert!(server.metrics.encode().contains("openapi_http2_streams_cancelled_total 16"));
}

#[tokio::test]
async fn a_window_of_exactly_the_body_is_enough() {
    let server = server(100).await;
    for bytes in [8, 4_096, 16_384, 16_392, 65_536] {
        let mut client = Client::new(&server, bytes).await;
        let stream = client.get(&format!("/big/{bytes}")).await;
        assert!(client.read_until(LONG, |client| client.ended.contains(&stream)).await, "{bytes}");
        assert_eq!(client.received[&stream], bytes as usize);
        assert!(client.resets.is_empty());
    }
}

#[tokio::test]
async fn a_slow_reader_that_makes_progress_gets_everything() {
    let server = server(100).await;
    let mut client = Client::new(&server, 0).await;
    let stream = client.get("/big/131072").await;
    for _ in 0..16 {
        client.grant(stream, 16 * 1024 / 2).await;
        client.read_until(SHORT / 3, |_| false).await;
    }
    assert!(client.read_until(LONG, |client| client.ended.contains(&stream)).await, "{:?}", client.resets);
    assert_eq!(client.received[&stream], 131_072);
}

#[tokio::test]
async fn a_handler_may_take_its_time() {
    let server = server(100).await;
    let mut client = Client::new(&server, 65_535).await;
    let stream = client.get("/slow/900").await;
    assert!(client.read_until(LONG, |client| client.ended.contains(&stream)).await);
    assert!(client.resets.is_empty());
}

#[tokio::test]
async fn a_client_has_fewer_streams_than_a_proxy() {
    let server = server(4).await;
    let mut client = Client::new(&server, 65_535).await;
    // The limit is known to the client, so it counts from the first request.
    client.read_until(SHORT, |_| false).await;
    for _ in 0..10 {
        client.get("/slow/60000").await;
    }
    let refused = |client: &Client| client.resets.values().filter(|reason| **reason == REFUSED).count() == 6;
    assert!(client.read_until(LONG, refused).await, "{:?}", client.resets);
}

#[tokio::test]
async fn an_idle_connection_that_answers_pings_is_ended() {
    let mut options = Options { http2: true, ..Options::default() };
    options.timeouts.idle = SHORT;
    options.timeouts.write = SHORT;
    let server = start(StandIn, options).await;
    let mut client = Client::new(&server, 65_535).await;
    let stream = client.get("/ok").await;
    assert!(client.read_until(LONG, |client| client.ended.contains(&stream)).await);
    let begun = Instant::now();
    assert!(client.read_until(LONG, |client| client.goaway && client.closed).await);
    assert!(begun.elapsed() >= SHORT / 2, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn unread_documents_share_their_bytes() {
    let (web, _) = api().await;
    let mut options = Options { http2: true, ..Options::default() };
    options.timeouts.write = SHORT;
    let server = start(web, options).await;
    let mut client = Client::new(&server, 1 << 20).await;
    let stream = client.get("/openapi.json").await;
    assert!(client.read_until(LONG, |client| client.ended.contains(&stream)).await);
    let plain = client.received[&stream];
    let request = "GET /openapi.json HTTP/1.1\r\nHost: a\r\nAccept-Encoding: br, gzip;q=0.5\r\n\r\n";
    let answer = send(server.address, request.as_bytes()).await.answers.remove(0);
    assert_eq!(answer.header("content-encoding"), Some("gzip"), "only the stored coding");
    assert!(answer.body.len() * 4 < plain, "{} of {plain}", answer.body.len());
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&answer.body[..]), &mut text).unwrap();
    let identity = send(server.address, get("/openapi.json").as_bytes()).await.answers.remove(0);
    assert!(identity.body == text && text.len() == plain);
}
