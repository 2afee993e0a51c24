//! Fields that the operator marks `sensitive`: neither searchable nor echoed in errors (contract 2.1.4).

use contract_tests::{Backend, Reply, Sandbox, on_every_backend};
use serde_json::{Value, json};

on_every_backend!(sensitive_values_are_not_echoed, sensitive_values_are_not_searched,);

fn create(cx: &Sandbox, mut body: Value) -> Reply {
    if body.get("primaryEmail").is_none() {
        body["primaryEmail"] = json!("a@b.co");
    }
    cx.try_create(&body)
}

fn sensitive_values_are_not_echoed(backend: Backend) {
    let cx = Sandbox::new(backend);
    cx.define(&json!({
        "fields": [
            { "name": "primaryPhone", "sensitive": true, "unique": true }, { "name": "primaryPhoneCode", "sensitive": true },
            { "name": "externalReferenceId", "sensitive": true }, { "name": "tags", "sensitive": true }, { "name": "dob", "sensitive": true },
        ],
        "customFields": [{ "name": "secret", "type": "select", "options": ["a"], "sensitive": true }, { "name": "deep", "type": "object", "sensitive": true }],
    }));
    let hidden = |body: Value| {
        let reply = create(&cx, body).fails(400, "VALIDATION_ERROR");
        for index in 0..reply.violations().len() {
            assert_eq!(reply.violation(index)["value"], Value::Null, "{}", reply.text);
        }
        assert!(!reply.text.contains("47110815"), "{}", reply.text);
    };
    hidden(json!({ "primaryPhone": "x47110815" }));
    hidden(json!({ "primaryPhone": "+49 123", "primaryPhoneCode": "47110815" }));
    hidden(json!({ "tags": ["a", 47110815] }));
    hidden(json!({ "dob": 47110815 }));
    hidden(json!({ "externalReferenceId": 47110815 }));
    hidden(json!({ "customFields": { "secret": "47110815" } }));
    hidden(json!({ "customFields": { "deep": { "$x": "47110815" } } }));
    hidden(json!({ "customFields": { "deep": { "x": ["47110815\u{0}"] } } }));
    let id = create(&cx, json!({ "primaryPhone": "47110815", "externalReferenceId": "id-47110815" }))
        .expect(201)
        .id();
    for body in [json!({ "primaryPhone": "47110815" }), json!({ "externalReferenceId": "id-47110815" })] {
        let reply = create(&cx, body);
        assert_eq!(reply.status, 409);
        assert!(!reply.text.contains("47110815"), "{}", reply.text);
        assert_eq!(reply.violation(0)["value"], Value::Null);
        assert_eq!(reply.json["details"]["existingContactId"], id);
    }
    // If `customFields` is sensitive, so is everything in it.
    cx.define(&json!({ "fields": [{ "name": "customFields", "sensitive": true }], "allowUndeclaredCustomFields": false }));
    hidden(json!({ "customFields": { "$x": "47110815" } }));
    hidden(json!({ "customFields": { "undeclared": "47110815" } }));
}

fn sensitive_values_are_not_searched(backend: Backend) {
    let cx = Sandbox::new(backend);
    let body = json!({
        "firstName": "Needle", "middleName": "Needle", "lastName": "Needle", "primaryEmail": "needle@b.co", "primaryPhone": "555 12 345",
        "primaryPhoneCode": "44", "externalReferenceId": "needle", "fullAddress": "needle", "tags": ["needle"],
        "customFields": { "declared": "needle", "free": "needle" },
    });
    let _ = cx.create(&body);
    let found = |term: &str| {
        cx.get(&format!("/contacts/chatbots/<A>?search={term}")).expect(200).pagination()["totalItems"]
            .clone()
    };
    assert_eq!((found("needle"), found("55512345"), found("4455512")), (json!(1), json!(1), json!(1)));
    let names = [
        "firstName",
        "middleName",
        "lastName",
        "primaryEmail",
        "primaryPhone",
        "externalReferenceId",
        "fullAddress",
        "tags",
    ];
    let fields: Vec<Value> = names.iter().map(|name| json!({ "name": name, "sensitive": true })).collect();
    let mut definition = json!({ "fields": fields, "customFields": [{ "name": "declared", "type": "string", "sensitive": true }] });
    cx.define(&definition);
    assert_eq!(found("needle"), 1, "an undeclared custom field is still searched");
    assert_eq!(found("55512345"), 0);
    definition["fields"]
        .as_array_mut()
        .expect("fields")
        .push(json!({ "name": "customFields", "sensitive": true }));
    cx.define(&definition);
    assert_eq!(found("needle"), 0);
    cx.define(&json!({}));
    assert_eq!(found("needle"), 1);
}
