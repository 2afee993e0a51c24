//! PATCH …/archive and …/unarchive (contract 3, 4.2).

use contract_tests::sandbox::{instant, wait};
use contract_tests::{Backend, Sandbox, on_every_backend, story};
use openapi_core::admin::Admin;
use openapi_core::audit::AuditAction;
use openapi_core::storage::AuditQuery;
use serde_json::{Value, json};

on_every_backend!(
    the_example,
    both_ways_of_addressing,
    idempotent,
    status_stays,
    bodies,
    reasons_are_only_audited,
    faults_of_the_body,
    absent_contacts,
    archived_contacts_are_hidden_but_readable,
);

const PATHS: [&str; 2] = ["/contacts/crm-1001/chatbots/<A>", "/contacts/platformid/{id}/chatbots/<A>"];

/// Contract 4.2, literally.
fn the_example(backend: Backend) {
    let cx = story::sandbox(backend);
    let id = cx.create(&story::new_contact()).id();
    cx.clock.set(instant("2026-01-31T12:00:00.000Z"));
    let reply = cx.patch("/contacts/crm-1001/chatbots/<A>/archive").expect(200);
    let mut contact = story::contact();
    contact["isArchived"] = json!(true);
    contact["archivedAt"] = json!("2026-01-31T12:00:00.000Z");
    contact["updatedAt"] = json!("2026-01-31T12:00:00.000Z");
    let expected = json!({ "success": true, "message": "Contact archived successfully", "data": contact });
    assert_eq!(story::mapped(&reply.text, &id), expected.to_string());
    assert_eq!(reply.header("etag"), cx.read(&id).header("etag"));
}

fn both_ways_of_addressing(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = cx.create(&story::new_contact()).id();
    for path in PATHS {
        let path = path.replace("{id}", &id);
        cx.advance(1_000);
        let archived = cx.patch(&format!("{path}/archive")).expect(200);
        assert_eq!(archived.data()["isArchived"], true);
        assert_eq!(archived.data()["archivedAt"], archived.data()["updatedAt"]);
        cx.advance(1_000);
        let unarchived = cx.patch(&format!("{path}/unarchive")).expect(200);
        assert_eq!(unarchived.json["message"], "Contact unarchived successfully");
        assert_eq!(unarchived.data()["isArchived"], false);
        assert_eq!(unarchived.data()["archivedAt"], Value::Null);
        assert_ne!(unarchived.data()["updatedAt"], archived.data()["updatedAt"]);
        assert_ne!(unarchived.header("etag"), archived.header("etag"));
        assert_eq!(unarchived.header("location"), None);
    }
}

fn idempotent(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = cx.create(&story::new_contact()).id();
    let never = cx.patch("/contacts/crm-1001/chatbots/<A>/unarchive").expect(200);
    assert_eq!(never.data(), cx.read(&id).data());
    for action in ["archive", "unarchive"] {
        cx.advance(1_000);
        let path = format!("/contacts/crm-1001/chatbots/<A>/{action}");
        let first = cx.patch(&path).expect(200);
        cx.advance(1_000);
        let again = cx.patch(&path).expect(200);
        assert_eq!((again.data(), again.header("etag")), (first.data(), first.header("etag")));
    }
}

fn status_stays(backend: Backend) {
    let cx = Sandbox::new(backend);
    for status in ["active", "inactive", "blocked"] {
        let id = cx.create(&json!({ "primaryEmail": "a@b.co", "status": status })).id();
        let path = format!("/contacts/platformid/{id}/chatbots/<A>");
        assert_eq!(cx.patch(&format!("{path}/archive")).expect(200).data()["status"], status);
        assert_eq!(cx.patch(&format!("{path}/unarchive")).expect(200).data()["status"], status);
    }
}

fn bodies(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = cx.create(&story::new_contact());
    for action in ["archive", "unarchive"] {
        let path = format!("/contacts/crm-1001/chatbots/<A>/{action}");
        let _ = cx.call("PATCH", &path).header("content-type", "application/json").send().expect(200);
        let _ = cx.call("PATCH", &path).header("content-type", "text/plain").send().expect(200);
        for body in [
            json!({}),
            json!({ "reason": "Moved away" }),
            json!({ "reason": null }),
            json!({ "reason": "" }),
            json!({ "reason": " \n " }),
            json!({ "reason": "two\r\n\tlines" }),
            json!({ "reason": "é".repeat(500) }),
        ] {
            let _ = cx.call("PATCH", &path).json(&body).send().expect(200);
        }
    }
}

