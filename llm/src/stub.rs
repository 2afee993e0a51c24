//! For tests: an endpoint that answers what the test tells it to, request by request and chunk by chunk.

use std::borrow::Borrow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A part of a streaming response.
#[derive(Clone, Debug)]
pub enum Part {
    /// Bytes of the body.
    Bytes(Vec<u8>),
    /// Silence, in milliseconds.
    Wait(u64),
    /// Silence until the client closes the connection.
    Hang,
}

/// A header of a response.
type Header = (&'static str, String);

/// What the endpoint does with one request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A status with further headers and a body of known length.
    Http(u16, Vec<Header>, Vec<u8>),
    /// A status with headers and the parts of a body that ends with the connection.
    Stream(u16, Vec<Header>, Vec<Part>),
    /// Raw bytes, then the end of the connection.
    Raw(Vec<u8>),
    /// Silence.
    Hang,
    /// The head of a response, then one byte every 50 ms.
    Drip,
}

impl Reply {
    /// A successful completion with this content.
    pub fn content(content: impl Into<Value>) -> Self {
        Self::finished(content, "stop")
    }

    /// A successful completion that ends for this reason.
    pub fn finished(content: impl Into<Value>, reason: &str) -> Self {
        Self::json(
            200,
            json!({
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "choices": [{ "index": 0, "finish_reason": reason,
                    "message": { "role": "assistant", "content": content.into() } }],
                "usage": { "prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110 },
            }),
        )
    }

    /// A streaming response of these parts.
    #[must_use]
    pub fn parts(parts: Vec<Part>) -> Self {
        Reply::Stream(200, vec![("content-type", "text/event-stream".to_owned())], parts)
    }

    /// A streaming response of these deltas, with usage.
    #[must_use]
    pub fn deltas(deltas: &[&str]) -> Self {
        let mut stream: String = deltas.iter().map(|delta| delta_event(delta)).collect();
        stream.push_str(&event(&json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] })));
        let usage = json!({ "prompt_tokens": 200, "completion_tokens": 20 });
        stream.push_str(&event(&json!({ "choices": [], "usage": usage })));
        stream.push_str("data: [DONE]\n\n");
        Self::parts(vec![Part::Bytes(stream.into_bytes())])
    }

    /// A status with a JSON body.
    pub fn json(status: u16, body: impl Borrow<Value>) -> Self {
        let headers = vec![("content-type", "application/json".to_owned())];
        Reply::Http(status, headers, body.borrow().to_string().into_bytes())
    }

    /// A status with an error of the protocol.
    #[must_use]
    pub fn error(status: u16, message: &str) -> Self {
        Self::json(status, json!({ "error": { "message": message, "type": "invalid_request_error" } }))
    }

    /// The reply with one more header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        if let Reply::Http(_, headers, _) | Reply::Stream(_, headers, _) = &mut self {
            headers.push((name, value.to_owned()));
        }
        self
    }
}

/// An event with this data.
#[must_use]
pub fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// An event with more text.
#[must_use]
pub fn delta_event(text: &str) -> String {
    event(&json!({ "choices": [{ "index": 0, "delta": { "content": text } }] }))
}

/// A request as the endpoint received it.
#[derive(Clone, Debug)]
pub struct Received {
    /// The request line and the headers.
    pub head: String,
    /// The body.
    pub body: Value,
}

impl Received {
    /// The text of a message.
    #[must_use]
    pub fn message(&self, nth: usize) -> &str {
        self.body["messages"][nth]["content"].as_str().unwrap_or_default()
    }

    /// All messages as JSON.
    #[must_use]
    pub fn text(&self) -> String {
        self.body["messages"].to_string()
    }

    /// The type of the requested response format.
    #[must_use]
    pub fn format(&self) -> &str {
        self.body["response_format"]["type"].as_str().unwrap_or("none")
    }
}

type Script = dyn Fn(usize, &Value) -> Reply + Send + Sync;

struct Shared {
    script: Box<Script>,
    received: Mutex<Vec<Received>>,
    disconnects: AtomicUsize,
}

/// The endpoint. It stops when it is dropped.
pub struct Stub {
    port: u16,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Stub {
    /// Gives these replies one after another, then the last one again and again.
    pub async fn replies(replies: Vec<Reply>) -> Self {
        Self::with(move |nth, _| replies[nth.min(replies.len() - 1)].clone()).await
    }

    /// Replies by a function of the number of the request and its body.
    ///
    /// # Panics
    /// If no local port can be opened.
    pub async fn with(script: impl Fn(usize, &Value) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::new(Shared {
            script: Box::new(script),
            received: Mutex::default(),
            disconnects: AtomicUsize::new(0),
        });
        let state = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(serve(connection, Arc::clone(&state)));
            }
        });
        Stub { port, shared, task }
    }

    /// The base URL of the API.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// The requests so far.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        self.shared.received.lock().clone()
    }

    /// How many connections the client closed before the response ended.
    #[must_use]
    pub fn disconnects(&self) -> usize {
        self.shared.disconnects.load(Ordering::SeqCst)
    }
}

async fn serve(mut connection: TcpStream, shared: Arc<Shared>) -> Option<()> {
    loop {
        let (head, body) = request(&mut connection).await?;
        let body: Value = serde_json::from_slice(&body).expect("requests are JSON");
        let nth = {
            let mut received = shared.received.lock();
            received.push(Received { head, body: body.clone() });
            received.len() - 1
        };
        match (shared.script)(nth, &body) {
            Reply::Http(status, mut headers, body) => {
                headers.push(("content-length", body.len().to_string()));
                connection.write_all(head_of(status, &headers).as_bytes()).await.ok()?;
                connection.write_all(&body).await.ok()?;
            }
            Reply::Stream(status, mut headers, parts) => {
                headers.push(("connection", "close".to_owned()));
                connection.write_all(head_of(status, &headers).as_bytes()).await.ok()?;
                for part in parts {
                    match part {
                        Part::Bytes(bytes) => connection.write_all(&bytes).await.ok()?,
                        Part::Wait(millis) => tokio::time::sleep(Duration::from_millis(millis)).await,
                        Part::Hang => return hang(connection, &shared).await,
                    }
                }
                return connection.shutdown().await.ok();
            }
            Reply::Raw(bytes) => {
                connection.write_all(&bytes).await.ok()?;
                return connection.shutdown().await.ok();
            }
            Reply::Hang => return hang(connection, &shared).await,
            Reply::Drip => {
                let headers = [
                    ("content-type", "application/json".to_owned()),
                    ("transfer-encoding", "chunked".to_owned()),
                ];
                connection.write_all(head_of(200, &headers).as_bytes()).await.ok()?;
                while connection.write_all(b"1\r\n \r\n").await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                shared.disconnects.fetch_add(1, Ordering::SeqCst);
                return None;
            }
        }
    }
}

async fn hang(mut connection: TcpStream, shared: &Shared) -> Option<()> {
    let _ = connection.read(&mut [0; 1]).await;
    shared.disconnects.fetch_add(1, Ordering::SeqCst);
    None
}

fn head_of(status: u16, headers: &[Header]) -> String {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("HTTP/1.1 {status} X\r\n{headers}\r\n")
}

async fn request(connection: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut received = Vec::new();
    let end = loop {
        if let Some(end) = received.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if connection.read_buf(&mut received).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(received[..end].to_vec()).expect("heads are ASCII");
    let length = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse::<usize>().ok())
        .expect("requests have a length");
    while received.len() < end + length {
        if connection.read_buf(&mut received).await.ok()? == 0 {
            return None;
        }
    }
    Some((head, received[end..end + length].to_vec()))
}
