//! The widget's listener as seen by pages and other clients: timeouts, CORS, formats.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::fleet_widget::turn;
use super::support::{Sandbox, Serving, connect, head};

/// The page that agents of these tests allow.
pub const PAGE: &str = "https://www.example.com";
pub const PDF: &str = "%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n";
/// Sent with every call that has a body.
pub const TEXT: (&str, &str) = ("Content-Type", "text/plain;charset=UTF-8");

/// A response with its head.
pub struct Answer {
    pub status: u16,
    head: String,
    pub body: Vec<u8>,
}

impl Answer {
    /// The bytes until the server closes the connection.
    #[track_caller]
    pub fn of(stream: &mut TcpStream) -> Self {
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).unwrap();
        let end = heard.windows(4).position(|window| window == b"\r\n\r\n").expect("a head");
        let head = String::from_utf8(heard[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head, body: heard.split_off(end + 4) }
    }

    /// All values of a header, as one.
    pub fn header(&self, name: &str) -> Option<String> {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        let found: Vec<&str> = lines
            .filter(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
            .collect();
        (!found.is_empty()).then(|| found.join(", "))
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The code of an error.
    pub fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }
}

/// Sends any request to the widget's listener, which may reject it without reading its body.
pub fn send(server: &Serving, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
    let mut stream = connect(server.widget.as_deref().unwrap());
    stream.write_all(head(method, path, headers, body.len()).as_bytes()).unwrap();
    let _ = stream.write_all(body.as_bytes());
    stream
}

/// The response to a request.
#[track_caller]
pub fn ask(server: &Serving, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    Answer::of(&mut send(server, method, path, headers, body))
}

/// A form of these parts, and a file last; its type is that of [`FORM`].
pub fn form(parts: &[(&str, &str)], name: &str, content: &str) -> String {
    let texts = parts.iter().map(|(part, text)| {
        format!("--x\r\nContent-Disposition: form-data; name=\"{part}\"\r\n\r\n{text}\r\n")
    });
    texts.collect::<String>()
        + &format!("--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n")
        + content
        + "\r\n--x--\r\n"
}

pub const FORM: (&str, &str) = ("Content-Type", "multipart/form-data; boundary=x");

/// Creates an agent with these settings.
pub fn agent(sandbox: &Sandbox, id: &str, settings: &[&str]) {
    sandbox.run(&["agents", "create", "Acme", "--id", id]).done();
    if !settings.is_empty() {
        let settings = settings.iter().flat_map(|setting| ["--set", setting]);
        sandbox.run(&["agents", "configure", id].into_iter().chain(settings).collect::<Vec<_>>()).done();
    }
}

#[test]
fn the_widgets_listener_takes_smaller_heads_than_the_api() {
    let sandbox = Sandbox::new();
    agent(&sandbox, "acme", &[]);
    let server = sandbox.serve(&["--widget-listen", "127.0.0.1:0"]);
    let long = |bytes: usize| "x".repeat(bytes);
    for path in ["/embed.js", "/demo/acme", "/widget/v1/config?agentId=acme"] {
        let get = |bytes: usize| ask(&server, "GET", path, &[("X-Long", &long(bytes))], "");
        assert_eq!(get(8_000).status, 200, "{path}");
        let refused = get(8_192);
        assert_eq!((refused.status, refused.code().as_str()), (431, "HEADERS_TOO_LARGE"), "{path}");
    }
    assert_eq!(server.get("/v1/open/health", &[("X-Long", &long(8_192))]).0, 200);
    assert_eq!(server.end(), 0);
}

#[test]
fn the_widgets_listener_is_less_patient_than_the_apis() {
    let sandbox = Sandbox::new();
    agent(&sandbox, "acme", &["uploads.enabled=true"]);
    let server = sandbox.serve(&["--widget-listen", "127.0.0.1:0"]);
    let begun = Instant::now();
    let is_about = |seconds: u64| {
        let took = begun.elapsed();
        let expected = Duration::from_millis(seconds * 1_000 - 100)..Duration::from_secs(seconds + 4);
        assert!(expected.contains(&took), "{took:?} instead of {seconds} s");
    };
    // Concurrently: an incomplete head, a body that trickles, and a file that stalls.
    let mut slow = connect(server.widget.as_deref().unwrap());
    slow.write_all(b"GET /embed.js HTTP/1.1\r\nHost: a\r\nX-Slow: ").unwrap();
    let mut trickling = connect(server.widget.as_deref().unwrap());
    trickling.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let head_of_turn = head("POST", "/widget/v1/turns", &[TEXT, ("Origin", PAGE)], 1_000);
    trickling.write_all(head_of_turn.as_bytes()).unwrap();
    let mut writer = trickling.try_clone().unwrap();
    let trickle = std::thread::spawn(move || {
        while begun.elapsed() < Duration::from_secs(15) && writer.write_all(b" ").is_ok() {
            std::thread::sleep(Duration::from_millis(500));
        }
    });
    let file = form(&[("agentId", "acme")], "letter.pdf", PDF);
    let (first, rest) = file.split_at(file.len() - 20);
    let mut stalling = connect(server.widget.as_deref().unwrap());
    stalling.write_all(head("POST", "/widget/v1/uploads", &[FORM], file.len()).as_bytes()).unwrap();
    stalling.write_all(first.as_bytes()).unwrap();

    assert_eq!(slow.read(&mut [0]).unwrap(), 0, "it is closed");
    is_about(5);
    let mut heard = vec![0; 4_096];
    let read = trickling.read(&mut heard).unwrap();
    is_about(10);
    let heard = String::from_utf8_lossy(&heard[..read]);
    assert!(heard.starts_with("HTTP/1.1 408 ") && heard.contains("\"REQUEST_TIMEOUT\""), "{heard}");
    assert!(heard.contains("access-control-allow-origin: *\r\n"), "the page may read why: {heard}");
    drop(trickling);
    trickle.join().unwrap();
    // By now any other body would have timed out.
    stalling.write_all(rest.as_bytes()).unwrap();
    assert_eq!(Answer::of(&mut stalling).status, 201);
    assert_eq!(server.end(), 0);
}

#[test]
fn what_the_operator_set_is_not_exceeded_for_files() {
    let sandbox = Sandbox::new();
    agent(&sandbox, "acme", &["uploads.enabled=true"]);
    let server = sandbox.serve(&["--widget-listen", "127.0.0.1:0", "--body-total-timeout", "1s"]);
    let mut stalling = connect(server.widget.as_deref().unwrap());
    stalling.write_all(head("POST", "/widget/v1/uploads", &[FORM], 1_000).as_bytes()).unwrap();
    stalling.write_all(b"--x\r\n").unwrap();
    let answer = Answer::of(&mut stalling);
    assert_eq!((answer.status, answer.code().as_str()), (408, "REQUEST_TIMEOUT"));
    assert_eq!(server.end(), 0);
}

/// Checks the headers of every response, and who may read this one: `*`, or one origin.
#[track_caller]
fn is_for(readers: &str, answer: &Answer) {
    let origin = answer.header("access-control-allow-origin");
    assert_eq!(origin.as_deref(), Some(readers), "{}", answer.head);
    let vary = answer.header("vary").unwrap_or_default().to_ascii_lowercase();
    assert_eq!(vary.contains("origin"), readers != "*", "{}", answer.head);
    let exposed = answer.header("access-control-expose-headers");
    assert_eq!(exposed.as_deref(), Some("Retry-After, X-Request-Id"), "{}", answer.head);
    assert_eq!(answer.header("access-control-allow-credentials"), None);
    assert_eq!(answer.header("set-cookie"), None);
    assert!(answer.header("x-request-id").is_some(), "{}", answer.head);
    assert_eq!(answer.header("x-content-type-options").as_deref(), Some("nosniff"));
}

#[test]
fn pages_read_what_they_may_and_why_they_are_refused() {
    let sandbox = Sandbox::new();
    agent(&sandbox, "acme", &["origins=[\"https://www.example.com\"]"]);
    agent(&sandbox, "open", &[]);
    let server = sandbox.serve(&[
        "--widget-listen",
        "127.0.0.1:0",
        "--widget-limit",
        "address_sessions=off",
        "--widget-limit",
        "address_repeats=off",
    ]);
    let turn_of = |agent: &str, origin: &str| {
        let mut body = turn(1, &Value::Null);
        body["agentId"] = json!(agent);
        ask(&server, "POST", "/widget/v1/turns", &[TEXT, ("Origin", origin)], &body.to_string())
    };
    let config_of = |agent: &str, headers: &[(&str, &str)]| {
        ask(&server, "GET", &format!("/widget/v1/config?agentId={agent}"), headers, "")
    };
    const OTHER: &str = "https://shop.example.net";
    // The pages of the server itself, /demo and /preview, need not be on the list.
    let own = server.widget.clone().unwrap();
    for (origin, status) in [(PAGE, 200), (own.as_str(), 200), (OTHER, 403), ("null", 403)] {
        for answer in [turn_of("acme", origin), config_of("acme", &[("Origin", origin)])] {
            assert_eq!(answer.status, status, "{origin}: {}", answer.text());
            is_for(origin, &answer);
            if status == 403 {
                assert_eq!(answer.code(), "ORIGIN_NOT_ALLOWED");
                assert_eq!(answer.json()["details"]["origin"], *origin);
            }
        }
    }
    // A page asks its own server without naming an origin.
    let same_origin = config_of("acme", &[]);
    assert_eq!(same_origin.status, 200);
    assert!(same_origin.header("vary").unwrap().to_ascii_lowercase().contains("origin"));
    let unnamed = ask(&server, "POST", "/widget/v1/turns", &[TEXT], &turn(1, &Value::Null).to_string());
    assert_eq!((unnamed.status, unnamed.code().as_str()), (403, "ORIGIN_NOT_ALLOWED"));
    // Without a list every page reads everything, but for those in a sandbox.
    for answer in [turn_of("open", OTHER), config_of("open", &[("Origin", OTHER)]), config_of("open", &[])] {
        assert_eq!(answer.status, 200, "{}", answer.text());
        is_for("*", &answer);
    }
    let sandboxed = turn_of("open", "null");
    assert_eq!((sandboxed.status, sandboxed.code().as_str()), (403, "ORIGIN_NOT_ALLOWED"));
    is_for("*", &sandboxed);
    // An error before the agent is known does not depend on the page.
    let large = format!("{{\"text\":\"{}\"}}", "x".repeat(20_000));
    let headers = [TEXT, ("Origin", OTHER)];
    for (method, path, headers, body, code) in [
        ("POST", "/nothing", &headers[..], "", "ROUTE_NOT_FOUND"),
        ("GET", "/turns", &headers[1..], "", "METHOD_NOT_ALLOWED"),
        ("POST", "/turns", &headers[..], "{", "INVALID_JSON"),
        ("POST", "/turns", &headers[..], "{\"agentId\":\"nobody\"}", "AGENT_NOT_AVAILABLE"),
        ("POST", "/turns", &headers[..], large.as_str(), "PAYLOAD_TOO_LARGE"),
        ("POST", "/turns", &[("Content-Type", "text/xml"), headers[1]], "{}", "UNSUPPORTED_MEDIA_TYPE"),
        ("POST", "/sync", &headers[..], "{\"token\":\"vt1.a.b\"}", "TOKEN_INVALID"),
    ] {
        let refused = ask(&server, method, &format!("/widget/v1{path}"), headers, body);
        assert_eq!(refused.code(), code, "{}", refused.text());
        assert_eq!(refused.header("cache-control").as_deref(), Some("no-store"));
        is_for("*", &refused);
    }
    let preflight = ask(&server, "OPTIONS", "/widget/v1/turns", &headers[1..], "");
    assert_eq!(preflight.status, 204);
    is_for("*", &preflight);
    assert_eq!(preflight.header("access-control-allow-methods").as_deref(), Some("GET, POST"));
    assert_eq!(preflight.header("access-control-max-age").as_deref(), Some("7200"));
    assert_eq!(server.end(), 0);
}

#[test]
fn bodies_are_json_under_two_names() {
    let sandbox = Sandbox::new();
    agent(&sandbox, "acme", &["uploads.enabled=true"]);
    let server = sandbox.serve(&["--widget-listen", "127.0.0.1:0", "--widget-limit", "turns=off"]);
    let say = |number: u32, content_type: &str| {
        let body = turn(number, &Value::Null).to_string();
        ask(&server, "POST", "/widget/v1/turns", &[("Content-Type", content_type)], &body)
    };
    let json_types = ["application/json", "Application/JSON; charset=utf-8", "text/plain"];
    for (number, content_type) in (1..).zip(json_types) {
        let answer = say(number, content_type);
        assert_eq!(answer.status, 200, "{content_type}: {}", answer.text());
    }
    let calls =
        ["turns", "turns/resume", "turns/cancel", "sync", "history", "lead", "feedback", "close", "uploads"];
    for call in calls {
        let not_of_call =
            if call == "uploads" { "application/json" } else { "multipart/form-data; boundary=x" };
        for content_type in ["application/x-www-form-urlencoded", "text/xml", not_of_call] {
            let path = format!("/widget/v1/{call}");
            let answer = ask(&server, "POST", &path, &[("Content-Type", content_type)], "{}");
            let refused = (answer.status, answer.code());
            assert_eq!(refused, (415, "UNSUPPORTED_MEDIA_TYPE".to_owned()), "{call}, {content_type}");
        }
    }
    assert_eq!(server.end(), 0);
}

#[test]
fn scripts_are_compressed_and_streams_never() {
    let sandbox = Sandbox::new();
    agent(&sandbox, "acme", &[]);
    let server = sandbox.serve(&["--widget-listen", "127.0.0.1:0", "--widget-limit", "address_sessions=off"]);
    let all = "gzip, br, zstd, deflate, *";
    for (accept, coding) in
        [("gzip", Some("gzip")), ("br", Some("br")), ("zstd", Some("zstd")), ("identity", None)]
    {
        let script = ask(&server, "GET", "/embed.js", &[("Accept-Encoding", accept)], "");
        assert_eq!(script.status, 200);
        assert_eq!(script.header("content-encoding").as_deref(), coding, "{accept}");
        assert!(script.header("vary").unwrap().eq_ignore_ascii_case("accept-encoding"));
        assert_eq!(script.header("access-control-allow-origin").as_deref(), Some("*"));
        assert!(script.header("etag").is_some());
        // The uncompressed script is several times larger.
        assert_eq!(script.body.len() > 15_000, coding.is_none(), "{} bytes", script.body.len());
    }
    for (number, accept) in (1..).zip(["gzip", "br", "zstd", all]) {
        let body = turn(number, &Value::Null);
        let headers = [TEXT, ("Accept-Encoding", accept)];
        let streamed = ask(&server, "POST", "/widget/v1/turns", &headers, &body.to_string());
        let token = super::fleet_widget::event(streamed.text(), "session")["token"].clone();
        let resume = json!({ "token": token, "turn": body["id"], "after": 1 }).to_string();
        let resumed = ask(&server, "POST", "/widget/v1/turns/resume", &headers, &resume);
        for stream in [streamed, resumed] {
            assert_eq!(stream.header("content-type").as_deref(), Some("text/event-stream"), "{accept}");
            assert_eq!(stream.header("content-encoding"), None, "{accept}");
            assert_eq!(stream.header("cache-control").as_deref(), Some("no-store, no-transform"));
            assert_eq!(stream.header("x-accel-buffering").as_deref(), Some("no"));
            assert!(stream.text().contains("event: done\n"), "{}", stream.text());
        }
    }
    assert_eq!(server.end(), 0);
}

#[test]
fn agents_that_are_not_there_are_answered_alike() {
    let sandbox = Sandbox::new();
    for id in ["disabled", "deleted"] {
        agent(&sandbox, id, &["origins=[\"https://www.example.com\"]", "uploads.enabled=true"]);
    }
    sandbox.run(&["agents", "disable", "disabled"]).done();
    sandbox.run(&["agents", "delete", "deleted"]).done();
    let server = sandbox.serve(&["--widget-listen", "127.0.0.1:0"]);
    let answer_for = |id: &str| {
        let mut body = turn(1, &Value::Null);
        body["agentId"] = json!(id);
        body["fields"] = json!({ "primaryEmail": "zoe@example.com" });
        let (body, file) = (body.to_string(), form(&[("agentId", id)], "letter.pdf", PDF));
        // From a page that the agents do not allow either.
        let origin = ("Origin", "https://shop.example.net");
        let config = format!("/widget/v1/config?agentId={id}");
        let calls = [
            ("GET", config.as_str(), &[origin][..], ""),
            ("POST", "/widget/v1/turns", &[TEXT, origin], &body),
            ("POST", "/widget/v1/lead", &[TEXT, origin], &body),
            ("POST", "/widget/v1/uploads", &[FORM, origin], &file),
        ];
        calls.map(|(method, path, headers, body)| {
            let answer = ask(&server, method, path, headers, body);
            let varies = |line: &&str| !line.starts_with("x-request-id:") && !line.starts_with("date:");
            let head: Vec<&str> = answer.head.lines().filter(varies).collect();
            let request_id = answer.header("x-request-id").unwrap();
            assert_eq!(answer.code(), "AGENT_NOT_AVAILABLE");
            (head.join("\n"), answer.text().replace(&request_id, "").replace(id, ""))
        })
    };
    let unknown = answer_for("unknown");
    assert!(unknown[0].0.starts_with("HTTP/1.1 404 "), "{unknown:?}");
    assert_eq!(answer_for("disabled"), unknown);
    assert_eq!(answer_for("deleted"), unknown);
    assert_eq!(server.end(), 0);
}
