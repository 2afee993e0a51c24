//! The running service: listeners, signals, logs, the demo.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use super::support::{Sandbox, Serving, answer, connect, credentials, head, request, within};

const CONTACTS: &str = "/v1/open/contacts/chatbots/acme";

#[test]
fn a_public_address_in_plain_text_is_refused() {
    let sandbox = Sandbox::new();
    let said = sandbox.run(&["serve", "--listen", "0.0.0.0:0"]).failed(2);
    assert!(
        said.contains("--tls-cert") && said.contains("--trusted-proxies") && said.contains("127.0.0.1"),
        "{said}"
    );
    assert!(!sandbox.path("data").exists(), "nothing was opened");
}

#[test]
fn an_address_in_use_is_reported() {
    let sandbox = Sandbox::new();
    let server = sandbox.serve(&[]);
    let address = server.api.strip_prefix("http://").unwrap();
    let said = sandbox.run(&["serve", "--listen", address, "--ops-listen", "off"]).failed(1);
    assert!(said.contains(address) && said.contains("--listen"), "{said}");
}

#[test]
fn the_operators_listener_tells_how_it_is() {
    let sandbox = Sandbox::new();
    let key = sandbox.with_key();
    let server = sandbox.serve(&[]);
    assert_eq!(server.ops("/livez"), (200, "alive\n".to_owned()));
    assert_eq!(server.ops("/readyz"), (200, "ready\n".to_owned()));
    assert_eq!(server.ops("/other").0, 404);
    let credentials = credentials(&key);
    let headers = credentials.each_ref().map(|(name, value)| (*name, value.as_str()));
    for path in [CONTACTS, "/v1/open/contacts/nobody/chatbots/acme", "/v1/open/health", "/nothing"] {
        server.get(path, &headers);
    }
    let (status, metrics) = server.ops("/metrics");
    assert_eq!(status, 200);
    for part in [
        "route=\"/contacts/chatbots/{agentId}\",method=\"GET\",status=\"200\",code=\"\"} 1",
        "status=\"404\",code=\"CONTACT_NOT_FOUND\"} 1",
        "route=\"unknown\",method=\"GET\",status=\"404\",code=\"ROUTE_NOT_FOUND\"} 1",
        "openapi_http_request_duration_seconds_count",
        "process_cpu_seconds_total",
    ] {
        assert!(metrics.contains(part), "{part} is not in\n{metrics}");
    }
    assert!(!metrics.contains("acme") && !metrics.contains(headers[0].1), "no tenant is named");
    assert_eq!(server.end(), 0);
}

#[test]
fn the_log_says_what_happened_and_keeps_secrets() {
    let sandbox = Sandbox::new();
    let key = sandbox.with_key();
    let server = sandbox.serve(&["--log", "trace", "--log-format", "json"]);
    let credentials = credentials(&key);
    let mut headers = credentials.each_ref().map(|(name, value)| (*name, value.as_str())).to_vec();
    headers.push(("X-Request-Id", "my-request"));
    assert_eq!(server.get(&format!("{CONTACTS}?search=private-words"), &headers).0, 200);
    let wrong = [headers[0], ("X-API-Secret", "svcs_guessed-secret")];
    assert_eq!(server.get(CONTACTS, &wrong).0, 401);
    assert_eq!(server.end(), 0);
    let log = sandbox.read("stderr");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let line = lines.iter().find(|line| line["request_id"] == "my-request").unwrap();
    for (name, value) in [
        ("level", "info"),
        ("target", "access"),
        ("method", "GET"),
        ("route", "/contacts/chatbots/{agentId}"),
        ("address", "127.0.0.1"),
        ("agent", "acme"),
        ("key", headers[0].1),
    ] {
        assert_eq!(line[name], value, "{line}");
    }
    assert_eq!(line["status"], 200);
    assert!(line["duration_ms"].as_f64().unwrap() > 0.0);
    let refused = lines.iter().find(|line| line["status"] == 401).unwrap();
    assert_eq!(refused["code"], "INVALID_CREDENTIALS");
    for secret in [&headers[1].1[5..], "private-words", "guessed-secret"] {
        assert!(!log.contains(secret), "{secret} is in the log");
    }
}

