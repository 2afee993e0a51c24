//! Service tokens: made, used, limited, ended.

use std::collections::BTreeSet;
use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use console::OPERATIONS;
use http::Request;
use http_body_util::Full;
use openapi_core::admin::Admin;
use openapi_core::audit::AuditAction;
use openapi_core::storage::{AuditQuery, RecordKind, RecordStore};
use serde_json::{Value, json};

use super::support::{Answer, Browser, EMAIL, World, conversation};

/// A request of a script with a token.
pub fn request(token: &str, method: &str, path: &str, body: &Value) -> Request<Full<Bytes>> {
    let browser = Browser::default();
    let mut request = browser.request(method, path, body);
    for name in ["origin", "sec-fetch-site", "x-console"] {
        request.headers_mut().remove(name);
    }
    request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    request
}

pub fn call(world: &World, token: &str, method: &str, path: &str, body: &Value) -> Answer {
    world.send(request(token, method, path, body))
}

fn create(world: &World, browser: &mut Browser, body: &Value) -> Answer {
    browser.call(world, "POST", "/tokens", body)
}

/// A token's id and text.
pub fn token(world: &World, browser: &mut Browser, grants: &[&str], dangerous: &[&str]) -> (String, String) {
    let body = json!({ "name": "CI", "grants": grants, "dangerous": dangerous });
    let made = create(world, browser, &body);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&made.data()["token"]["id"]), text(&made.data()["secret"]))
}

fn revoke(world: &World, browser: &mut Browser, id: &str, confirm: &str) -> Answer {
    browser.call(world, "DELETE", &format!("/tokens/{id}"), &json!({ "confirm": confirm }))
}

fn list(world: &World, browser: &mut Browser) -> Vec<Value> {
    browser.call(world, "GET", "/tokens", &Value::Null).data().as_array().unwrap().clone()
}

fn world() -> (World, Browser) {
    let world = World::with_accounts().with_agents();
    let owner = world.owner();
    (world, owner)
}

fn audit(world: &World) -> Vec<openapi_core::audit::AuditEntry> {
    let query = AuditQuery { agent: None, after: None, newest_first: true, limit: 50 };
    let entries = pollster::block_on(Admin::audit(&*world.platform, &query)).unwrap();
    entries.into_iter().map(|entry| entry.entry).collect()
}

#[test]
fn a_token_calls_what_its_roles_allow_and_the_audit_log_names_it() {
    let (world, mut owner) = world();
    let body = json!({ "name": "Nightly sync", "grants": ["inbox@acme", "developer@beta"] });
    let made = create(&world, &mut owner, &body);
    assert_eq!(made.status, 201, "{}", made.text);
    let (view, text) = (made.data()["token"].clone(), made.data()["secret"].as_str().unwrap().to_owned());
    assert_eq!(view["state"], "active");
    assert_eq!(view["grants"], json!(["developer@beta", "inbox@acme"]));
    assert_eq!(
        (&view["dangerous"], &view["addresses"], &view["lastUsedAt"]),
        (&json!([]), &json!([]), &Value::Null)
    );
    assert_eq!(view["createdBy"]["name"], "Zoë");
    assert_eq!(text.len(), "svcc_".len() + 49);
    assert!(text.starts_with(view["start"].as_str().unwrap()) && text.starts_with("svcc_"), "{text} {view}");
    let agents = call(&world, &text, "GET", "/agents", &Value::Null);
    assert_eq!(agents.data().as_array().unwrap().len(), 2);
    let id = conversation(&world);
    let path = format!("/agents/acme/conversations/{id}/take");
    // Visitors see no name of a token.
    let taken = call(&world, &text, "POST", &path, &json!({}));
    assert_eq!(taken.data()["participants"][0]["name"], Value::Null, "{}", taken.text);
    let reply = format!("/agents/acme/conversations/{id}/replies");
    let reply = call(&world, &text, "POST", &reply, &json!({ "text": "Hello" }));
    assert_eq!((reply.status, &reply.data()["author"]), (201, &Value::Null), "{}", reply.text);
    let token_id = format!("token:{}", view["id"].as_str().unwrap());
    let entries = owner.call(&world, "GET", "/agents/acme/audit", &Value::Null);
    let newest = &entries.data()["entries"].as_array().or(entries.data().as_array()).unwrap()[0];
    assert_eq!(newest["action"], "conversation.change");
    assert_eq!(newest["actor"], json!({ "type": "operator", "id": token_id, "name": "Nightly sync" }));
    // What visitors wrote was read.
    call(&world, &text, "GET", "/agents/acme/insights/questions", &Value::Null).data();
    let read = audit(&world).into_iter().find(|entry| entry.action == AuditAction::ConversationRead).unwrap();
    assert!(serde_json::to_string(&read.actor).unwrap().contains(&token_id));
    // A script needs no version, and may send one.
    let contact =
        call(&world, &text, "POST", "/agents/acme/contacts", &json!({ "primaryEmail": "a@example.com" }));
    let path = format!("/agents/acme/contacts/{}", contact.data()["id"].as_str().unwrap());
    call(&world, &text, "PATCH", &path, &json!({ "firstName": "Ada" })).data();
    let mut stale = request(&text, "PATCH", &path, &json!({ "firstName": "Eve" }));
    stale.headers_mut().insert("if-match", "\"no-version\"".parse().unwrap());
    assert_eq!(world.send(stale).status, 412);
    // The creation itself is noted, without the secret.
    let noted = audit(&world).into_iter().find(|entry| entry.action == AuditAction::TokenCreate).unwrap();
    assert!(noted.details.as_str().contains("Nightly sync") && !noted.details.as_str().contains(&text[20..]));
}

