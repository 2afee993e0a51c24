//! POST /contacts/chatbots/<A> (contract 2.1.3, 4.2, 6.2, 6.4). The rules of each field are in `fields`.

use contract_tests::{Backend, Sandbox, on_every_backend, story};
use openapi_core::storage::StorageErrorKind;
use serde_json::{Value, json};

on_every_backend!(
    the_example,
    the_example_of_a_validation_error,
    the_example_of_a_duplicate,
    the_example_of_a_duplicate_value,
    the_minimal_body,
    null_equals_absence,
    required_comes_last_in_schema_order,
    at_most_a_hundred_errors_are_listed,
    one_error_per_value,
    echoed_values,
    query_before_body,
    equal_addresses_are_allowed,
    ids_carry_their_time,
    a_race_that_is_never_won,
    a_store_that_is_down,
);

/// Request and response of contract 4.2, literally.
fn the_example(backend: Backend) {
    let cx = story::sandbox(backend);
    let reply = cx.create(&story::new_contact());
    let expected =
        json!({ "success": true, "message": "Contact created successfully", "data": story::contact() });
    assert_eq!(story::mapped(&reply.text, &reply.id()), expected.to_string());
    assert_eq!(
        reply.header("location"),
        Some("/v1/open/contacts/crm-1001/chatbots/695b6f80de7378c4412112d3")
    );
    assert!(reply.header("etag").is_some());
}

/// Contract 6.4, literally.
fn the_example_of_a_validation_error(backend: Backend) {
    let cx = Sandbox::new(backend);
    let reply = cx
        .call("POST", "/contacts/chatbots/<A>")
        .json(&json!({ "tags": ["vip", 7], "nickname": "Zo" }))
        .header("x-request-id", story::REQUEST_ID)
        .send()
        .fails(400, "VALIDATION_ERROR");
    let expected = json!({ "success": false, "message": "Validation failed: tags[1] must be a string (and 2 more)", "code": "VALIDATION_ERROR", "requestId": "019c13a3-6137-710c-9fa1-91a5ee824f39",
      "validationErrors": [
        { "field": "tags[1]", "message": "tags[1] must be a string", "value": 7, "type": "type", "in": "body" },
        { "field": "nickname", "message": "Unknown field 'nickname'. Put your own data under customFields.", "value": "Zo", "type": "unknown", "in": "body" },
        { "field": "primaryEmail", "message": "primaryEmail is required", "value": null, "type": "required", "in": "body" } ] });
    assert_eq!(reply.text, expected.to_string());
}

/// Contract 6.4, literally.
fn the_example_of_a_duplicate(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = cx.create(&story::new_contact()).id();
    let reply = cx
        .call("POST", "/contacts/chatbots/<A>")
        .json(&story::new_contact())
        .header("x-request-id", story::REQUEST_ID)
        .send()
        .fails(409, "DUPLICATE_EXTERNAL_REFERENCE_ID");
    let expected = json!({ "success": false, "message": "externalReferenceId 'crm-1001' is already used by another contact", "code": "DUPLICATE_EXTERNAL_REFERENCE_ID", "requestId": "019c13a3-6137-710c-9fa1-91a5ee824f39",
      "validationErrors": [ { "field": "externalReferenceId", "message": "externalReferenceId is already used", "value": "crm-1001", "type": "unique", "in": "body" } ],
      "details": { "existingContactId": "697dc8165d4ffa83cfc35cfc", "archived": false } });
    assert_eq!(story::mapped(&reply.text, &id), expected.to_string());
}

/// Contract 6.4, literally.
fn the_example_of_a_duplicate_value(backend: Backend) {
    let cx = Sandbox::new(backend);
    cx.define(&json!({ "fields": [{ "name": "primaryEmail", "unique": true }] }));
    let id = cx.create(&story::new_contact()).id();
    let reply = cx
        .call("POST", "/contacts/chatbots/<A>")
        .json(&json!({ "primaryEmail": "zoe.okafor@example.com" }))
        .header("x-request-id", story::REQUEST_ID)
        .send()
        .fails(409, "DUPLICATE_VALUE");
    let expected = json!({ "success": false, "message": "primaryEmail is already used by another contact", "code": "DUPLICATE_VALUE", "requestId": "019c13a3-6137-710c-9fa1-91a5ee824f39", "validationErrors": [{ "field": "primaryEmail", "message": "primaryEmail is already used", "value": "zoe.okafor@example.com", "type": "unique", "in": "body" }], "details": { "field": "primaryEmail", "existingContactId": "697dc8165d4ffa83cfc35cfc", "archived": false } });
    assert_eq!(story::mapped(&reply.text, &id), expected.to_string());
}

