//! Webhook endpoints under the API (contract 17.2).

use contract_tests::sandbox::wait;
use contract_tests::{Backend, Sandbox, on_every_backend, story};
use openapi_core::audit::AuditAction;
use openapi_core::ports::OutboundError;
use openapi_core::storage::AuditQuery;
use serde_json::{Value, json};

on_every_backend!(
    an_endpoint_lives,
    bad_endpoints_are_refused,
    bad_changes_are_refused,
    an_endpoint_belongs_to_its_agent,
    a_repeated_create_is_one,
    tags_guard_changes,
    an_agent_has_so_many_endpoints,
    lists_have_pages,
    secrets_rotate,
    test_messages_are_sent_at_once,
    replays_select_events,
    changes_are_in_the_audit_log,
);

const PATH: &str = "/events/endpoints/chatbots/<A>";

fn at(id: &str, what: &str) -> String {
    format!("/events/endpoints/{id}{what}/chatbots/<A>")
}

fn create(cx: &Sandbox) -> String {
    cx.post(PATH, &json!({ "url": "https://hooks.example.com/a" })).expect(201).id()
}

fn an_endpoint_lives(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = cx.create(&story::new_contact());
    let body = json!({ "url": "https://hooks.example.com/a?x=1", "types": ["contact.*"], "mode": "ordered", "description": " CRM " });
    let reply = cx.post(PATH, &body).expect(201);
    let id = reply.id();
    assert_eq!(
        reply.header("location"),
        Some(&*format!("/v1/open/events/endpoints/{id}/chatbots/{}", cx.agent))
    );
    let data = reply.data();
    assert_eq!(data["url"], body["url"]);
    assert_eq!(
        (&data["types"], &data["mode"], &data["description"]),
        (&body["types"], &body["mode"], &json!("CRM"))
    );
    assert_eq!(
        (&data["status"], &data["statusReason"], &data["pending"]),
        (&json!("enabled"), &Value::Null, &json!(0))
    );
    assert!(!reply.text.contains("whsec_"), "the secret is shown on demand alone");
    let from_oldest =
        cx.post(PATH, &json!({ "url": "https://hooks.example.com/b", "from": "oldest" })).expect(201);
    assert_eq!((&from_oldest.data()["cursor"], &from_oldest.data()["pending"]), (&json!(0), &json!(2)));
    assert_eq!(cx.get(&at(&id, "")).expect(200).data(), data);
    let edited =
        cx.put(&at(&id, ""), &json!({ "types": ["*"], "description": null, "id": "ignored" })).expect(200);
    assert_eq!((&edited.data()["types"], &edited.data()["description"]), (&json!(["*"]), &Value::Null));
    assert_eq!(edited.data()["mode"], "ordered");
    let disabled = cx.put(&at(&id, ""), &json!({ "status": "disabled" })).expect(200);
    assert_eq!(
        (&disabled.data()["status"], &disabled.data()["statusReason"]),
        (&json!("disabled"), &json!("operator"))
    );
    let _ = cx.create(&json!({ "primaryEmail": "later@example.com" }));
    let enabled = cx.put(&at(&id, ""), &json!({ "status": "enabled", "resume": "now" })).expect(200);
    assert_eq!((&enabled.data()["status"], &enabled.data()["pending"]), (&json!("enabled"), &json!(0)));
    let gone = cx.call("DELETE", &at(&id, "")).send().expect(200);
    assert_eq!((&gone.data()["id"], &gone.data()["deleted"]), (&json!(id), &json!(true)));
    let _ = cx.get(&at(&id, "")).fails(404, "ENDPOINT_NOT_FOUND");
    let _ = cx.call("DELETE", &at(&id, "")).send().fails(404, "ENDPOINT_NOT_FOUND");
}