#[test]
fn what_a_token_may_have_is_checked_with_precise_errors() {
    let (world, mut owner) = world();
    let good = json!({ "name": "CI", "grants": ["admin"] });
    for (field, code, change) in [
        ("name", "required", json!({ "name": null })),
        ("grants", "enum", json!({ "grants": ["owner"] })),
        ("grants", "enum", json!({ "grants": ["viewer", "owner"] })),
        ("grants", "minItems", json!({ "grants": [] })),
        ("grants", "enum", json!({ "grants": ["viewer@no-such-agent"] })),
        ("validForSeconds", "minimum", json!({ "validForSeconds": 3_599 })),
        ("validForSeconds", "maximum", json!({ "validForSeconds": 366 * 86_400 + 1 })),
        ("addresses", "format", json!({ "addresses": ["example.com"] })),
        ("dangerous", "enum", json!({ "dangerous": ["no.such"] })),
        ("dangerous", "enum", json!({ "dangerous": ["keys.list"] })),
        ("dangerous", "enum", json!({ "dangerous": ["members.invite"] })),
        ("dangerous", "enum", json!({ "dangerous": ["tokens.create"] })),
        ("dangerous", "conflict", json!({ "grants": ["viewer"], "dangerous": ["keys.create"] })),
        ("dangerous", "conflict", json!({ "grants": ["inbox@acme"], "dangerous": ["contacts.erase"] })),
        ("dangerous", "type", json!({ "dangerous": "keys.create" })),
    ] {
        let mut body = good.clone();
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let refused = create(&world, &mut owner, &body);
        let fault = &refused.body["validationErrors"][0];
        assert_eq!(
            (refused.status, &fault["field"], &fault["type"]),
            (400, &json!(field), &json!(code)),
            "{body} {}",
            refused.text
        );
    }
    // A year and 90 days by default.
    let year = json!({ "name": "CI", "grants": ["admin"], "validForSeconds": 366 * 86_400 });
    create(&world, &mut owner, &year).data();
    let usual = create(&world, &mut owner, &good).data()["token"].clone();
    assert_eq!(usual["expiresAt"], world.platform.now().plus_millis(90 * 86_400_000).to_string());
}

