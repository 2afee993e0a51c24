//! The console's listener as browsers see it: the set-up link, names of the machine, pages and metrics.

use std::io::{BufRead, Write};

use openapi_core::ports::{Clock, SystemClock};
use serde_json::{Value, json};

use super::support::{Sandbox, Serving, connect};
use super::widget_listener::Answer;

pub const ON_ANY_PORT: [&str; 2] = ["--console-listen", "127.0.0.1:0"];

/// Sends a request to the console, as a page of its origin does.
pub fn ask(server: &Serving, method: &str, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
    let origin = server.console.as_deref().expect("a console");
    let own = origin.trim_start_matches("http://");
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let host = headers.iter().find(|(name, _)| *name == "Host").map_or(own, |(_, host)| *host);
    let mut head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nOrigin: {origin}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n",
        body.len()
    );
    if headers.iter().all(|(name, _)| *name != "X-Console") {
        head.push_str("X-Console: 1\r\n");
    }
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

/// A password for a link, with the first code of the seed that the link offers.
fn with_password(server: &Serving, mut body: Value) -> Value {
    let link = ask(server, "POST", "/console/v1/links/inspect", &[], &json!({ "token": body["token"] }));
    let totp = &link.json()["data"]["totp"];
    let secret = totp["secret"].as_str().expect("a secret");
    body["password"] = "correct horse battery staple".into();
    body["enrolment"] = totp["enrolment"].clone();
    body["code"] = console::totp_code(secret, SystemClock.now()).into();
    body
}

/// The headers of the session of the first owner of a server that has just begun.
pub fn signed_in(server: &mut Serving) -> Vec<(&'static str, String)> {
    let body = json!({ "token": token(server), "name": "Zoë", "email": "zoe@example.com" });
    let body = with_password(server, body);
    let made = ask(server, "POST", "/console/v1/links/accept", &[], &body);
    assert_eq!(made.status, 200, "{}", made.text());
    let cookies = made.header("set-cookie").expect("a session");
    let cookie = cookies.split(';').next().unwrap().to_owned();
    let secret = made.json()["data"]["pageSecret"].as_str().unwrap().to_owned();
    vec![("Cookie", cookie), ("X-Console", secret)]
}

#[test]
fn a_printed_link_makes_the_first_owner() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.serve(&ON_ANY_PORT);
    let token = token(&mut server);
    assert!(!sandbox.read("stderr").contains(&token), "the log has the link");
    let body = json!({ "token": token, "name": "Zoë", "email": "zoe@example.com" });
    let body = with_password(&server, body);
    let made = ask(&server, "POST", "/console/v1/links/accept", &[], &body);
    assert_eq!(made.status, 200, "{}", made.text());
    let cookie = made.header("set-cookie").expect("a session");
    assert!(made.json()["data"]["pageSecret"].is_string());
    let cookie = [("Cookie", cookie.split(';').next().unwrap())];
    let sessions = ask(&server, "GET", "/console/v1/me/sessions", &cookie, &Value::Null);
    assert_eq!(sessions.status, 401, "a cookie alone is not enough on plain HTTP");
    // Whether an answer of a provider was taken shows the page that it leads to, and not the status.
    let forged = ask(&server, "GET", "/console/v1/sign-in/oidc/callback?state=x", &[], &Value::Null);
    assert_eq!(forged.status, 303, "{}", forged.text());
    let health = server.ops("/metrics").1;
    assert!(health.contains("openapi_sign_ins_total{method=\"link\",outcome=\"signed_in\"} 1"), "{health}");
    let refused = "openapi_sign_ins_total{method=\"oidc\",outcome=\"UNAUTHENTICATED\"} 1";
    assert!(health.contains(refused), "{health}");
    assert_eq!(server.end(), 0);
    // With an operator, no link is printed.
    let server = sandbox.serve(&ON_ANY_PORT);
    let session = ask(&server, "GET", "/console/v1/session", &[], &Value::Null);
    assert_eq!(session.json()["data"]["isSetUp"], true);
}

