//! DELETE …/files/<fid> (contract 2.2, 4.3, 5.4, 14).

use contract_tests::sandbox::{instant, operator, wait};
use contract_tests::{Backend, Reply, Sandbox, on_every_backend, story};
use openapi_core::access::{Actor, ApiKey};
use openapi_core::admin::Admin;
use openapi_core::audit::{AuditAction, ChainedEntry};
use openapi_core::contacts::ContactRef;
use openapi_core::storage::AuditQuery;
use serde_json::{Value, json};

use crate::support::{blobs, contact, file_path, files_of, link, read, sandbox, sandbox_with, total, upload};

on_every_backend!(
    the_story,
    reasons,
    reasons_that_are_refused,
    the_reason_twice,
    bodies,
    conditions,
    a_second_time,
    an_archived_contact,
    the_audit_log,
    the_content_is_retained,
    retention_of_another_length,
    without_retention,
    erasure_of_the_contact,
    deletion_of_the_agent,
    who_may,
);

const DAY: i64 = 24 * 3_600_000;

fn delete(cx: &Sandbox, contact: &str, file: &str, body: &Value) -> Reply {
    cx.call("DELETE", &file_path(contact, file)).json(body).send()
}

fn the_story(backend: Backend) {
    let cx = story::sandbox(backend);
    let contact = cx.create(&story::new_contact()).id();
    let id = upload(&cx, &contact, "referral.pdf", story::PDF).id();
    cx.clock.set(instant("2026-01-31T13:00:00.000Z"));
    let reply = delete(&cx, &contact, &id, &json!({ "reason": "Uploaded twice" })).expect(200);
    assert_eq!(
        reply.text.replace(&id, "697dc94b74a1f572c54b78cf"),
        r#"{"success":true,"message":"File deleted successfully","data":{"id":"697dc94b74a1f572c54b78cf","deleted":true,"deletedAt":"2026-01-31T13:00:00.000Z","reason":"Uploaded twice"}}"#
    );
    assert_eq!(reply.header("etag"), None);
    let _ = read(&cx, &contact, &id).fails(404, "FILE_NOT_FOUND");
    assert_eq!(total(&cx, &contact), 0);
}

fn reasons(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let long = "\u{e4}".repeat(500);
    for (query, body, reason) in [
        ("", None, Value::Null),
        ("", Some(json!({})), Value::Null),
        ("", Some(json!({ "reason": null })), Value::Null),
        ("", Some(json!({ "reason": "" })), Value::Null),
        ("", Some(json!({ "reason": " \n " })), Value::Null),
        ("", Some(json!({ "reason": "two\nlines\tand a tab" })), json!("two\nlines\tand a tab")),
        ("", Some(json!({ "reason": long })), json!(long)),
        ("?reason=in+the%20query", None, json!("in the query")),
        ("?reason=in+the%20query", Some(json!({})), json!("in the query")),
        ("?reason=in+the%20query", Some(json!({ "reason": null })), json!("in the query")),
        ("?reason=in+the%20query", Some(json!({ "reason": "" })), json!("in the query")),
        ("?reason=same", Some(json!({ "reason": "same" })), json!("same")),
        ("?reason=", Some(json!({ "reason": "body" })), json!("body")),
        ("?reason=", None, Value::Null),
        ("?reason=%20%0A", None, Value::Null),
        ("?reason=%20", Some(json!({ "reason": "body" })), json!("body")),
        ("?_=1", None, Value::Null),
    ] {
        let id = upload(&cx, &contact, "a.txt", b"x").id();
        let call = cx.call("DELETE", &format!("{}{query}", file_path(&contact, &id)));
        let call = match &body {
            Some(body) => call.json(body),
            None => call,
        };
        let reply = call.send().expect(200);
        assert_eq!(reply.data()["reason"], reason, "{query} {body:?}");
        assert_eq!(reply.data()["deleted"], true);
    }
    assert_eq!(total(&cx, &contact), 0);
}

