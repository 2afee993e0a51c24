//! Sends every example of docs/contract.md, in order, to one service in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use events::streams::EventHub;
use futures_util::FutureExt;
use http_body_util::{BodyExt, Full};
use openapi_core::access::{Actor, Permissions};
use openapi_core::admin::{Admin, NewAgent, NewKey};
use openapi_core::api::{Api, ApiBody, Settings};
use openapi_core::json::{Json, parse};
use openapi_core::platform::{Platform, Ports};
use openapi_core::ports::{FixedClock, SequentialIds};
use openapi_core::server_keys::ServerKeys;
use openapi_core::service_info::ServiceInfo;
use storage_memory::MemoryStorage;

const CONTRACT: &str = include_str!("../../../docs/contract.md");

/// The placeholder for omitted text in an example.
const ANYTHING: &str = "…";

/// One `http` block: first line, headers, body.
struct Message {
    first: String,
    headers: Vec<(String, String)>,
    body: String,
}

fn messages() -> Vec<Message> {
    let mut blocks = Vec::new();
    let mut rest = CONTRACT;
    while let Some((_, after)) = rest.split_once("\n```http\n") {
        let (block, after) = after.split_once("\n```").expect("a block has an end");
        blocks.push(message(block));
        rest = after;
    }
    blocks
}

fn message(block: &str) -> Message {
    let (head, body) = block.split_once("\n\n").unwrap_or((block, ""));
    let mut lines = head.lines();
    let first = lines.next().expect("a block has a first line").to_owned();
    let header = |line: &str| {
        let (name, value) = line.split_once(": ").unwrap_or_else(|| panic!("not a header: {line}"));
        (name.to_owned(), value.to_owned())
    };
    Message { first, headers: lines.map(header).collect(), body: body.to_owned() }
}

/// Whether a text matches the example, in which `…` stands for any text.
fn like(shown: &str, actual: &str) -> bool {
    let Some((begin, end)) = shown.split_once(ANYTHING) else { return shown == actual };
    let Some(rest) = actual.strip_prefix(begin) else { return false };
    let ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]).filter(|at| *at > 0);
    ends.into_iter().any(|at| like(end, &rest[at..]))
}

/// What a stream sends at once.
fn begin_of(mut stream: ApiBody) -> String {
    let mut sent = Vec::new();
    while let Some(Some(Ok(frame))) = stream.frame().now_or_never() {
        sent.extend_from_slice(&frame.into_data().unwrap_or_default());
    }
    String::from_utf8(sent).expect("UTF-8")
}

