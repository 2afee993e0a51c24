//! Streams of events (contract 17.3), over HTTP and in process.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use contract_tests::sandbox::{operator, wait};
use contract_tests::{Backend, Credentials, Sandbox, on_every_backend, story};
use events::streams::{EventHub, StreamLimits};
use futures_core::Stream;
use http_body::Body;
use openapi_core::access::KeySelector;
use openapi_core::admin::{Admin, KeyEdit};
use openapi_core::api::{Api, ApiBody, PeerAddress};
use openapi_core::events::Event;
use openapi_core::platform::Platform;
use openapi_core::ports::Timer;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::service::EventStreamQuery;
use serde_json::{Value, json};
use testkit::conformance::{Faulty, PlantedFault};

use super::{PATH, kinds};

on_every_backend!(
    a_stream_sends_events_as_they_happen,
    a_stream_goes_on_where_another_ended,
    an_idle_stream_sends_comments_and_cursors,
    a_stream_ends_with_its_time_and_its_key,
    streams_are_limited,
    a_gap_ends_a_stream,
    a_host_reads_in_process,
);

const STREAM: &str = "/v1/open/events/chatbots/<A>/stream";

/// A timer whose every wait ends when it is polled for the second time: each poll of a stream is one period.
struct Periods;

impl Timer for Periods {
    fn sleep(&self, _: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let mut is_second = false;
        Box::pin(poll_fn(move |_| {
            if std::mem::replace(&mut is_second, true) { Poll::Ready(()) } else { Poll::Pending }
        }))
    }
}

/// The API of a process that streams.
struct Process<'c> {
    cx: &'c Sandbox,
    hub: EventHub,
    platform: Arc<Platform>,
    api: Api,
}

/// The open stream of a client.
struct Client {
    body: Pin<Box<ApiBody>>,
    text: String,
    has_ended: bool,
}

impl<'c> Process<'c> {
    fn new(cx: &'c Sandbox, limits: StreamLimits) -> Self {
        let hub = EventHub::new(limits);
        let ports = cx.ports().with_timer(Arc::new(Periods));
        let storage = Arc::clone(&cx.store.storage) as _;
        let platform = Platform::new(storage, ports, cx.settings().service_info.clone())
            .with_event_streams(Arc::new(hub.clone()));
        let platform = Arc::new(platform);
        let api = platform.api(cx.settings().clone());
        Process { cx, hub, platform, api }
    }

    /// The status, the body as JSON if it is an error, and the stream.
    fn respond(&self, query: &str, header: Option<&str>, key: &Credentials) -> Result<Client, Value> {
        let target = format!("{}{query}", STREAM.replace("<A>", self.cx.agent.as_str()));
        let mut request = http::Request::get(target)
            .header("X-API-Key", &key.key)
            .header("X-API-Secret", &key.secret)
            .body(http_body_util::Empty::new())
            .unwrap();
        if let Some(header) = header {
            request.headers_mut().insert("last-event-id", header.parse().unwrap());
        }
        request.extensions_mut().insert(PeerAddress("192.0.2.10".parse().unwrap()));
        let response = wait(self.api.handle(request));
        let status = response.status().as_u16();
        let body = response.into_body();
        if status == 200 {
            return Ok(Client { body: Box::pin(body), text: String::new(), has_ended: false });
        }
        Err(serde_json::from_slice(body.as_bytes().unwrap()).unwrap())
    }

    fn open(&self, query: &str) -> Client {
        self.respond(query, None, &self.cx.credentials).unwrap()
    }

    fn create(&self) {
        let _ = wait(async { self.cx.create(&json!({ "primaryEmail": "a@example.com" })) });
    }
}