fn bad_endpoints_are_refused(backend: Backend) {
    let cx = Sandbox::new(backend);
    let url = |url: &str| json!({ "url": url });
    let with = |name: &str, value: Value| json!({ "url": "https://hooks.example.com/", name: value });
    let long = format!("https://hooks.example.com/{}", "a".repeat(2_048));
    let many: Vec<String> = vec!["*".to_owned(); 51];
    let cases: Vec<(Value, &[(&str, &str)])> = vec![
        (json!({}), &[("url", "required")]),
        (json!({ "url": null }), &[("url", "required")]),
        (url(" "), &[("url", "required")]),
        (json!({ "url": 5 }), &[("url", "type")]),
        (url("hooks.example.com"), &[("url", "format")]),
        (url("http://hooks.example.com/"), &[("url", "format")]),
        (url("https://user:pw@hooks.example.com/"), &[("url", "format")]),
        (url("https://hooks.example.com/#a"), &[("url", "format")]),
        (url("https://hooks.example.com/ a"), &[("url", "format")]),
        (url("https://hooks.example.com/\n"), &[("url", "format")]),
        (url(&long), &[("url", "maxLength")]),
        (url("https://localhost/"), &[("url", "reserved")]),
        (url("https://hooks/"), &[("url", "reserved")]),
        (url("https://hooks.internal/"), &[("url", "reserved")]),
        (url("https://10.0.0.1/"), &[("url", "reserved")]),
        (url("https://0x7f.1/"), &[("url", "reserved")]),
        (url("https://[::1]/"), &[("url", "reserved")]),
        (url("https://169.254.169.254/latest"), &[("url", "reserved")]),
        (url("https://hooks.example.com:22/"), &[("url", "reserved")]),
        (with("types", json!([])), &[("types", "minItems")]),
        (with("types", json!(many)), &[("types", "maxItems")]),
        (with("types", json!("*")), &[("types", "type")]),
        (with("types", Value::Null), &[("types", "required")]),
        (
            with("types", json!(["no.such", "contact.created", "contact.created", 4, "a,b"])),
            &[("types[0]", "enum"), ("types[2]", "uniqueItems"), ("types[3]", "type"), ("types[4]", "enum")],
        ),
        (with("mode", json!("fast")), &[("mode", "enum")]),
        (with("mode", json!(1)), &[("mode", "type")]),
        (with("from", json!("then")), &[("from", "enum")]),
        (with("description", json!("x".repeat(201))), &[("description", "maxLength")]),
        (with("description", json!(["x"])), &[("description", "type")]),
        (with("status", json!("disabled")), &[("status", "unknown")]),
        (with("secret", json!("x")), &[("secret", "unknown")]),
    ];
    for (body, expected) in cases {
        let _ = cx.post(PATH, &body).invalid(expected);
    }
    assert_eq!(cx.get(PATH).expect(200).data(), &json!([]), "nothing of them is stored");
}

/// What is sent, and the errors of its members, by path and type.
type Refused<'a> = (&'a str, Value, &'a [(&'a str, &'a str)]);

