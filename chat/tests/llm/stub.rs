//! An endpoint that says what a test tells it to, request by request and piece by piece.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A part of an answer.
#[derive(Clone)]
pub enum Part {
    Bytes(Vec<u8>),
    /// So many milliseconds of silence.
    Wait(u64),
    /// Silence until the other side leaves.
    Hang,
}

/// What the endpoint does with one request.
#[derive(Clone)]
pub struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    parts: Vec<Part>,
}

impl Reply {
    /// A stream of these parts.
    pub fn parts(parts: Vec<Part>) -> Self {
        Reply { status: 200, headers: vec![("content-type", "text/event-stream".to_owned())], parts }
    }

    /// A good answer in these deltas, with usage.
    pub fn says(deltas: &[&str]) -> Self {
        let mut stream: String = deltas.iter().map(|delta| content(delta)).collect();
        stream.push_str(&event(&json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] })));
        stream.push_str(&event(
            &json!({ "choices": [], "usage": { "prompt_tokens": 200, "completion_tokens": 20 } }),
        ));
        stream.push_str("data: [DONE]\n\n");
        Self::parts(vec![Part::Bytes(stream.into_bytes())])
    }

    pub fn json(status: u16, body: &Value) -> Self {
        let headers = vec![("content-type", "application/json".to_owned())];
        Reply { status, headers, parts: vec![Part::Bytes(body.to_string().into_bytes())] }
    }

    pub fn error(status: u16, message: &str) -> Self {
        Self::json(status, &json!({ "error": { "message": message } }))
    }

    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }
}

/// An event with some data.
pub fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// An event with more text.
pub fn content(text: &str) -> String {
    event(&json!({ "choices": [{ "index": 0, "delta": { "content": text } }] }))
}

/// A request as it came in.
#[derive(Clone, Debug)]
pub struct Seen {
    pub head: String,
    pub body: Value,
}

impl Seen {
    pub fn message(&self, nth: usize) -> &str {
        self.body["messages"][nth]["content"].as_str().unwrap_or_default()
    }
}

type Script = dyn Fn(usize, &Value) -> Reply + Send + Sync;

/// The endpoint. It is gone when it is dropped.
pub struct Stub {
    port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
    /// How many connections the other side left while they were silent.
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
    let (head, body) = request(&mut connection).await?;
    let body: Value = serde_json::from_slice(&body).expect("requests are JSON");
    let nth = {
        let mut all = all.lock().expect("no panic");
        all.push(Seen { head, body: body.clone() });
        all.len() - 1
    };
    let reply = script(nth, &body);
    let mut head = format!("HTTP/1.1 {} X\r\nconnection: close\r\n", reply.status);
    for (name, value) in reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    connection.write_all(head.as_bytes()).await.ok()?;
    for part in reply.parts {
        match part {
            Part::Bytes(bytes) => connection.write_all(&bytes).await.ok()?,
            Part::Wait(millis) => tokio::time::sleep(Duration::from_millis(millis)).await,
            Part::Hang => {
                let _ = connection.read(&mut [0; 1]).await;
                *left.lock().expect("no panic") += 1;
                return None;
            }
        }
    }
    connection.shutdown().await.ok()
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
