//! A server on real sockets, and clients that send raw bytes.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use openapi_core::access::{Actor, Permissions, RateLimits};
use openapi_core::admin::{Admin, IssuedKey, NewAgent, NewKey};
use openapi_core::api::{AddressLimits, Settings};
use openapi_core::platform::{Platform, Ports};
use openapi_core::server_keys::{ServerKey, ServerKeys};
use openapi_core::service_info::ServiceInfo;
use server_hyper::config::timeouts::Timeouts;
use server_hyper::metrics::Metrics;
use server_hyper::ports::{SystemClock, SystemRandom};
use server_hyper::proxies::TrustedProxies;
use server_hyper::serve::api::ApiHandler;
use server_hyper::serve::connection::Protocols;
use server_hyper::serve::connection_limit::{ConnectionLimiter, PoolLimits};
use server_hyper::serve::docs::Docs;
use server_hyper::serve::drain::Drain;
use server_hyper::serve::listener;
use server_hyper::serve::responses::ServerResponses;
use server_hyper::serve::service::{Handler, HandlerResponse, ListenerContext, RequestBody};
use server_hyper::serve::tls::Tls;
use storage_memory::MemoryStorage;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How a server of a test differs from the default.
pub struct Options {
    pub timeouts: Timeouts,
    pub proxies: TrustedProxies,
    pub tls: Option<Arc<Tls>>,
    pub http2: bool,
    pub connections: usize,
    pub per_address: usize,
    pub reserved: usize,
    pub max_head_bytes: usize,
    pub streams: u32,
    pub is_for_proxies_only: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            timeouts: Timeouts::default(),
            proxies: TrustedProxies::default(),
            tls: None,
            http2: false,
            connections: 1_000,
            per_address: 0,
            reserved: 0,
            max_head_bytes: 32 * 1024,
            streams: 100,
            is_for_proxies_only: false,
        }
    }
}

/// A running server.
pub struct Server {
    pub address: SocketAddr,
    pub drain: Arc<Drain>,
    pub metrics: Arc<Metrics>,
    pub accepting: tokio::task::JoinHandle<()>,
}

/// Starts a server in front of `handler`.
pub async fn start<H: Handler>(handler: H, options: Options) -> Server {
    let listening = listener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = listening.local_addr().unwrap();
    let metrics = Arc::new(Metrics::new("0.0.0", || 0, None));
    let drain = Arc::new(Drain::default());
    let site = Arc::new(ListenerContext {
        name: "open-api",
        handler,
        metrics: Arc::clone(&metrics),
        timeouts: options.timeouts,
        proxies: options.proxies.clone(),
        responses: ServerResponses::new(Arc::new(SystemClock), Arc::new(SystemRandom)),
        is_secure: options.tls.is_some(),
        is_for_proxies_only: options.is_for_proxies_only,
        streams: options.streams,
    });
    let pool = PoolLimits {
        total: options.connections,
        reserved: options.reserved,
        per_address: options.per_address,
    };
    let limiter = Arc::new(ConnectionLimiter::new(pool, options.proxies));
    let protocols = Arc::new(Protocols {
        tls: options.tls,
        http2: options.http2,
        max_head_bytes: options.max_head_bytes,
    });
    let accepting = tokio::spawn(listener::serve(listening, site, protocols, limiter, Arc::clone(&drain)));
    Server { address, drain, metrics, accepting }
}

/// The API on a store in memory, with an agent `acme` and a key, without limits of addresses.
pub async fn api() -> (ApiHandler, IssuedKey) {
    let limits = AddressLimits { health: 0, download: 0, unrouted: 0, failed_authentication: 0 };
    api_with(limits, Some(Docs::new())).await
}

/// The same with these limits, and with or without the reference.
pub async fn api_with(limits: AddressLimits, docs: Option<Docs>) -> (ApiHandler, IssuedKey) {
    let service_info = ServiceInfo::new("http://127.0.0.1:8080").unwrap();
    let server_keys = ServerKeys::new(ServerKey::new(&[7; 32]), Vec::new());
    let ports = Ports::new(Arc::new(SystemClock), Arc::new(SystemRandom), server_keys);
    let platform = Arc::new(Platform::new(Arc::new(MemoryStorage::new()), ports, service_info.clone()));
    let by = Actor::Operator("test".to_owned());
    let id = "acme".parse().unwrap();
    let agent = NewAgent { id: Some(id), name: "Acme".parse().unwrap() };
    let agent = platform.create_agent(&by, agent).await.unwrap();
    let key = NewKey {
        agent_id: agent.id,
        name: "Key".parse().unwrap(),
        description: None,
        permissions: Permissions::all(),
        limits: RateLimits::new(1_000, 10_000).unwrap(),
        allowed_addresses: Vec::new(),
        expires_at: None,
    };
    let issued = platform.create_key(&by, key).await.unwrap();
    let mut settings = Settings::new(service_info);
    settings.address_limits = limits;
    settings.serves_document = docs.is_some();
    (ApiHandler::new(platform.api(settings), docs), issued)
}

