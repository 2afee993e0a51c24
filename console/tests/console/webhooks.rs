//! Webhooks: their endpoints, their secrets, and what was sent to them.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use events::runner::{NoObserver, Runner};
use serde_json::{Value, json};

use super::support::{Answer, Browser, World, call_as};

const ROOT: &str = "/agents/acme/webhooks";
const URL: &str = "https://hooks.example.com/crm";

fn call(world: &World, method: &str, path: &str, body: &Value) -> Answer {
    call_as(world, "developer@acme", method, path, body)
}

fn create(world: &World, body: &Value) -> Value {
    call(world, "POST", ROOT, body).data().clone()
}

/// The path of a new endpoint of all types.
fn endpoint(world: &World) -> String {
    let made = create(world, &json!({ "url": URL }));
    format!("{ROOT}/{}", made["webhook"]["id"].as_str().unwrap())
}

fn contact(world: &World, number: usize) {
    let body = json!({ "primaryEmail": format!("{number}@example.com") });
    call_as(world, "owner", "POST", "/agents/acme/contacts", &body).data();
}

/// Delivers until a condition holds, for a day at most.
fn deliver(world: &World, until: impl Fn() -> bool) {
    let runner = Runner::new(world.webhooks.clone(), Arc::new(NoObserver));
    let mut running = pin!(runner.run(std::future::pending()));
    for _ in 0..86_400 {
        for _ in 0..10 {
            assert_eq!(running.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending);
        }
        if until() {
            return;
        }
        world.pass(1_000);
    }
    panic!("what is waited for does not happen");
}

/// The audit entries of webhooks. Those of one moment have no order.
fn actions(world: &World) -> Vec<String> {
    let log = call_as(world, "owner", "GET", "/agents/acme/audit?limit=100", &Value::Null);
    let entries = log.data()["entries"].as_array().unwrap();
    let of_webhooks = entries.iter().filter_map(|entry| entry["action"].as_str());
    let mut actions: Vec<String> =
        of_webhooks.filter(|action| action.starts_with("webhook.")).map(str::to_owned).collect();
    actions.sort();
    actions
}

#[test]
fn an_endpoint_is_made_changed_and_removed() {
    let world = World::hosted();
    assert_eq!(call(&world, "GET", ROOT, &Value::Null).data(), &json!([]));
    let made = create(&world, &json!({ "url": URL, "types": ["contact.*"], "description": "CRM" }));
    assert!(made["secret"]["secret"].as_str().unwrap().starts_with("whsec_"), "{made}");
    let webhook = &made["webhook"];
    assert_eq!((&webhook["status"], &webhook["mode"]), (&json!("enabled"), &json!("parallel")));
    let path = format!("{ROOT}/{}", webhook["id"].as_str().unwrap());
    let shown = call(&world, "GET", &path, &Value::Null);
    assert_eq!(shown.data(), webhook);
    assert!(!shown.text.contains("whsec_"));
    let edited =
        call(&world, "PATCH", &path, &json!({ "types": ["*"], "mode": "ordered", "description": null }));
    assert_eq!((&edited.data()["types"], &edited.data()["mode"]), (&json!(["*"]), &json!("ordered")));
    assert_eq!(edited.data()["description"], Value::Null);
    let disabled = call(&world, "POST", &format!("{path}/disable"), &json!({}));
    assert_eq!(
        (&disabled.data()["status"], &disabled.data()["statusReason"]),
        (&json!("disabled"), &json!("operator"))
    );
    let enabled = call(&world, "POST", &format!("{path}/enable"), &json!({ "resume": "now" }));
    assert_eq!(enabled.data()["status"], "enabled");
    assert_eq!(call(&world, "DELETE", &path, &Value::Null).data(), &Value::Null);
    let gone = call(&world, "GET", &path, &Value::Null);
    assert_eq!(
        (gone.status, gone.code(), &gone.body["details"]["resource"]),
        (404, "NOT_FOUND", &json!("webhook"))
    );
    let expected =
        ["create", "delete", "disable", "edit", "enable", "reveal"].map(|verb| format!("webhook.{verb}"));
    assert_eq!(actions(&world), expected);
}

