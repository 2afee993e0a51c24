//! The operator's contact schema in effect (contract 2.1.4).

use contract_tests::{Backend, Reply, Sandbox, on_every_backend};
use serde_json::{Value, json};

on_every_backend!(
    required_standard_fields,
    required_fields_with_a_default,
    required_tags_and_custom_fields,
    options_of_gender,
    options_of_status,
    lengths_and_patterns,
    patterns_are_anchored_only_as_written,
    bounds_of_dates,
    defaults,
    a_new_version_applies_to_later_writes_only,
    a_new_version_of_another_process_applies_at_once,
);

fn create(cx: &Sandbox, mut body: Value) -> Reply {
    if body.get("primaryEmail").is_none() {
        body["primaryEmail"] = json!("a@b.co");
    }
    cx.try_create(&body)
}

fn required_standard_fields(backend: Backend) {
    let cx = Sandbox::new(backend);
    let names = [
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
    ];
    for name in names {
        cx.define(&json!({ "fields": [{ "name": name, "required": true }] }));
        let reply = create(&cx, json!({})).invalid(&[(name, "required")]);
        assert_eq!(reply.violation(0)["message"], format!("{name} is required"));
        let _ = create(&cx, json!({ name: null })).invalid(&[(name, "required")]);
        if name != "externalReferenceId" {
            let _ = create(&cx, json!({ name: "  " })).invalid(&[(name, "required")]);
        }
        let value = match name {
            "dob" => "1990-05-17",
            "primaryPhone" => "12345",
            "primaryPhoneCode" => "44",
            "lastContactedAt" => "2026-01-01T00:00:00Z",
            _ => "x",
        };
        let id = create(&cx, json!({ name: value })).expect(201).id();
        let _ = cx.try_update(&id, &json!({ name: null })).invalid(&[(name, "required")]);
        let _ = cx.update(&id, &json!({}));
        assert!(
            cx.get("/contacts/schema/chatbots/<A>").expect(200).data()["jsonSchema"]["required"]
                .as_array()
                .expect("names")
                .contains(&json!(name))
        );
    }
}

/// A default replaces a missing value: on create, no field with a default is required.
fn required_fields_with_a_default(backend: Backend) {
    let cx = Sandbox::new(backend);
    cx.define(&json!({ "fields": [
        { "name": "status", "required": true }, { "name": "source", "required": true },
        { "name": "lastName", "required": true, "default": "Unknown" },
    ] }));
    let reply = create(&cx, json!({})).expect(201);
    assert_eq!((&reply.data()["status"], &reply.data()["source"]), (&json!("active"), &json!("api")));
    assert_eq!(reply.data()["lastName"], "Unknown");
    // An update may not clear them.
    for name in ["status", "source", "lastName"] {
        let _ = cx.try_update(&reply.id(), &json!({ name: null })).invalid(&[(name, "required")]);
    }
}

/// An empty list or object is blank: the built-in defaults `[]` and `{}` do not satisfy `required`.
fn required_tags_and_custom_fields(backend: Backend) {
    let cx = Sandbox::new(backend);
    for (name, good, blank, clearing) in [
        ("tags", json!(["a"]), json!([]), json!([])),
        ("customFields", json!({ "a": 1 }), json!({}), json!({ "a": null })),
    ] {
        cx.define(&json!({ "fields": [{ "name": name, "required": true }] }));
        let schema = cx.get("/contacts/schema/chatbots/<A>").expect(200).data()["jsonSchema"].clone();
        let validator = jsonschema::draft202012::new(&schema).expect("a schema");
        for body in [json!({}), json!({ name: null }), json!({ name: blank })] {
            let _ = create(&cx, body.clone()).invalid(&[(name, "required")]);
            let mut body = body;
            body["primaryEmail"] = json!("a@b.co");
            assert!(!validator.is_valid(&body), "the published schema agrees: {body}");
        }
        let id = create(&cx, json!({ name: good })).expect(201).id();
        for body in [json!({ name: null }), json!({ name: clearing })] {
            let _ = cx.try_update(&id, &body).invalid(&[(name, "required")]);
        }
        let _ = cx.update(&id, &json!({ "firstName": "A" }));
    }
}