#[test]
fn nobody_makes_a_token_that_may_do_more_than_they() {
    let (world, mut owner) = world();
    let mut admin = world.invited(&mut owner, "admin@example.com", "admin");
    token(&world, &mut admin, &["admin"], &["contacts.erase"]);
    let mut admin_of_one = world.invited(&mut owner, "one@example.com", "admin@acme");
    let body = json!({ "name": "CI", "grants": ["viewer@acme"] });
    assert_eq!(create(&world, &mut admin_of_one, &body).code(), "INSUFFICIENT_ROLE");
    assert_eq!(admin_of_one.call(&world, "GET", "/tokens", &Value::Null).code(), "INSUFFICIENT_ROLE");
    let mut developer = world.invited(&mut owner, "dev@example.com", "developer");
    assert_eq!(create(&world, &mut developer, &body).code(), "INSUFFICIENT_ROLE");
    // Without a recent proof of identity.
    world.clock.advance_millis(11 * 60_000);
    assert_eq!(create(&world, &mut owner, &body).code(), "STEP_UP_REQUIRED");
    world.step_up(&mut owner, EMAIL).data();
    create(&world, &mut owner, &body).data();
}

#[test]
fn an_operation_that_can_do_great_harm_needs_its_name() {
    let (world, mut owner) = world();
    let (_, plain) = token(&world, &mut owner, &["admin"], &[]);
    let (_, named) = token(&world, &mut owner, &["admin"], &["agents.disable"]);
    let path = "/agents/acme/disable";
    let body = json!({ "confirm": "acme" });
    let refused = call(&world, &plain, "POST", path, &body);
    assert_eq!((refused.status, refused.code()), (403, "INSUFFICIENT_ROLE"), "{}", refused.text);
    assert_eq!(refused.body["details"]["operation"], "agents.disable");
    call(&world, &named, "POST", path, &body).data();
    // The name of one opens no other.
    let other = call(
        &world,
        &named,
        "POST",
        "/agents/acme/keys",
        &json!({ "name": "k", "permissions": ["contacts:read"] }),
    );
    assert_eq!(other.body["details"]["operation"], "keys.create");
}

#[test]
fn an_unknown_mistyped_expired_or_revoked_token_is_nobody() {
    let (world, mut owner) = world();
    let (id, text) = token(&world, &mut owner, &["viewer"], &[]);
    let reason = |sent: &str| {
        let refused = call(&world, sent, "GET", "/agents", &Value::Null);
        assert_eq!((refused.status, refused.code()), (401, "UNAUTHENTICATED"), "{}", refused.text);
        assert!(refused.headers["www-authenticate"].to_str().unwrap().starts_with("Bearer "));
        refused.body["details"]["reason"].as_str().unwrap().to_owned()
    };
    call(&world, &text, "GET", "/agents", &Value::Null).data();
    let mut wrong = text.clone().into_bytes();
    let last = wrong.last_mut().unwrap();
    *last = if *last == b'x' { b'y' } else { b'x' };
    assert_eq!(reason(std::str::from_utf8(&wrong).unwrap()), "malformed");
    assert_eq!(reason(""), "malformed");
    // Of the same start and the right form, and of another start.
    let forged = forged(&text);
    assert_eq!(reason(&forged), "unknown");
    assert_eq!(reason("svcc_STsUVpc3qVvl5Sbj31mZ6wKgrlqqE4V28hm8oirHVMa000000"), "malformed");
    assert_eq!(revoke(&world, &mut owner, &id, "another name").status, 400);
    let revoked = revoke(&world, &mut owner, &id, "CI");
    assert_eq!(revoked.data()["state"], "revoked");
    assert_eq!(reason(&text), "revoked");
    // Again changes nothing.
    assert_eq!(revoke(&world, &mut owner, &id, "CI").data()["revokedAt"], revoked.data()["revokedAt"]);
    assert_eq!(audit(&world).iter().filter(|entry| entry.action == AuditAction::TokenRevoke).count(), 1);
    let (_, text) = token(&world, &mut owner, &["viewer"], &[]);
    world.clock.advance_millis(90 * 86_400_000 - 1);
    call(&world, &text, "GET", "/agents", &Value::Null).data();
    world.clock.advance_millis(1);
    assert_eq!(reason(&text), "expired");
    // For 30 days after their end they are listed; then the maintenance removes them.
    let mut owner = Browser::default();
    world.sign_in(&mut owner, EMAIL, super::support::PASSWORD).data();
    let states: Vec<Value> = list(&world, &mut owner).iter().map(|token| token["state"].clone()).collect();
    assert_eq!(states, [json!("expired")]);
    world.clock.advance_millis(30 * 86_400_000);
    pollster::block_on(world.console.maintain()).unwrap();
    let left = pollster::block_on(world.storage.records_of(None, RecordKind::ServiceToken, None, 9)).unwrap();
    assert!(left.is_empty());
    assert_eq!(reason(&text), "unknown");
}