#[test]
fn faults_stand_at_their_members_and_change_nothing() {
    let world = World::hosted();
    for (field, body) in [
        ("url", json!({})),
        ("url", json!({ "url": "http://hooks.example.com/" })),
        ("url", json!({ "url": "https://localhost/" })),
        ("types[0]", json!({ "url": URL, "types": ["contact.exploded"] })),
        ("types", json!({ "url": URL, "types": [] })),
        ("mode", json!({ "url": URL, "mode": "fast" })),
        ("description", json!({ "url": URL, "description": "a".repeat(201) })),
        ("from", json!({ "url": URL, "from": "tomorrow" })),
        ("secret", json!({ "url": URL, "secret": "whsec_" })),
    ] {
        let refused = call(&world, "POST", ROOT, &body);
        assert_eq!((refused.status, refused.code()), (400, "VALIDATION_ERROR"), "{body}: {}", refused.text);
        assert_eq!(refused.body["validationErrors"][0]["field"], field, "{body}: {}", refused.text);
    }
    assert_eq!(call(&world, "GET", ROOT, &Value::Null).data(), &json!([]));
    assert!(actions(&world).is_empty());
    let path = endpoint(&world);
    for (rest, body, field) in [
        ("rotate", json!({ "graceSeconds": 604_801 }), "graceSeconds"),
        ("test", json!({ "type": "contact.exploded" }), "type"),
        ("replay", json!({}), "after"),
        ("replay", json!({ "after": 0, "since": "2026-01-01T00:00:00Z" }), "since"),
        ("enable", json!({ "resume": "never" }), "resume"),
    ] {
        let refused = call(&world, "POST", &format!("{path}/{rest}"), &body);
        assert_eq!((refused.status, refused.code()), (400, "VALIDATION_ERROR"), "{rest}: {}", refused.text);
        assert_eq!(refused.body["validationErrors"][0]["field"], field, "{rest}: {}", refused.text);
    }
    for _ in 1..WEBHOOKS_OF_AGENT {
        endpoint(&world);
    }
    let refused = call(&world, "POST", ROOT, &json!({ "url": URL }));
    assert_eq!((refused.status, refused.code()), (403, "ENDPOINT_LIMIT_EXCEEDED"), "{}", refused.text);
}

/// The most endpoints of an agent in these tests.
const WEBHOOKS_OF_AGENT: u32 = 20;

#[test]
fn an_edit_names_the_version_that_was_seen() {
    let world = World::hosted();
    let path = endpoint(&world);
    let edit = |tag: Option<&str>, text: &str| {
        let mut request = Browser::default().request("PATCH", &path, &json!({ "description": text }));
        let mut developer = console::Operator::new("u", "U", "developer@acme".parse().unwrap());
        developer.authenticated_at = Some(world.platform.now());
        request.extensions_mut().insert(developer);
        if let Some(tag) = tag {
            request.headers_mut().insert("if-match", tag.parse().unwrap());
        }
        world.send(request)
    };
    let tag = call(&world, "GET", &path, &Value::Null).headers["etag"].to_str().unwrap().to_owned();
    assert_eq!(edit(None, "A").code(), "PRECONDITION_REQUIRED");
    let saved = edit(Some(&tag), "A");
    assert_eq!(saved.data()["description"], "A");
    let stale = edit(Some(&tag), "B");
    assert_eq!((stale.status, stale.code()), (412, "PRECONDITION_FAILED"), "{}", stale.text);
    assert_eq!(stale.body["details"]["current"]["description"], "A");
    assert_eq!(stale.headers["etag"], saved.headers["etag"]);
    assert_eq!(edit(Some("no tag"), "B").code(), "PRECONDITION_FAILED");
    assert_eq!(edit(Some("*"), "B").data()["description"], "B");
}

#[test]
fn secrets_need_a_recent_proof_and_the_former_signs_for_a_while() {
    let world = World::hosted();
    let path = endpoint(&world);
    let first = call(&world, "POST", &format!("{path}/secret"), &json!({})).data().clone();
    assert_eq!((&first["previous"], &first["previousUntil"]), (&Value::Null, &Value::Null));
    let rotated =
        call(&world, "POST", &format!("{path}/rotate"), &json!({ "graceSeconds": 60 })).data().clone();
    assert_eq!(rotated["previous"], first["secret"]);
    assert_ne!(rotated["secret"], first["secret"]);
    let shown = call(&world, "GET", &path, &Value::Null);
    assert_eq!(shown.data()["secretExpiresAt"], rotated["previousUntil"]);
    call(&world, "POST", &format!("{path}/test"), &json!({ "type": "contact.updated" })).data();
    let sent = world.receiver.received().pop().unwrap();
    assert_eq!(sent.headers["webhook-signature"].to_str().unwrap().split(' ').count(), 2, "both sign");
    world.clock.advance_millis(61_000);
    let later = call(&world, "POST", &format!("{path}/secret"), &json!({})).data().clone();
    assert_eq!((&later["secret"], &later["previous"]), (&rotated["secret"], &Value::Null));
    let noted = actions(&world);
    let expected = ["create", "reveal", "reveal", "reveal", "rotate"].map(|verb| format!("webhook.{verb}"));
    assert_eq!(noted, expected, "and a test is no change");
    // Nothing repeats a secret, whatever is repeated.
    let repeat = || {
        let mut request = Browser::default().request("POST", &format!("{path}/rotate"), &json!({}));
        let mut owner = console::Operator::new("u", "U", "owner".parse().unwrap());
        owner.authenticated_at = Some(world.platform.now());
        request.extensions_mut().insert(owner);
        request.headers_mut().insert("idempotency-key", "k-1".parse().unwrap());
        world.send(request)
    };
    assert!(repeat().text.contains("whsec_"));
    let repeated = repeat();
    assert_eq!((repeated.status, repeated.code()), (409, "SECRET_NOT_REPEATABLE"));
    assert!(!repeated.text.contains("whsec_"), "{}", repeated.text);
}

