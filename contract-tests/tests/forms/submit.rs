//! Submitting once: dry runs, Idempotency-Key, conditional requests (contract 4.2, 4.4, 5.4, 5.5).

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

use contract_tests::sandbox::wait;
use contract_tests::{Backend, Call, FaultyStorage, Reply, Sandbox, on_every_backend};
use openapi_core::storage::StorageErrorKind;
use serde_json::{Value, json};

use crate::support::{
    ALL, BATCH, NOTHING, archive_contact, change, contact, get, is_unchanged, keeping_all, note, one, read,
    sandbox, send, submit, submit_path, try_submit,
};

on_every_backend!(
    absent_records,
    the_body,
    blocked_contacts,
    renamed_contacts,
    dry_runs,
    replays,
    replays_of_batches,
    other_payloads,
    rejections_are_not_stored,
    if_match,
    if_none_match,
    lost_races,
    a_key_in_use,
);

fn total(cx: &Sandbox) -> u64 {
    let reply = get(cx, &format!("{ALL}?includeSuperseded=1")).expect(200);
    reply.pagination()["totalItems"].as_u64().expect("a number")
}

fn body() -> Value {
    json!({ "formData": { "text": "x" } })
}

/// Contact, then template; the contact is never created.
fn absent_records(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let at = |template: &str, contact: &str| {
        send(&cx, "POST", &format!("/forms/submit/{template}/contacts/{contact}"), &json!({}))
    };
    let reply = at(NOTHING, "nobody").fails(404, "CONTACT_NOT_FOUND");
    assert_eq!(reply.json["details"], json!({ "resource": "contact", "id": "nobody" }));
    let reply = at(NOTHING, "crm-1001").fails(404, "TEMPLATE_NOT_FOUND");
    assert_eq!(reply.json["details"], json!({ "resource": "template", "id": NOTHING }));
    let reply = at("Intake", "crm-1001").fails(404, "TEMPLATE_NOT_FOUND");
    assert_eq!(reply.json["message"], "Template not found; platform ids are 24 hexadecimal characters");
    assert_eq!(reply.json["details"]["id"], "Intake");
    // A contact's platform id is not an external id.
    let id = get(&cx, "/contacts/crm-1001/chatbots/<A>").id();
    let _ = at(&template, &id).fails(404, "CONTACT_NOT_FOUND");
    let reply =
        send(&cx, "POST", &BATCH.replace("crm-1001", "nobody"), &json!({})).fails(404, "CONTACT_NOT_FOUND");
    assert_eq!(reply.json["details"]["id"], "nobody");
    for (method, path) in [("GET", one(NOTHING)), ("PUT", one(NOTHING)), ("GET", one("x")), ("PUT", one("x"))]
    {
        let reply = send(&cx, method, &path, &json!({})).fails(404, "SUBMISSION_NOT_FOUND");
        assert_eq!(reply.json["details"]["resource"], "submission");
    }
    assert_eq!(get(&cx, "/contacts/nobody/chatbots/<A>").status, 404);
}

fn the_body(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let all = json!({ "formData": { "text": "x" }, "submissionNotes": "n", "clientId": "c", "status": "submitted" });
    let reply = try_submit(&cx, &template, &all).expect(201);
    assert_eq!(reply.data()["status"], "submitted");
    for (name, value) in
        [("id", json!("x")), ("templateId", json!(template)), ("allOrNone", json!(true)), ("x", json!(null))]
    {
        let mut body = body();
        body[name] = value;
        let _ = try_submit(&cx, &template, &body).invalid(&[(name, "unknown")]);
    }
    let wrong = json!({ "status": 1, "formData": {} });
    let reply = send(&cx, "POST", &format!("{}?dryRun=maybe&x=1", submit_path(&template)), &wrong);
    let _ = reply.invalid(&[
        ("dryRun", "type"),
        ("x", "unknown"),
        ("status", "type"),
        ("formData.text", "required"),
    ]);
}

fn blocked_contacts(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let _ = cx.put("/contacts/crm-1001/chatbots/<A>", &json!({ "status": "blocked" })).expect(200);
    let _ = submit(&cx, &template, &json!({ "text": "x" }));
}