fn reasons_that_are_refused(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let id = upload(&cx, &contact, "a.txt", b"x").id();
    let long = "x".repeat(501);
    for (reason, kind) in [
        (json!(long), "maxLength"),
        (json!(1), "type"),
        (json!(["x"]), "type"),
        (json!({}), "type"),
        (json!(true), "type"),
        (json!("a\u{0}b"), "invalidCharacters"),
        (json!("a\u{1b}b"), "invalidCharacters"),
        (json!("a\u{85}b"), "invalidCharacters"),
    ] {
        let reply = delete(&cx, &contact, &id, &json!({ "reason": reason })).invalid(&[("reason", kind)]);
        assert_eq!(reply.violation(0)["in"], "body");
    }
    for (query, kind) in [
        (format!("reason={long}"), "maxLength"),
        ("reason=a%00b".to_owned(), "invalidCharacters"),
        ("reason=a&reason=a".to_owned(), "duplicate"),
    ] {
        let reply = cx.call("DELETE", &format!("{}?{query}", file_path(&contact, &id))).send();
        let reply = reply.invalid(&[("reason", kind)]);
        assert_eq!(reply.violation(0)["in"], "query");
    }
    let call = cx.call("DELETE", &format!("{}?x=1&reason={long}", file_path(&contact, &id)));
    let reply = call.json(&json!({ "y": 1, "reason": 2 })).header("if-match", "nonsense").send();
    let reply = reply.fails(400, "VALIDATION_ERROR");
    let found: Vec<(&str, &str)> = reply.violations();
    assert_eq!(found[0], ("If-Match", "format"));
    assert_eq!(found[1..3], [("x", "unknown"), ("reason", "maxLength")]);
    assert!(
        found[3..].contains(&("y", "unknown")) && found[3..].contains(&("reason", "type")),
        "{}",
        reply.text
    );
    let _ = read(&cx, &contact, &id).expect(200);
}

fn the_reason_twice(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let id = upload(&cx, &contact, "a.txt", b"x").id();
    for (query, body) in [("one", "two"), ("a", "A"), ("a", "ab")] {
        let call = cx.call("DELETE", &format!("{}?reason={query}", file_path(&contact, &id)));
        let reply = call.json(&json!({ "reason": body })).send().invalid(&[("reason", "conflict")]);
        assert!(["query", "body"].contains(&reply.violation(0)["in"].as_str().expect("a location")));
    }
    let _ = read(&cx, &contact, &id).expect(200);
}

fn bodies(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let id = upload(&cx, &contact, "a.txt", b"x").id();
    for body in [json!([]), json!("reason"), json!(1), json!(null)] {
        let _ = delete(&cx, &contact, &id, &body).invalid(&[("body", "type")]);
    }
    let _ = delete(&cx, &contact, &id, &json!({ "Reason": "x" })).invalid(&[("Reason", "unknown")]);
    let call = || cx.call("DELETE", &file_path(&contact, &id));
    let _ = call().text("{").send().fails(400, "INVALID_JSON");
    let _ =
        call().text("{}").header("content-type", "text/plain").send().fails(415, "UNSUPPORTED_MEDIA_TYPE");
    let _ = call()
        .text("reason=x")
        .header("content-type", "application/x-www-form-urlencoded")
        .send()
        .fails(415, "UNSUPPORTED_MEDIA_TYPE");
    let _ = read(&cx, &contact, &id).expect(200);
    // A media type without a body is accepted.
    let _ = call().header("content-type", "application/json").send().expect(200);
}

