//! The console's listener as browsers see it: the set-up link, names of the machine, pages and metrics.

use std::io::{BufRead, Write};

use serde_json::{Value, json};

use super::support::{Sandbox, Serving, connect};
use super::widget_listener::Answer;

const ON_ANY_PORT: [&str; 2] = ["--console-listen", "127.0.0.1:0"];

/// Sends a request to the console, as a page of its origin does.
fn ask(server: &Serving, method: &str, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
    let origin = server.console.as_deref().expect("a console");
    let own = origin.trim_start_matches("http://");
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let host = headers.iter().find(|(name, _)| *name == "Host").map_or(own, |(_, host)| *host);
    let mut head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nOrigin: {origin}\r\nX-Console: 1\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers.iter().filter(|(name, _)| *name != "Host") {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let mut stream = connect(origin);
    stream.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
    Answer::of(&mut stream)
}

/// The token of the link that a server prints after its listeners.
fn token(server: &mut Serving) -> String {
    let mut lines = String::new();
    while !lines.contains("/setup#") {
        assert!(server.output.read_line(&mut lines).unwrap() > 0, "no link: {lines}");
    }
    lines.split_once("/setup#").unwrap().1.trim().to_owned()
}

#[test]
fn a_printed_link_makes_the_first_owner() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.serve(&ON_ANY_PORT);
    let token = token(&mut server);
    assert!(!sandbox.read("stderr").contains(&token), "the log has the link");
    let body = json!({
        "token": token, "name": "Zoë", "email": "zoe@example.com", "password": "correct horse battery staple",
    });
    let made = ask(&server, "POST", "/console/v1/links/accept", &[], &body);
    assert_eq!(made.status, 200, "{}", made.text());
    let cookie = made.header("set-cookie").expect("a session");
    assert!(made.json()["data"]["pageSecret"].is_string());
    let cookie = [("Cookie", cookie.split(';').next().unwrap())];
    let sessions = ask(&server, "GET", "/console/v1/me/sessions", &cookie, &Value::Null);
    assert_eq!(sessions.status, 401, "a cookie alone is not enough on plain HTTP");
    let health = server.ops("/metrics").1;
    assert!(health.contains("openapi_sign_ins_total{method=\"link\",outcome=\"signed_in\"} 1"), "{health}");
    assert_eq!(server.end(), 0);
    // With an operator, no link is printed.
    let server = sandbox.serve(&ON_ANY_PORT);
    let session = ask(&server, "GET", "/console/v1/session", &[], &Value::Null);
    assert_eq!(session.json()["data"]["isSetUp"], true);
}

#[test]
fn names_of_the_machine_lead_to_localhost_and_other_hosts_nowhere() {
    let sandbox = Sandbox::new();
    let server = sandbox.serve(&ON_ANY_PORT);
    let origin = server.console.clone().unwrap();
    let port = origin.rsplit(':').next().unwrap().to_owned();
    let host = format!("127.0.0.1:{port}");
    let moved = ask(&server, "GET", "/a/acme", &[("Host", &host)], &Value::Null);
    assert_eq!((moved.status, moved.header("location")), (308, Some(format!("{origin}/a/acme"))));
    for host in ["evil.example.com", "localhost", "localhost:1"] {
        for path in ["/", "/console/v1/session"] {
            assert_eq!(ask(&server, "GET", path, &[("Host", host)], &Value::Null).status, 421, "{host}{path}");
        }
    }
}

#[test]
fn pages_have_a_policy_without_inline_scripts() {
    let sandbox = Sandbox::new();
    let server = sandbox.serve(&ON_ANY_PORT);
    for path in ["/", "/setup", "/a/acme/inbox"] {
        let page = ask(&server, "GET", path, &[], &Value::Null);
        assert_eq!(page.status, 200, "{path}");
        let policy = page.header("content-security-policy").expect("a policy");
        assert!(policy.contains("script-src 'self'") && policy.contains("frame-ancestors 'none'"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert!(page.text().contains("<script"), "{}", page.text());
    }
    assert_eq!(ask(&server, "GET", "/assets/none.js", &[], &Value::Null).status, 404);
    assert_eq!(ask(&server, "POST", "/", &[], &json!({})).status, 405);
}

#[test]
fn a_console_on_a_network_needs_tls_and_a_name() {
    let sandbox = Sandbox::new();
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--ops-listen", "off", "--console-listen", "0.0.0.0:0"];
    let said = sandbox.run(&arguments).failed(2);
    assert!(said.contains("operators' sessions would cross the network in plain text"), "{said}");
    assert!(said.contains("set console_public_url"), "{said}");
}

#[test]
fn a_console_whose_port_is_in_use_ends_the_server_if_it_was_asked_for() {
    let sandbox = Sandbox::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let said = sandbox
        .run(&["serve", "--listen", "127.0.0.1:0", "--ops-listen", "off", "--console-listen", &address])
        .failed(1);
    assert!(said.contains("--console-listen"), "{said}");
}
