//! Protection of agents and visitors on a running server: challenges near the limits of an address, and logs without
//! the visitors' messages.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::fleet_widget::{Endpoint, event, turn};
use super::support::{Sandbox, Serving};
use super::widget_listener::{Answer, FORM, PAGE, PDF, TEXT, agent, ask, form};

/// The solution of the challenge in a response, as a browser finds it.
#[track_caller]
fn solution(asked: &Answer) -> Value {
    assert_eq!((asked.status, asked.code().as_str()), (429, "CHALLENGE_REQUIRED"), "{}", asked.text());
    assert!(asked.header("retry-after").is_some());
    let challenge = &asked.json()["details"]["challenge"];
    assert_eq!(challenge["alg"], "sha-256");
    let bits = u32::try_from(challenge["bits"].as_u64().unwrap()).unwrap();
    assert!((16..=18).contains(&bits), "{challenge}");
    let salt = challenge["salt"].as_str().unwrap();
    let solves = |nonce: &String| {
        let digest = Sha256::digest(format!("{salt}{nonce}"));
        u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]).leading_zeros() >= bits
    };
    let nonce = (0_u64..).map(|number| number.to_string()).find(solves).unwrap();
    json!({ "salt": salt, "nonce": nonce })
}

/// Repeats a call, each time as a new visitor of this address, until the server requires a challenge: it rejects a
/// wrong solution and accepts the right one.
fn until_challenged(done: u16, mut attempt: impl FnMut(Option<&Value>) -> Answer) {
    let mut before = 0;
    let asked = loop {
        let answer = attempt(None);
        if answer.status != done {
            break answer;
        }
        before += 1;
    };
    // The fourth session reaches 80 % of the five that an address may start in ten minutes.
    assert_eq!(before, 3, "{}", asked.text());
    let solved = solution(&asked);
    let wrong = json!({ "salt": solved["salt"], "nonce": "wrong" });
    assert_eq!(attempt(Some(&wrong)).code(), "CHALLENGE_REQUIRED");
    let answer = attempt(Some(&solved));
    assert_eq!(answer.status, done, "{}", answer.text());
}

#[test]
fn forms_and_files_pass_with_a_solved_challenge() {
    let sandbox = Sandbox::new();
    agent(&sandbox, "acme", &["uploads.enabled=true"]);
    let server = sandbox.serve(&["--widget-listen", "127.0.0.1:0", "--trusted-proxies", "127.0.0.1"]);
    let mut number = 0;
    until_challenged(200, |challenge| {
        number += 1;
        let body = json!({
            "agentId": "acme", "fields": { "primaryEmail": format!("visitor{number}@example.com") },
            "elapsedMs": 8_200, "hp": "", "challenge": challenge,
        });
        let headers = [TEXT, ("Origin", PAGE), ("X-Forwarded-For", "198.51.100.1")];
        ask(&server, "POST", "/widget/v1/lead", &headers, &body.to_string())
    });
    until_challenged(201, |challenge| {
        let solved = challenge.map(Value::to_string);
        let mut parts = vec![("agentId", "acme")];
        parts.extend(solved.as_deref().map(|solved| ("challenge", solved)));
        let headers = [FORM, ("Origin", PAGE), ("X-Forwarded-For", "198.51.100.2")];
        ask(&server, "POST", "/widget/v1/uploads", &headers, &form(&parts, "letter.pdf", PDF))
    });
    assert_eq!(server.end(), 0);
    // Rejected calls store nothing.
    let contacts = sandbox.run(&["contacts", "export", "--agent", "acme"]).done();
    assert_eq!(contacts.matches("@example.com").count(), 4, "{contacts}");
}

#[test]
fn a_flood_of_refused_uploads_is_answered_at_its_pace() {
    let sandbox = Sandbox::new();
    agent(&sandbox, "acme", &["uploads.enabled=true"]);
    let limit = ["--widget-limit", "address_sessions=1/1h"];
    let server = sandbox.serve(&[&["--widget-listen", "127.0.0.1:0"][..], &limit].concat());
    let upload = || {
        let file = form(&[("agentId", "acme")], "letter.pdf", PDF);
        ask(&server, "POST", "/widget/v1/uploads", &[FORM, ("Origin", PAGE)], &file)
    };
    while upload().status == 201 {}
    let begun = Instant::now();
    for _ in 0..20 {
        assert_eq!(upload().status, 429);
    }
    assert!(begun.elapsed() >= Duration::from_millis(19 * 64), "refused after {:?}", begun.elapsed());
    assert_eq!(server.end(), 0);
}