#[test]
fn test_messages_are_limited_and_their_answer_is_shown() {
    let world = World::hosted();
    let path = format!("{}/test", endpoint(&world));
    world.receiver.answer(500);
    let answer = call(&world, "POST", &path, &json!({}));
    let result = answer.data();
    assert_eq!(
        (&result["status"], &result["body"]),
        (&json!(500), &json!("the receiver's text")),
        "{}",
        answer.text
    );
    let sent: Value = serde_json::from_slice(&world.receiver.received()[0].body).unwrap();
    assert_eq!(
        (&sent["type"], &sent["test"], &sent["agentId"]),
        (&json!("contact.created"), &json!(true), &json!("acme"))
    );
    for _ in 1..10 {
        call(&world, "POST", &path, &json!({})).data();
    }
    let refused = call(&world, "POST", &path, &json!({}));
    assert_eq!((refused.status, refused.code()), (429, "RATE_LIMIT_EXCEEDED"), "{}", refused.text);
    assert!(refused.headers.contains_key("retry-after"));
    let only_reads = call_as(&world, "viewer@acme", "POST", &path, &json!({}));
    assert_eq!(only_reads.code(), "INSUFFICIENT_ROLE");
}

#[test]
fn attempts_are_listed_with_their_events_and_sent_again() {
    let world = World::hosted();
    let path = endpoint(&world);
    let attempts = format!("{path}/attempts");
    world.receiver.answer(503);
    (0..3).for_each(|number| contact(&world, number));
    let listed =
        || call(&world, "GET", &attempts, &Value::Null).data()["deliveries"].as_array().unwrap().clone();
    deliver(&world, || listed().len() >= 3);
    let failed = listed();
    let newest = &failed[0];
    assert_eq!(
        (&newest["type"], &newest["attempt"]["status"]),
        (&json!("contact.created"), &json!(503)),
        "{newest}"
    );
    assert_eq!(newest["attempt"]["body"], "the receiver's text");
    // Pages fit together.
    let mut numbers = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = call(&world, "GET", &format!("{attempts}?limit=1{cursor}"), &Value::Null).data().clone();
        numbers.extend(
            page["deliveries"]
                .as_array()
                .unwrap()
                .iter()
                .map(|one| one["attempt"]["number"].as_u64().unwrap()),
        );
        let Some(next) = page["nextCursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    let all: Vec<u64> = failed.iter().map(|one| one["attempt"]["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, all);
    // One with its message.
    let number = all[0];
    let shown = call(&world, "GET", &format!("{attempts}/{number}"), &Value::Null);
    assert_eq!(&shown.data()["delivery"], newest);
    let message = &shown.data()["message"];
    assert_eq!((&message["id"], &message["type"]), (&newest["eventId"], &newest["type"]), "{}", shown.text);
    let missing = call(&world, "GET", &format!("{attempts}/{}", u64::MAX), &Value::Null);
    assert_eq!((missing.status, missing.code()), (404, "NOT_FOUND"), "{}", missing.text);
    // All arrive; one is sent again, with its id.
    world.receiver.answer(204);
    let ids = || -> Vec<String> {
        let id = |request: &openapi_core::ports::OutboundRequest| {
            request.headers["webhook-id"].to_str().unwrap().to_owned()
        };
        world.receiver.received().iter().map(id).collect()
    };
    let pending = || call(&world, "GET", &path, &Value::Null).data()["pending"].clone();
    deliver(&world, || pending() == 0);
    let before = ids().len();
    assert_eq!(ids().into_iter().collect::<BTreeSet<_>>().len(), 3);
    let resent = call(&world, "POST", &format!("{attempts}/{number}/resend"), &json!({}));
    assert_eq!(resent.data()["from"], message["seq"], "{}", resent.text);
    deliver(&world, || ids().len() > before);
    assert_eq!(json!(ids().last().unwrap()), message["id"]);
    let replayed = call(&world, "POST", &format!("{path}/replay"), &json!({ "after": 0 }));
    assert_eq!(
        (&replayed.data()["from"], &replayed.data()["to"]),
        (&json!(1), &json!(3)),
        "{}",
        replayed.text
    );
    deliver(&world, || ids().len() >= before + 4);
    let only_failed = call(&world, "GET", &format!("{attempts}?failed=true"), &Value::Null);
    let results = only_failed.data()["deliveries"].as_array().unwrap().iter();
    assert!(
        results.clone().count() >= 3 && results.clone().all(|one| one["attempt"]["result"] != "succeeded")
    );
    assert_eq!(actions(&world).iter().filter(|action| *action == "webhook.replay").count(), 2);
    // What no longer passes the filter is not sent, and the answer says so.
    call(&world, "PATCH", &path, &json!({ "types": ["key.*"] })).data();
    let refused = call(&world, "POST", &format!("{attempts}/{number}/resend"), &json!({}));
    assert_eq!((refused.status, refused.code()), (422, "NOT_POSSIBLE"), "{}", refused.text);
}

