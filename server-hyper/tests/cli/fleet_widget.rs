//! Visitors of several servers on one store, in PostgreSQL and in MongoDB: a turn runs once, whichever server gets it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::fleet::{Database, on_both_engines};
use super::support::{Sandbox, Serving, answer, within};
use super::widget_listener::{self, PAGE, TEXT};

on_both_engines!(a_turn_is_one_on_all_servers);

/// An endpoint of the chat-completions protocol that writes a reply, or the beginning of one and nothing more.
pub struct Endpoint {
    pub address: SocketAddr,
    hangs: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
    /// Hanging connections whose client has disconnected.
    left: Arc<AtomicUsize>,
}

impl Endpoint {
    pub fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let endpoint =
            Endpoint { address, hangs: Arc::default(), asked: Arc::default(), left: Arc::default() };
        let (hangs, asked, left) =
            (Arc::clone(&endpoint.hangs), Arc::clone(&endpoint.asked), Arc::clone(&endpoint.left));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (hangs, asked, left) = (Arc::clone(&hangs), Arc::clone(&asked), Arc::clone(&left));
                std::thread::spawn(move || {
                    let _ = serve(stream, &hangs, &asked, &left);
                });
            }
        });
        endpoint
    }

    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

fn serve(
    mut stream: TcpStream,
    hangs: &AtomicBool,
    asked: &AtomicUsize,
    left: &AtomicUsize,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().to_ascii_lowercase().split_once(": ") {
            Some(("content-length", value)) => length = value.parse().unwrap(),
            _ if line.trim_end().is_empty() => break,
            _ => {}
        }
    }
    reader.read_exact(&mut vec![0; length])?;
    let write =
        |stream: &mut TcpStream, data: &Value| stream.write_all(format!("data: {data}\n\n").as_bytes());
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")?;
    write(&mut stream, &json!({ "choices": [{ "delta": { "content": "We are open until six. " } }] }))?;
    asked.fetch_add(1, Ordering::SeqCst);
    if hangs.load(Ordering::SeqCst) {
        let _ = reader.read(&mut [0])?;
        left.fetch_add(1, Ordering::SeqCst);
        return Ok(());
    }
    write(&mut stream, &json!({ "choices": [{ "delta": { "content": "On Sundays we are closed." } }] }))?;
    write(&mut stream, &json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] }))?;
    stream.write_all(b"data: [DONE]\n\n")
}

/// The response to a call of the widget.
fn post(server: &Serving, path: &str, body: &Value) -> (u16, String) {
    answer(&mut send(server, path, body))
}

/// The same, before the response is read. A response that follows a turn may take as long as the turn's lease.
fn send(server: &Serving, path: &str, body: &Value) -> TcpStream {
    let path = format!("/widget/v1{path}");
    let stream = widget_listener::send(server, "POST", &path, &[TEXT, ("Origin", PAGE)], &body.to_string());
    stream.set_read_timeout(Some(Duration::from_secs(40))).unwrap();
    stream
}

pub fn turn(number: u32, token: &Value) -> Value {
    let id = format!("5f0c2b1e-8a47-4d3b-9c61-{number:012x}");
    json!({ "v": 1, "agentId": "acme", "id": id, "token": token, "text": format!("Question {number}") })
}

/// The data of the event of this name in a stream.
pub fn event(stream: &str, name: &str) -> Value {
    let mut lines = stream.lines().skip_while(|line| *line != format!("event: {name}"));
    let data = lines.find_map(|line| line.strip_prefix("data: "));
    data.map_or(Value::Null, |data| serde_json::from_str(data).unwrap())
}

fn a_turn_is_one_on_all_servers(database: &Database) {
    let endpoint = Endpoint::new();
    let sandbox = database.sandbox();
    sandbox.with_key();
    let settings = ["chat.responder=llm", "chat.llm.grounding=open", "chat.fallback=error"];
    let settings = settings.iter().flat_map(|setting| ["--set", setting]);
    sandbox.run(&["agents", "configure", "acme"].into_iter().chain(settings).collect::<Vec<_>>()).done();
    let serve = |sandbox: &Sandbox| {
        let url = format!("default.url=http://{}/v1", endpoint.address);
        sandbox.serve(&["--widget-listen", "127.0.0.1:0", "--llm", &url, "--llm", "default.model=stub"])
    };
    let (mut one, other) = (serve(&sandbox), serve(&sandbox));

    // Sent again to another server: streamed again, but asked and stored once.
    let (status, first) = post(&one, "/turns", &turn(1, &Value::Null));
    assert_eq!(status, 200, "{first}");
    let token = event(&first, "session")["token"].clone();
    let message = event(&first, "message");
    assert_eq!(message["text"], "We are open until six. On Sundays we are closed.", "{first}");
    let (_, again) = post(&other, "/turns", &turn(1, &token));
    assert_eq!((event(&again, "message"), endpoint.asked()), (message.clone(), 1), "{again}");
    let resume = json!({ "token": token, "turn": turn(1, &token)["id"], "after": 3 });
    let (_, resumed) = post(&other, "/turns/resume", &resume);
    assert_eq!(event(&resumed, "message"), message, "{resumed}");

    // Stopped through another server, which disconnects from the endpoint.
    endpoint.hangs.store(true, Ordering::SeqCst);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| post(&one, "/turns", &turn(2, &token)).1);
        within(Duration::from_secs(5), "the endpoint is asked", || endpoint.asked() == 2);
        let (status, busy) = post(&other, "/turns", &turn(3, &token));
        assert_eq!((status, busy.contains("TURN_IN_PROGRESS")), (409, true), "{busy}");
        let cancel = json!({ "token": token, "turn": turn(2, &token)["id"] });
        assert_eq!(post(&other, "/turns/cancel", &cancel).0, 204);
        within(Duration::from_secs(5), "the endpoint is left", || endpoint.left.load(Ordering::SeqCst) == 1);
        let ended = running.join().unwrap();
        assert_eq!(event(&ended, "done"), json!({ "outcome": "stopped" }), "{ended}");
    });

    // The replying server dies: another one continues when the lease expires.
    let unread = send(&one, "/turns", &turn(4, &token));
    within(Duration::from_secs(5), "the endpoint is asked", || endpoint.asked() == 3);
    one.signal(Signal::KILL);
    one.wait();
    drop(unread);
    endpoint.hangs.store(false, Ordering::SeqCst);
    let (_, followed) = post(&other, "/turns", &turn(4, &token));
    assert_eq!(event(&followed, "error")["retryable"], true, "{followed}");
    let (_, answered) = post(&other, "/turns", &turn(4, &token));
    assert_eq!((&event(&answered, "message")["text"], endpoint.asked()), (&message["text"], 4), "{answered}");

    let (_, state) = post(&other, "/sync", &json!({ "token": token, "after": 0 }));
    let state: Value = serde_json::from_str(&state).unwrap();
    let messages = state["data"]["messages"].as_array().unwrap().iter();
    let asked: Vec<&str> = messages
        .filter(|message| message["role"] == "visitor")
        .map(|message| message["text"].as_str().unwrap())
        .collect();
    assert_eq!(asked, ["Question 1", "Question 2", "Question 4"], "{state}");
    assert_eq!(other.end(), 0);
}
