//! PUT …?upsert=true (contract 2.1.3).

use contract_tests::{Backend, Reply, Sandbox, on_every_backend, story};
use serde_json::{Value, json};

on_every_backend!(
    creates_and_updates,
    needs_both_permissions,
    the_body_may_repeat_the_path,
    ids_that_break_the_rules,
    conditions,
    not_by_platform_id,
    switched_off,
    archived_contacts,
    schema_rules_apply,
    duplicate_values,
    order_of_errors,
);

fn upsert(cx: &Sandbox, id: &str, body: &Value) -> Reply {
    cx.put(&format!("/contacts/{id}/chatbots/<A>?upsert=true"), body)
}

fn creates_and_updates(backend: Backend) {
    let cx = Sandbox::new(backend);
    let created = upsert(&cx, "crm%201", &json!({ "primaryEmail": "a@b.co" })).expect(201);
    assert_eq!(created.json["message"], "Contact created successfully");
    assert_eq!(created.data()["externalReferenceId"], "crm 1");
    let location = format!("/v1/open/contacts/crm%201/chatbots/{}", cx.agent);
    assert_eq!(created.header("location"), Some(location.as_str()));
    assert_eq!(created.header("etag"), cx.read(&created.id()).header("etag"));
    cx.advance(1_000);
    let updated = upsert(&cx, "crm%201", &json!({ "firstName": "A" })).expect(200);
    assert_eq!(updated.id(), created.id());
    assert_eq!(updated.data()["primaryEmail"], "a@b.co");
    assert_eq!(updated.header("location"), None);
    let same = upsert(&cx, "crm%201", &json!({})).expect(200);
    assert_eq!((same.data(), same.header("etag")), (updated.data(), updated.header("etag")));
    // Creation applies the defaults and drops `null` members.
    let created =
        upsert(&cx, "b", &json!({ "primaryEmail": "b@b.co", "tags": null, "customFields": { "a": null } }))
            .expect(201);
    assert_eq!(created.data()["customFields"], json!({}));
    assert_eq!(created.data()["source"], "api");
}

fn needs_both_permissions(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = cx.create(&story::new_contact());
    for (may, lacks) in
        [("contacts:update,read", "contacts:create"), ("contacts:create,read", "contacts:update")]
    {
        let key = cx.key_that_may(may);
        for id in ["crm-1001", "unknown"] {
            let reply = cx
                .call("PUT", &format!("/contacts/{id}/chatbots/<A>?upsert=1"))
                .json(&json!({}))
                .with(&key)
                .send()
                .fails(403, "INSUFFICIENT_PERMISSIONS");
            assert_eq!(reply.json["details"], json!({ "required": lacks }));
            assert_eq!(reply.json["message"], format!("The API key lacks {lacks}"));
        }
    }
    let key = cx.key_that_may("contacts:update");
    for query in ["", "?upsert=false", "?upsert=0", "?upsert="] {
        let call = cx.call("PUT", &format!("/contacts/crm-1001/chatbots/<A>{query}")).with(&key);
        let _ = call.json(&json!({ "firstName": "A" })).send().expect(200);
    }
}

fn the_body_may_repeat_the_path(backend: Backend) {
    let cx = Sandbox::new(backend);
    let body = |id: Value| json!({ "primaryEmail": "a@b.co", "externalReferenceId": id });
    for other in [json!("two"), json!("ONE"), Value::Null] {
        let _ = upsert(&cx, "one", &body(other)).invalid(&[("externalReferenceId", "conflict")]);
    }
    let _ = upsert(&cx, "one", &body(json!("one"))).expect(201);
    let _ = upsert(&cx, "one", &body(json!("one"))).expect(200);
    for other in [json!("two"), Value::Null] {
        let _ = upsert(&cx, "one", &body(other)).invalid(&[("externalReferenceId", "conflict")]);
    }
    // One error for the value: the first failing rule.
    let _ = upsert(&cx, "one", &body(json!(7))).invalid(&[("externalReferenceId", "type")]);
    let _ = upsert(&cx, "one", &body(json!(""))).invalid(&[("externalReferenceId", "minLength")]);
}

fn ids_that_break_the_rules(backend: Backend) {
    let cx = Sandbox::new(backend);
    let long = "x".repeat(256);
    for (path, value, kind) in [
        ("%20a", " a", "pattern"),
        ("a%0Ab", "a\nb", "invalidCharacters"),
        ("a%E2%80%A8", "a\u{2028}", "invalidCharacters"),
        (long.as_str(), long.as_str(), "maxLength"),
        ("platformid", "platformid", "reserved"),
        ("archive", "archive", "reserved"),
        ("unarchive", "unarchive", "reserved"),
        ("chatbots", "chatbots", "reserved"),
        (".", ".", "reserved"),
        ("%2E%2e", "..", "reserved"),
    ] {
        let reply =
            upsert(&cx, path, &json!({ "primaryEmail": "a@b.co" })).invalid(&[("externalReferenceId", kind)]);
        let error = reply.violation(0);
        assert_eq!((&error["in"], &error["value"]), (&json!("path"), &json!(value)));
        // Without upsert the contact is not found.
        let reply = cx.put(&format!("/contacts/{path}/chatbots/<A>"), &json!({}));
        let reply = reply.fails(404, "CONTACT_NOT_FOUND");
        assert_eq!(reply.json["details"]["id"], value);
    }
    // The schema's path does not accept PUT.
    let _ = upsert(&cx, "schema", &json!({ "primaryEmail": "a@b.co" })).fails(405, "METHOD_NOT_ALLOWED");
}

