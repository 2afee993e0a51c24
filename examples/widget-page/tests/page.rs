//! Loads the page over a socket like a browser: page, script, configuration, one turn.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use conversations::{ChatEvent, ChatEvents, ChatResponder, ChatTurn, Outcome, Usage};
use futures_util::stream;
use sha2::{Digest, Sha384};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use widget_page::application;
use widget_page::opening_hours::OpeningHours;

/// A responder whose output the test controls step by step.
struct Scripted(Mutex<Option<UnboundedReceiver<ChatEvent>>>);

impl ChatResponder for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn respond(&self, _: ChatTurn) -> ChatEvents {
        let events = self.0.lock().expect("the events").take().expect("it is asked once");
        Box::pin(stream::unfold(events, async |mut events| Some((events.recv().await?, events))))
    }
}

fn scripted() -> (Arc<Scripted>, UnboundedSender<ChatEvent>) {
    let (sender, receiver) = unbounded_channel();
    (Arc::new(Scripted(Mutex::new(Some(receiver)))), sender)
}

/// The application on its own runtime.
struct Host {
    /// `host:port`
    address: String,
    _runtime: tokio::runtime::Runtime,
}

impl Host {
    fn start(responder: Arc<dyn ChatResponder>) -> Host {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let address = runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let address = listener.local_addr().expect("an address").to_string();
            let app = application(&format!("http://{address}"), responder).await.expect("an application");
            let service = app.into_make_service_with_connect_info::<SocketAddr>();
            tokio::spawn(async { axum::serve(listener, service).await });
            address
        });
        Host { address, _runtime: runtime }
    }

    fn send(&self, request: &str, headers: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        let (address, length) = (&self.address, body.len());
        let text = format!(
            "{request} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        );
        stream.write_all(text.as_bytes()).expect("it reads");
        stream
    }

    /// The head and body of a response.
    fn call(&self, request: &str, headers: &str, body: &str) -> (String, String) {
        let mut answer = String::new();
        self.send(request, headers, body).read_to_string(&mut answer).expect("it answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        (head.to_owned(), body.to_owned())
    }

    fn page(&self) -> String {
        let (head, page) = self.call("GET /", "", "");
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        page
    }

    /// Sends a turn to the page's agent.
    fn ask(&self, text: &str) -> TcpStream {
        let agent = attribute(&self.page(), "data-agent-id");
        let body = format!(
            r#"{{"v":1,"agentId":"{agent}","id":"5f0c2b1e-8a47-4d3b-9c61-2e7d90a4f318","token":null,"text":"{text}","uploads":[],"lead":null,"user":null,"page":{{"url":"http://{}/","title":"The shop"}},"locale":"en","tz":"Europe/London","metadata":{{}},"persist":"local","challenge":null,"hp":""}}"#,
            self.address
        );
        let headers =
            format!("Origin: http://{}\r\nContent-Type: text/plain;charset=UTF-8\r\n", self.address);
        self.send("POST /widget/v1/turns", &headers, &body)
    }
}

/// The value of an attribute of the script tag.
fn attribute(page: &str, name: &str) -> String {
    let (_, rest) = page.split_once(&format!("{name}=\"")).unwrap_or_else(|| panic!("{name}: {page}"));
    rest.split('"').next().expect("an end").to_owned()
}

/// Reads until a text has arrived.
fn until(stream: &mut TcpStream, read: &mut String, text: &str) {
    let mut bytes = [0; 4_096];
    while !read.contains(text) {
        let count = stream.read(&mut bytes).unwrap_or_else(|error| panic!("no '{text}' in {read}: {error}"));
        assert!(count > 0, "it ends without '{text}': {read}");
        read.push_str(std::str::from_utf8(&bytes[..count]).expect("text"));
    }
}

#[test]
fn the_page_pins_its_script_by_integrity() {
    let host = Host::start(Arc::new(OpeningHours));
    let page = host.page();
    let source = attribute(&page, "src");
    let path = source.strip_prefix(&format!("http://{}", host.address)).expect("the script of this host");
    let (head, script) = host.call(&format!("GET {path}"), "", "");
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("text/javascript"), "{head}");
    let integrity = format!("sha384-{}", STANDARD.encode(Sha384::digest(script.as_bytes())));
    assert_eq!(attribute(&page, "integrity"), integrity);
    let (_, current) = host.call("GET /embed.js", "", "");
    assert!(current == script, "the page names the current build");
    let (head, _) = host.call("GET /embed.0000000000000000.js", "", "");
    assert!(head.starts_with("HTTP/1.1 404"), "{head}");
    let (head, _) = host.call("GET /", "", "");
    let policy = format!("script-src http://{0}; connect-src http://{0}", host.address);
    assert!(head.contains(&policy) && !head.contains("unsafe-inline"), "{head}");
}

#[test]
fn the_widget_gets_its_configuration() {
    let host = Host::start(Arc::new(OpeningHours));
    let agent = attribute(&host.page(), "data-agent-id");
    let (head, body) = host.call(&format!("GET /widget/v1/config?agentId={agent}&locale=en"), "", "");
    assert!(head.starts_with("HTTP/1.1 200") && body.contains("Ask me."), "{head}\n{body}");
    let (head, body) = host.call("GET /widget/v1/config?agentId=nobody&locale=en", "", "");
    assert!(head.starts_with("HTTP/1.1 404") && body.contains("AGENT_NOT_AVAILABLE"), "{head}\n{body}");
}

#[test]
fn the_applications_own_responder_answers_visitors() {
    let host = Host::start(Arc::new(OpeningHours));
    let mut answer = String::new();
    host.ask("When are you open?").read_to_string(&mut answer).expect("it ends");
    assert!(answer.contains("text/event-stream"), "{answer}");
    for part in
        ["event: session", "event: ack", "event: delta", "from 9:00 to 17:00.", "\"outcome\":\"answered\""]
    {
        assert!(answer.contains(part), "no '{part}' in {answer}");
    }
}

#[test]
fn a_reply_is_visible_while_it_is_written() {
    let (responder, say) = scripted();
    let host = Host::start(responder);
    let mut stream = host.ask("Are you there?");
    let mut read = String::new();
    say.send(ChatEvent::Delta("The first words".to_owned())).expect("it listens");
    until(&mut stream, &mut read, "The first words");
    assert!(!read.contains("event: done"), "{read}");
    say.send(ChatEvent::Delta(", and the last.".to_owned())).expect("it listens");
    let done = ChatEvent::Done { outcome: Outcome::Answered, sources: Vec::new(), usage: Usage::default() };
    say.send(done).expect("it listens");
    until(&mut stream, &mut read, "event: done");
    assert!(read.contains("The first words, and the last."), "the whole message: {read}");
}
