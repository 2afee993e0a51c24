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

/// Entries of the audit log say from which address and by which request a change came.
#[test]
fn changes_are_noted_with_address_and_request() {
    let world = World::hosted();
    let made = contact(&world);
    let id = made["id"].as_str().unwrap();
    let key = json!({ "name": "CRM", "permissions": ["contacts:read"] });
    let key = call_as(&world, "owner", "POST", "/agents/acme/keys", &key).data()["key"]["id"].clone();
    let key = key.as_str().unwrap();
    let conversation = super::support::conversation(&world);
    let mut requests = std::collections::BTreeSet::new();
    for (method, path, body) in [
        ("POST", "/agents".to_owned(), json!({ "id": "gamma", "name": "Gamma" })),
        ("PATCH", "/agents/gamma".to_owned(), json!({ "name": "Other" })),
        ("POST", format!("/agents/acme/keys/{key}/rotate"), json!({})),
        ("POST", format!("/agents/acme/keys/{key}/disable"), json!({})),
        ("PATCH", format!("/agents/acme/contacts/{id}"), json!({ "firstName": "Grace" })),
        ("POST", format!("/agents/acme/contacts/{id}/reveal"), json!({})),
        ("POST", format!("/agents/acme/contacts/{id}/erase"), json!({ "confirm": "crm-1" })),
        ("POST", format!("/agents/acme/conversations/{conversation}/take"), json!({})),
        ("POST", format!("/agents/acme/conversations/{conversation}/replies"), json!({ "text": "Hello" })),
        ("POST", format!("/agents/acme/conversations/{conversation}/close"), json!({})),
    ] {
        let answer = call_as(&world, "owner", method, &path, &body);
        assert!(answer.status < 300, "{path} {}", answer.text);
        requests.insert(answer.headers["x-request-id"].to_str().unwrap().to_owned());
    }
    let log = call_as(&world, "owner", "GET", "/audit?limit=100", &Value::Null);
    let mut noted = std::collections::BTreeSet::new();
    for entry in log.data()["entries"].as_array().unwrap() {
        if entry["actor"]["id"] == "host:u-17" {
            assert_eq!(entry["address"], "192.0.2.7", "{entry}");
            noted.insert(entry["requestId"].as_str().unwrap_or_else(|| panic!("{entry}")).to_owned());
        }
    }
    assert_eq!(requests.difference(&noted).count(), 0, "{requests:?} {noted:?}");
    // What a command does afterwards has neither.
    let by = super::support::by();
    let new = openapi_core::admin::NewAgent { id: None, name: "Other".parse().unwrap() };
    pollster::block_on(openapi_core::admin::Admin::create_agent(&*world.platform, &by, new)).unwrap();
    let log = call_as(&world, "owner", "GET", "/audit?limit=1", &Value::Null);
    let last = &log.data()["entries"][0];
    assert_eq!((&last["address"], &last["requestId"]), (&Value::Null, &Value::Null), "{last}");
}

#[test]
fn a_conversation_is_taken_under_the_name_that_visitors_see() {
    let world = World::with_accounts().with_agents();
    let mut owner = world.owner();
    owner.call(&world, "PATCH", "/me", &json!({ "displayName": "Zoë from Acme" })).data();
    let path = format!("/agents/acme/conversations/{}", super::support::conversation(&world));
    let taken = owner.call(&world, "POST", &format!("{path}/take"), &json!({}));
    assert_eq!(taken.data()["participants"][0]["name"], "Zoë from Acme", "{}", taken.text);
    assert!(taken.data()["waitingSince"].is_string());
    // A colleague who takes it is another person, and the name of who has it stays.
    let mut ada = world.invited(&mut owner, "ada@example.com", "inbox@acme");
    let taken = ada.call(&world, "POST", &format!("{path}/take"), &json!({}));
    let names = |answer: &super::support::Answer| {
        let all = answer.data()["participants"].as_array().unwrap().clone();
        all.iter().map(|it| format!("{} {}", it["change"], it["name"])).collect::<Vec<_>>()
    };
    assert_eq!(names(&taken), [r#""joined" "Zoë from Acme""#, r#""joined" "ada""#]);
    let again = ada.call(&world, "POST", &format!("{path}/take"), &json!({}));
    assert_eq!(again.headers["etag"], taken.headers["etag"], "nothing has changed");
    // Nobody waits in what is closed.
    let closed = ada.call(&world, "POST", &format!("{path}/close"), &json!({}));
    assert_eq!((&closed.data()["mode"], &closed.data()["waitingSince"]), (&json!("ai"), &Value::Null));
}

#[test]
fn keys_name_who_made_them() {
    let world = World::with_accounts().with_agents();
    let mut owner = world.owner();
    let key = json!({ "name": "CRM", "permissions": ["contacts:read"] });
    let made = owner.call(&world, "POST", "/agents/acme/keys", &key);
    assert_eq!(made.data()["key"]["createdBy"]["name"], "Zoë");
    let listed = owner.call(&world, "GET", "/agents/acme/keys", &Value::Null);
    let by = &listed.data()[0]["createdBy"];
    assert_eq!((&by["type"], &by["name"]), (&json!("operator"), &json!("Zoë")));
    assert!(by["id"].as_str().unwrap().starts_with("op:"));
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

/// One caller's answers take no room of others, and the newest of them are retained.
#[test]
fn many_requests_of_one_caller_leave_room_for_others() {
    let world = World::hosted();
    let send = |by: &str, id: &str| {
        let body = json!({ "id": id, "name": "Agent" });
        let mut request = Browser::default().request("POST", "/agents", &body);
        request.extensions_mut().insert(console::Operator::new(by, "U", "owner".parse().unwrap()));
        request.headers_mut().insert("idempotency-key", format!("k-{id}").parse().unwrap());
        let answer = world.send(request);
        (answer.status, answer.headers.contains_key("idempotent-replayed"))
    };
    let (done, repeated, refused) = ((201, false), (201, true), (409, false));
    assert_eq!(send("ada", "of-ada"), done);
    for nth in 0..1_010 {
        // So that no limit of requests is met, and one answer is older than the other.
        world.clock.advance_millis(200);
        assert_eq!(send("script", &format!("n-{nth}")), done, "{nth}");
    }
    assert_eq!(send("ada", "of-ada"), repeated, "nobody else's answer is forgotten");
    assert_eq!(send("zoe", "of-zoe"), done);
    assert_eq!(send("zoe", "of-zoe"), repeated, "there is room for others");
    assert_eq!(send("script", "n-1009"), repeated);
    assert_eq!(send("script", "n-910"), repeated);
    assert_eq!(send("script", "n-909"), refused, "the oldest answers of the caller are forgotten");
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
