//! What operations do.

use serde_json::{Value, json};

use super::support::{Browser, World, call_as};

fn contact(world: &World) -> Value {
    let body =
        json!({ "primaryEmail": "ada@example.com", "firstName": "Ada", "externalReferenceId": "crm-1" });
    call_as(world, "owner", "POST", "/agents/acme/contacts", &body).data().clone()
}

#[test]
fn a_change_needs_the_version_that_it_was_made_on() {
    let world = World::hosted();
    let made = contact(&world);
    let path = format!("/agents/acme/contacts/{}", made["id"].as_str().unwrap());
    let change = |tag: Option<&str>| {
        let mut request = Browser::default().request("PATCH", &path, &json!({ "firstName": "Grace" }));
        request.extensions_mut().insert(console::Operator::new("u", "U", "inbox@acme".parse().unwrap()));
        if let Some(tag) = tag {
            request.headers_mut().insert("if-match", tag.parse().unwrap());
        }
        world.send(request)
    };
    assert_eq!((change(None).status, change(None).code()), (428, "PRECONDITION_REQUIRED"));
    let shown = call_as(&world, "viewer@acme", "GET", &path, &Value::Null);
    let tag = shown.headers["etag"].to_str().unwrap().to_owned();
    let changed = change(Some(&tag));
    assert_eq!(changed.data()["firstName"], "Grace");
    assert_ne!(changed.headers["etag"].to_str().unwrap(), tag);
    let stale = change(Some(&tag));
    assert_eq!((stale.status, stale.code()), (412, "PRECONDITION_FAILED"));
    assert_eq!(stale.body["details"]["current"]["firstName"], "Grace", "{}", stale.text);
}

#[test]
fn stale_changes_of_keys_and_agents_show_what_is_there() {
    let world = World::hosted();
    let key = json!({ "name": "CRM", "permissions": ["contacts:read"] });
    let made = call_as(&world, "admin@acme", "POST", "/agents/acme/keys", &key);
    let id = made.data()["key"]["id"].as_str().unwrap().to_owned();
    for (path, body) in [
        (format!("/agents/acme/keys/{id}"), json!({ "name": "Other" })),
        ("/agents/acme".to_owned(), json!({ "name": "Other" })),
    ] {
        world.clock.advance_millis(1_000);
        let mut request = Browser::default().request("PATCH", &path, &body);
        let mut owner = console::Operator::new("u", "U", "owner".parse().unwrap());
        owner.authenticated_at = Some(world.platform.now());
        request.extensions_mut().insert(owner);
        request.headers_mut().insert("if-match", "\"1\"".parse().unwrap());
        let stale = world.send(request);
        assert_eq!((stale.status, stale.code()), (412, "PRECONDITION_FAILED"), "{}", stale.text);
        assert!(stale.body["details"]["current"]["name"].is_string());
        let tag = stale.headers["etag"].clone();
        let mut request = Browser::default().request("PATCH", &path, &body);
        let mut owner = console::Operator::new("u", "U", "owner".parse().unwrap());
        owner.authenticated_at = Some(world.platform.now());
        request.extensions_mut().insert(owner);
        request.headers_mut().insert("if-match", tag);
        assert_eq!(world.send(request).data()["name"], "Other");
    }
}

#[test]
fn repeated_requests_are_done_once() {
    let world = World::hosted();
    let send = |grants: &str, id: &str| {
        let body = json!({ "id": id, "name": "Agent" });
        let mut request = Browser::default().request("POST", "/agents", &body);
        request.extensions_mut().insert(console::Operator::new(grants, "U", "owner".parse().unwrap()));
        request.headers_mut().insert("idempotency-key", "k-1".parse().unwrap());
        world.send(request)
    };
    let first = send("u", "new-1");
    let second = send("u", "new-1");
    assert_eq!((first.status, second.status), (201, 201), "{}", second.text);
    assert_eq!(first.data(), second.data());
    assert_eq!(second.headers["idempotent-replayed"], "true");
    assert_eq!(send("u", "new-2").code(), "IDEMPOTENCY_KEY_REUSED");
    // Another person's key is another key.
    assert_eq!(send("other", "new-1").code(), "CONFLICT");
    // A failed request may be sent again.
    assert_eq!(send("other", "new-3").status, 201);
}

#[test]
fn erasing_asks_for_the_address() {
    let world = World::hosted();
    let made = contact(&world);
    let path = format!("/agents/acme/contacts/{}/erase", made["id"].as_str().unwrap());
    let refused = call_as(&world, "owner", "POST", &path, &json!({ "confirm": "someone@example.com" }));
    assert_eq!(refused.code(), "VALIDATION_ERROR");
    assert_eq!(refused.body["validationErrors"][0]["field"], "confirm", "{}", refused.text);
    call_as(&world, "owner", "POST", &path, &json!({ "confirm": "crm-1" })).data();
    let list = call_as(&world, "owner", "GET", "/agents/acme/contacts?includeArchived=true", &Value::Null);
    assert_eq!(list.data(), &json!([]));
}

#[test]
fn a_key_is_tried_with_its_secret() {
    let world = World::hosted();
    let key = json!({ "name": "CRM", "permissions": ["contacts:read"] });
    let made = call_as(&world, "owner", "POST", "/agents/acme/keys", &key);
    let api_key = made.data()["key"]["apiKey"].clone();
    let body = json!({ "apiKey": api_key, "secret": made.data()["secret"] });
    let tried = call_as(&world, "owner", "POST", "/agents/acme/keys/try", &body);
    assert_eq!(tried.data()[1]["status"], 200, "{}", tried.text);
    let wrong = json!({ "apiKey": api_key, "secret": "svcs_wrong" });
    let tried = call_as(&world, "owner", "POST", "/agents/acme/keys/try", &wrong);
    assert_eq!(tried.data()[1]["status"], 401);
    assert_eq!(call_as(&world, "owner", "POST", "/agents/beta/keys/try", &body).code(), "NOT_FOUND");
}

#[test]
fn revoking_asks_for_the_name() {
    let world = World::hosted();
    let key = json!({ "name": "CRM", "permissions": ["contacts:read"] });
    let made = call_as(&world, "owner", "POST", "/agents/acme/keys", &key);
    let path = format!("/agents/acme/keys/{}/revoke", made.data()["key"]["id"].as_str().unwrap());
    let refused = call_as(&world, "owner", "POST", &path, &json!({ "confirm": "crm" }));
    assert_eq!(refused.code(), "VALIDATION_ERROR");
    let revoked = call_as(&world, "owner", "POST", &path, &json!({ "confirm": "CRM" }));
    assert_eq!(revoked.data()["status"], "revoked");
}

#[test]
fn unknown_and_repeated_members_are_refused() {
    let world = World::hosted();
    let answer = call_as(&world, "owner", "POST", "/agents", &json!({ "name": "A", "title": "B" }));
    assert_eq!(answer.body["validationErrors"][0]["field"], "title", "{}", answer.text);
    let answer = call_as(&world, "owner", "GET", "/audit?limit=5&limit=6", &Value::Null);
    assert_eq!(answer.code(), "VALIDATION_ERROR");
    let answer = call_as(&world, "owner", "GET", "/audit?limit=101", &Value::Null);
    assert_eq!(answer.code(), "VALIDATION_ERROR");
    let answer = call_as(&world, "owner", "GET", "/agents/ac%zz", &Value::Null);
    assert_eq!(answer.code(), "BAD_REQUEST");
}