#[test]
fn the_drain_waits_for_what_runs_and_says_so() {
    let sandbox = Sandbox::new();
    let key = sandbox.with_key();
    let server = sandbox.serve(&[]);
    let credentials = credentials(&key);
    let mut headers = credentials.each_ref().map(|(name, value)| (*name, value.as_str())).to_vec();
    headers.push(("Content-Type", "application/json"));
    let body = "{\"primaryEmail\":\"late@example.com\"}";
    let mut stream = connect(&server.api);
    stream.write_all(head("POST", CONTACTS, &headers, body.len()).as_bytes()).unwrap();
    stream.write_all(&body.as_bytes()[..5]).unwrap();
    within(Duration::from_secs(5), "the request is under way", || {
        server.ops("/metrics").1.contains("openapi_http_requests_in_flight 1")
    });
    server.signal(Signal::TERM);
    within(Duration::from_secs(5), "a draining server is not ready", || {
        server.ops("/readyz") == (503, "draining\n".to_owned())
    });
    assert_eq!(server.ops("/livez").0, 200);
    stream.write_all(&body.as_bytes()[5..]).unwrap();
    assert_eq!(answer(&mut stream).0, 201);
    let mut server = server;
    assert_eq!(server.wait(), 0);
    assert!(sandbox.run(&["contacts", "export", "--agent", "acme"]).done().contains("late@example.com"));
}

#[test]
fn silent_connections_leave_room_for_who_monitors() {
    let sandbox = Sandbox::new();
    sandbox.with_key();
    let server = sandbox.serve(&[]);
    let silent: Vec<_> = (0..200).map(|_| connect(&server.ops)).collect();
    let started = Instant::now();
    assert_eq!(server.ops("/livez").0, 200);
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
    drop(silent);
    // A connection is for one request.
    let mut stream = connect(&server.ops);
    stream
        .write_all(b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\nGET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    assert_eq!(answers.matches("HTTP/1.1 ").count(), 1, "{answers}");
}

#[test]
fn the_drain_has_a_deadline_and_a_second_signal_does_not_wait() {
    let sandbox = Sandbox::new();
    let key = sandbox.with_key();
    for (arguments, second, code) in [(&["--drain-timeout", "300ms"][..], false, 0), (&[][..], true, 1)] {
        let mut server = sandbox.serve(arguments);
        let credentials = credentials(&key);
        let headers = credentials.each_ref().map(|(name, value)| (*name, value.as_str()));
        let mut stream = connect(&server.api);
        stream.write_all(head("POST", CONTACTS, &headers, 100).as_bytes()).unwrap();
        within(Duration::from_secs(5), "the request is under way", || {
            server.ops("/metrics").1.contains("openapi_http_requests_in_flight 1")
        });
        server.signal(Signal::INT);
        if second {
            within(Duration::from_secs(5), "it drains", || server.ops("/readyz").0 == 503);
            server.signal(Signal::INT);
        }
        assert_eq!(server.wait(), code, "{}", sandbox.read("stderr"));
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(rest.is_empty(), "the request was cut");
    }
}

#[test]
fn a_hangup_reads_the_certificate_again() {
    let sandbox = Sandbox::new();
    let certify = || {
        let certified = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        sandbox.write("cert.pem", &certified.cert.pem());
        sandbox.write("key.pem", &certified.signing_key.serialize_pem());
    };
    certify();
    let server = sandbox.serve(&["--tls-cert", "cert.pem", "--tls-key", "key.pem"]);
    assert!(server.api.starts_with("https://"), "{}", server.api);
    certify();
    server.signal(Signal::HUP);
    within(Duration::from_secs(5), "the certificate is read", || {
        sandbox.read("stderr").contains("the certificate was read again")
    });
    sandbox.write("cert.pem", "half");
    server.signal(Signal::HUP);
    within(Duration::from_secs(5), "a bad one is reported", || {
        sandbox.read("stderr").contains("the former certificate stays in use")
    });
    assert_eq!(server.end(), 0);
}

/// What a server prints, up to and with a part of it.
fn output_until(server: &mut Serving, part: &str) -> String {
    let mut text = String::new();
    while !text.contains(part) {
        let mut chunk = [0; 4096];
        let read = server.output.read(&mut chunk).unwrap();
        assert_ne!(read, 0, "{text}");
        text.push_str(std::str::from_utf8(&chunk[..read]).unwrap());
    }
    text
}

#[test]
fn the_demo_prints_lines_that_work() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.serve_as("demo", &[]);
    let text = output_until(&mut server, "The reference");
    // Pasted as a whole, as a user does; every line must succeed.
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("  ")).collect();
    assert!(lines.iter().filter(|line| line.contains("curl ")).count() >= 6, "{text}");
    let script = format!(
        "set -e\ncurl() {{ command curl --fail-with-body --silent --show-error \"$@\"; echo; }}\n{}",
        lines.join("\n")
    );
    let output = sandbox.command("sh").args(["-c", &script]).output().unwrap();
    let said = super::support::Said::from(output);
    assert_ne!(said.code, 127, "curl is missing: apt-get install curl");
    let answers: Vec<Value> = said.done().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers[0]["pagination"]["totalItems"], 10);
    assert_eq!(answers[1]["data"][0]["lastName"], "Okafor");
    assert_eq!(answers[4]["data"]["isArchived"], true);
    assert_eq!(answers[6]["pagination"]["totalItems"], 1);
    assert_eq!(answers[7]["data"]["fileName"], "note.txt");
    assert_eq!(server.get("/docs", &[]).0, 200);
    assert_eq!(server.end(), 0);

    // The second run creates nothing and prints how to create another key.
    let mut server = sandbox.serve_as("demo", &[]);
    let text = output_until(&mut server, "keys create");
    let line = text.lines().find(|line| line.contains("keys create")).unwrap();
    let arguments: Vec<&str> = line.split_whitespace().skip(1).collect();
    assert!(sandbox.json(&arguments)["apiSecret"].is_string());
    assert_eq!(server.end(), 0);
    assert_eq!(sandbox.json(&["agents", "list"]).as_array().unwrap().len(), 1);
}