/// Stands in for the API where a test needs a handler that misbehaves.
pub struct StandIn;

impl Handler for StandIn {
    type Body = Full<Bytes>;

    fn body_timeout(&self, parts: &http::request::Parts) -> Option<Duration> {
        (parts.uri.path() == "/body/patient").then_some(Duration::from_secs(10))
    }

    async fn handle(&self, request: Request<RequestBody>, client: IpAddr) -> HandlerResponse<Full<Bytes>> {
        (answer(request, client).await, None)
    }
}

async fn answer(request: Request<RequestBody>, client: IpAddr) -> Response<Full<Bytes>> {
    let path = request.uri().path().to_owned();
    let number = |text: &str| text.parse::<usize>().unwrap();
    let text = |text: String| Response::new(Full::from(text));
    match path.trim_start_matches('/').split_once('/').unwrap_or((&path[1..], "")) {
        ("peer", _) => text(client.to_string()),
        ("panic", _) => panic!("as the test wants"),
        ("slow", millis) => {
            tokio::time::sleep(Duration::from_millis(number(millis) as u64)).await;
            text("slow".to_owned())
        }
        ("big", bytes) => text("abcdefgh".repeat(number(bytes) / 8)),
        ("tagged", bytes) => {
            let mut response = text("abcdefgh".repeat(number(bytes) / 8));
            response.headers_mut().insert("etag", "\"1\"".parse().unwrap());
            response
        }
        ("refuse", _) => {
            let mut response = text("too large".to_owned());
            *response.status_mut() = http::StatusCode::PAYLOAD_TOO_LARGE;
            response
        }
        ("body", _) => match request.into_body().collect().await {
            Ok(body) => text(format!("{} bytes", body.to_bytes().len())),
            Err(error) => {
                let mut response = text(error.to_string());
                *response.status_mut() = http::StatusCode::REQUEST_TIMEOUT;
                response
            }
        },
        _ => text("ok".to_owned()),
    }
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

/// What came back on a connection.
#[derive(Debug)]
pub struct Heard {
    pub answers: Vec<Answer>,
    /// Whether the server ended the connection.
    pub closed: bool,
    /// Whether it did so with a reset.
    pub reset: bool,
}

/// Sends bytes and listens until the server closes or says no more.
pub async fn send(address: SocketAddr, bytes: &[u8]) -> Heard {
    let stream = TcpStream::connect(address).await.unwrap();
    talk(stream, bytes, Duration::from_millis(250)).await
}

/// As [`send`] on a stream of any kind; the server may be silent for `silence` before it counts as done.
pub async fn talk<S: AsyncRead + AsyncWrite + Unpin>(stream: S, bytes: &[u8], silence: Duration) -> Heard {
    let (mut reader, mut writer) = tokio::io::split(stream);
    // A server that refuses need not take everything.
    let writing = async {
        let _ = writer.write_all(bytes).await;
        let _ = writer.flush().await;
    };
    let reading = async {
        let mut heard = Vec::new();
        let mut chunk = vec![0; 64 * 1024];
        let (mut closed, mut reset) = (false, false);
        loop {
            let wait = if heard.is_empty() { Duration::from_secs(5) } else { silence };
            match timeout(wait, reader.read(&mut chunk)).await {
                Ok(Ok(0)) => closed = true,
                Ok(Ok(read)) => {
                    heard.extend_from_slice(&chunk[..read]);
                    continue;
                }
                Ok(Err(_)) => (closed, reset) = (true, true),
                Err(_) => {}
            }
            break;
        }
        (heard, closed, reset)
    };
    let ((heard, closed, reset), ()) = tokio::join!(reading, writing);
    Heard { answers: answers(&heard, bytes.starts_with(b"HEAD")), closed, reset }
}

pub fn answers(mut bytes: &[u8], is_head: bool) -> Vec<Answer> {
    let mut answers = Vec::new();
    while let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        bytes = &bytes[end + 4..];
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut answer = Answer { status, head, body: Vec::new() };
        let length = answer.header("content-length").map(|length| length.parse::<usize>().unwrap());
        if answer.header("transfer-encoding").is_some() {
            answer.body = unchunk(&mut bytes);
        } else if !is_head && !matches!(status, 100 | 204 | 304) {
            let length = length.unwrap_or(bytes.len()).min(bytes.len());
            answer.body = bytes[..length].to_vec();
            bytes = &bytes[length..];
        }
        answers.push(answer);
    }
    assert!(bytes.is_empty(), "left over: {:?}", String::from_utf8_lossy(bytes));
    answers
}

fn unchunk(bytes: &mut &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = bytes.windows(2).position(|window| window == b"\r\n").unwrap();
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        body.extend_from_slice(&bytes[end + 2..end + 2 + size]);
        *bytes = &bytes[end + 4 + size..];
        if size == 0 {
            return body;
        }
    }
}

/// A GET request.
pub fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")
}