/// A token with the start of another one, and valid check characters.
fn forged(text: &str) -> String {
    let mut body = text[..text.len() - 6].to_owned();
    let last = if body.ends_with('a') { 'b' } else { 'a' };
    body.pop();
    body.push(last);
    let mut rest = crc32(body.as_bytes());
    let alphabet = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut check = [0; 6];
    for digit in check.iter_mut().rev() {
        *digit = alphabet[(rest % 62) as usize];
        rest /= 62;
    }
    body + std::str::from_utf8(&check).unwrap()
}

/// CRC-32 (IEEE), bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}

#[test]
fn a_token_works_from_its_addresses_alone() {
    let (world, mut owner) = world();
    let body = json!({ "name": "CI", "grants": ["viewer"], "addresses": ["192.0.2.0/24", "2001:db8::1"] });
    let text = create(&world, &mut owner, &body).data()["secret"].as_str().unwrap().to_owned();
    let from = |address: Option<&str>| {
        let mut request = request(&text, "GET", "/agents", &Value::Null);
        let peer: Option<IpAddr> = address.map(|address| address.parse().unwrap());
        request.extensions_mut().remove::<openapi_core::api::PeerAddress>();
        if let Some(peer) = peer {
            request.extensions_mut().insert(openapi_core::api::PeerAddress(peer));
        }
        let answer = world.send(request);
        (answer.status, answer.code().to_owned())
    };
    let refused = (403, "IP_NOT_ALLOWED".to_owned());
    assert_eq!(from(Some("192.0.2.200")).0, 200);
    assert_eq!(from(Some("::ffff:192.0.2.200")).0, 200);
    assert_eq!(from(Some("2001:db8::1")).0, 200);
    assert_eq!(from(Some("192.0.3.1")), refused);
    assert_eq!(from(Some("2001:db8::2")), refused);
    assert_eq!(from(None), refused, "an address that nobody knows");
}

/// The owner in another browser.
fn signed_in(world: &World) -> Browser {
    let mut browser = Browser::default();
    world.sign_in(&mut browser, EMAIL, super::support::PASSWORD).data();
    browser
}

/// Each way in which a token may not work, with the error that it gives.
fn unusable(world: &World, owner: &mut Browser) -> Vec<(&'static str, String, (u16, &'static str))> {
    let (id, revoked) = token(world, owner, &["viewer"], &[]);
    revoke(world, owner, &id, "CI").data();
    let made = |owner: &mut Browser, more: &Value| {
        let mut body = json!({ "name": "CI", "grants": ["viewer"] });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        create(world, owner, &body).data()["secret"].as_str().unwrap().to_owned()
    };
    let foreign = made(owner, &json!({ "addresses": ["203.0.113.9"] }));
    let expired = made(owner, &json!({ "validForSeconds": 3_600 }));
    world.clock.advance_millis(3_600_000);
    let nobody = (401, "UNAUTHENTICATED");
    vec![
        ("malformed", "svcc_x".to_owned(), nobody),
        ("unknown", forged(&foreign), nobody),
        ("expired", expired, nobody),
        ("revoked", revoked, nobody),
        ("foreign", foreign, (403, "IP_NOT_ALLOWED")),
    ]
}