#[test]
fn the_demo_leads_to_a_console_with_conversations() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.serve_as("demo", &["--console-listen", "127.0.0.1:0"]);
    let text = output_until(&mut server, "The reference");
    let link = text.find("/setup#").expect("a link to the console");
    assert!(link < text.find("\nagent ").unwrap(), "the link comes first: {text}");
    let list = sandbox.json(&["conversations", "list", "--agent", "demo"]);
    let conversations = list["conversations"].as_array().unwrap();
    assert_eq!(conversations.len(), 8, "{list}");
    let with_person: Vec<&Value> = conversations.iter().filter(|one| one["mode"] == "human").collect();
    let waiting = with_person.iter().filter(|one| one["operatorUnread"] != 0);
    assert_eq!((with_person.len(), waiting.count()), (3, 2), "{list}");
    let is_linked = |one: &&Value| one["contactId"].is_string() && one["level"] == 2;
    assert_eq!(conversations.iter().filter(is_linked).count(), 4, "{list}");
    // The newest first, and each one earlier than the one before.
    let times: Vec<&str> = conversations.iter().map(|one| one["lastMessageAt"].as_str().unwrap()).collect();
    assert!(times.is_sorted_by(|newer, older| newer > older), "{times:?}");
    let unanswered = conversations.iter().filter(|one| one["messageCount"].as_u64().unwrap() < 2);
    assert_eq!(unanswered.count(), 0, "{list}");
    assert_eq!(server.end(), 0);
}

#[test]
fn limits_survive_an_orderly_end() {
    let sandbox = Sandbox::new();
    sandbox.json(&["agents", "create", "A", "--id", "acme"]);
    let key = sandbox.json(&[
        "keys",
        "create",
        "--agent",
        "acme",
        "--name",
        "Few",
        "--allow",
        "all",
        "--per-minute",
        "5",
        "--per-hour",
        "5",
    ]);
    let credentials = credentials(&key);
    let headers = credentials.each_ref().map(|(name, value)| (*name, value.as_str()));
    let server = sandbox.serve(&[]);
    for _ in 0..3 {
        assert_eq!(server.get(CONTACTS, &headers).0, 200);
    }
    assert_eq!(server.end(), 0);
    let server = sandbox.serve(&[]);
    let statuses: Vec<u16> = (0..3).map(|_| server.get(CONTACTS, &headers).0).collect();
    assert_eq!(statuses, [200, 200, 429]);
    assert_eq!(server.end(), 0);
}

#[test]
fn a_service_in_memory_needs_no_folder() {
    let sandbox = Sandbox::new();
    let server = sandbox.serve_as("demo", &["--store", "memory:"]);
    assert_eq!(server.get("/v1/open/health", &[]).0, 200);
    assert_eq!(server.end(), 0);
    assert!(!sandbox.path("data").exists());
}

#[test]
fn scripts_and_pages_of_the_widget_are_limited_by_address() {
    let sandbox = Sandbox::new();
    sandbox.run(&["agents", "create", "Acme", "--id", "acme"]).done();
    let server = sandbox.serve(&["--widget-listen", "127.0.0.1:0", "--widget-limit", "address_calls=4/60s"]);
    let widget = server.widget.clone().unwrap();
    let get = |path: &str| request(&widget, "GET", path, &[], "");
    for path in ["/embed.js", "/demo/acme", "/preview?agentId=acme", "/embed.js"] {
        assert_eq!(get(path).0, 200, "{path}");
    }
    for path in ["/embed.js", "/demo/acme"] {
        let (status, body) = get(path);
        assert_eq!(status, 429, "{path}");
        assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["code"], "RATE_LIMIT_EXCEEDED");
    }
    // The configuration shares the limit; the API has limits of its own.
    assert_eq!(get("/widget/v1/config?agentId=acme").0, 429);
    assert_eq!(server.get("/v1/open/health", &[]).0, 200);
    assert_eq!(server.end(), 0);
}