/// Who may see webhooks sees no message about what the role hides.
#[test]
fn messages_are_shown_to_those_who_may_see_what_they_are_about() {
    let world = World::hosted();
    let path = endpoint(&world);
    super::support::conversation(&world);
    let take = format!(
        "/agents/acme/conversations/{}/take",
        openapi_core::values::ConversationId::from_bytes([7; 12])
    );
    call_as(&world, "owner", "POST", &take, &json!({})).data();
    world.receiver.answer(500);
    let first = format!("{path}/attempts/1");
    deliver(&world, || call(&world, "GET", &first, &Value::Null).status == 200);
    let shown = |grants| call_as(&world, grants, "GET", &first, &Value::Null).data().clone();
    assert_eq!(shown("admin@acme")["message"]["type"], "conversation.taken");
    let masked = shown("developer@acme");
    assert_eq!(
        (&masked["delivery"]["type"], &masked["message"]),
        (&json!("conversation.taken"), &Value::Null)
    );
}

#[test]
fn agents_have_their_own() {
    let world = World::hosted();
    let path = endpoint(&world).replace("acme", "beta");
    let body = json!({ "url": URL });
    for (method, rest, body) in [
        ("GET", "", &Value::Null),
        ("PATCH", "", &body),
        ("DELETE", "", &Value::Null),
        ("POST", "/enable", &json!({})),
        ("POST", "/disable", &json!({})),
        ("POST", "/secret", &json!({})),
        ("POST", "/rotate", &json!({})),
        ("POST", "/test", &json!({})),
        ("POST", "/replay", &json!({ "after": 0 })),
        ("GET", "/attempts", &Value::Null),
        ("GET", "/attempts/1", &Value::Null),
        ("POST", "/attempts/1/resend", &json!({})),
    ] {
        let answer = call_as(&world, "admin", method, &format!("{path}{rest}"), body);
        assert_eq!((answer.status, answer.code()), (404, "NOT_FOUND"), "{method} {rest}: {}", answer.text);
    }
    assert_eq!(call_as(&world, "admin", "GET", "/agents/beta/webhooks", &Value::Null).data(), &json!([]));
    assert_eq!(call_as(&world, "admin", "GET", "/agents/gamma/webhooks", &Value::Null).code(), "NOT_FOUND");
    assert_eq!(call(&world, "GET", ROOT, &Value::Null).data().as_array().unwrap().len(), 1);
}

#[test]
fn the_catalogue_has_every_type() {
    let world = World::hosted();
    let answer = call(&world, "GET", &format!("{ROOT}/catalogue"), &Value::Null);
    let types = answer.data().as_array().unwrap();
    assert_eq!(types.len(), openapi_core::events::EventType::ALL.len());
    for one in types {
        let (name, group) = (one["type"].as_str().unwrap(), one["group"].as_str().unwrap());
        assert!(
            name.starts_with(&format!("{group}.")) && !one["description"].as_str().unwrap().is_empty(),
            "{one}"
        );
        assert!(one["example"].is_object(), "{one}");
    }
}

#[test]
fn a_console_without_webhooks_says_so() {
    let mut world = World::hosted();
    let mut settings = console::ConsoleSettings::mounted("", super::support::ORIGIN);
    settings.webhooks = None;
    let storage = Arc::clone(&world.storage);
    let ports = conversations::ChatPorts::new();
    let chat = conversations::Conversations::new(Arc::clone(&world.platform), storage as _, ports);
    world.console = console::Console::new(chat, settings);
    let answer = call(&world, "GET", ROOT, &Value::Null);
    assert_eq!((answer.status, answer.code()), (503, "EVENTS_UNAVAILABLE"), "{}", answer.text);
}
