//! The console's live stream of the real binary: what a visitor writes reaches an operator.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::console_listener::{ON_ANY_PORT, ask, signed_in};
use super::fleet_widget::turn;
use super::support::{Sandbox, Serving, connect, credentials, head, request};
use super::widget_listener::{PAGE, TEXT, agent, ask as ask_widget};

/// The messages whose way is measured.
const MEASURED: u32 = 40;

/// An open stream.
struct Stream(BufReader<TcpStream>);

impl Stream {
    fn open(server: &Serving, session: &[(&str, String)], after: Option<&str>) -> Self {
        let origin = server.console.as_deref().unwrap();
        let host = origin.trim_start_matches("http://");
        let mut headers: Vec<(&str, &str)> =
            session.iter().map(|(name, value)| (*name, value.as_str())).collect();
        headers.extend(after.map(|after| ("Last-Event-ID", after)));
        let head = head("GET", "/console/v1/stream?agents=acme", &headers, 0);
        let mut stream = connect(origin);
        stream.write_all(head.replace("Host: a\r\n", &format!("Host: {host}\r\n")).as_bytes()).unwrap();
        let mut stream = Stream(BufReader::new(stream));
        let mut line = String::new();
        stream.0.read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 200"), "{line}");
        stream
    }

    /// The next event: id, name, data.
    fn next(&mut self) -> (String, String, Value) {
        let (mut id, mut name) = (String::new(), String::new());
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream has ended");
            // Lines of the head and sizes of chunks have other names.
            match line.trim_end().split_once(": ") {
                Some(("id", text)) => text.clone_into(&mut id),
                Some(("event", text)) => text.clone_into(&mut name),
                Some(("data", text)) => return (id, name, serde_json::from_str(text).unwrap()),
                _ => {}
            }
        }
    }

    /// The number of the next message of a conversation that a visitor has written.
    fn message(&mut self) -> (String, u64) {
        loop {
            let (id, name, data) = self.next();
            if name == "event" && data["type"] == "message.created" && data["actor"] == "visitor" {
                assert_eq!((&data["agent"], &data["changed"]), (&json!("acme"), &Value::Null), "{data}");
                assert!(data["subject"]["conversationId"].is_string(), "{data}");
                return (id, data["seq"].as_u64().unwrap());
            }
        }
    }
}

/// Sends a message of a visitor, and returns the token of the conversation.
fn write(server: &Serving, number: u32, token: &Value) -> Value {
    let body = turn(number, token).to_string();
    let headers = [TEXT, ("Origin", PAGE), ("Accept", "application/json")];
    let answer = ask_widget(server, "POST", "/widget/v1/turns", &headers, &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"]["session"]["token"].clone()
}

#[test]
fn a_visitors_message_reaches_the_operator_in_order_and_at_once() {
    let sandbox = Sandbox::new();
    let key = sandbox.with_key();
    let unlimited = ["--widget-limit", "turns=off", "--widget-limit", "address_turns=off"];
    let widget = ["--widget-listen", "127.0.0.1:0"];
    let mut server = sandbox.serve(&[&ON_ANY_PORT[..], &widget, &unlimited].concat());
    let session = signed_in(&mut server);
    let mut stream = Stream::open(&server, &session, None);
    let (_, name, data) = stream.next();
    assert_eq!((name.as_str(), &data), ("ready", &json!({ "agents": ["acme"], "fresh": ["acme"] })));
    assert!(server.ops("/metrics").1.contains("openapi_console_streams 1\n"));
    let (mut took, mut seen, mut token) = (Vec::new(), vec![0], Value::Null);
    let mut last_id = String::new();
    for number in 1..=MEASURED {
        let begun = Instant::now();
        token = write(&server, number, &token);
        let (id, seq) = stream.message();
        took.push(begun.elapsed());
        assert!(seq > *seen.last().unwrap(), "{seq} after {seen:?}");
        seen.push(seq);
        last_id = id;
    }
    took.sort();
    let at = |share: usize| took[took.len() * share / 100];
    println!(
        "from the visitor's request to the event at the operator: median {:?}, p95 {:?}",
        at(50),
        at(95)
    );
    assert!(at(95) < Duration::from_secs(2), "{took:?}");
    // A client of the Open API changes a contact; then the stream is lost and goes on.
    drop(stream);
    let mut headers = credentials(&key).map(|(name, value)| (name, value)).to_vec();
    headers.push(("Content-Type", "application/json".to_owned()));
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let body = json!({ "primaryEmail": "ada@example.com" }).to_string();
    let made = request(&server.api, "POST", "/v1/open/contacts/chatbots/acme", &headers, &body);
    assert_eq!(made.0, 201, "{}", made.1);
    let mut stream = Stream::open(&server, &session, Some(&last_id));
    assert_eq!(stream.next().2["fresh"], json!([]));
    let kinds: Vec<String> = std::iter::repeat_with(|| stream.next().2["type"].as_str().unwrap().to_owned())
        .take_while(|kind| kind != "contact.created")
        .collect();
    assert!(
        kinds.iter().all(|kind| kind.starts_with("message.") || kind.starts_with("conversation.")),
        "{kinds:?}"
    );
    // The server ends the stream when it drains.
    let begun = Instant::now();
    server.signal(Signal::TERM);
    let mut rest = String::new();
    stream.0.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("0\r\n\r\n"), "the stream ends in order: {rest:?}");
    assert_eq!(server.wait(), 0);
    assert!(begun.elapsed() < Duration::from_secs(10), "the drain does not wait for streams");
}

#[test]
fn a_session_that_is_ended_ends_its_stream_within_five_seconds() {
    let sandbox = Sandbox::new();
    agent(&sandbox, "acme", &[]);
    let mut server = sandbox.serve(&ON_ANY_PORT);
    let session = signed_in(&mut server);
    let mut stream = Stream::open(&server, &session, None);
    assert_eq!(stream.next().1, "ready");
    let headers: Vec<(&str, &str)> = session.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let begun = Instant::now();
    assert_eq!(ask(&server, "DELETE", "/console/v1/session", &headers, &Value::Null).status, 200);
    let (_, name, data) = stream.next();
    assert_eq!((name.as_str(), &data["reason"]), ("session", &json!("ended")));
    assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
    let mut rest = String::new();
    stream.0.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("0\r\n\r\n"), "{rest:?}");
}
