//! Webhooks of a real server: receivers that lie, servers that are killed.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::console_listener::{ON_ANY_PORT, ask, signed_in};
use super::support::{Sandbox, credentials, request, within};

/// Kills in an ordinary run; `WEBHOOK_KILLS` sets another number.
const KILLS: usize = 6;

/// Decides how a receiver answers the request of this number.
type Answer = fn(usize) -> Vec<u8>;

/// A receiver, and the events that it has accepted, in their order.
#[derive(Clone)]
struct Receiver {
    port: u16,
    accepted: Arc<Mutex<Vec<Value>>>,
}

impl Receiver {
    fn answering(answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let receiver = Receiver { port: listener.local_addr().unwrap().port(), accepted: Arc::default() };
        let accepted = Arc::clone(&receiver.accepted);
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let accepted = Arc::clone(&accepted);
                std::thread::spawn(move || converse(&stream.unwrap(), number, answer, &accepted));
            }
        });
        receiver
    }

    fn seqs(&self) -> Vec<u64> {
        self.accepted.lock().unwrap().iter().map(|event| event["seq"].as_u64().unwrap()).collect()
    }
}

/// One request on a connection; the receiver closes it afterwards.
fn converse(stream: &TcpStream, number: usize, answer: Answer, accepted: &Mutex<Vec<Value>>) {
    let mut reader = BufReader::new(stream);
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
        if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = text.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() || length == 0 {
        return;
    }
    let answer = answer(number);
    if answer.starts_with(b"HTTP/1.1 2") {
        accepted.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
    }
    // A sender that was killed does not listen.
    let _ = (&*stream).write_all(&answer);
}

fn accepts(_: usize) -> Vec<u8> {
    b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n".to_vec()
}

/// Five of the first ten requests fail, each in another way. The second retry of an event would be 5 minutes later.
fn lies(number: usize) -> Vec<u8> {
    match number {
        1 => b"HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec(),
        3 => b"this is not HTTP\r\n\r\n".to_vec(),
        5 => Vec::new(),
        7 => [b"HTTP/1.1 500 No\r\nconnection: close\r\n\r\n".to_vec(), vec![b'x'; 1 << 20]].concat(),
        9 => b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nnot what an event would be\0\xff".to_vec(),
        _ => accepts(number),
    }
}

