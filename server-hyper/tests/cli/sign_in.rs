//! Providers that operators sign in with, by command.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::support::Sandbox;

/// A provider on this machine that publishes what a test says, until the process ends.
struct Provider {
    address: String,
    published: Arc<Mutex<Value>>,
}

impl Provider {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let issuer = format!("http://{address}");
        let published = Arc::new(Mutex::new(json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/auth"),
            "token_endpoint": format!("{issuer}/token"),
            "jwks_uri": format!("{issuer}/keys"),
            "keys": [{ "kty": "OKP", "crv": "Ed25519", "x": "A".repeat(43) }],
        })));
        let shared = Arc::clone(&published);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                answer(stream, &shared.lock().unwrap().to_string());
            }
        });
        Provider { address, published }
    }

    fn issuer(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// Answers every request with the same object: it is the description and the key set.
fn answer(mut stream: TcpStream, body: &str) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
    let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n";
    let _ = write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len());
}

#[test]
fn a_provider_is_set_tested_switched_on_and_removed() {
    let (sandbox, provider) = (Sandbox::new(), Provider::new());
    let (issuer, allow) = (provider.issuer(), provider.address.as_str());
    sandbox.json(&["agents", "create", "Acme", "--id", "acme"]);
    assert_eq!(sandbox.json(&["sign-in", "list"]), json!([]));
    let said = sandbox.run(&["sign-in", "set", "acme", "--issuer", &issuer]).failed(2);
    assert!(said.contains("a new one needs --issuer and --client-id"), "{said}");
    let shown =
        sandbox.run(&["sign-in", "set", "acme", "--issuer", &issuer, "--client-id", "console"]).done();
    assert!(shown.contains("http://localhost:8082/console/v1/sign-in/oidc/callback"), "{shown}");
    // What no flag names stays.
    sandbox.write("secret.txt", "a secret of the client\n");
    let groups = ["--group", "a=b=inbox@acme", "--group", "a=b=viewer", "--group", "*=viewer"];
    let more = ["sign-in", "set", "acme", "--name", "Acme ID", "--domain", "Example.com"];
    let saved = sandbox.json(&[&more[..], &groups, &["--client-secret-file", "secret.txt"]].concat());
    assert_eq!((&saved["issuer"], &saved["clientId"]), (&json!(issuer), &json!("console")));
    assert_eq!(saved["groups"], json!({ "*": ["viewer"], "a=b": ["inbox@acme", "viewer"] }));
    assert_eq!((&saved["domains"], &saved["hasClientSecret"]), (&json!(["example.com"]), &json!(true)));
    assert!(!saved.to_string().contains("a secret"), "{saved}");
    let said = sandbox.run(&["sign-in", "set", "acme", "--group", "a=inbox@acne"]).failed(1);
    assert!(said.contains("names the agent acne, which does not exist"), "{said}");
    // A provider of this machine needs the operator's word.
    let said = sandbox.run(&["sign-in", "set", "acme", "--enable"]).failed(1);
    assert!(said.contains("cannot be switched on: discovery") && said.contains("outbound_allow"), "{said}");
    let on = sandbox.json(&["sign-in", "set", "acme", "--enable", "--outbound-allow", allow]);
    assert_eq!((&on["isEnabled"], &on["name"]), (&json!(true), &json!("Acme ID")));
    let table = sandbox.run(&["sign-in", "test", "acme", "--outbound-allow", allow]).done();
    assert!(table.contains("keys") && table.contains("Keys: 1 (EdDSA)"), "{table}");
    provider.published.lock().unwrap()["issuer"] = json!("https://other.example.com");
    let failed = sandbox.run(&["sign-in", "test", "acme", "--outbound-allow", allow]).failed(1);
    assert!(failed.contains("did not pass the check"), "{failed}");
    let list = sandbox.run(&["sign-in", "list"]).done();
    assert!(list.contains("Acme ID") && list.contains("a=b=inbox@acme"), "{list}");
    assert_eq!(sandbox.json(&["server-key", "list"])[0]["uses"]["providers"], 1);
    let off = sandbox.json(&["sign-in", "set", "acme", "--disable", "--no-groups", "--no-domains"]);
    assert_eq!((&off["isEnabled"], &off["groups"], &off["domains"]), (&json!(false), &json!({}), &json!([])));
    sandbox.run(&["sign-in", "remove", "acme"]).done();
    assert_eq!(sandbox.json(&["sign-in", "list"]), json!([]));
    let log = sandbox.run(&["audit", "tail"]).done();
    assert!(
        log.contains("provider.save") && log.contains("provider.remove") && !log.contains("a secret"),
        "{log}"
    );
}

#[test]
fn what_cannot_be_a_provider_is_refused() {
    let sandbox = Sandbox::new();
    for (arguments, status, text) in [
        (&["set", "Acme", "--issuer", "https://a.example", "--client-id", "c"][..], 1, "use a-z, 0-9 and -"),
        (&["set", "acme", "--issuer", "http://a.example", "--client-id", "c"], 1, "must begin with https://"),
        (&["set", "acme", "--group", "staff"], 2, "write GROUP=ROLE"),
        (&["set", "acme", "--group", "staff=root"], 2, "is not a role"),
        (&["set", "acme", "--enable", "--disable"], 2, "cannot be used with"),
        (&["test", "acme"], 1, "There is no provider with this id"),
        (&["remove", "acme"], 1, "There is no provider with this id"),
    ] {
        let said = sandbox.run(&[&["sign-in"], arguments].concat()).failed(status);
        assert!(said.contains(text), "{arguments:?} {said}");
    }
    sandbox.write("two.txt", "a\nb\n");
    let new = ["sign-in", "set", "acme", "--issuer", "https://a.example", "--client-id", "c"];
    let said = sandbox.run(&[&new[..], &["--client-secret-file", "two.txt"]].concat()).failed(1);
    assert!(said.contains("must hold the secret on one line"), "{said}");
    let owner = sandbox.run(&[&new[..], &["--group", "staff=owner"]].concat()).failed(1);
    assert!(owner.contains("must not give the role owner"), "{owner}");
}
