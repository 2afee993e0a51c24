//! Events of a running server: streams over its sockets, and commands.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::support::{BINARY, Sandbox, Serving, connect, credentials, head, request, within};

const CONTACTS: &str = "/v1/open/contacts/chatbots/acme";
const STREAM: &str = "/v1/open/events/chatbots/acme/stream";

fn create(server: &Serving, key: &Value, number: u32) {
    let credentials = credentials(key);
    let mut headers: Vec<(&str, &str)> =
        credentials.iter().map(|(name, value)| (*name, value.as_str())).collect();
    headers.push(("Content-Type", "application/json"));
    let body = json!({ "primaryEmail": format!("c{number}@example.com") }).to_string();
    let (status, body) = request(&server.api, "POST", CONTACTS, &headers, &body);
    assert_eq!(status, 201, "{body}");
}

fn metric(server: &Serving, line: &str) -> bool {
    server.ops("/metrics").1.lines().any(|found| found == line)
}

#[test]
fn a_stream_lasts_until_the_server_drains() {
    let sandbox = Sandbox::new();
    let key = sandbox.with_key();
    let server = sandbox.serve(&[]);
    let credentials = credentials(&key);
    let headers: Vec<(&str, &str)> =
        credentials.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let mut stream = connect(&server.api);
    let path = format!("{STREAM}?types=contact.*");
    stream
        .write_all(head("GET", &path, &[&headers[..], &[("Accept-Encoding", "gzip")]].concat(), 0).as_bytes())
        .unwrap();
    let mut heard = String::new();
    let mut lines = BufReader::new(stream);
    let mut until = |text: &str| {
        let begin = heard.len();
        while !heard[begin..].contains(text) {
            assert!(lines.read_line(&mut heard).unwrap() > 0, "{text} does not come: {heard}");
        }
        heard[begin..].to_owned()
    };
    let begun = until("retry: 2000");
    assert!(begun.starts_with("HTTP/1.1 200 OK"), "{begun}");
    let begun = begun.to_lowercase();
    assert!(
        begun.contains("content-type: text/event-stream") && !begun.contains("content-encoding"),
        "{begun}"
    );
    assert!(metric(&server, "openapi_event_streams 1"));
    create(&server, &key, 1);
    let event = until("data: {");
    assert!(event.contains("event: contact.created\n") && event.contains("\nid: "), "{event}");
    assert!(metric(&server, "openapi_events_total{type=\"contact.created\"} 1"));
    assert!(metric(&server, "openapi_events_total{type=\"lead.created\"} 0"));
    // The server ends the stream when it drains, long before its timeout.
    let begun = Instant::now();
    server.signal(Signal::TERM);
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("0\r\n\r\n"), "the stream ends in order: {rest:?}");
    let mut server = server;
    assert_eq!(server.wait(), 0);
    assert!(begun.elapsed() < Duration::from_secs(10), "the drain does not wait for streams");
}

/// A command whose lines arrive one by one.
struct Tail {
    child: Child,
    lines: Receiver<String>,
}