#[test]
fn logs_hold_nothing_of_what_visitors_wrote() {
    let endpoint = Endpoint::new();
    let sandbox = Sandbox::new();
    agent(&sandbox, "acme", &["chat.responder=llm", "chat.llm.grounding=open", "uploads.enabled=true"]);
    let key = sandbox.json(&["agents", "identity-secret", "acme", "--rotate"]);
    let url = format!("default.url=http://{}/v1", endpoint.address);
    let server = sandbox.serve(&[
        "--widget-listen",
        "127.0.0.1:0",
        "--llm",
        &url,
        "--llm",
        "default.model=stub",
        "--log",
        "trace",
    ]);
    let call = |path: &str, body: &Value| {
        let headers = [TEXT, ("Origin", "https://private-page.example.com")];
        ask(&server, "POST", &format!("/widget/v1{path}"), &headers, &body.to_string())
    };
    let mut body = turn(1, &Value::Null);
    body["text"] = json!("private-question");
    body["user"] =
        json!({ "email": "private-claim@example.com", "name": "Private-Name", "hash": "9.private-hash" });
    body["page"] =
        json!({ "url": "https://private-page.example.com/private-path", "title": "Private-Title" });
    body["metadata"] = json!({ "plan": "private-plan" });
    let streamed = call("/turns", &body);
    assert_eq!(event(streamed.text(), "done")["outcome"], "answered", "{}", streamed.text());
    let token = event(streamed.text(), "session")["token"].clone();
    let reply = event(streamed.text(), "message");
    let lead = json!({
        "agentId": "acme", "token": token, "elapsedMs": 8_200,
        "fields": { "primaryEmail": "private-lead@example.com", "firstName": "Private-First" },
    });
    assert_eq!(call("/lead", &lead).status, 200);
    let opinion =
        json!({ "token": token, "message": reply["id"], "value": -1, "comment": "private-comment" });
    assert_eq!(call("/feedback", &opinion).status, 204);
    let file = form(&[("token", token.as_str().unwrap())], "private-file.pdf", PDF);
    let headers = [FORM, ("Origin", "https://private-page.example.com")];
    assert_eq!(ask(&server, "POST", "/widget/v1/uploads", &headers, &file).status, 201);
    // Nor do rejections reveal it: wrong fields, an altered token, a body that is not JSON.
    body["id"] = json!("private-id");
    assert_eq!(call("/turns", &body).code(), "VALIDATION_ERROR");
    let altered = format!("{}x", token.as_str().unwrap());
    assert_eq!(call("/sync", &json!({ "token": altered })).code(), "TOKEN_INVALID");
    let broken = ask(&server, "POST", "/widget/v1/turns", &[TEXT], "{\"text\":\"private-fragment");
    assert_eq!(broken.code(), "INVALID_JSON");
    is_silent(sandbox, server, &token, &key);
}

/// Checks that the log of an ended server has the requests, and nothing private.
fn is_silent(sandbox: Sandbox, server: Serving, token: &Value, key: &Value) {
    assert_eq!(server.end(), 0);
    let log = sandbox.read("stderr").to_ascii_lowercase();
    for route in ["/widget/v1/turns", "/widget/v1/lead", "/widget/v1/uploads"] {
        assert!(log.contains(route), "{route} is not in the log");
    }
    assert!(log.contains("trace"), "the log is at its most verbose");
    let token = token.as_str().unwrap().to_ascii_lowercase();
    let secret = key["identitySecret"].as_str().unwrap().to_ascii_lowercase();
    let parts =
        token.split('.').skip(1).chain([&secret[5..], "private", "we are open until six", "on sundays"]);
    for part in parts {
        assert!(
            !log.contains(part),
            "{part} is in the log: {:?}",
            log.lines().find(|line| line.contains(part))
        );
    }
}
