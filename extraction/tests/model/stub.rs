//! An endpoint that says what a test tells it to, request by request.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What the endpoint does with one request.
#[derive(Clone)]
pub enum Reply {
    /// A status with further headers and a body.
    Http(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// Bytes, and then the end of the connection.
    Raw(Vec<u8>),
    /// Nothing, for ever.
    Hang,
    /// The head of an answer, and then an byte now and then, for ever.
    Drip,
}

impl Reply {
    /// A good answer with a model's content.
    pub fn content(content: impl Into<Value>) -> Self {
        Self::finished(content, "stop")
    }

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

    pub fn json(status: u16, body: Value) -> Self {
        Reply::Http(status, Vec::new(), body.to_string().into_bytes())
    }

    pub fn error(status: u16, message: &str) -> Self {
        Self::json(status, json!({ "error": { "message": message, "type": "invalid_request_error" } }))
    }

    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        if let Reply::Http(_, headers, _) = &mut self {
            headers.push((name, value.to_owned()));
        }
        self
    }
}

/// A request as it came in.
#[derive(Clone, Debug)]
pub struct Seen {
    pub head: String,
    pub body: Value,
}

impl Seen {
    /// All that the messages say.
    pub fn text(&self) -> String {
        self.body["messages"].to_string()
    }

    pub fn format(&self) -> &str {
        self.body["response_format"]["type"].as_str().unwrap_or("none")
    }
}

type Script = dyn Fn(usize, &Value) -> Reply + Send + Sync;

/// The endpoint. It is gone when it is dropped.
pub struct Stub {
    port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
    /// How many connections ended before their answer did.
    left: Arc<Mutex<usize>>,
    task: JoinHandle<()>,
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Stub {
    /// Answers one after another; the last one for good.
    pub async fn says(replies: Vec<Reply>) -> Self {
        Self::with(move |nth, _| replies[nth.min(replies.len() - 1)].clone()).await
    }

    /// Answers what a function of the number of the request and its body says.
    pub async fn with(script: impl Fn(usize, &Value) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let left = Arc::new(Mutex::new(0));
        let script: Arc<Script> = Arc::new(script);
        let (all, gone) = (seen.clone(), left.clone());
        let task = tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let (script, all, gone) = (script.clone(), all.clone(), gone.clone());
                tokio::spawn(serve(connection, script, all, gone));
            }
        });
        Stub { port, seen, left, task }
    }

    pub fn base(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no panic").clone()
    }

    pub fn left(&self) -> usize {
        *self.left.lock().expect("no panic")
    }
}

async fn serve(
    mut connection: TcpStream,
    script: Arc<Script>,
    all: Arc<Mutex<Vec<Seen>>>,
    left: Arc<Mutex<usize>>,
) -> Option<()> {
    loop {
        let (head, body) = request(&mut connection).await?;
        let body: Value = serde_json::from_slice(&body).expect("requests are JSON");
        let nth = {
            let mut all = all.lock().expect("no panic");
            all.push(Seen { head, body: body.clone() });
            all.len() - 1
        };
        match script(nth, &body) {
            Reply::Http(status, headers, body) => {
                let mut head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
                for (name, value) in headers {
                    head.push_str(&format!("{name}: {value}\r\n"));
                }
                head.push_str("\r\n");
                connection.write_all(head.as_bytes()).await.ok()?;
                connection.write_all(&body).await.ok()?;
            }
            Reply::Raw(bytes) => {
                connection.write_all(&bytes).await.ok()?;
                connection.shutdown().await.ok()?;
                return None;
            }
            Reply::Hang => {
                let mut end = [0; 1];
                let _ = connection.read(&mut end).await;
                *left.lock().expect("no panic") += 1;
                return None;
            }
            Reply::Drip => {
                let head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
                connection.write_all(head).await.ok()?;
                while connection.write_all(b"1\r\n \r\n").await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                *left.lock().expect("no panic") += 1;
                return None;
            }
        }
    }
}

async fn request(connection: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut received = Vec::new();
    let end = loop {
        if let Some(end) = received.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        let count = connection.read_buf(&mut received).await.ok()?;
        if count == 0 {
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