impl Tail {
    fn start(sandbox: &Sandbox, arguments: &[&str]) -> Self {
        let mut command = sandbox.command(BINARY);
        command.args(["events", "tail", "--agent", "acme"]).args(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let output = child.stdout.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Tail { child, lines }
    }

    fn next(&self) -> String {
        self.lines.recv_timeout(Duration::from_secs(30)).expect("a line within 30 s")
    }

    fn seq(&self) -> (u64, String) {
        let event: Value = serde_json::from_str(&self.next()).unwrap();
        (event["seq"].as_u64().unwrap(), event["type"].as_str().unwrap().to_owned())
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_tail_survives_restarts_of_the_server() {
    let sandbox = Sandbox::new();
    let key = sandbox.with_key();
    let mut server = sandbox.serve(&[]);
    let tail = Tail::start(&sandbox, &["--after", "0", "--json"]);
    assert_eq!(tail.seq(), (1, "key.created".to_owned()));
    let filtered = Tail::start(&sandbox, &["--after", "0", "--type", "contact.*"]);
    let mut seq = 1;
    for round in 0..3_u32 {
        for number in 0..3 {
            create(&server, &key, round * 10 + number);
            seq += 1;
            assert_eq!(tail.seq(), (seq, "contact.created".to_owned()), "each event once and in order");
            let line = filtered.next();
            assert!(line.starts_with(&format!("{seq}.")) && line.contains("contact.created"), "{line}");
        }
        // Killed, drained, and left for good.
        match round {
            0 => server.signal(Signal::KILL),
            _ => server.signal(Signal::TERM),
        }
        server.wait();
        if round < 2 {
            server = sandbox.serve(&[]);
        }
    }
    drop((tail, filtered));
    // Nothing is left that owns the store.
    let listed = sandbox.json(&["events", "list", "--agent", "acme", "--type", "contact.*", "--after", "4"]);
    let seqs: Vec<u64> =
        listed.as_array().unwrap().iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (5..=10).collect::<Vec<_>>());
}

#[test]
fn a_tail_says_when_no_server_comes_back() {
    let sandbox = Sandbox::with(vec![("OPENAPI_WAIT_FOR_STORE", "1s".to_owned())]);
    let key = sandbox.with_key();
    let server = sandbox.serve(&[]);
    let mut tail = Tail::start(&sandbox, &["--after", "0"]);
    let _ = tail.next();
    create(&server, &key, 1);
    let _ = tail.next();
    assert_eq!(server.end(), 0);
    within(Duration::from_secs(20), "the command ends", || tail.child.try_wait().unwrap().is_some());
    assert_eq!(tail.child.wait().unwrap().code(), Some(1));
    let mut said = String::new();
    tail.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("go on with --after 2."), "{said}");
}

#[test]
fn commands_show_events_and_their_types() {
    let sandbox = Sandbox::new();
    sandbox.with_key();
    sandbox.json(&["credits", "set", "10", "--agent", "acme"]);
    let account = sandbox.json(&["credits", "set", "--low-at", "5", "--agent", "acme"]);
    assert_eq!((&account["lowAt"], &account["plan"]), (&json!(5), &json!(10)));
    sandbox.json(&["credits", "set", "3", "--agent", "acme"]);
    let account = sandbox.json(&["credits", "set", "0", "--low-at", "0", "--agent", "acme"]);
    assert_eq!((&account["lowAt"], &account["plan"]), (&json!(null), &json!(0)));
    let listed = sandbox.json(&["events", "list", "--agent", "acme"]);
    let emitted: Vec<(&str, &Value)> = listed
        .as_array()
        .unwrap()
        .iter()
        .skip(1)
        .map(|event| (event["type"].as_str().unwrap(), &event["data"]))
        .collect();
    assert_eq!(
        emitted,
        [
            ("credits.low", &json!({ "available": 3, "threshold": 5 })),
            ("credits.exhausted", &json!({ "available": 0 }))
        ]
    );
    let said = sandbox.run(&["events", "list", "--agent", "acme", "-n", "1"]);
    assert!(said.stderr.contains("there are more events: --after 1."), "{said:?}");
    let text = said.done();
    assert!(text.contains("CURSOR") && text.contains("key.created") && text.contains("operator"), "{text}");
    let lost = sandbox.run(&["events", "list", "--agent", "acme", "--after", "99"]).failed(1);
    assert!(lost.contains("the store was restored") && lost.contains("--after 3"), "{lost}");
    let wrong = sandbox.run(&["events", "list", "--agent", "acme", "--type", "contact"]).failed(2);
    assert!(wrong.contains("events types"), "{wrong}");
    sandbox.run(&["events", "list", "--agent", "nobody"]).failed(1);
    sandbox.run(&["events", "tail", "--agent", "acme", "--after", "x"]).failed(2);
    let types = sandbox.json(&["events", "types"]);
    let names: Vec<&str> =
        types.as_array().unwrap().iter().map(|kind| kind["type"].as_str().unwrap()).collect();
    assert!(names.contains(&"credits.low") && names.contains(&"contact.created"), "{names:?}");
    assert!(sandbox.run(&["events", "types"]).done().contains("contact.erased"));
}