fn the_minimal_body(backend: Backend) {
    let cx = Sandbox::new(backend);
    let reply = cx.create(&json!({ "primaryEmail": "a@b.co" }));
    let mut expected = story::contact();
    for field in [
        "externalReferenceId",
        "salutation",
        "firstName",
        "middleName",
        "lastName",
        "dob",
        "gender",
        "primaryPhone",
        "primaryPhoneCode",
        "fullAddress",
        "lastContactedAt",
    ] {
        expected[field] = Value::Null;
    }
    expected["id"] = json!(reply.id());
    expected["primaryEmail"] = json!("a@b.co");
    expected["tags"] = json!([]);
    expected["customFields"] = json!({});
    assert_eq!(reply.data().to_string(), expected.to_string());
}

fn null_equals_absence(backend: Backend) {
    let cx = Sandbox::new(backend);
    let absent = cx.create(&json!({ "primaryEmail": "a@b.co" })).data().clone();
    let mut body = json!({ "primaryEmail": "a@b.co" });
    for (name, _) in absent.as_object().expect("a contact") {
        if name != "primaryEmail" {
            body[name] = Value::Null;
        }
    }
    let mut reply = cx.create(&body).data().clone();
    reply["id"] = absent["id"].clone();
    assert_eq!(reply, absent);
}

fn required_comes_last_in_schema_order(backend: Backend) {
    let cx = Sandbox::new(backend);
    cx.define(&json!({
        "fields": [
            { "name": "lastContactedAt", "required": true },
            { "name": "lastName", "required": true },
            { "name": "externalReferenceId", "required": true },
            { "name": "dob", "required": true },
        ],
        "customFields": [{ "name": "b", "type": "string", "required": true }, { "name": "a", "type": "string", "required": true }],
    }));
    let body = json!({ "tags": 7, "lastName": "", "customFields": { "c.": 1 }, "gender": 8, "dob": null });
    let _ = cx.try_create(&body).invalid(&[
        ("tags", "type"),
        ("lastName", "required"),
        ("customFields.c.", "pattern"),
        ("gender", "type"),
        ("dob", "required"),
        ("externalReferenceId", "required"),
        ("primaryEmail", "required"),
        ("lastContactedAt", "required"),
        ("customFields.b", "required"),
        ("customFields.a", "required"),
    ]);
}

fn at_most_a_hundred_errors_are_listed(backend: Backend) {
    let cx = Sandbox::new(backend);
    let unknown = |count: usize| -> Value {
        let mut body: Value = (0..count).map(|n| (format!("x{n}"), json!(n))).collect();
        body["primaryEmail"] = json!("a@b.co");
        body
    };
    let reply = cx.try_create(&unknown(100)).fails(400, "VALIDATION_ERROR");
    assert_eq!(reply.violations().len(), 100);
    assert_eq!(reply.json.get("details"), None);
    assert!(reply.json["message"].as_str().is_some_and(|text| text.ends_with(" (and 99 more)")));
    let reply = cx.try_create(&unknown(101)).fails(400, "VALIDATION_ERROR");
    assert_eq!(reply.violations().len(), 100);
    assert_eq!(reply.violation(99)["field"], "x99");
    assert_eq!(reply.json["details"], json!({ "truncated": true, "totalErrors": 101 }));
    assert!(reply.json["message"].as_str().is_some_and(|text| text.ends_with(" (and 100 more)")));
    let reply = cx.try_create(&unknown(1_234)).fails(400, "VALIDATION_ERROR");
    assert_eq!(reply.json["details"]["totalErrors"], 1_234);
}

/// The first failing of type, required, characters, length, format, range, relation.
fn one_error_per_value(backend: Backend) {
    let cx = Sandbox::new(backend);
    let body = json!({
        "primaryEmail": format!("@\n{}", "x".repeat(300)),
        "primaryPhone": format!("x{}", "1".repeat(40)),
        "dob": "2030-13-45",
        "externalReferenceId": format!(" \n{}", "x".repeat(300)),
        "tags": [format!("x\n{}", "x".repeat(80))],
        "customFields": { "a": "\u{0}".repeat(5_001) },
    });
    let _ = cx.try_create(&body).invalid(&[
        ("primaryEmail", "invalidCharacters"),
        ("primaryPhone", "maxLength"),
        ("dob", "format"),
        ("externalReferenceId", "invalidCharacters"),
        ("tags[0]", "invalidCharacters"),
        ("customFields.a", "invalidCharacters"),
    ]);
}