impl Client {
    /// Lets so many periods pass; what has arrived since the last call.
    fn periods(&mut self, count: u32) -> &str {
        let begin = self.text.len();
        for _ in 0..count {
            let polled = wait(poll_fn(|cx: &mut Context<'_>| Poll::Ready(self.body.as_mut().poll_frame(cx))));
            match polled {
                Poll::Ready(Some(frame)) => {
                    let bytes = frame.unwrap().into_data().unwrap();
                    self.text += std::str::from_utf8(&bytes).unwrap();
                }
                Poll::Ready(None) => self.has_ended = true,
                Poll::Pending => std::thread::sleep(std::time::Duration::from_millis(1)),
            }
            if self.has_ended {
                break;
            }
        }
        &self.text[begin..]
    }

    /// Waits for a piece that satisfies this; what has arrived since the last call.
    fn until(&mut self, is_there: impl Fn(&str, bool) -> bool) -> String {
        let begin = self.text.len();
        for _ in 0..20_000 {
            self.periods(1);
            if is_there(&self.text[begin..], self.has_ended) {
                return self.text[begin..].to_owned();
            }
        }
        panic!("not there after 20,000 periods: {}", self.text);
    }

    fn events(&mut self, count: usize) -> Vec<Value> {
        parsed(&self.until(|text, _| text.matches("\ndata: ").count() >= count))
    }

    fn end(&mut self) -> String {
        self.until(|_, has_ended| has_ended)
    }
}

/// The events of a text, as a client parses it.
fn parsed(text: &str) -> Vec<Value> {
    let blocks = text.split("\n\n").filter(|block| block.contains("data: "));
    let read = |block: &str| {
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        let event: Value = serde_json::from_str(&field("data: ").unwrap()).unwrap();
        assert_eq!(field("id: "), event["cursor"].as_str().map(str::to_owned), "{block}");
        assert_eq!(field("event: "), event["type"].as_str().map(str::to_owned), "{block}");
        event
    };
    blocks.map(read).collect()
}

fn pulled(cx: &Sandbox) -> Vec<Value> {
    cx.get(PATH).expect(200).data().as_array().unwrap().clone()
}

fn a_stream_sends_events_as_they_happen(backend: Backend) {
    let cx = Sandbox::new(backend);
    let process = Process::new(&cx, StreamLimits::default());
    let mut client = process.open("");
    let first = client.until(|text, _| text.contains("data: "));
    assert!(first.starts_with("retry: 2000\n\n"), "{first}");
    let mut seen = parsed(&first);
    assert_eq!(client.periods(50), "", "nothing comes while nothing happens");
    let _ = cx.create(&story::new_contact());
    let _ = cx.put("/contacts/crm-1001/chatbots/<A>", &json!({ "firstName": "Zo" }));
    seen.extend(client.events(2));
    assert_eq!(seen, pulled(&cx), "the same events as a pull returns");
    // More than a page at once, in order.
    for _ in 0..70 {
        process.create();
    }
    seen.extend(client.events(70));
    assert_eq!(seen, pulled(&cx));
    let reply = cx.get("/events/chatbots/<A>/stream").expect(200);
    assert!(reply.text.starts_with("retry: 2000\n\nid: 1."), "{}", reply.text);
    let key = cx.key_that_may("contacts:all");
    let _ = cx
        .call("GET", "/events/chatbots/<A>/stream")
        .with(&key)
        .send()
        .fails(403, "INSUFFICIENT_PERMISSIONS");
}

fn a_stream_goes_on_where_another_ended(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = cx.create(&story::new_contact());
    let _ = cx.put("/contacts/crm-1001/chatbots/<A>", &json!({ "firstName": "Zo" }));
    let all = pulled(&cx);
    let path = "/events/chatbots/<A>/stream";
    let cursor = |at: usize| all[at]["cursor"].as_str().unwrap().to_owned();
    assert_eq!(parsed(&cx.get(&format!("{path}?after={}", cursor(0))).expect(200).text), all[1..]);
    assert_eq!(parsed(&cx.get(&format!("{path}?after=1&types=contact.updated")).expect(200).text), all[2..]);
    let again = cx.call("GET", &format!("{path}?after=0")).header("Last-Event-ID", &cursor(1)).send();
    assert_eq!(parsed(&again.expect(200).text), all[2..], "the header takes precedence");
    let blank = cx.call("GET", &format!("{path}?after=2")).header("Last-Event-ID", "").send();
    assert_eq!(parsed(&blank.expect(200).text), all[2..]);
    for (query, header, field, rule) in [
        ("?after=x", None, "after", "format"),
        ("?types=contact", None, "types", "enum"),
        ("?limit=1", None, "limit", "unknown"),
        ("?wait=1", None, "wait", "unknown"),
        ("", Some("x"), "Last-Event-Id", "format"),
        ("", Some("1.2"), "Last-Event-Id", "format"),
        ("", Some("99999999999999999999"), "Last-Event-Id", "format"),
    ] {
        let call = cx.call("GET", &format!("{path}{query}"));
        let call = header.map_or(call.clone(), |header| call.header("last-event-id", header));
        let reply = call.send().fails(400, "VALIDATION_ERROR");
        assert_eq!(reply.violations(), [(field, rule)], "{query} {header:?}");
    }
    // Which events are there is decided before the stream begins.
    let lost = cx.get(&format!("{path}?after=9")).fails(410, "EVENTS_LOST");
    assert_eq!(lost.json["details"], json!({ "oldest": 1, "head": 3, "reason": "rewritten" }));
    let head = cx.call("HEAD", path).send().expect(200);
    assert_eq!((head.text.as_str(), head.header("content-type")), ("", Some("text/event-stream")));
    let _ = cx.post(path, &json!({})).fails(405, "METHOD_NOT_ALLOWED");
}

fn an_idle_stream_sends_comments_and_cursors(backend: Backend) {
    let cx = Sandbox::new(backend);
    let process = Process::new(&cx, StreamLimits::default());
    let mut client = process.open("?types=file.*");
    let _ = client.until(|text, _| text.contains("retry"));
    assert_eq!(client.periods(50), "");
    cx.advance(15_000);
    let head = |cx: &Sandbox| cx.get(PATH).json["stream"]["cursor"].as_str().unwrap().to_owned();
    let first = client.until(|text, _| !text.is_empty());
    assert_eq!(
        first,
        format!(": ping\nid: {}\n\n", head(&cx)),
        "the cursor after what the filter leaves out"
    );
    cx.advance(14_999);
    assert_eq!(client.periods(50), "");
    cx.advance(1);
    assert_eq!(client.until(|text, _| !text.is_empty()), ": ping\n\n", "the client has the cursor");
    process.create();
    assert_eq!(client.periods(50), "", "the filter leaves it out");
    cx.advance(15_000);
    let again = client.until(|text, _| !text.is_empty());
    assert_eq!(again, format!(": ping\nid: {}\n\n", head(&cx)));
}

fn a_stream_ends_with_its_time_and_its_key(backend: Backend) {
    let cx = Sandbox::new(backend);
    let process = Process::new(&cx, StreamLimits::default());
    let mut client = process.open("");
    cx.advance(15 * 60_000 - 1);
    assert!(!client.periods(50).is_empty() && !client.has_ended);
    cx.advance(1);
    let _ = client.end();
    drop(client);
    // Whatever takes the permission from its key ends a stream within a minute.
    let selector =
        |key: &Credentials| KeySelector::ApiKey(openapi_core::access::ApiKey::parse(&key.key).unwrap());
    type Change = fn(&Sandbox, &KeySelector);
    let changes: [Change; 4] = [
        |cx, key| drop(wait(cx.platform.revoke_key(&operator(), key)).unwrap()),
        |cx, key| drop(wait(cx.platform.disable_key(&operator(), key)).unwrap()),
        |cx, key| {
            let edit = KeyEdit { permissions: Some("contacts:all".parse().unwrap()), ..KeyEdit::default() };
            drop(wait(cx.platform.edit_key(&operator(), key, edit)).unwrap());
        },
        |cx, key| {
            let edit = KeyEdit {
                allowed_addresses: Some(vec!["198.51.100.0/24".parse().unwrap()]),
                ..KeyEdit::default()
            };
            drop(wait(cx.platform.edit_key(&operator(), key, edit)).unwrap());
        },
    ];
    for change in changes {
        let key = cx.issue(|_| {});
        let mut client = process.respond("", None, &key).unwrap();
        let mut other = process.open("");
        let _ =
            (client.until(|text, _| text.contains("retry")), other.until(|text, _| text.contains("retry")));
        change(&cx, &selector(&key));
        cx.advance(60_000);
        let _ = client.end();
        let _ = other.periods(50);
        assert!(!other.has_ended, "the stream of another key goes on");
    }
    assert_eq!(process.hub.open_streams(), 0, "nothing is left of streams that have ended");
    let mut client = process.open("");
    let _ = client.until(|text, _| text.contains("retry"));
    wait(cx.platform.disable_agent(&operator(), &cx.agent)).unwrap();
    cx.advance(60_000);
    let _ = client.end();
    wait(cx.platform.enable_agent(&operator(), &cx.agent)).unwrap();
    cx.advance(60_000);
    // A server that drains ends all streams at once, and begins none.
    let mut client = process.open("");
    let _ = client.periods(50);
    process.hub.close(&*cx.store.storage);
    let _ = client.end();
    let refused = process.respond("", None, &cx.credentials).err().unwrap();
    assert_eq!(refused["code"], "SERVICE_UNAVAILABLE");
}

fn streams_are_limited(backend: Backend) {
    let cx = Sandbox::new(backend);
    let process = Process::new(&cx, StreamLimits { per_process: 6, ..StreamLimits::default() });
    let mut open: Vec<Client> = (0..5).map(|_| process.open("")).collect();
    let refused = process.respond("", None, &cx.credentials).err().unwrap();
    assert_eq!(
        (&refused["code"], &refused["details"]),
        (&json!("STREAM_LIMIT_EXCEEDED"), &json!({ "limit": 5 }))
    );
    // What is wrong otherwise is said first, and takes no slot.
    let lost = process.respond("?after=99", None, &cx.credentials).err().unwrap();
    assert_eq!(lost["code"], "EVENTS_LOST");
    let other = cx.issue(|_| {});
    let sixth = process.respond("", None, &other).unwrap();
    let refused = process.respond("", None, &other).err().unwrap();
    assert_eq!(refused["details"], json!({ "limit": 6 }), "of the server");
    assert_eq!(process.hub.open_streams(), 6);
    drop((open.pop(), sixth));
    assert_eq!(process.hub.open_streams(), 4);
    open.push(process.open(""));
    assert!(process.respond("", None, &cx.credentials).is_err());
}

fn a_gap_ends_a_stream(backend: Backend) {
    let cx = Sandbox::new(backend);
    let limits = StreamLimits { length_millis: i64::MAX / 2, ..StreamLimits::default() };
    let process = Process::new(&cx, limits);
    let mut client = process.open("");
    let _ = client.until(|text, _| text.contains("data: "));
    // While the client reads nothing, what it has not read is swept.
    for _ in 0..3 {
        process.create();
    }
    cx.advance(8 * 24 * 3_600_000);
    process.create();
    wait(cx.platform.maintain()).unwrap();
    let head = cx.get(PATH).json["stream"]["head"].as_u64().unwrap();
    let last = client.end();
    let data = json!({ "oldest": head, "head": head, "reason": "expired" });
    let gap = last.strip_prefix("event: gap\ndata: ").unwrap_or_else(|| panic!("{last}")).trim_end();
    assert_eq!(
        serde_json::from_str::<Value>(gap).unwrap(),
        data,
        "and no id, so that the client keeps its cursor"
    );
}

fn next(
    stream: Pin<&mut (impl Stream<Item = Result<Event, ApiError>> + ?Sized)>,
) -> Option<Result<Event, ApiError>> {
    let mut stream = stream;
    for _ in 0..20_000 {
        let polled = wait(poll_fn(|cx: &mut Context<'_>| Poll::Ready(stream.as_mut().poll_next(cx))));
        match polled {
            Poll::Ready(event) => return event,
            Poll::Pending => std::thread::sleep(std::time::Duration::from_millis(1)),
        }
    }
    panic!("no event after 20,000 periods");
}

fn a_host_reads_in_process(backend: Backend) {
    let cx = Sandbox::new(backend);
    let process = Process::new(&cx, StreamLimits { per_caller: 0, per_process: 0, length_millis: 0 });
    let query = |after: &str, types: &str| EventStreamQuery {
        after: Some(after.parse().unwrap()),
        types: openapi_core::service::EventFilter::read(types).unwrap(),
    };
    let source = process.platform.event_source();
    let mut events = pin!(process.hub.stream(source.clone(), &cx.agent, query("0", "contact.*")));
    for _ in 0..40 {
        process.create();
    }
    let mut seen = Vec::new();
    for _ in 0..40 {
        seen.push(json!(next(events.as_mut()).unwrap().unwrap()));
    }
    assert_eq!(seen, pulled(&cx)[1..], "limits of clients are none of hosts");
    assert!(kinds(&seen).iter().all(|kind| *kind == "contact.created"));
    let mut lost = pin!(process.hub.stream(source, &cx.agent, query("99", "*")));
    let error = next(lost.as_mut()).unwrap().unwrap_err();
    assert_eq!(error.code(), ErrorCode::EventsLost);
    assert!(next(lost.as_mut()).is_none(), "it has ended");
    process.hub.close(&*cx.store.storage);
    assert!(next(events.as_mut()).is_none());
}

#[test]
fn events_of_other_servers_are_found() {
    // Nothing wakes the readers, as after a commit by another server whose announcement is lost.
    let store = Backend::Memory.open().through(Arc::new(Faulty::new(PlantedFault::NotifierSilent)));
    let cx = Sandbox::on(store, |_| {});
    let process = Process::new(&cx, StreamLimits::default());
    let mut client = process.open("");
    let _ = client.until(|text, _| text.contains("data: "));
    assert_eq!(client.periods(50), "");
    process.create();
    assert_eq!(client.periods(50), "", "the heads are looked at once a second");
    cx.advance(1_000);
    assert_eq!(kinds(&client.events(1)), ["contact.created"]);
}

/// On stores that several servers share.
mod shared {
    use contract_tests::Backend;

    #[test]
    fn postgres() {
        super::a_stream_sends_events_as_they_happen(Backend::Postgres);
        super::a_gap_ends_a_stream(Backend::Postgres);
    }

    #[test]
    fn mongo() {
        super::a_stream_sends_events_as_they_happen(Backend::Mongo);
        super::a_gap_ends_a_stream(Backend::Mongo);
    }
}