/// The external id in the record is the contact's.
fn renamed_contacts(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let id = submit(&cx, &template, &json!({ "text": "x" })).id();
    let _ = cx.put("/contacts/crm-1001/chatbots/<A>", &json!({ "externalReferenceId": "new" })).expect(200);
    assert_eq!(read(&cx, &id).data()["externalReferenceId"], "new");
    let reply = get(&cx, "/forms/contacts/new/chatbots/<A>").expect(200);
    assert_eq!(reply.column("externalReferenceId"), ["new"]);
    let _ = get(&cx, ALL).fails(404, "CONTACT_NOT_FOUND");
    let _ = cx.put("/contacts/new/chatbots/<A>", &json!({ "externalReferenceId": null })).expect(200);
    assert_eq!(read(&cx, &id).data()["externalReferenceId"], Value::Null);
}

/// Contract 4.2: every check runs, nothing is stored.
fn dry_runs(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let path = format!("{}?dryRun=true", submit_path(&template));
    let sent = json!({ "formData": { "text": "x", "more": null }, "submissionNotes": " ", "clientId": "c" });
    let reply = send(&cx, "POST", &path, &sent).expect(200);
    assert_eq!((reply.header("location"), reply.header("etag")), (None, None));
    let preview = reply.data();
    let stored = try_submit(&cx, &template, &sent).expect(201);
    for (name, value) in stored.data().as_object().expect("a record") {
        match name.as_str() {
            "id" | "createdAt" | "updatedAt" | "submittedAt" => {
                assert_eq!(preview[name], Value::Null, "{name}");
            }
            "statusHistory" => assert_eq!(preview[name], json!([])),
            _ => assert_eq!(&preview[name], value, "{name}"),
        }
    }
    assert_eq!(preview.as_object().map(serde_json::Map::len), Some(25));
    let draft = send(&cx, "POST", &path, &json!({ "formData": {}, "status": "draft" })).expect(200);
    assert_eq!((&draft.data()["status"], &draft.data()["revision"]), (&json!("draft"), &json!(1)));
    assert_eq!(total(&cx), 1);
    let _ = send(&cx, "POST", &path, &json!({ "formData": {} })).invalid(&[("formData.text", "required")]);
    // An idempotency key is ignored, well-formed or not.
    for key in ["k", "", "\u{e9}"] {
        let call = cx.call("POST", &path).json(&body()).raw_header("idempotency-key", key.as_bytes());
        assert_eq!(call.send().expect(200).header("idempotent-replayed"), None);
    }
    let _ = cx
        .call("POST", &submit_path(&template))
        .json(&json!({ "formData": { "text": "other" } }))
        .header("idempotency-key", "k")
        .send()
        .expect(201);
    let _ = cx.archive_template(&template);
    let _ = send(&cx, "POST", &path, &body()).fails(409, "TEMPLATE_INACTIVE");
    archive_contact(&cx);
    let _ = send(&cx, "POST", &path, &body()).fails(409, "CONTACT_ARCHIVED");
}

fn keyed<'a>(cx: &'a Sandbox, path: &str, key: &str, body: &Value) -> Call<'a> {
    cx.call("POST", path).json(body).header("idempotency-key", key)
}

#[track_caller]
fn is_replay(reply: &Reply, of: &Reply) {
    assert_eq!((reply.status, &reply.text), (of.status, &of.text));
    assert_eq!(reply.header("location"), of.header("location"));
    assert_eq!(reply.header("idempotent-replayed"), Some("true"));
}

fn replays(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let path = submit_path(&template);
    let sent = json!({ "formData": { "text": "x", "count": 1 }, "clientId": "c" });
    let first = keyed(&cx, &path, "k", &sent).send().expect(201);
    assert_eq!(first.header("idempotent-replayed"), None);
    cx.advance(1_000);
    is_replay(&keyed(&cx, &path, "k", &sent).send(), &first);
    is_replay(&keyed(&cx, &path, "\"k\"", &sent).send(), &first);
    is_replay(&keyed(&cx.restarted(), &path, "k", &sent).send(), &first);
    // The order of members is irrelevant.
    let turned = json!({ "clientId": "c", "formData": { "count": 1, "text": "x" } });
    is_replay(&keyed(&cx, &path, "k", &turned).send(), &first);
    assert_eq!(total(&cx), 1);
    // The stored response is unchanged, whatever happens to the submission, the contact and the template.
    let _ = change(&cx, &first.id(), &json!({ "status": "approved" })).expect(200);
    let _ = submit(&cx, &template, &json!({ "text": "x" }));
    let _ = cx.archive_template(&template);
    archive_contact(&cx);
    is_replay(&keyed(&cx, &path, "k", &sent).send(), &first);
    let _ = keyed(&cx, &path, "other", &sent).send().fails(409, "CONTACT_ARCHIVED");
    // Another path or another API key makes another request.
    let other = cx.template(&note());
    let _ = keyed(&cx, &submit_path(&other), "k", &sent).send().fails(409, "CONTACT_ARCHIVED");
    let credentials = cx.issue(|_| {});
    let _ = keyed(&cx, &path, "k", &sent).with(&credentials).send().fails(409, "CONTACT_ARCHIVED");
    // Stored for 24 hours.
    cx.advance(24 * 3_600_000);
    let _ = keyed(&cx, &path, "k", &sent).send().fails(409, "CONTACT_ARCHIVED");
}