/// Names and values of headers.
type Headers = [(&'static str, String); 2];

/// The service of the examples, with the key headers of its one key.
fn service() -> Result<(Api, Headers), Box<dyn std::error::Error>> {
    let clock = FixedClock::at("2026-01-31T09:15:02.123Z".parse()?);
    let ids = SequentialIds::default();
    let keys = ServerKeys::generate(&ids);
    let ports = Ports::new(Arc::new(clock), Arc::new(ids), keys);
    let service_info = ServiceInfo::new("https://api.example.com")?;
    let platform = Platform::new(Arc::new(MemoryStorage::new()), ports, service_info.clone());
    let platform = Arc::new(platform.with_event_streams(Arc::new(EventHub::default())));
    let by = Actor::Operator("test".to_owned());
    let agent = NewAgent { id: Some("acme".parse()?), name: "Acme".parse()? };
    let agent = pollster::block_on(platform.create_agent(&by, agent))?;
    let key = NewKey::new(agent.id, "Examples".parse()?, Permissions::all());
    let issued = pollster::block_on(platform.create_key(&by, key))?;
    let headers = [
        ("X-API-Key", issued.key.api_key.as_str().to_owned()),
        ("X-API-Secret", issued.secret.expose().to_owned()),
    ];
    Ok((platform.api(Settings::new(service_info)), headers))
}

/// Maps the examples' platform ids to the service's.
#[derive(Default)]
struct Ids(BTreeMap<String, String>);

impl Ids {
    fn is_id(text: &str) -> bool {
        text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
    }

    fn agree(&mut self, shown: &str, actual: &str) -> bool {
        self.0.entry(shown.to_owned()).or_insert_with(|| actual.to_owned()) == actual
    }

    /// The text of a request with the service's ids.
    fn put_into(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (shown, actual)| text.replace(shown, actual))
    }

    /// The differences between an example's body and the actual one.
    fn difference(&mut self, shown: &Json, actual: &Json, at: &str) -> Option<String> {
        match (shown, actual) {
            (Json::String(shown), _) if shown == ANYTHING => None,
            (Json::String(shown), Json::String(actual)) if Ids::is_id(shown) && Ids::is_id(actual) => {
                (!self.agree(shown, actual)).then(|| format!("{at}: {shown} stands for another id"))
            }
            (Json::Array(shown), Json::Array(actual)) if shown.len() == actual.len() => {
                shown.iter().zip(actual).enumerate().find_map(|(index, (shown, actual))| {
                    self.difference(shown, actual, &format!("{at}[{index}]"))
                })
            }
            (Json::Object(shown), Json::Object(actual)) => {
                let is_part = shown.get(ANYTHING).is_some();
                let missing = actual.iter().find(|(name, _)| !is_part && shown.get(name).is_none());
                if let Some((name, value)) = missing {
                    return Some(format!("{at}.{name} is not shown: {}", value.to_text()));
                }
                shown.iter().filter(|(name, _)| *name != ANYTHING).find_map(|(name, shown)| {
                    let at = format!("{at}.{name}");
                    match actual.get(name) {
                        Some(actual) => self.difference(shown, actual, &at),
                        None => Some(format!("{at} is not in the answer")),
                    }
                })
            }
            _ if shown == actual => None,
            _ => Some(format!("{at}: shown {}, actual {}", shown.to_text(), actual.to_text())),
        }
    }
}

#[test]
fn every_example_matches_the_service() {
    let (api, keys) = service().unwrap();
    let mut ids = Ids::default();
    let messages = messages();
    assert!(messages.len() >= 24, "the examples are not found: {} blocks", messages.len());
    for pair in messages.chunks(2) {
        let [request, expected] = pair else { panic!("a request without an answer: {}", pair[0].first) };
        let line = ids.put_into(&request.first);
        let mut words = line.split(' ');
        let (method, target) = (words.next().unwrap(), words.next().expect("a request has a target"));
        let mut builder = http::Request::builder().method(method).uri(target);
        for (name, value) in &request.headers {
            builder = builder.header(name, value);
        }
        for (name, value) in &keys {
            builder = builder.header(*name, value);
        }
        let body = Full::new(Bytes::from(ids.put_into(&request.body)));
        let response = pollster::block_on(api.handle(builder.body(body).unwrap()));

        let status = response.status();
        let first = format!("HTTP/1.1 {} {}", status.as_u16(), status.canonical_reason().unwrap_or(""));
        let actual = String::from_utf8_lossy(response.body().as_bytes().unwrap_or_default()).into_owned();
        assert_eq!(expected.first, first, "{line}: {actual}");
        for (name, shown) in &expected.headers {
            let value = response.headers().get(name).map_or("", |value| value.to_str().unwrap());
            assert!(like(shown, value), "{line}: {name} is {value:?}, shown {shown:?}");
        }
        if expected.headers.iter().any(|(_, value)| value == "text/event-stream") {
            let actual = begin_of(response.into_body());
            // Further events may follow.
            let shown = format!("{}{ANYTHING}", expected.body);
            assert!(like(&shown, &actual), "{line}: shown {shown}, actual {actual}");
            continue;
        }
        if expected.body.is_empty() {
            assert_eq!(actual, "", "{line}");
            continue;
        }
        let read =
            |text: &str| parse(text.as_bytes()).unwrap_or_else(|error| panic!("{line}: {error}: {text}"));
        let difference = ids.difference(&read(&expected.body), &read(&actual), "body");
        assert_eq!(difference, None, "{line}");
    }
}