fn conditions(backend: Backend) {
    let cx = Sandbox::new(backend);
    let send = |header: &str, value: &str, body: Value| {
        let call = cx.call("PUT", "/contacts/one/chatbots/<A>?upsert=true").json(&body);
        call.header(header, value).send()
    };
    // `If-Match` never creates: there is no tag to match.
    for value in ["*", "\"a\""] {
        let reply =
            send("if-match", value, json!({ "primaryEmail": "a@b.co" })).fails(412, "PRECONDITION_FAILED");
        assert_eq!(reply.header("etag"), None);
    }
    // The body is checked first.
    let _ = send("if-match", "*", json!({})).invalid(&[("primaryEmail", "required")]);
    let created = send("if-none-match", "*", json!({ "primaryEmail": "a@b.co" })).expect(201);
    let reply = send("if-none-match", "*", json!({ "firstName": "A" })).fails(412, "PRECONDITION_FAILED");
    assert_eq!(reply.header("etag"), created.header("etag"));
    let _ = send("if-none-match", "*", json!({ "firstName": 7 })).invalid(&[("firstName", "type")]);
    let etag = created.header("etag").expect("a tag").to_owned();
    let _ = send("if-match", &etag, json!({ "firstName": "A" })).expect(200);
    let _ = send("if-match", &etag, json!({ "firstName": "B" })).fails(412, "PRECONDITION_FAILED");
    let _ = send("if-match", "*", json!({ "firstName": "B" })).expect(200);
}

fn not_by_platform_id(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = cx.create(&story::new_contact()).id();
    let reply = cx.put(&format!("/contacts/platformid/{id}/chatbots/<A>?upsert=true"), &json!({}));
    let reply = reply.invalid(&[("upsert", "unknown")]);
    assert_eq!(reply.violation(0)["in"], "query");
}

fn switched_off(backend: Backend) {
    let cx = Sandbox::new(backend);
    for query in ["upsert=false", "upsert=0", "upsert=", "UPSERT=true&_=1", "upsert=FALSE"] {
        let reply =
            cx.put(&format!("/contacts/one/chatbots/<A>?{query}"), &json!({ "primaryEmail": "a@b.co" }));
        let _ = reply.fails(404, "CONTACT_NOT_FOUND");
    }
    for query in ["upsert=TRUE", "upsert=1"] {
        let reply =
            cx.put(&format!("/contacts/{query}/chatbots/<A>?{query}"), &json!({ "primaryEmail": "a@b.co" }));
        let _ = reply.expect(201);
    }
    let _ = cx.create(&story::new_contact());
    let reply = cx.put("/contacts/crm-1001/chatbots/<A>?upsert=maybe", &json!({}));
    let _ = reply.invalid(&[("upsert", "type")]);
}

fn archived_contacts(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = cx.create(&story::new_contact());
    let _ = cx.patch("/contacts/crm-1001/chatbots/<A>/archive").expect(200);
    let _ = upsert(&cx, "crm-1001", &json!({})).fails(409, "CONTACT_ARCHIVED");
}

fn schema_rules_apply(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = upsert(&cx, "one", &json!({})).invalid(&[("primaryEmail", "required")]);
    let reply = cx.call("PUT", "/contacts/one/chatbots/<A>?upsert=true").send();
    let _ = reply.invalid(&[("body", "required")]);
    let _ = upsert(&cx, "one", &json!([])).invalid(&[("body", "type")]);
    // The external id of the path satisfies a schema that requires one.
    cx.define(&json!({ "fields": [{ "name": "externalReferenceId", "required": true, "pattern": "^[a-z]+$" }, { "name": "lastName", "required": true }] }));
    let _ = upsert(&cx, "one", &json!({ "primaryEmail": "a@b.co" })).invalid(&[("lastName", "required")]);
    let _ = upsert(&cx, "one", &json!({ "primaryEmail": "a@b.co", "lastName": "B" })).expect(201);
    // It must also satisfy the operator's rules.
    let reply = upsert(&cx, "ONE", &json!({ "primaryEmail": "a@b.co", "lastName": "B" }));
    let reply = reply.invalid(&[("externalReferenceId", "pattern")]);
    assert_eq!(reply.violation(0)["in"], "path", "the body does not hold it");
}

fn duplicate_values(backend: Backend) {
    let cx = Sandbox::new(backend);
    cx.define(&json!({ "fields": [{ "name": "primaryEmail", "unique": true }] }));
    let id = cx.create(&json!({ "primaryEmail": "a@b.co" })).id();
    let reply = upsert(&cx, "one", &json!({ "primaryEmail": "A@B.co" })).fails(409, "DUPLICATE_VALUE");
    assert_eq!(reply.json["details"]["existingContactId"], id);
}

/// Path, header, query, then the body.
fn order_of_errors(backend: Backend) {
    let cx = Sandbox::new(backend);
    let reply = cx
        .call("PUT", "/contacts/archive/chatbots/<A>?x=1&upsert=true")
        .json(&json!({ "firstName": 7 }))
        .header("if-match", "nonsense")
        .send();
    let _ = reply.invalid(&[
        ("externalReferenceId", "reserved"),
        ("If-Match", "format"),
        ("x", "unknown"),
        ("firstName", "type"),
        ("primaryEmail", "required"),
    ]);
}