#[test]
fn people_are_managed_by_commands_while_the_server_runs() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.serve(&ON_ANY_PORT);
    let accept = |server: &Serving, token: &str, name: &str, email: Option<&str>| {
        let mut body = with_password(server, json!({ "token": token, "name": name }));
        if let Some(email) = email {
            body["email"] = email.into();
        }
        let made = ask(server, "POST", "/console/v1/links/accept", &[], &body);
        assert_eq!(made.status, 200, "{}", made.text());
    };
    let first = token(&mut server);
    accept(&server, &first, "Zoë", Some("zoe@example.com"));
    // Both kinds of codes of the owner need the server key.
    assert_eq!(sandbox.json(&["server-key", "list"])[0]["uses"]["operators"], 2);
    let invite = [
        "operators",
        "invite",
        "ada@example.com",
        "--role",
        "viewer",
        "--role",
        "developer",
        "--valid",
        "1h",
    ];
    let link = sandbox.run(&invite).done();
    let invited = link.trim().split_once("/join#").expect("a link").1;
    let waiting = sandbox.json(&["operators", "invitations"]);
    assert_eq!((&waiting[0]["email"], &waiting[0]["isVoid"]), (&json!("ada@example.com"), &json!(false)));
    accept(&server, invited, "Ada", None);
    let listed = sandbox.json(&["operators", "list"]);
    assert_eq!(listed[0]["grants"], json!(["developer", "viewer"]));
    let said = sandbox.run(&["operators", "list"]).done();
    assert!(said.contains("ada@example.com") && said.contains("password"), "{said}");
    let granted = sandbox.json(&["operators", "grant", "ADA@example.com", "--role", "admin"]);
    assert_eq!(granted["grants"], json!(["admin"]));
    assert_eq!(sandbox.json(&["operators", "disable", "ada@example.com"])["isDisabled"], true);
    assert_eq!(sandbox.json(&["operators", "enable", "ada@example.com"])["isDisabled"], false);
    sandbox.run(&["operators", "sign-out", "ada@example.com"]).done();
    assert!(sandbox.run(&["operators", "recover", "ada@example.com"]).done().contains("/setup#"));
    sandbox.run(&["operators", "remove", "ada@example.com"]).done();
    for (arguments, expected) in [
        (&["operators", "disable", "zoe@example.com"][..], "last owner"),
        (&["operators", "show", "ada@example.com"], "no operator has the address ada@example.com"),
        (
            &["operators", "revoke-invitation", "ada@example.com"],
            "nobody with the address ada@example.com is invited",
        ),
        (
            &["operators", "invite", "max@example.com", "--role", "viewer@nobody"],
            "grants names the agent nobody",
        ),
        (
            &["operators", "invite", "max@example.com", "--role", "viewer", "--valid", "60d"],
            "an hour to 30 days",
        ),
        (
            &["operators", "invite", "zoe@example.com", "--role", "viewer"],
            "An operator has this address already",
        ),
    ] {
        let said = sandbox.run(arguments).failed(1);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
    assert!(
        sandbox
            .run(&["operators", "invite", "max@example.com", "--role", "root"])
            .failed(2)
            .contains("not a role")
    );
    // The log names the user of the operating system, and no request.
    let log = sandbox.json(&["audit", "tail", "--lines", "100"]);
    let entry = log.as_array().unwrap().iter().find(|entry| entry["action"] == "operator.remove").unwrap();
    assert!(entry["osUser"]["uid"].is_number() && entry["actor"]["type"] == "operator", "{entry}");
    assert_eq!(server.end(), 0);
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
            assert_eq!(
                ask(&server, "GET", path, &[("Host", host)], &Value::Null).status,
                421,
                "{host}{path}"
            );
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
        assert!(
            policy.contains("script-src 'self'") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe"), "{policy}");
        assert!(page.text().contains("<script"), "{}", page.text());
    }
    assert_eq!(ask(&server, "GET", "/assets/none.js", &[], &Value::Null).status, 404);
    assert_eq!(ask(&server, "POST", "/", &[], &json!({})).status, 405);
}

#[test]
fn a_console_on_a_network_needs_tls_and_a_name() {
    let sandbox = Sandbox::new();
    let arguments =
        ["serve", "--listen", "127.0.0.1:0", "--ops-listen", "off", "--console-listen", "0.0.0.0:0"];
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

#[test]
fn links_of_commands_lead_to_the_port_that_the_system_chose() {
    let sandbox = Sandbox::new();
    let setting = [("OPENAPI_CONSOLE_LISTEN", "127.0.0.1:0")];
    let setup = ["operators", "setup-link"];
    let server = sandbox.serve(&ON_ANY_PORT);
    let origin = server.console.clone().unwrap();
    for said in [sandbox.run(&setup), sandbox.run_with(&setting, &setup)] {
        let link = said.done();
        assert!(link.starts_with(&format!("{origin}/setup#")), "{link}");
    }
    let invite = ["operators", "invite", "ada@example.com", "--role", "viewer"];
    let link = sandbox.run(&invite).done();
    assert!(link.starts_with(&format!("{origin}/")), "{link}");
    assert_eq!(server.end(), 0);
    // Nobody knows the port of a server that does not run.
    for command in [&setup[..], &invite] {
        let said = sandbox.run_with(&setting, command).failed(1);
        assert!(said.contains("console_public_url"), "{said}");
    }
    let named = [setting[0], ("OPENAPI_CONSOLE_PUBLIC_URL", "https://console.example.com")];
    let link = sandbox.run_with(&named, &setup).done();
    assert!(link.starts_with("https://console.example.com/setup#"), "{link}");
    sandbox.run_with(&setting, &["operators", "list"]).done();
}

#[test]
fn links_are_refused_where_no_console_runs() {
    let sandbox = Sandbox::new();
    let setting = [("OPENAPI_CONSOLE_LISTEN", "off")];
    let setup = ["operators", "setup-link"];
    let said = sandbox.run_with(&setting, &setup).failed(1);
    assert!(said.contains("console_listen is off"), "{said}");
    // Another server on the same database may have one.
    let named = [setting[0], ("OPENAPI_CONSOLE_PUBLIC_URL", "https://console.example.com")];
    let link = sandbox.run_with(&named, &setup).done();
    assert!(link.starts_with("https://console.example.com/setup#"), "{link}");
    sandbox.run_with(&setting, &["operators", "list"]).done();
    let server = sandbox.serve(&[]);
    let said = sandbox.run(&setup).failed(1);
    assert!(said.contains("console_listen is off"), "{said}");
    assert_eq!(server.end(), 0);
}
