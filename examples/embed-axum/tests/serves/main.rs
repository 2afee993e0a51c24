//! Starts the hosts of this example and calls them over a socket.

mod host;
mod staff;

use std::io::{Read, Write};

use host::{Host, TYPE, form};
use openapi_core::access::Actor;
use openapi_core::admin::{Admin, NewAgent, NewKey};
use openapi_core::platform::{Platform, Ports};
use openapi_core::server_keys::{ServerKey, ServerKeys};
use openapi_core::service_info::ServiceInfo;
use rustix::process::{Pid, Signal, kill_process};
use storage_sqlite::{SqliteConfig, SqliteStorage};

const CONTACTS: &str = "/platform/v1/open/contacts/chatbots/front-desk";

#[test]
fn the_application_and_the_open_api_share_a_listener() {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::start(folder.path());
    let own = host.call("GET /", "", b"");
    assert_eq!((own.status, own.body.as_str()), (200, "the application's own page\n"));
    assert_eq!(host.call("GET /platform/v1/open/health", "", b"").status, 200);
    let nowhere = host.call("GET /v1/open/health", "", b"");
    assert_eq!((nowhere.status, nowhere.body.as_str()), (404, "the application has no such page\n"));
    let unknown = host.call("GET /platform/v1/nothing", "", b"");
    assert!(unknown.status == 404 && unknown.body.contains("ROUTE_NOT_FOUND"), "{}", unknown.body);
    let refused = host.call(&format!("GET {CONTACTS}"), "", b"");
    assert!(refused.status == 401 && refused.body.contains("MISSING_CREDENTIALS"), "{}", refused.body);
}

#[test]
fn every_link_includes_the_prefix() {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::start(folder.path());
    let keys = host.keys.as_str();
    let mut locations = Vec::new();
    for name in ["zoe", "kai"] {
        let contact = format!(r#"{{"primaryEmail":"{name}@example.com"}}"#);
        let headers = format!("{keys}Idempotency-Key: {name}\r\n");
        let created = host.call(&format!("POST {CONTACTS}"), &headers, contact.as_bytes());
        assert_eq!(created.status, 201, "{}", created.body);
        let again = host.call(&format!("POST {CONTACTS}"), &headers, contact.as_bytes());
        assert_eq!(again.header("location"), created.header("location"), "also of a stored answer");
        locations.push(created.header("location"));
    }
    for location in &locations {
        assert!(location.starts_with("/platform/v1/open/"), "{location}");
        assert_eq!(host.call(&format!("GET {location}"), keys, b"").status, 200, "{location}");
    }
    let page = host.call(&format!("GET {CONTACTS}?limit=1"), keys, b"");
    let link = page.header("link");
    let next = link.split(',').find(|link| link.contains("rel=\"next\"")).expect("a next page");
    let url = next.trim().trim_start_matches('<').split('>').next().unwrap();
    let path = url.strip_prefix(&format!("http://{}", host.address)).expect("a URL of this host");
    assert!(path.starts_with("/platform/v1/open/"), "{path}");
    let after = host.call(&format!("GET {path}"), keys, b"");
    assert!(after.status == 200 && after.body != page.body, "{}", after.body);

    let contact = locations[0].rsplit('/').nth(2).unwrap();
    let files = format!("/platform/v1/open/files/chatbots/front-desk/{contact}");
    let sent = host.call(&format!("POST {files}"), &format!("{keys}{TYPE}"), &form(b"plain text"));
    assert_eq!(sent.status, 201, "{}", sent.body);
    let signed = host.call(&format!("GET {files}/files/{}/signed-url", sent.member("id")), keys, b"");
    let path = signed.member("url").split_once(&host.address).expect("a URL of this host").1.to_owned();
    assert!(path.starts_with("/platform/download/"), "{path}");
    assert_eq!(host.call(&format!("GET {path}"), "", b"").body, "plain text");
    let document = host.call("GET /platform/openapi.json", "", b"");
    let server = format!("\"url\":\"http://{}/platform\"", host.address);
    assert!(document.body.replace(": ", ":").contains(&server), "{}", &document.body[..300]);
}

#[test]
fn shutdown_finishes_running_requests_and_preserves_their_data() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::start(folder.path());
    let keys = host.keys.clone();
    let created = host.call(&format!("POST {CONTACTS}"), &keys, br#"{"primaryEmail":"zoe@example.com"}"#);
    let files = format!("/platform/v1/open/files/chatbots/front-desk/{}", created.member("id"));
    let body = form(&b"twenty bytes of it\n".repeat(50_000));
    let headers = format!("{keys}{TYPE}Expect: 100-continue\r\n");
    let mut upload = host.begin(&format!("POST {files}"), &headers, body.len());
    let mut go_on = [0; 25];
    upload.read_exact(&mut go_on).unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n", "the request runs");
    upload.write_all(&body[..body.len() / 2]).unwrap();
    kill_process(Pid::from_child(&host.process), Signal::TERM).unwrap();
    // It no longer listens, but running requests continue.
    host.until_closed();
    upload.write_all(&body[body.len() / 2..]).unwrap();
    let mut answer = String::new();
    upload.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    assert!(host.process.wait().unwrap().success());
    assert_eq!(host.rest(), "stopped\n");

    let again = Host::start(folder.path());
    assert_eq!(again.keys, "", "the agent was there");
    let listed = again.call(&format!("GET {files}"), &keys, b"");
    assert!(listed.status == 200 && listed.body.contains("\"totalItems\":1"), "{}", listed.body);
}

const MINIMAL: &str = include_str!("../../src/bin/minimal.rs");

/// Counts the lines of the minimal host other than blank ones, comments and `use`. The formatter determines line
/// breaks.
#[test]
fn a_minimal_host_over_sqlite_takes_fifteen_lines() {
    let is_code = |line: &&str| !line.is_empty() && !line.starts_with("//") && !line.starts_with("use ");
    let lines = MINIMAL.lines().map(str::trim).filter(is_code).count();
    assert!((10..=15).contains(&lines), "{lines} lines");
    assert!(MINIMAL.lines().all(|line| line.len() <= 110));
}

#[test]
fn the_minimal_host_serves_and_persists() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("server-key"), [7; 32]).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let keys = runtime.block_on(async {
        let store = SqliteStorage::open(SqliteConfig::new(folder.path().join("openapi.db"))).unwrap();
        let server_keys = ServerKeys::new(ServerKey::new(&[7; 32]), vec![]);
        let service_info = ServiceInfo::new("http://127.0.0.1").unwrap();
        let platform = Platform::new(std::sync::Arc::new(store), Ports::system(server_keys), service_info);
        let by = Actor::Operator("test".to_owned());
        let agent = NewAgent { id: "acme".parse().ok(), name: "Acme".parse().unwrap() };
        let agent = platform.create_agent(&by, agent).await.unwrap();
        let all = "contacts:all".parse().unwrap();
        let key = platform.create_key(&by, NewKey::new(agent.id, "Key".parse().unwrap(), all)).await.unwrap();
        format!("X-API-Key: {}\r\nX-API-Secret: {}\r\n", key.key.api_key, key.secret.expose())
    });
    let path = "/v1/open/contacts/chatbots/acme";
    let host = Host::minimal(folder.path());
    let created = host.call(&format!("POST {path}"), &keys, br#"{"primaryEmail":"zoe@example.com"}"#);
    assert_eq!(created.status, 201, "{}", created.body);
    drop(host);
    let again = Host::minimal(folder.path());
    let listed = again.call(&format!("GET {path}"), &keys, b"");
    assert!(listed.status == 200 && listed.body.contains("zoe@example.com"), "{}", listed.body);
}