fn reasons_are_only_audited(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = cx.create(&story::new_contact()).id();
    let reply = cx
        .call("PATCH", "/contacts/crm-1001/chatbots/<A>/archive")
        .json(&json!({ "reason": "Moved\naway" }))
        .header("x-request-id", "req-1")
        .send()
        .expect(200);
    assert!(!reply.text.contains("Moved"));
    let query = AuditQuery { agent: Some(cx.agent.clone()), limit: 100, ..AuditQuery::default() };
    let entries = wait(cx.platform.audit(&query)).expect("the log is read");
    let entry = entries.iter().find(|entry| entry.action == AuditAction::ContactArchive).expect("an entry");
    assert_eq!(entry.resource.as_deref(), Some(id.as_str()));
    assert_eq!(entry.request_id.as_deref(), Some("req-1"));
    assert_eq!(entry.address.map(|address| address.to_string()).as_deref(), Some("192.0.2.10"));
    assert_eq!(entry.details.as_str(), "{\"reason\":\"Moved\\naway\"}");
}

fn faults_of_the_body(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = cx.create(&story::new_contact());
    for action in ["archive", "unarchive"] {
        let path = format!("/contacts/crm-1001/chatbots/<A>/{action}");
        let send = |body: Value| cx.call("PATCH", &path).json(&body).send();
        let _ = send(json!({ "reason": 7 })).invalid(&[("reason", "type")]);
        let _ = send(json!({ "reason": ["a"] })).invalid(&[("reason", "type")]);
        let _ = send(json!({ "reason": "é".repeat(501) })).invalid(&[("reason", "maxLength")]);
        let _ = send(json!({ "reason": "a\u{0}" })).invalid(&[("reason", "invalidCharacters")]);
        let _ = send(json!({ "reason": "a\u{b}" })).invalid(&[("reason", "invalidCharacters")]);
        let _ = send(json!({ "why": "x", "reason": 7 })).invalid(&[("why", "unknown"), ("reason", "type")]);
        let _ = send(json!({ "id": "x" })).invalid(&[("id", "unknown")]);
        let _ = send(json!({ "a\u{0}": "x" })).invalid(&[("a\u{0}", "invalidCharacters")]);
        for body in [json!([]), json!("x"), Value::Null, json!(7)] {
            let _ = send(body).invalid(&[("body", "type")]);
        }
        let reply = cx.call("PATCH", &format!("{path}?reason=x")).send();
        let _ = reply.invalid(&[("reason", "unknown")]);
    }
    assert_eq!(cx.get("/contacts/crm-1001/chatbots/<A>").expect(200).data()["isArchived"], false);
}

fn absent_contacts(backend: Backend) {
    let cx = Sandbox::new(backend);
    for action in ["archive", "unarchive"] {
        let reply = cx
            .call("PATCH", &format!("/contacts/none/chatbots/<A>/{action}"))
            .json(&json!({ "x": 1 }))
            .send();
        let reply = reply.fails(404, "CONTACT_NOT_FOUND");
        assert_eq!(reply.json["message"], "Contact not found");
        let reply = cx.patch(&format!("/contacts/platformid/none/chatbots/<A>/{action}"));
        let reply = reply.fails(404, "CONTACT_NOT_FOUND");
        assert_eq!(reply.json["message"], "Contact not found; platform ids are 24 hexadecimal characters");
    }
}

fn archived_contacts_are_hidden_but_readable(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = cx.create(&story::new_contact()).id();
    let _ = cx.patch("/contacts/crm-1001/chatbots/<A>/archive").expect(200);
    assert_eq!(cx.get("/contacts/chatbots/<A>").expect(200).pagination()["totalItems"], 0);
    let all = cx.get("/contacts/chatbots/<A>?includeArchived=true").expect(200);
    assert_eq!(all.column("id"), [json!(id)]);
    assert_eq!(cx.read(&id).data()["isArchived"], true);
    let _ = cx.patch("/contacts/crm-1001/chatbots/<A>/unarchive").expect(200);
    assert_eq!(cx.get("/contacts/chatbots/<A>").expect(200).column("id"), [json!(id)]);
}