fn echoed_values(backend: Backend) {
    let cx = Sandbox::new(backend);
    let exact = "é".repeat(256);
    let long = "𝒳".repeat(257);
    let body = format!(
        "{{\"primaryEmail\":\"a@b.co\",\"a\":\"{exact}\",\"b\":\"{long}\",\"c\":1.50,\"d\":true,\"e\":null,\"f\":{{\"g\":1}},\"h\":[1],\"i\":\"\"}}"
    );
    let reply = cx.call("POST", "/contacts/chatbots/<A>").text(&body).send().fails(400, "VALIDATION_ERROR");
    let values: Vec<Value> = (0..8).map(|index| reply.violation(index)["value"].clone()).collect();
    assert_eq!(values[0], json!(exact));
    assert_eq!(values[1], json!(format!("{}…", "𝒳".repeat(256))));
    assert_eq!(values[2..], [json!(1.5), json!(true), Value::Null, Value::Null, Value::Null, json!("")]);
    assert!(reply.text.contains("\"value\":1.50,"), "numbers are echoed as written");
}

fn query_before_body(backend: Backend) {
    let cx = Sandbox::new(backend);
    let reply = cx
        .call("POST", "/contacts/chatbots/<A>?page=1&dryRun=maybe&dryRun=true")
        .json(&json!({ "firstName": 7 }))
        .header("idempotency-key", "")
        .send();
    let reply = reply.invalid(&[
        ("Idempotency-Key", "format"),
        ("page", "unknown"),
        ("dryRun", "type"),
        ("dryRun", "duplicate"),
        ("firstName", "type"),
        ("primaryEmail", "required"),
    ]);
    let positions: Vec<&Value> = (0..6).map(|index| &reply.violation(index)["in"]).collect();
    assert_eq!(positions, ["header", "query", "query", "query", "body", "body"]);
    assert_eq!(reply.violation(2)["value"], "maybe");
}

fn equal_addresses_are_allowed(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = cx.create(&json!({ "primaryEmail": "a@b.co" }));
    let _ = cx.create(&json!({ "primaryEmail": "a@b.co" }));
    assert_eq!(cx.get("/contacts/chatbots/<A>").expect(200).pagination()["totalItems"], 2);
}

/// 4 bytes of creation time, then 8 random ones, in lower case.
fn ids_carry_their_time(backend: Backend) {
    let cx = Sandbox::new(backend);
    let mut seen = std::collections::HashSet::new();
    for _ in 0..50 {
        let id = cx.create(&json!({ "primaryEmail": "a@b.co" })).id();
        assert!(
            id.len() == 24 && id.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)),
            "{id}"
        );
        assert!(id.starts_with("697dc816"), "{id}");
        assert!(seen.insert(id));
    }
}

fn a_race_that_is_never_won(backend: Backend) {
    let (cx, faulty) = Sandbox::faulty(backend);
    faulty.lose_races(2);
    let id = cx.create(&json!({ "primaryEmail": "a@b.co" })).id();
    faulty.lose_races(2);
    let _ = cx.update(&id, &json!({ "firstName": "A" }));
    faulty.lose_races(u32::MAX);
    for reply in [
        cx.try_create(&json!({ "primaryEmail": "a@b.co" })),
        cx.try_update(&id, &json!({ "firstName": "B" })),
        cx.patch(&format!("/contacts/platformid/{id}/chatbots/<A>/archive")),
        cx.patch(&format!("/contacts/platformid/{id}/chatbots/<A>/unarchive")),
    ] {
        if reply.status == 200 {
            assert_eq!(reply.data()["isArchived"], false, "an idempotent unarchive writes nothing");
            continue;
        }
        let reply = reply.fails(409, "CONCURRENT_UPDATE");
        assert_eq!(reply.header("retry-after"), Some("1"));
    }
}

fn a_store_that_is_down(backend: Backend) {
    let (cx, faulty) = Sandbox::faulty(backend);
    let id = cx.create(&json!({ "primaryEmail": "a@b.co" })).id();
    for (kind, status, code, message) in [
        (StorageErrorKind::Unavailable, 503, "SERVICE_UNAVAILABLE", "The data store is not available"),
        (StorageErrorKind::Internal, 500, "INTERNAL_ERROR", "An internal error occurred"),
    ] {
        faulty.fail(Some(kind));
        for reply in [
            cx.try_create(&json!({ "primaryEmail": "a@b.co" })),
            cx.try_update(&id, &json!({ "firstName": "B" })),
            cx.get(&format!("/contacts/platformid/{id}/chatbots/<A>")),
            cx.get("/contacts/chatbots/<A>"),
            cx.get("/contacts/schema/chatbots/<A>"),
            cx.patch(&format!("/contacts/platformid/{id}/chatbots/<A>/archive")),
        ] {
            let reply = reply.fails(status, code);
            assert_eq!(reply.json["message"], message);
        }
    }
    faulty.fail(None);
    let _ = cx.read(&id);
}
