//! Fields that the operator marks `unique` (contract 2.1.4).

use contract_tests::{Backend, Reply, Sandbox, on_every_backend};
use serde_json::{Value, json};

on_every_backend!(
    unique_standard_fields,
    unique_custom_fields,
    unique_among_archived_contacts,
    unique_is_enabled_only_without_duplicates,
);

fn create(cx: &Sandbox, mut body: Value) -> Reply {
    if body.get("primaryEmail").is_none() {
        body["primaryEmail"] = json!("a@b.co");
    }
    cx.try_create(&body)
}

fn unique_standard_fields(backend: Backend) {
    let cx = Sandbox::new(backend);
    cx.define(&json!({ "fields": [{ "name": "primaryEmail", "unique": true }, { "name": "primaryPhone", "unique": true }] }));
    let first =
        create(&cx, json!({ "primaryEmail": "a@Bücher.example", "primaryPhone": "12345" })).expect(201).id();
    for email in ["A@bücher.example", "a@xn--bcher-kva.example", "a@XN--BCHER-KVA.EXAMPLE"] {
        let reply = create(&cx, json!({ "primaryEmail": email })).fails(409, "DUPLICATE_VALUE");
        assert_eq!(
            reply.json["details"],
            json!({ "field": "primaryEmail", "existingContactId": first, "archived": false })
        );
        assert_eq!(reply.violation(0)["value"], email);
        assert_eq!(reply.json["message"], "primaryEmail is already used by another contact");
    }
    let reply = create(&cx, json!({ "primaryEmail": "b@b.co", "primaryPhone": "12345" }))
        .fails(409, "DUPLICATE_VALUE");
    assert_eq!(reply.violations(), [("primaryPhone", "unique")]);
    // A missing value does not collide with another missing value.
    let second = create(&cx, json!({ "primaryEmail": "b@b.co" })).expect(201).id();
    let _ = create(&cx, json!({ "primaryEmail": "c@b.co", "primaryPhone": "" })).expect(201);
    let _ =
        cx.try_update(&second, &json!({ "primaryEmail": "a@bücher.EXAMPLE" })).fails(409, "DUPLICATE_VALUE");
    // A contact does not collide with itself.
    let _ = cx.update(&first, &json!({ "primaryEmail": "A@bücher.example", "firstName": "A" }));
    // The external id comes first.
    let _ = cx.update(&first, &json!({ "externalReferenceId": "one" }));
    let body = json!({ "primaryEmail": "a@bücher.example", "externalReferenceId": "one" });
    let _ = create(&cx, body).fails(409, "DUPLICATE_EXTERNAL_REFERENCE_ID");
    // A freed value may be used again.
    let _ = cx.update(&first, &json!({ "primaryEmail": "free@b.co", "primaryPhone": null }));
    let _ = create(&cx, json!({ "primaryEmail": "a@bücher.example", "primaryPhone": "12345" })).expect(201);
}

fn unique_custom_fields(backend: Backend) {
    let cx = Sandbox::new(backend);
    cx.define(&json!({ "customFields": [
        { "name": "member", "type": "string", "unique": true },
        { "name": "number", "type": "number", "unique": true },
        { "name": "mail", "type": "email", "unique": true },
    ] }));
    let with = |custom: Value| create(&cx, json!({ "customFields": custom }));
    let first = with(json!({ "member": "A-1", "number": 1.50, "mail": "a@b.co" })).expect(201).id();
    for (custom, field) in [
        (json!({ "member": "A-1" }), "customFields.member"),
        (json!({ "number": 1.5 }), "customFields.number"),
        (json!({ "mail": "A@B.CO" }), "customFields.mail"),
    ] {
        let reply = with(custom).fails(409, "DUPLICATE_VALUE");
        assert_eq!(reply.violations(), [(field, "unique")]);
        assert_eq!(
            reply.json["details"],
            json!({ "field": field, "existingContactId": first, "archived": false })
        );
        assert_eq!(reply.json["message"], format!("{field} is already used by another contact"));
    }
    let _ = with(json!({ "member": "a-1", "number": -1.5, "mail": "b@b.co" })).expect(201);
    let _ = with(json!({ "member": null })).expect(201);
    let other = with(json!({ "member": "B" })).expect(201).id();
    let _ =
        cx.try_update(&other, &json!({ "customFields": { "member": "A-1" } })).fails(409, "DUPLICATE_VALUE");
}

fn unique_among_archived_contacts(backend: Backend) {
    let cx = Sandbox::new(backend);
    cx.define(&json!({ "fields": [{ "name": "primaryEmail", "unique": true }] }));
    let first = create(&cx, json!({})).expect(201).id();
    let _ = cx.patch(&format!("/contacts/platformid/{first}/chatbots/<A>/archive")).expect(200);
    let reply = create(&cx, json!({})).fails(409, "DUPLICATE_VALUE");
    assert_eq!(reply.json["details"]["archived"], true);
}

fn unique_is_enabled_only_without_duplicates(backend: Backend) {
    let cx = Sandbox::new(backend);
    let unique = json!({ "fields": [{ "name": "primaryEmail", "unique": true }] });
    let one = create(&cx, json!({ "primaryEmail": "Same@b.co" })).expect(201).id();
    let two = create(&cx, json!({ "primaryEmail": "same@b.co" })).expect(201).id();
    let _ = cx.patch(&format!("/contacts/platformid/{one}/chatbots/<A>/archive")).expect(200);
    let error = cx.redefine(&unique).expect_err("two contacts share an address").to_string();
    assert!(error.contains("primaryEmail") && (error.contains(&one) || error.contains(&two)), "{error}");
    assert_eq!(cx.get("/contacts/schema/chatbots/<A>").expect(200).data()["version"], 1);
    let _ = cx.update(&two, &json!({ "primaryEmail": "other@b.co" }));
    cx.define(&unique);
    let _ = create(&cx, json!({ "primaryEmail": "OTHER@b.co" })).fails(409, "DUPLICATE_VALUE");
}