/// 201 and 207 alike.
fn replays_of_batches(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let good = json!({ "templateId": template, "formData": { "text": "x" } });
    let bad = json!({ "templateId": NOTHING, "formData": {} });
    for (key, body, status) in [
        ("all", json!({ "submissions": [good] }), 201),
        ("some", json!({ "submissions": [good, bad], "allOrNone": false }), 207),
        ("none", json!({ "submissions": [bad, bad], "allOrNone": false }), 207),
    ] {
        let first = keyed(&cx, BATCH, key, &body).send().expect(status);
        let before = total(&cx);
        cx.advance(1_000);
        is_replay(&keyed(&cx, BATCH, key, &body).send(), &first);
        is_replay(&keyed(&cx.restarted(), BATCH, key, &body).send(), &first);
        assert_eq!(total(&cx), before);
        let mut other = body.clone();
        other["allOrNone"] = json!(true);
        let _ = keyed(&cx, BATCH, key, &other).send().fails(422, "IDEMPOTENCY_KEY_REUSED");
    }
    assert_eq!(total(&cx), 2);
}

fn other_payloads(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let path = submit_path(&template);
    let _ = keyed(&cx, &path, "k", &json!({ "formData": { "text": "x", "count": 1 } })).send().expect(201);
    for other in [
        json!({ "formData": { "text": "y", "count": 1 } }),
        json!({ "formData": { "text": "x", "count": 1 }, "clientId": null }),
        json!({ "formData": { "text": "x", "count": 1 }, "status": "draft" }),
        json!({ "formData": { "text": 7 } }),
        json!({}),
    ] {
        let _ = keyed(&cx, &path, "k", &other).send().fails(422, "IDEMPOTENCY_KEY_REUSED");
    }
    assert_eq!(total(&cx), 1);
    let _ = keyed(&cx, &path, &"k".repeat(256), &body()).send().invalid(&[("Idempotency-Key", "format")]);
    let _ = keyed(&cx, &path, "", &body()).send().invalid(&[("Idempotency-Key", "format")]);
    // Ignored on PUT.
    let id = submit(&cx, &template, &json!({ "text": "x" })).id();
    for notes in ["one", "two"] {
        let call =
            cx.call("PUT", &one(&id)).json(&json!({ "reviewNotes": notes })).header("idempotency-key", "k");
        assert_eq!(call.send().expect(200).data()["reviewNotes"], notes);
    }
}

fn rejections_are_not_stored(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let path = submit_path(&template);
    let _ = keyed(&cx, &path, "k", &json!({ "formData": {} })).send().fails(400, "VALIDATION_ERROR");
    let _ = cx.archive_template(&template);
    let _ = keyed(&cx, &path, "k", &body()).send().fails(409, "TEMPLATE_INACTIVE");
    let _ = cx.activate_template(&template);
    let _ = keyed(&cx, &path, "k", &body()).send().expect(201);
    let _ = keyed(&cx, BATCH, "k", &json!({ "submissions": [] })).send().fails(400, "VALIDATION_ERROR");
    let element = json!({ "templateId": template, "formData": { "text": "x" } });
    let _ = keyed(&cx, BATCH, "k", &json!({ "submissions": [element] })).send().expect(201);
}

fn if_match(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let before = submit(&cx, &template, &json!({ "text": "x" }));
    let (id, etag) = (before.id(), before.header("etag").expect("a tag").to_owned());
    let put = |tag: &str, body: Value| cx.call("PUT", &one(&id)).json(&body).header("if-match", tag).send();
    let weak = format!("W/{etag}");
    for tag in ["\"other\"", "\"a\", \"b\"", &weak] {
        let reply = put(tag, json!({ "reviewNotes": "n" })).fails(412, "PRECONDITION_FAILED");
        assert_eq!(reply.header("etag"), Some(etag.as_str()));
        assert_eq!(reply.json["message"], "The submission has changed since it was read");
        // Even for a no-op.
        let _ = put(tag, json!({})).fails(412, "PRECONDITION_FAILED");
    }
    is_unchanged(&cx, &before);
    let _ = put("nonsense", json!({})).invalid(&[("If-Match", "format")]);
    let list = format!("\"a\", {etag}");
    let next = put(&list, json!({ "reviewNotes": "n" })).expect(200);
    assert_ne!(next.header("etag"), Some(etag.as_str()));
    let _ = put(&etag, json!({ "reviewNotes": "m" })).fails(412, "PRECONDITION_FAILED");
    let _ = put("*", json!({ "reviewNotes": "m" })).expect(200);
}