fn conditions(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let file = upload(&cx, &contact, "a.txt", b"x");
    let tag = file.header("etag").expect("a tag").to_owned();
    let other = upload(&cx, &contact, "a.txt", b"x").header("etag").expect("a tag").to_owned();
    let call = |tag: &str| cx.call("DELETE", &file_path(&contact, &file.id())).header("if-match", tag).send();
    for stale in [other.as_str(), "\"x\"", &format!("W/{tag}"), "\"\"", &format!("{other}, \"x\"")] {
        let reply = call(stale).fails(412, "PRECONDITION_FAILED");
        assert_eq!(reply.header("etag"), Some(tag.as_str()), "{stale}");
    }
    for malformed in ["x", "\"x", "", "*, \"x\"", "W/", "\"a\" \"b\""] {
        let reply = call(malformed).invalid(&[("If-Match", "format")]);
        assert_eq!(
            (&reply.violation(0)["in"], &reply.violation(0)["value"]),
            (&json!("header"), &Value::Null)
        );
    }
    let _ = read(&cx, &contact, &file.id()).expect(200);
    let _ = call(&format!("{other}, {tag}")).expect(200);
    let _ = call(&tag).fails(404, "FILE_NOT_FOUND");
    let any = upload(&cx, &contact, "a.txt", b"x").id();
    let _ = cx.call("DELETE", &file_path(&contact, &any)).header("if-match", "*").send().expect(200);
    // Idempotency-Key and If-None-Match have no effect here.
    let file = upload(&cx, &contact, "a.txt", b"x");
    let call = cx.call("DELETE", &file_path(&contact, &file.id())).header("idempotency-key", "");
    let _ = call.header("if-none-match", file.header("etag").expect("a tag")).send().expect(200);
}

