//! An endpoint of the chat-completions protocol with a fixed reply.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

/// A received request.
pub struct Asked {
    /// The `Authorization` header.
    pub authorization: String,
    pub body: Value,
}

/// The endpoint. It stops when it is dropped.
pub struct ModelEndpoint {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ModelEndpoint {
    /// Replies to every request with these fields, as a model does.
    pub fn says(fields: &Value) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let is_over: Arc<AtomicBool> = Arc::default();
        let answer = json!({ "choices": [{ "finish_reason": "stop",
            "message": { "role": "assistant", "content": fields.to_string() } }] });
        let (all, over) = (Arc::clone(&asked), Arc::clone(&is_over));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                serve(stream, &answer, &all);
            }
        });
        ModelEndpoint { address, asked, is_over, thread: Some(thread) }
    }

    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The requests since the last call.
    pub fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

impl Drop for ModelEndpoint {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// One request on a connection. It is recorded before the response, so that a client with the response finds it.
fn serve(mut stream: TcpStream, answer: &Value, asked: &Mutex<Vec<Asked>>) -> Option<()> {
    stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let (mut authorization, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("authorization") => {
                value.clone_into(&mut authorization);
            }
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().ok()?;
            }
            None if line.trim_end().is_empty() => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    asked.lock().unwrap().push(Asked { authorization, body: serde_json::from_slice(&body).ok()? });
    let answer = answer.to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        answer.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(answer.as_bytes()).ok()
}