#[test]
fn each_token_that_does_not_work_is_counted_and_keeps_nobody_from_signing_in() {
    let (world, mut owner) = world();
    let all = unusable(&world, &mut owner);
    let (_, good) = token(&world, &mut signed_in(&world), &["viewer"], &[]);
    for (what, text, expected) in &all {
        world.clock.advance_millis(60_000);
        for nth in 0..20 {
            let refused = call(&world, text, "GET", "/agents", &Value::Null);
            assert_eq!((refused.status, refused.code()), *expected, "{what} {nth}: {}", refused.text);
        }
        let limited = call(&world, text, "GET", "/agents", &Value::Null);
        assert_eq!((limited.status, limited.code()), (429, "RATE_LIMIT_EXCEEDED"), "{what}");
        assert!(limited.headers.contains_key("retry-after"));
        call(&world, &good, "GET", "/agents", &Value::Null).data();
        world.sign_in(&mut Browser::default(), EMAIL, super::support::PASSWORD).data();
    }
}

#[test]
fn a_genuine_token_that_is_refused_is_noted_once_a_minute() {
    let (world, mut owner) = world();
    let all = unusable(&world, &mut owner);
    let noted = || {
        let entries = audit(&world).into_iter();
        entries.filter(|entry| entry.action == AuditAction::AuthenticationFailure).collect::<Vec<_>>()
    };
    for (what, text, (_, code)) in &all {
        let before = noted().len();
        for _ in 0..3 {
            world.clock.advance_millis(10_000);
            call(&world, text, "GET", "/agents", &Value::Null);
        }
        let entries = noted();
        // A caller who invents a token writes nothing.
        let is_genuine = !matches!(*what, "malformed" | "unknown");
        assert_eq!(entries.len() - before, usize::from(is_genuine), "{what}");
        if is_genuine {
            let entry = &entries[0];
            let details: Value = serde_json::from_str(entry.details.as_str()).unwrap();
            assert_eq!(details, json!({ "name": "CI", "code": code }), "{what}");
            assert_eq!(entry.address.map(|address| address.to_string()).as_deref(), Some("192.0.2.7"));
            let actor = serde_json::to_string(&entry.actor).unwrap();
            assert!(actor.contains("token:") && !actor.contains(&text[20..]), "{actor}");
        }
        world.clock.advance_millis(60_000);
        call(&world, text, "GET", "/agents", &Value::Null);
        assert_eq!(noted().len() - before, 2 * usize::from(is_genuine), "{what}");
    }
}

#[test]
fn requests_of_a_token_are_counted() {
    let (world, mut owner) = world();
    let (_, good) = token(&world, &mut owner, &["viewer"], &[]);
    for _ in 0..600 {
        assert_eq!(call(&world, &good, "GET", "/agents", &Value::Null).status, 200);
    }
    let limited = call(&world, &good, "GET", "/agents", &Value::Null);
    assert_eq!((limited.status, limited.code()), (429, "RATE_LIMIT_EXCEEDED"));
    assert!(limited.headers.contains_key("retry-after"));
    world.clock.advance_millis(60_000);
    call(&world, &good, "GET", "/agents", &Value::Null).data();
}