fn a_second_time(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let id = upload(&cx, &contact, "a.txt", b"x").id();
    let _ = delete(&cx, &contact, &id, &json!({})).expect(200);
    for reason in [json!({}), json!({ "reason": "again" })] {
        let reply = delete(&cx, &contact, &id, &reason).fails(404, "FILE_NOT_FOUND");
        assert_eq!(reply.json["details"], json!({ "resource": "file", "id": id }));
    }
    // Concurrent deletions: exactly one succeeds.
    let id = upload(&cx, &contact, "a.txt", b"x").id();
    let deleted: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|_| {
                let (cx, contact, id) = (&cx, &contact, &id);
                scope.spawn(move || {
                    let reply = delete(cx, contact, id, &json!({}));
                    assert!(reply.status == 200 || reply.code() == "FILE_NOT_FOUND", "{}", reply.text);
                    usize::from(reply.status == 200)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    });
    assert_eq!(deleted, 1);
}

fn an_archived_contact(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let file = upload(&cx, &contact, "a.txt", b"x");
    let archive = format!("/contacts/platformid/{contact}/chatbots/<A>/archive");
    let archived = cx.patch(&archive).expect(200);
    let reply = delete(&cx, &contact, &file.id(), &json!({})).fails(409, "CONTACT_ARCHIVED");
    assert_eq!(
        reply.json["details"],
        json!({ "resource": "contact", "id": contact, "archivedAt": archived.data()["archivedAt"] })
    );
    // 404, validation and 412 take precedence.
    let _ = delete(&cx, &contact, "697dc94b74a1f572c54b7800", &json!({})).fails(404, "FILE_NOT_FOUND");
    let _ = delete(&cx, &contact, &file.id(), &json!({ "x": 1 })).invalid(&[("x", "unknown")]);
    let call = cx.call("DELETE", &file_path(&contact, &file.id())).header("if-match", "\"x\"");
    let _ = call.send().fails(412, "PRECONDITION_FAILED");
    // All reads still work.
    let _ = read(&cx, &contact, &file.id()).expect(200);
    let _ = link(&cx, &contact, &file.id(), "");
    assert_eq!(total(&cx, &contact), 1);
    let _ = cx.patch(&archive.replace("/archive", "/unarchive")).expect(200);
    let _ = delete(&cx, &contact, &file.id(), &json!({})).expect(200);
}

/// The audit entries about a file, oldest first.
fn log(cx: &Sandbox, file: &str) -> Vec<ChainedEntry> {
    let query = AuditQuery { agent: Some(cx.agent.clone()), limit: 1_000, ..AuditQuery::default() };
    let entries = wait(cx.platform.audit(&query)).expect("the log");
    entries.into_iter().filter(|entry| entry.resource.as_deref() == Some(file)).collect()
}

/// Time, key and reason are recorded.
fn the_audit_log(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let id = upload(&cx, &contact, "a.txt", b"text").id();
    cx.advance(60_000);
    let key = cx.issue(|_| {});
    let call = cx.call("DELETE", &file_path(&contact, &id)).with(&key).header("x-request-id", "mine");
    let reply = call.json(&json!({ "reason": "Uploaded twice" })).send().expect(200);
    let link_secret = upload(&cx, &contact, "b.txt", b"text").id();
    let url = link(&cx, &contact, &link_secret, "");
    let entries = log(&cx, &id);
    let actions: Vec<AuditAction> = entries.iter().map(|entry| entry.action).collect();
    assert_eq!(actions, [AuditAction::FileUpload, AuditAction::FileDelete]);
    let deletion = &entries[1];
    assert_eq!(json!(deletion.at.to_string()), reply.data()["deletedAt"]);
    assert_eq!(deletion.actor, Actor::ApiKey(ApiKey::parse(&key.key).expect("a key")));
    assert_eq!(deletion.request_id.as_deref(), Some("mine"));
    assert_eq!(deletion.address.map(|address| address.to_string()).as_deref(), Some("192.0.2.10"));
    let details: Value = serde_json::to_value(&deletion.details).expect("JSON");
    assert_eq!(details["reason"], "Uploaded twice");
    assert_eq!(deletion.contact_id.map(|id| id.to_string()), Some(contact.clone()));
    // Rejected requests leave no entry, and signatures never appear in it.
    let _ = delete(&cx, &contact, &id, &json!({ "reason": "again" })).expect(404);
    assert_eq!(log(&cx, &id).len(), 2);
    let signature = url.split_once("&sig=").expect("a signature").1;
    let query = AuditQuery { agent: Some(cx.agent.clone()), limit: 1_000, ..AuditQuery::default() };
    let whole = format!("{:?}", wait(cx.platform.audit(&query)).expect("the log"));
    assert!(!whole.contains(signature) && !whole.contains(&key.secret));
    let tombstone =
        wait(cx.store.storage.file_tombstone(&cx.agent, id.parse().expect("an id"))).expect("read");
    let tombstone = tombstone.expect("a tombstone");
    assert_eq!(tombstone.reason.as_ref().map(|reason| reason.as_str()), Some("Uploaded twice"));
    assert_eq!(tombstone.at, deletion.at);
    assert_eq!(tombstone.by, deletion.actor);
}

fn purge(cx: &Sandbox) -> u64 {
    wait(cx.platform.purge_due_contents()).expect("purged")
}

fn the_content_is_retained(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let id = upload(&cx, &contact, "a.txt", b"text").id();
    let retained = upload(&cx, &contact, "b.txt", b"text").id();
    cx.advance(1_000);
    let _ = delete(&cx, &contact, &id, &json!({})).expect(200);
    assert_eq!((purge(&cx), blobs(&cx).len()), (0, 2));
    cx.advance(30 * DAY - 1);
    assert_eq!((purge(&cx), blobs(&cx).len()), (0, 2));
    wait(cx.platform.maintain()).expect("maintenance");
    assert_eq!(blobs(&cx).len(), 2, "a retained content is not an orphan");
    cx.advance(1);
    assert_eq!((purge(&cx), blobs(&cx).len()), (1, 1));
    assert_eq!(purge(&cx), 0);
    assert_eq!(blobs(&cx)[0].key.file.to_string(), retained);
    let _ = read(&cx, &contact, &retained).expect(200);
    // The audit data outlives the content.
    let entries = log(&cx, &id);
    assert_eq!(entries.last().map(|entry| entry.action), Some(AuditAction::FileDelete));
    assert!(wait(cx.platform.check_contents()).expect("checked").faults.is_empty());
}

fn retention_of_another_length(backend: Backend) {
    let (cx, contact) = sandbox_with(backend, |files| files.retention_millis = 1_000);
    let id = upload(&cx, &contact, "a.txt", b"text").id();
    let _ = delete(&cx, &contact, &id, &json!({})).expect(200);
    cx.advance(999);
    wait(cx.platform.maintain()).expect("maintenance");
    assert_eq!(blobs(&cx).len(), 1);
    cx.advance(1);
    wait(cx.platform.maintain()).expect("maintenance");
    assert_eq!(blobs(&cx), []);
}

fn without_retention(backend: Backend) {
    let (cx, contact) = sandbox_with(backend, |files| files.retention_millis = 0);
    let id = upload(&cx, &contact, "a.txt", b"text").id();
    let retained = upload(&cx, &contact, "a.txt", b"text").id();
    let _ = delete(&cx, &contact, &id, &json!({})).expect(200);
    let left: Vec<String> = blobs(&cx).iter().map(|blob| blob.key.file.to_string()).collect();
    assert_eq!(left, [retained]);
}

/// Contract 14: erasing a contact erases its files, deleted ones included, whatever their retention.
fn erasure_of_the_contact(backend: Backend) {
    let (cx, own) = sandbox(backend);
    let second = contact(&cx);
    let file = upload(&cx, &own, "secret-name.txt", b"text").id();
    let deleted = upload(&cx, &own, "secret-name.txt", b"text").id();
    let other = upload(&cx, &second, "a.txt", b"text").id();
    let _ = delete(&cx, &own, &deleted, &json!({ "reason": "A private matter" })).expect(200);
    let url = link(&cx, &own, &file, "");
    let target = ContactRef::Id(own.parse().expect("an id"));
    let _ = wait(cx.platform.erase_contact(&operator(), &cx.agent, &target)).expect("erased");
    wait(cx.platform.maintain()).expect("maintenance");
    let left: Vec<String> = blobs(&cx).iter().map(|blob| blob.key.file.to_string()).collect();
    assert_eq!(left, std::slice::from_ref(&other));
    let _ = cx.get(&files_of(&own)).fails(404, "CONTACT_NOT_FOUND");
    let _ = read(&cx, &own, &file).fails(404, "CONTACT_NOT_FOUND");
    let _ = crate::support::follow(&cx, &url).fails(404, "FILE_NOT_FOUND");
    for id in [&file, &deleted] {
        assert!(log(&cx, id).iter().all(|entry| entry.details.is_empty()), "payloads are emptied");
    }
    let query = AuditQuery { agent: Some(cx.agent.clone()), limit: 1_000, ..AuditQuery::default() };
    let whole = format!("{:?}", wait(cx.platform.audit(&query)).expect("the log"));
    assert!(!whole.contains("secret-name") && !whole.contains("A private matter"));
    let _ = read(&cx, &second, &other).expect(200);
    assert!(wait(cx.platform.check_contents()).expect("checked").faults.is_empty());
}

fn deletion_of_the_agent(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    for _ in 0..3 {
        let _ = upload(&cx, &contact, "a.txt", b"text");
    }
    let agent = cx.new_agent("other");
    let key = cx.issue(|key| key.agent_id = agent);
    let body = json!({ "primaryEmail": "a@b.co" });
    let other = cx.call("POST", "/contacts/chatbots/other").with(&key).json(&body).send().expect(201).id();
    let path = format!("/files/chatbots/other/{other}");
    let call = cx.call("POST", &path).with(&key).form(&contract_tests::Form::of_file("a.txt", b"x"));
    let retained = call.send().expect(201).id();
    wait(cx.platform.delete_agent(&operator(), &cx.agent)).expect("deleted");
    for _ in 0..3 {
        wait(cx.platform.maintain()).expect("maintenance");
    }
    let left: Vec<String> = blobs(&cx).iter().map(|blob| blob.key.file.to_string()).collect();
    assert_eq!(left, [retained]);
    assert!(wait(cx.platform.check_contents()).expect("checked").faults.is_empty());
}

fn who_may(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let id = upload(&cx, &contact, "a.txt", b"x").id();
    let call = cx.call("DELETE", &file_path(&contact, &id));
    let reply = call.clone().with(&cx.key_that_may("contacts:read,create,update")).send();
    let reply = reply.fails(403, "INSUFFICIENT_PERMISSIONS");
    assert_eq!(reply.json["details"], json!({ "required": "contacts:delete" }));
    let _ = call.with(&cx.key_that_may("contacts:delete")).send().expect(200);
}