fn options_of_gender(backend: Backend) {
    let cx = Sandbox::new(backend);
    cx.define(&json!({ "fields": [{ "name": "gender", "options": [{ "value": "Female", "label": "F" }, { "value": "Männlich", "label": "M" }, { "value": "straße", "label": "S" }] }] }));
    for (sent, stored) in [
        ("female", "Female"),
        (" FEMALE ", "Female"),
        ("Female", "Female"),
        ("MÄNNLICH", "Männlich"),
        ("STRASSE", "straße"),
    ] {
        let reply = create(&cx, json!({ "gender": sent })).expect(201);
        assert_eq!(reply.data()["gender"], stored);
        let id = reply.id();
        let before = cx.read(&id);
        assert_eq!(cx.update(&id, &json!({ "gender": sent })).header("etag"), before.header("etag"));
    }
    let reply = create(&cx, json!({ "gender": "other" })).invalid(&[("gender", "enum")]);
    assert_eq!(reply.violation(0)["message"], "gender must be one of Female, Männlich, straße");
    // Case is ignored; accents are not.
    let _ = create(&cx, json!({ "gender": "mannlich" })).invalid(&[("gender", "enum")]);
    assert_eq!(create(&cx, json!({ "gender": "" })).expect(201).data()["gender"], Value::Null);
    let _ = create(&cx, json!({ "gender": "x".repeat(51) })).invalid(&[("gender", "maxLength")]);
}

fn options_of_status(backend: Backend) {
    let cx = Sandbox::new(backend);
    cx.define(&json!({ "fields": [{ "name": "status", "options": [{ "value": "active", "label": "On" }, { "value": "blocked", "label": "Off" }] }] }));
    let _ = create(&cx, json!({ "status": "blocked" })).expect(201);
    let _ = create(&cx, json!({ "status": "inactive" })).invalid(&[("status", "enum")]);
    let _ = create(&cx, json!({ "status": "Active" })).invalid(&[("status", "enum")]);
    // The filter uses the specification's values.
    let _ = cx.get("/contacts/chatbots/<A>?status=inactive").expect(200);
}

fn lengths_and_patterns(backend: Backend) {
    let cx = Sandbox::new(backend);
    cx.define(&json!({ "fields": [
        { "name": "firstName", "minLength": 2, "maxLength": 4 },
        { "name": "primaryPhoneCode", "pattern": "^\\+4[49]$" },
        { "name": "primaryEmail", "pattern": "@example\\.com$" },
        { "name": "externalReferenceId", "pattern": "^crm-[0-9]+$", "maxLength": 10 },
        { "name": "fullAddress", "maxLength": 5 },
    ] }));
    let ok = |body: Value| cx.try_create(&body).expect(201);
    let mail = "a@example.com";
    let _ = ok(
        json!({ "primaryEmail": mail, "firstName": "éé", "primaryPhoneCode": "4-4", "externalReferenceId": "crm-123456" }),
    );
    let _ = ok(json!({ "primaryEmail": mail, "firstName": " éééé ", "fullAddress": "12345" }));
    let _ = ok(json!({ "primaryEmail": mail, "firstName": "" }));
    let body = json!({
        "primaryEmail": "a@example.org", "firstName": " é ", "primaryPhoneCode": "+33",
        "externalReferenceId": "crm-1234567", "fullAddress": "123456",
    });
    let _ = cx.try_create(&body).invalid(&[
        ("primaryEmail", "pattern"),
        ("firstName", "minLength"),
        ("primaryPhoneCode", "pattern"),
        ("externalReferenceId", "maxLength"),
        ("fullAddress", "maxLength"),
    ]);
    let body = json!({ "primaryEmail": mail, "firstName": "ééééé", "externalReferenceId": "crm-x" });
    let _ = cx.try_create(&body).invalid(&[("firstName", "maxLength"), ("externalReferenceId", "pattern")]);
    // The built-in rules still apply: format before pattern.
    let _ = cx.try_create(&json!({ "primaryEmail": "example.com" })).invalid(&[("primaryEmail", "format")]);
}

fn patterns_are_anchored_only_as_written(backend: Backend) {
    let cx = Sandbox::new(backend);
    cx.define(&json!({ "fields": [{ "name": "lastName", "pattern": "b" }, { "name": "fullAddress", "pattern": "(?m)^x$" }] }));
    let _ = create(&cx, json!({ "lastName": "abc", "fullAddress": "a\nx\nb" })).expect(201);
    let _ = create(&cx, json!({ "lastName": "aBc" })).invalid(&[("lastName", "pattern")]);
}

fn bounds_of_dates(backend: Backend) {
    let cx = Sandbox::new(backend);
    cx.define(&json!({ "fields": [
        { "name": "dob", "minimum": "1900-01-01", "maximum": "2010-12-31" },
        { "name": "lastContactedAt", "minimum": "2026-01-01T00:00:00+01:00", "maximum": "2026-12-31T23:59:59Z" },
    ] }));
    for (dob, at) in
        [("1900-01-01", "2025-12-31T23:00:00Z"), ("2010-12-31T00:00:00Z", "2027-01-01T00:59:59+01:00")]
    {
        let _ = create(&cx, json!({ "dob": dob, "lastContactedAt": at })).expect(201);
    }
    let body = json!({ "dob": "1899-12-31", "lastContactedAt": "2025-12-31T22:59:59.999Z" });
    let _ = create(&cx, body).invalid(&[("dob", "minimum"), ("lastContactedAt", "minimum")]);
    let body = json!({ "dob": "2011-01-01", "lastContactedAt": "2027-01-01T00:00:00Z" });
    let _ = create(&cx, body).invalid(&[("dob", "maximum"), ("lastContactedAt", "maximum")]);
}