fn bad_changes_are_refused(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = create(&cx);
    let before = cx.get(&at(&id, "")).expect(200);
    let cases: Vec<(Value, &[(&str, &str)])> = vec![
        (json!({ "url": "https://127.0.0.1/" }), &[("url", "reserved")]),
        (json!({ "from": "now" }), &[("from", "unknown")]),
        (json!({ "status": "gone" }), &[("status", "enum")]),
        (json!({ "resume": "now" }), &[("resume", "conflict")]),
        (json!({ "status": "enabled", "resume": "never" }), &[("resume", "enum")]),
        (json!({ "mode": null }), &[("mode", "required")]),
    ];
    for (body, expected) in cases {
        let _ = cx.put(&at(&id, ""), &body).invalid(expected);
    }
    let bodies: [Refused<'_>; 13] = [
        ("/rotate", json!({ "graceSeconds": -1 }), &[("graceSeconds", "minimum")]),
        ("/rotate", json!({ "graceSeconds": 604_801 }), &[("graceSeconds", "maximum")]),
        ("/rotate", json!({ "graceSeconds": 1.5 }), &[("graceSeconds", "type")]),
        ("/rotate", json!({ "graceSeconds": "1" }), &[("graceSeconds", "type")]),
        ("/rotate", json!({ "grace": 1 }), &[("grace", "unknown")]),
        ("/test", json!({ "type": "contact.*" }), &[("type", "enum")]),
        ("/test", json!({ "type": 1 }), &[("type", "type")]),
        ("/replay", json!({}), &[("after", "required")]),
        ("/replay", json!({ "after": "x" }), &[("after", "format")]),
        ("/replay", json!({ "since": "yesterday" }), &[("since", "format")]),
        ("/replay", json!({ "after": 0, "since": "2026-01-31T09:15:02Z" }), &[("since", "conflict")]),
        ("/replay", json!({ "ids": [] }), &[("ids", "minItems")]),
        (
            "/replay",
            json!({ "ids": ["x", 1, "697d00000000000000000000"] }),
            &[("ids[0]", "format"), ("ids[1]", "type")],
        ),
    ];
    for (what, body, expected) in bodies {
        let _ = cx.post(&at(&id, what), &body).invalid(expected);
    }
    let _ = cx
        .post(&at(&id, "/replay"), &json!({ "ids": ["697d00000000000000000000"] }))
        .invalid(&[("ids[0]", "reference")]);
    let _ = cx.post(&at(&id, "/replay"), &json!({ "after": 99 })).fails(410, "EVENTS_LOST");
    for query in ["limit=0", "limit=101", "failed=maybe", "cursor=x"] {
        let name = query.split('=').next().unwrap();
        let reply = cx.get(&format!("{}?{query}", at(&id, "/attempts"))).fails(400, "VALIDATION_ERROR");
        assert_eq!(reply.violations()[0].0, name);
    }
    assert_eq!(cx.get(&at(&id, "")).expect(200).data(), before.data());
    // What is wrong around an endpoint that is not there is not said.
    for path in ["x", "697d00000000000000000000"] {
        let _ = cx.put(&at(path, ""), &json!({ "mode": 1 })).fails(404, "ENDPOINT_NOT_FOUND");
        let _ = cx.get(&format!("{}?a=b", at(path, ""))).fails(404, "ENDPOINT_NOT_FOUND");
    }
}

fn an_endpoint_belongs_to_its_agent(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = create(&cx);
    let other = cx.of_agent("other");
    let _ = other.get(&at(&id, "")).fails(404, "ENDPOINT_NOT_FOUND");
    let _ = other.get(&at(&id, "/secret")).fails(404, "ENDPOINT_NOT_FOUND");
    let _ = other.call("DELETE", &at(&id, "")).send().fails(404, "ENDPOINT_NOT_FOUND");
    assert_eq!(other.get(PATH).expect(200).data(), &json!([]));
    let _ = cx.get(&at(&id, "")).expect(200);
}

fn a_repeated_create_is_one(backend: Backend) {
    let cx = Sandbox::new(backend);
    let body = json!({ "url": "https://hooks.example.com/a" });
    let send = |body: &Value| cx.call("POST", PATH).json(body).header("idempotency-key", "k1").send();
    let (first, second) = (send(&body).expect(201), send(&body).expect(201));
    assert_eq!((first.text, first.headers.get("location")), (second.text, second.headers.get("location")));
    let _ = send(&json!({ "url": "https://hooks.example.com/b" })).fails(422, "IDEMPOTENCY_KEY_REUSED");
    assert_eq!(cx.get(PATH).expect(200).data().as_array().unwrap().len(), 1);
}