#[test]
fn a_cookie_and_a_token_together_are_refused() {
    let (world, mut owner) = world();
    let (_, text) = token(&world, &mut owner, &["admin"], &[]);
    for (method, path) in [("GET", "/agents"), ("POST", "/agents"), ("GET", "/session")] {
        let mut both = owner.request(method, path, &json!({ "name": "Acme" }));
        both.headers_mut().insert("authorization", format!("Bearer {text}").parse().unwrap());
        let refused = world.send(both);
        assert_eq!((refused.status, refused.code()), (400, "BAD_REQUEST"), "{method} {path}");
    }
    let mut twice = request(&text, "GET", "/agents", &Value::Null);
    twice.headers_mut().append("authorization", format!("Bearer {text}").parse().unwrap());
    assert_eq!(world.send(twice).status, 400);
    // Other schemes are nobody's, and what browsers add on their own is bound by the rules against other sites.
    let mut basic = request(&text, "POST", "/agents", &json!({ "name": "Acme" }));
    basic.headers_mut().insert("authorization", "Basic eDp5".parse().unwrap());
    assert_eq!(world.send(basic.clone()).code(), "CROSS_SITE_REQUEST");
    *basic.method_mut() = http::Method::GET;
    assert_eq!(world.send(basic).status, 401);
    // A host application signs people in: no token counts there, and `Origin` is checked all the same.
    let hosted = World::hosted();
    let mut request = request(&text, "POST", "/agents", &json!({ "name": "Acme" }));
    request.extensions_mut().insert(console::Operator::new("u", "U", "owner".parse().unwrap()));
    assert_eq!(hosted.send(request).code(), "CROSS_SITE_REQUEST");
    let nobody = call(&hosted, &text, "GET", "/agents", &Value::Null);
    assert_eq!(nobody.status, 401);
}

#[test]
fn the_last_use_is_stored_once_a_minute() {
    let (world, mut owner) = world();
    let (_, text) = token(&world, &mut owner, &["viewer"], &[]);
    let stored = || {
        let found = pollster::block_on(world.storage.records_of(None, RecordKind::ServiceToken, None, 9));
        found.unwrap().remove(0).version
    };
    assert_eq!(stored(), 1);
    let first = world.platform.now();
    for _ in 0..5 {
        world.clock.advance_millis(10_000);
        call(&world, &text, "GET", "/agents", &Value::Null).data();
    }
    assert_eq!(stored(), 2);
    let shown = list(&world, &mut owner).remove(0);
    assert_eq!(shown["lastUsedAt"], first.plus_millis(10_000).to_string());
    assert_eq!(shown["lastUsedAddress"], "192.0.2.7");
    world.clock.advance_millis(20_000);
    call(&world, &text, "GET", "/agents", &Value::Null).data();
    assert_eq!(stored(), 3);
}