fn defaults(backend: Backend) {
    let cx = Sandbox::new(backend);
    let definition = json!({
        "fields": [
            { "name": "salutation", "default": "Mx" }, { "name": "status", "default": "inactive" },
            { "name": "source", "default": "import" }, { "name": "tags", "default": ["new"] },
            { "name": "dob", "default": "2000-01-01" },
        ],
        "customFields": [
            { "name": "plan", "type": "select", "options": ["gold", "silver"], "default": "silver" },
            { "name": "seats", "type": "integer", "default": 3, "required": true },
            { "name": "none", "type": "string" },
        ],
    });
    cx.define(&definition);
    let expected = [
        ("salutation", json!("Mx")),
        ("status", json!("inactive")),
        ("source", json!("import")),
        ("tags", json!(["new"])),
        ("dob", json!("2000-01-01")),
        ("customFields", json!({ "plan": "silver", "seats": 3 })),
    ];
    for body in [
        json!({}),
        json!({ "salutation": null, "status": null, "source": null, "tags": null, "dob": null, "customFields": null }),
        json!({ "customFields": { "plan": null, "seats": null } }),
    ] {
        let reply = create(&cx, body).expect(201);
        for (name, value) in &expected {
            assert_eq!(reply.data()[name], *value, "{name}");
        }
    }
    let body =
        json!({ "salutation": "Dr", "tags": [], "customFields": { "plan": "gold", "seats": 9, "x": 1 } });
    let reply = create(&cx, body).expect(201);
    assert_eq!(reply.data()["salutation"], "Dr");
    assert_eq!(reply.data()["tags"], json!([]));
    assert_eq!(reply.data()["customFields"], json!({ "plan": "gold", "seats": 9, "x": 1 }));
    // Clearing does not restore defaults, except for `source`, whose empty value is `api`.
    let reply = cx.update(
        &reply.id(),
        &json!({ "salutation": null, "source": null, "customFields": { "plan": null } }),
    );
    assert_eq!(reply.data()["salutation"], Value::Null);
    assert_eq!(reply.data()["source"], "api");
    assert_eq!(reply.data()["customFields"], json!({ "seats": 9, "x": 1 }));
    // Only the error elsewhere is reported: defaults are not errors.
    let _ = create(&cx, json!({ "customFields": 7 })).invalid(&[("customFields", "type")]);
}

fn a_new_version_applies_to_later_writes_only(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = create(&cx, json!({ "customFields": { "a": "x" } })).expect(201).id();
    cx.define(&json!({
        "fields": [{ "name": "lastName", "required": true }, { "name": "firstName", "default": "Ada" }],
        "customFields": [{ "name": "a", "type": "integer", "required": true }],
        "allowUndeclaredCustomFields": false,
    }));
    let contact = cx.read(&id);
    assert_eq!((&contact.data()["lastName"], &contact.data()["firstName"]), (&Value::Null, &Value::Null));
    let _ = create(&cx, json!({ "customFields": { "a": "x", "b": 1 } })).invalid(&[
        ("customFields.a", "type"),
        ("customFields.b", "unknown"),
        ("lastName", "required"),
    ]);
    let _ = create(&cx, json!({ "customFields": { "a": 1 }, "lastName": "B" })).expect(201);
    let _ = cx
        .try_update(&id, &json!({ "customFields": { "a": null } }))
        .invalid(&[("customFields.a", "required")]);
    let _ = cx.update(&id, &json!({ "customFields": { "a": 1 } }));
    let reply =
        cx.try_update(&id, &json!({ "customFields": { "b": 1 } })).invalid(&[("customFields.b", "unknown")]);
    assert_eq!(reply.violation(0)["message"], "Unknown field 'customFields.b'.");
}

/// Whatever a process has cached: stored data was validated against the version in force.
fn a_new_version_of_another_process_applies_at_once(backend: Backend) {
    let cx = Sandbox::new(backend);
    let elsewhere = cx.restarted();
    let id = elsewhere.create(&json!({ "primaryEmail": "a@b.co", "lastName": "A" })).id();
    cx.define(&json!({ "fields": [{ "name": "lastName", "required": true }] }));
    let _ = elsewhere.try_create(&json!({ "primaryEmail": "a@b.co" })).invalid(&[("lastName", "required")]);
    let other = cx.restarted();
    let _ = other.read(&id);
    cx.define(&json!({ "fields": [{ "name": "firstName", "maxLength": 1 }] }));
    let _ = elsewhere.try_update(&id, &json!({ "firstName": "AB" })).invalid(&[("firstName", "maxLength")]);
    let _ = elsewhere.create(&json!({ "primaryEmail": "a@b.co" }));
}