fn if_none_match(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&keeping_all(note()));
    let etag = submit(&cx, &template, &json!({ "text": "x" }));
    let (id, etag) = (etag.id(), etag.header("etag").expect("a tag").to_owned());
    let ask = |method: &str, path: &str, tag: &str| cx.call(method, path).header("if-none-match", tag).send();
    for path in [one(&id), crate::support::latest(&template)] {
        for method in ["GET", "HEAD"] {
            let reply = ask(method, &path, &etag).expect(304);
            assert_eq!(reply.header("etag"), Some(etag.as_str()));
            let _ = ask(method, &path, &format!("W/{etag}")).expect(304);
            let _ = ask(method, &path, "*").expect(304);
            let _ = ask(method, &path, "\"other\"").expect(200);
        }
        // Validation comes before 304.
        let _ = ask("GET", &format!("{path}?x=1"), &etag).invalid(&[("x", "unknown")]);
    }
    let _ = change(&cx, &id, &json!({ "reviewNotes": "n" })).expect(200);
    let _ = ask("GET", &one(&id), &etag).expect(200);
    // Lists and the structure have no entity tag.
    for path in [
        ALL.to_owned(),
        "/forms/templates/chatbots/<A>".into(),
        format!("/forms/templates/{template}/structure/chatbots/<A>"),
    ] {
        let reply = ask("GET", &path, "*").expect(200);
        assert_eq!(reply.header("etag"), None);
    }
}

fn faulty(backend: Backend) -> (Sandbox, std::sync::Arc<FaultyStorage>, String) {
    let (cx, faulty) = Sandbox::faulty(backend);
    let _ = contact(&cx, "crm-1001");
    let template = cx.template(&note());
    (cx, faulty, template)
}

/// A finally lost race returns 409 with `Retry-After` and stores nothing; a race won by retrying is invisible;
/// an unavailable store is 503.
fn lost_races(backend: Backend) {
    let (cx, faulty, template) = faulty(backend);
    let id = submit(&cx, &template, &json!({ "text": "x" })).id();
    let element = json!({ "templateId": template, "formData": { "text": "x" } });
    for (method, path, body) in [
        ("POST", submit_path(&template), body()),
        ("POST", BATCH.to_owned(), json!({ "submissions": [element] })),
        ("PUT", one(&id), json!({ "status": "archived" })),
    ] {
        let before = read(&cx, &id);
        let count = total(&cx);
        faulty.lose_races(1_000);
        let reply = send(&cx, method, &path, &body).fails(409, "CONCURRENT_UPDATE");
        assert_eq!(reply.header("retry-after"), Some("1"));
        faulty.lose_races(0);
        faulty.fail(Some(StorageErrorKind::Unavailable));
        let _ = send(&cx, method, &path, &body).fails(503, "SERVICE_UNAVAILABLE");
        faulty.fail(None);
        is_unchanged(&cx, &before);
        assert_eq!(total(&cx), count);
        faulty.lose_races(3);
        let reply = send(&cx, method, &path, &body);
        assert!(matches!(reply.status, 200 | 201), "{}", reply.text);
        let is_post = u64::from(method == "POST");
        assert_eq!(total(&cx), count + is_post);
    }
}

fn a_key_in_use(backend: Backend) {
    let (cx, faulty, template) = faulty(backend);
    let element = json!({ "templateId": template, "formData": { "text": "x" } });
    for (path, body, other) in [
        (submit_path(&template), body(), json!({ "formData": {} })),
        (BATCH.to_owned(), json!({ "submissions": [element] }), json!({})),
    ] {
        faulty.stall(true);
        let running = keyed(&cx, &path, "k", &body);
        let mut first = pin!(running.answer());
        assert!(first.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        for body in [&body, &other] {
            let reply = keyed(&cx, &path, "k", body).send().fails(409, "IDEMPOTENCY_KEY_IN_USE");
            assert_eq!(reply.header("retry-after"), Some("1"));
        }
        faulty.stall(false);
        let first = wait(first).expect(201);
        is_replay(&keyed(&cx, &path, "k", &body).send(), &first);
    }
    assert_eq!(total(&cx), 2);
}