struct World {
    sandbox: Sandbox,
    keys: [(&'static str, String); 2],
    flags: Vec<String>,
}

impl World {
    fn new(receiver: &Receiver, mode: &str) -> (Self, String) {
        let sandbox = Sandbox::new();
        sandbox.json(&["agents", "create", "Front desk", "--id", "acme"]);
        let key =
            ["keys", "create", "--agent", "acme", "--name", "All", "--allow", "all", "--per-minute", "1000"];
        let key = sandbox.json(&key);
        let flags = ["--outbound-allow", "127.0.0.1/32", "--outbound-port"].map(str::to_owned);
        let flags = [flags.to_vec(), vec![receiver.port.to_string(), "--outbound-http".to_owned()]].concat();
        let url = format!("http://127.0.0.1:{}/", receiver.port);
        let create = ["webhooks", "create", &url, "--agent", "acme", "--from", "oldest", "--mode", mode];
        let flag_texts: Vec<&str> = flags.iter().map(String::as_str).collect();
        let endpoint = sandbox.json(&[&create[..], &flag_texts].concat());
        let id = endpoint["id"].as_str().unwrap().to_owned();
        let keys = credentials(&key);
        (World { sandbox, keys, flags }, id)
    }

    fn serve(&self) -> super::support::Serving {
        self.sandbox.serve(&self.flags.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn contact(&self, origin: &str, number: usize) {
        let mut headers: Vec<(&str, &str)> =
            self.keys.iter().map(|(name, value)| (*name, value.as_str())).collect();
        headers.push(("Content-Type", "application/json"));
        let body = format!(r#"{{ "primaryEmail": "{number}@example.com" }}"#);
        let (status, answer) = request(origin, "POST", "/v1/open/contacts/chatbots/acme", &headers, &body);
        assert_eq!(status, 201, "{answer}");
    }

    fn show(&self, id: &str) -> Value {
        self.sandbox.json(&["webhooks", "show", id, "--agent", "acme"])
    }
}

fn kills() -> usize {
    std::env::var("WEBHOOK_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS)
}

/// A server that is killed again and again loses no event, and sends an ordered endpoint none before the one before it.
#[test]
fn killed_servers_lose_no_event() {
    let receiver = Receiver::answering(accepts);
    let (world, _) = World::new(&receiver, "ordered");
    let mut created = 0;
    for kill in 0..kills() {
        let server = world.serve();
        for _ in 0..10 {
            created += 1;
            world.contact(&server.api, created);
        }
        std::thread::sleep(Duration::from_millis(37 * (kill as u64 % 13)));
        server.signal(Signal::KILL);
    }
    let server = world.serve();
    let is_complete = || {
        let seqs = receiver.seqs();
        let newest = seqs.iter().max().copied().unwrap_or_default();
        let types = receiver.accepted.lock().unwrap().clone();
        let contacts: BTreeMap<String, ()> = types
            .iter()
            .filter(|event| event["type"] == "contact.created")
            .map(|event| (event["id"].to_string(), ()))
            .collect();
        contacts.len() == created && (1..=newest).all(|seq| seqs.contains(&seq))
    };
    // The lease of a server that was killed ends by itself.
    within(Duration::from_secs(120), "every event arrives", is_complete);
    let mut newest = 0;
    for seq in receiver.seqs() {
        assert!(seq <= newest + 1, "{seq} came before {}", newest + 1);
        newest = newest.max(seq);
    }
    assert_eq!(server.end(), 0);
}

/// A receiver that redirects, breaks off, says nothing, sends too much or junk harms neither the server nor other events.
#[test]
fn receivers_may_lie() {
    let receiver = Receiver::answering(lies);
    let (world, id) = World::new(&receiver, "parallel");
    let server = world.serve();
    (0..12).for_each(|number| world.contact(&server.api, number));
    within(Duration::from_secs(90), "what failed is sent again", || {
        let (shown, seqs) = (world.show(&id), receiver.seqs());
        let cursor = shown["cursor"].as_u64().unwrap();
        cursor >= 12 && (1..=cursor).all(|seq| seqs.contains(&seq))
    });
    let attempts = world.sandbox.run(&["webhooks", "attempts", &id, "--agent", "acme", "--failed"]).done();
    assert!(
        attempts.contains("302") && attempts.contains("500") && attempts.contains("response"),
        "{attempts}"
    );
    let (_, metrics) = server.ops("/metrics");
    for name in
        ["webhook_attempts_total{outcome=\"success\"}", "webhook_attempts_total{outcome=\"redirect\"}"]
    {
        let line = metrics.lines().find(|line| line.contains(name)).unwrap();
        assert!(!line.ends_with(" 0"), "{line}");
    }
    assert_eq!(server.end(), 0, "{}", world.sandbox.read("stderr"));
}

/// A server key from which the secret of an endpoint is made is not dropped before the secret was rotated.
#[test]
fn a_server_key_is_not_dropped_while_a_secret_needs_it() {
    let receiver = Receiver::answering(accepts);
    let (world, id) = World::new(&receiver, "parallel");
    let sandbox = &world.sandbox;
    let old = sandbox.json(&["server-key", "list"])[0].clone();
    assert_eq!(old["uses"]["webhookSecrets"], 1, "{old}");
    let old = old["id"].as_str().unwrap().to_owned();
    sandbox.json(&["server-key", "rotate"]);
    let needed = |key: usize| sandbox.json(&["server-key", "list"])[key]["uses"]["webhookSecrets"].clone();
    let drops = || sandbox.run(&["server-key", "drop", &old]).failed(1);
    assert!(drops().contains("1 secret(s) of webhook endpoints"), "{}", drops());
    // A disabled endpoint may be enabled again.
    sandbox.run(&["webhooks", "disable", &id, "--agent", "acme"]).done();
    assert_eq!((needed(0), needed(1)), (0.into(), 1.into()));
    // The former secret signs during the grace; without one nothing needs the key.
    sandbox.run(&["webhooks", "rotate", &id, "--agent", "acme"]).done();
    assert_eq!((needed(0), needed(1)), (1.into(), 1.into()));
    sandbox.run(&["webhooks", "rotate", &id, "--agent", "acme", "--grace", "0s"]).done();
    assert_eq!((needed(0), needed(1)), (1.into(), 0.into()));
    assert!(!drops().contains("webhook"), "{}", drops());
}

/// The console on a real store: what the server delivers is shown, tested and sent again there, and commands see the same.
#[test]
fn the_console_shows_and_repeats_what_the_server_delivers() {
    let receiver = Receiver::answering(accepts);
    let (world, id) = World::new(&receiver, "parallel");
    let flags: Vec<&str> = world.flags.iter().map(String::as_str).chain(ON_ANY_PORT).collect();
    let mut server = world.sandbox.serve(&flags);
    let session = signed_in(&mut server);
    let headers: Vec<(&str, &str)> = session.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let call = |method: &str, path: &str, body: &Value| {
        let path = format!("/console/v1/agents/acme{path}");
        let answer = ask(&server, method, &path, &headers, body);
        assert!(answer.status < 300, "{path}: {}", answer.text());
        answer.json()["data"].clone()
    };
    call("POST", "/contacts", &json!({ "primaryEmail": "ada@example.com" }));
    let path = format!("/webhooks/{id}");
    let deliveries = || call("GET", &format!("{path}/attempts"), &Value::Null)["deliveries"].clone();
    // Of the successes of a minute the log has the first, perhaps that of an event before the contact.
    within(Duration::from_secs(20), "a delivery is logged", || deliveries()[0]["attempt"]["number"] == 1);
    let delivery = deliveries()[0].clone();
    assert_eq!(
        (&delivery["attempt"]["result"], &delivery["attempt"]["status"]),
        (&json!("succeeded"), &json!(204))
    );
    let times = || {
        let accepted = receiver.accepted.lock().unwrap();
        accepted.iter().filter(|event| event["id"] == delivery["eventId"]).count()
    };
    assert_eq!(times(), 1);
    let resend = format!("{path}/attempts/{}/resend", delivery["attempt"]["number"]);
    call("POST", &resend, &json!({}));
    within(Duration::from_secs(60), "the event arrives again", || times() == 2);
    assert_eq!(call("POST", &format!("{path}/test"), &json!({}))["status"], 204);
    let secret = call("POST", &format!("{path}/secret"), &json!({}));
    assert_eq!(world.sandbox.json(&["webhooks", "secret", &id, "--agent", "acme"]), secret);
    // A new one is delivered to at once, by the server that made it.
    let url = format!("http://127.0.0.1:{}/second", receiver.port);
    let made = call("POST", "/webhooks", &json!({ "url": url, "types": ["contact.created"] }));
    assert_eq!(made["webhook"]["url"], url.as_str());
    let contacts = || {
        let accepted = receiver.accepted.lock().unwrap();
        accepted.iter().filter(|event| event["type"] == "contact.created").count()
    };
    within(Duration::from_secs(20), "the first contact arrives", || contacts() >= 1);
    let before = contacts();
    call("POST", "/contacts", &json!({ "primaryEmail": "bob@example.com" }));
    within(Duration::from_secs(20), "both receive the second contact", || contacts() >= before + 2);
    assert_eq!(server.end(), 0, "{}", world.sandbox.read("stderr"));
}