fn tags_guard_changes(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = create(&cx);
    let tag = cx.get(&at(&id, "")).expect(200).header("etag").unwrap().to_owned();
    let put = |tag: &str, mode: &str| {
        cx.call("PUT", &at(&id, "")).json(&json!({ "mode": mode })).header("if-match", tag).send()
    };
    let same = put(&tag, "parallel").expect(200);
    assert_eq!(same.header("etag"), Some(&*tag), "what changes nothing has no new version");
    let changed = put(&tag, "ordered").expect(200);
    assert_ne!(changed.header("etag"), Some(&*tag));
    let refused = put(&tag, "parallel").fails(412, "PRECONDITION_FAILED");
    assert_eq!(refused.header("etag"), changed.header("etag"));
    let fresh = changed.header("etag").unwrap();
    let _ = cx.call("GET", &at(&id, "")).header("if-none-match", fresh).send().expect(304);
}

fn an_agent_has_so_many_endpoints(backend: Backend) {
    let cx = Sandbox::new(backend);
    let ids: Vec<String> = (0..20).map(|_| create(&cx)).collect();
    let refused =
        cx.post(PATH, &json!({ "url": "https://hooks.example.com/a" })).fails(403, "ENDPOINT_LIMIT_EXCEEDED");
    assert!(refused.text.contains(r#""limit":20"#), "{}", refused.text);
    let _ = cx.call("DELETE", &at(&ids[3], "")).send().expect(200);
    let _ = create(&cx);
}

fn lists_have_pages(backend: Backend) {
    let cx = Sandbox::new(backend);
    let ids: Vec<String> = (0..5)
        .map(|_| {
            cx.advance(1_000);
            create(&cx)
        })
        .collect();
    let first = cx.get(&format!("{PATH}?limit=2")).expect(200);
    assert_eq!(first.column("id"), ids[..2]);
    assert_eq!(
        (&first.pagination()["totalItems"], &first.pagination()["totalPages"]),
        (&json!(5), &json!(3))
    );
    let cursor = first.pagination()["nextCursor"].as_str().unwrap().to_owned();
    let second = cx.get(&format!("{PATH}?limit=2&cursor={cursor}")).expect(200);
    assert_eq!(second.column("id"), ids[2..4]);
    assert_eq!(cx.get(&format!("{PATH}?limit=2&page=3")).expect(200).column("id"), ids[4..]);
    let _ = cx.get(&format!("{PATH}?limit=3&cursor={cursor}")).invalid(&[("cursor", "format")]);
}

fn secrets_rotate(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = create(&cx);
    let first = cx.get(&at(&id, "/secret")).expect(200).data().clone();
    assert!(first["secret"].as_str().unwrap().starts_with("whsec_") && first["previous"].is_null());
    let rotated = cx.post(&at(&id, "/rotate"), &json!({ "graceSeconds": 60 })).expect(200).data().clone();
    assert_eq!(rotated["previous"], first["secret"]);
    assert_ne!(rotated["secret"], first["secret"]);
    assert_eq!(cx.get(&at(&id, "")).expect(200).data()["secretExpiresAt"], rotated["previousUntil"]);
    cx.advance(60_000);
    let later = cx.get(&at(&id, "/secret")).expect(200).data().clone();
    assert_eq!((&later["secret"], &later["previous"]), (&rotated["secret"], &Value::Null));
    let _ = cx.call("POST", &at(&id, "/rotate")).send().expect(200);
}

fn test_messages_are_sent_at_once(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = create(&cx);
    let refused = OutboundError::Refused { rule: "private", reason: "10.0.0.1".to_owned() };
    cx.outbound.answer([Ok(200), Ok(500), Err(refused)]);
    cx.outbound.say("no way");
    let test = || cx.post(&at(&id, "/test"), &json!({ "type": "file.uploaded" }));
    let fine = test().expect(200);
    assert_eq!((&fine.data()["status"], &fine.data()["body"]), (&json!(200), &Value::Null));
    let failed = test().expect(200);
    assert_eq!((&failed.data()["status"], &failed.data()["body"]), (&json!(500), &json!("no way")));
    let refused = test().expect(200);
    assert_eq!((&refused.data()["status"], &refused.data()["error"]), (&Value::Null, &json!("refused")));
    assert!(!refused.text.contains("10.0.0.1"), "the operator's network is not shown");
    let sent = cx.outbound.take();
    let event: Value = serde_json::from_slice(&sent[0].body).unwrap();
    assert_eq!((&event["test"], &event["type"]), (&json!(true), &json!("file.uploaded")));
    assert_eq!(sent[0].headers["webhook-id"], event["id"].as_str().unwrap());
    (0..7).for_each(|_| drop(test().expect(200)));
    let _ = test().fails(429, "RATE_LIMIT_EXCEEDED");
    cx.advance(60_000);
    let _ = test().expect(200);
    assert_eq!(cx.get(&at(&id, "/attempts")).expect(200).data(), &json!([]), "test messages are not logged");
}

fn replays_select_events(backend: Backend) {
    let cx = Sandbox::new(backend);
    let contacts: Vec<String> = (0..4)
        .map(|number| {
            cx.advance(60_000);
            cx.create(&json!({ "primaryEmail": format!("{number}@example.com") })).id()
        })
        .collect();
    let events = cx.get("/events/chatbots/<A>").expect(200).data().as_array().unwrap().clone();
    let created = |id: &str| events.iter().find(|event| event["data"]["contactId"] == id).unwrap().clone();
    let (second, third) = (created(&contacts[1]), created(&contacts[2]));
    let id = create(&cx);
    let replay = |body: Value| cx.post(&at(&id, "/replay"), &body).expect(200).data().clone();
    let head = events.len();
    assert_eq!(
        replay(json!({ "after": second["cursor"] })),
        json!({ "from": second["seq"].as_u64().unwrap() + 1, "to": head })
    );
    assert_eq!(replay(json!({ "since": third["timestamp"] })), json!({ "from": third["seq"], "to": head }));
    assert_eq!(
        replay(json!({ "ids": [third["id"], second["id"]] })),
        json!({ "from": second["seq"], "to": third["seq"] })
    );
    assert_eq!(replay(json!({ "after": head })), json!({ "from": head + 1, "to": head }));
    let _ = cx.put(&at(&id, ""), &json!({ "types": ["key.*"] })).expect(200);
    assert_eq!(
        replay(json!({ "ids": [second["id"]] })),
        json!({ "from": head + 1, "to": head }),
        "of another type"
    );
}

fn changes_are_in_the_audit_log(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = create(&cx);
    let _ = cx.put(&at(&id, ""), &json!({ "mode": "ordered" })).expect(200);
    let _ = cx.put(&at(&id, ""), &json!({ "status": "disabled" })).expect(200);
    let _ = cx.put(&at(&id, ""), &json!({ "status": "enabled" })).expect(200);
    let _ = cx.get(&at(&id, "/secret")).expect(200);
    let _ = cx.call("POST", &at(&id, "/rotate")).send().expect(200);
    let _ = cx.post(&at(&id, "/replay"), &json!({ "after": 0 })).expect(200);
    let _ = cx.call("DELETE", &at(&id, "")).send().expect(200);
    let entries = wait(cx.store.storage.audit_entries(&AuditQuery {
        agent: None,
        after: None,
        newest_first: false,
        limit: 1_000,
    }))
    .unwrap();
    let mut actions: Vec<&str> = entries
        .iter()
        .filter(|entry| entry.entry.resource.as_deref() == Some(&*id))
        .map(|entry| entry.entry.action.as_str())
        .collect();
    actions.sort_unstable();
    let expected = [
        AuditAction::WebhookCreate,
        AuditAction::WebhookDelete,
        AuditAction::WebhookDisable,
        AuditAction::WebhookEdit,
        AuditAction::WebhookEnable,
        AuditAction::WebhookReplay,
        AuditAction::WebhookReveal,
        AuditAction::WebhookRotate,
    ];
    assert_eq!(actions, expected.map(AuditAction::as_str));
}