#[test]
fn no_secret_of_a_token_is_stored_or_shown_again() {
    let (world, mut owner) = world();
    let body = json!({ "name": "CI", "grants": ["viewer"] });
    let mut made = owner.request("POST", "/tokens", &body);
    made.headers_mut().insert("idempotency-key", "k-1".parse().unwrap());
    let text = world.send(made.clone()).data()["secret"].as_str().unwrap().to_owned();
    let repeated = world.send(made);
    assert_eq!(repeated.code(), "SECRET_NOT_REPEATABLE", "{}", repeated.text);
    assert_eq!(repeated.body["details"]["record"]["token"]["name"], "CI");
    call(&world, &text, "GET", "/agents", &Value::Null).data();
    let mut seen = repeated.text;
    seen += &owner.call(&world, "GET", "/tokens", &Value::Null).text;
    seen += &owner.call(&world, "GET", "/audit", &Value::Null).text;
    for kind in RecordKind::ALL {
        for record in pollster::block_on(world.storage.records_of(None, *kind, None, 100)).unwrap() {
            seen += &serde_json::to_string(&record).unwrap();
        }
    }
    for entry in audit(&world) {
        seen += &serde_json::to_string(&entry).unwrap();
    }
    // The start is public; the rest is nowhere, and neither is a plain hash of it.
    assert!(seen.contains(&text[..17]) && !seen.contains(&text[17..]), "{seen}");
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    let hex: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    for written in [URL_SAFE_NO_PAD.encode(digest), STANDARD.encode(digest), hex] {
        assert!(!seen.contains(written.trim_end_matches('=')), "{written}");
    }
    // A tag is written as base64url, where its hash would be found.
    let plain = seen.replace('\\', "");
    let tag = plain.split("\"tag\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    assert_eq!(URL_SAFE_NO_PAD.decode(tag).unwrap().len(), 32, "{tag}");
}

#[test]
fn a_token_is_of_the_installation_and_survives_its_author() {
    let (world, mut owner) = world();
    let mut admin = world.invited(&mut owner, "admin@example.com", "admin");
    let (id, text) = token(&world, &mut admin, &["viewer"], &[]);
    let members = owner.call(&world, "GET", "/members", &Value::Null);
    let all = members.data().as_array().unwrap();
    let author = all.iter().find(|member| member["email"] == "admin@example.com").unwrap();
    let path = format!("/members/{}", author["id"].as_str().unwrap());
    owner.call(&world, "POST", &format!("{path}/disable"), &json!({})).data();
    call(&world, &text, "GET", "/agents", &Value::Null).data();
    owner.call(&world, "DELETE", &path, &Value::Null).data();
    call(&world, &text, "GET", "/agents", &Value::Null).data();
    let shown = list(&world, &mut owner).remove(0);
    assert_eq!(shown["createdBy"]["name"], Value::Null);
    revoke(&world, &mut owner, &id, "CI").data();
    assert_eq!(call(&world, &text, "GET", "/agents", &Value::Null).status, 401);
}

#[test]
fn at_most_a_hundred_tokens_work() {
    let (world, mut owner) = world();
    let mut last = String::new();
    for _ in 0..100 {
        (last, _) = token(&world, &mut owner, &["viewer"], &[]);
        world.clock.advance_millis(100);
    }
    let refused = create(&world, &mut owner, &json!({ "name": "CI", "grants": ["viewer"] }));
    assert_eq!((refused.status, refused.code()), (422, "NOT_POSSIBLE"), "{}", refused.text);
    // Those that have ended do not add up either.
    for _ in 0..120 {
        revoke(&world, &mut owner, &last, "CI").data();
        (last, _) = token(&world, &mut owner, &["viewer"], &[]);
        world.clock.advance_millis(100);
    }
    assert!(list(&world, &mut owner).len() <= 201);
}

#[test]
fn tokens_outlive_a_rotation_of_the_server_key_while_the_former_one_is_stored() {
    use openapi_core::server_keys::{ServerKey, ServerKeys};
    let (world, mut owner) = world();
    let (_, used) = token(&world, &mut owner, &["viewer"], &[]);
    let (_, unused) = token(&world, &mut owner, &["viewer"], &[]);
    let (first, second) = (ServerKey::new(&[7; 32]), ServerKey::new(&[8; 32]));
    let needed = || {
        let keys = pollster::block_on(console::server_keys_of_tokens(&world.platform)).unwrap();
        keys.into_iter().collect::<BTreeSet<String>>()
    };
    assert_eq!(needed(), BTreeSet::from([first.id().to_owned()]));
    let rotated = world.with_keys(ServerKeys::new(second.clone(), vec![first.clone()]));
    let send = |console: &console::Console, text: &str| {
        let request = request(text, "GET", "/agents", &Value::Null);
        pollster::block_on(console.handle(request)).status().as_u16()
    };
    assert_eq!(send(&rotated, &used), 200);
    assert_eq!(needed(), BTreeSet::from([first.id().to_owned(), second.id().to_owned()]));
    // Without the former key, the token that moved works on and the other one does not.
    let dropped = world.with_keys(ServerKeys::new(second, vec![]));
    assert_eq!((send(&dropped, &used), send(&dropped, &unused)), (200, 401));
}

#[test]
fn dangerous_names_are_those_of_operations_that_ask_for_a_proof() {
    let schema = OPERATIONS.iter().find(|entry| entry.metadata.name == "tokens.create").unwrap();
    let members = (schema.members)();
    let (.., schema) = members.iter().find(|(_, name, ..)| *name == "dangerous").unwrap();
    let named: BTreeSet<&str> =
        schema["items"]["enum"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let families = ["members.", "tokens.", "me.", "session.", "signIn.", "providers.", "links."];
    let expected: BTreeSet<&str> = OPERATIONS
        .iter()
        .filter(|entry| entry.metadata.step_up)
        .map(|entry| entry.metadata.name)
        .filter(|name| !families.iter().any(|family| name.starts_with(family)))
        .collect();
    assert_eq!(named, expected);
    assert!(named.contains("contacts.erase"));
}
