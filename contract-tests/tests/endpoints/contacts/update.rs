//! PUT …/contacts/<ext>/chatbots/<A> and …/platformid/<cid>/… (contract 2.1.3, 4.2).

use contract_tests::{Backend, Sandbox, on_every_backend, story};
use serde_json::{Value, json};

on_every_backend!(
    omitted_fields_stay,
    null_clears,
    blank_clears,
    required_fields_cannot_be_cleared,
    arrays_are_replaced,
    custom_fields_merge,
    custom_fields_are_cleared,
    a_no_op_changes_nothing,
    a_fetched_record_can_be_sent_back,
    only_sent_fields_are_validated,
    the_phone_agrees_after_the_merge,
    archived_contacts_are_read_only,
    times,
    both_ways_of_addressing,
    absent_contacts,
    all_errors_at_once,
    a_refused_update_stores_nothing,
    concurrent_updates,
);

fn story_contact(cx: &Sandbox) -> String {
    cx.create(&story::new_contact()).id()
}

fn omitted_fields_stay(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = story_contact(&cx);
    let before = cx.read(&id).data().clone();
    cx.advance(1_000);
    let reply = cx.update(&id, &json!({ "lastName": "Adeyemi" }));
    assert_eq!(reply.json["message"], "Contact updated successfully");
    let mut expected = before;
    expected["lastName"] = json!("Adeyemi");
    expected["updatedAt"] = json!("2026-01-31T09:15:03.123Z");
    assert_eq!(*reply.data(), expected);
    assert_eq!(*cx.read(&id).data(), expected);
    assert_eq!(cx.read(&id).header("etag"), reply.header("etag"));
}

const CLEARABLE: [&str; 12] = [
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
    "tags",
];

fn null_clears(backend: Backend) {
    let cx = Sandbox::new(backend);
    for field in CLEARABLE {
        let mut contact = story::new_contact();
        contact["middleName"] = json!("Ada");
        contact["lastContactedAt"] = json!("2026-01-01T00:00:00Z");
        contact["source"] = json!("web");
        contact["externalReferenceId"] = json!(format!("clear {field}"));
        let id = cx.create(&contact).id();
        let reply = cx.update(&id, &json!({ field: null }));
        let empty = if field == "tags" { json!([]) } else { Value::Null };
        assert_eq!(reply.data()[field], empty, "{field}");
        let reply = cx.update(&id, &json!({ "source": null, "customFields": null }));
        assert_eq!(reply.data()["source"], "api");
        assert_eq!(reply.data()["customFields"], json!({}));
    }
}

fn blank_clears(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = story_contact(&cx);
    for field in CLEARABLE.iter().filter(|field| !matches!(**field, "externalReferenceId" | "tags")) {
        let reply = cx.update(&id, &json!({ *field: "  " }));
        assert_eq!(reply.data()[*field], Value::Null, "{field}");
    }
    assert_eq!(cx.update(&id, &json!({ "source": " " })).data()["source"], "api");
    let _ = cx
        .try_update(&id, &json!({ "externalReferenceId": "" }))
        .invalid(&[("externalReferenceId", "minLength")]);
}

fn required_fields_cannot_be_cleared(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = story_contact(&cx);
    for (body, field) in [
        (json!({ "primaryEmail": null }), "primaryEmail"),
        (json!({ "primaryEmail": "" }), "primaryEmail"),
        (json!({ "primaryEmail": "  " }), "primaryEmail"),
        (json!({ "status": null }), "status"),
    ] {
        let reply = cx.try_update(&id, &body).invalid(&[(field, "required")]);
        assert_eq!(reply.violation(0)["message"], format!("{field} is required"));
    }
}

fn arrays_are_replaced(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = story_contact(&cx);
    let reply =
        cx.update(&id, &json!({ "tags": ["b", "B", "vip"], "customFields": { "list": [1, 2, { "a": 1 }] } }));
    assert_eq!(reply.data()["tags"], json!(["b", "vip"]));
    let reply = cx.update(&id, &json!({ "customFields": { "list": [{ "b": null }] } }));
    assert_eq!(reply.data()["customFields"]["list"], json!([{ "b": null }]));
}

/// The test cases of RFC 7396, appendix A, as far as they obey the rules of `customFields`.
fn custom_fields_merge(backend: Backend) {
    let cx = Sandbox::new(backend);
    for (original, patch, result) in [
        (json!({ "a": "b" }), json!({ "a": "c" }), json!({ "a": "c" })),
        (json!({ "a": "b" }), json!({ "b": "c" }), json!({ "a": "b", "b": "c" })),
        (json!({ "a": "b" }), json!({ "a": null }), json!({})),
        (json!({ "a": "b", "b": "c" }), json!({ "a": null }), json!({ "b": "c" })),
        (json!({ "a": ["b"] }), json!({ "a": "c" }), json!({ "a": "c" })),
        (json!({ "a": "c" }), json!({ "a": ["b"] }), json!({ "a": ["b"] })),
        (json!({ "a": { "b": "c" } }), json!({ "a": { "b": "d", "c": null } }), json!({ "a": { "b": "d" } })),
        (json!({ "a": [{ "b": "c" }] }), json!({ "a": [1] }), json!({ "a": [1] })),
        (json!({ "a": "foo" }), json!({ "a": { "b": { "c": null } } }), json!({ "a": { "b": {} } })),
        (json!({}), json!({ "a": { "bb": { "ccc": null } } }), json!({ "a": { "bb": {} } })),
        (json!({ "e": 1 }), json!({ "a": 1 }), json!({ "e": 1, "a": 1 })),
        (json!({ "e": 1 }), json!({ "missing": null }), json!({ "e": 1 })),
    ] {
        let id = cx.create(&json!({ "primaryEmail": "a@b.co", "customFields": original })).id();
        let reply = cx.update(&id, &json!({ "customFields": patch }));
        assert_eq!(reply.data()["customFields"].to_string(), result.to_string(), "{original} + {patch}");
        assert_eq!(cx.read(&id).data(), reply.data());
    }
}

fn custom_fields_are_cleared(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = story_contact(&cx);
    // An empty patch changes nothing; `null` clears.
    let before = cx.read(&id);
    let reply = cx.update(&id, &json!({ "customFields": {} }));
    assert_eq!((reply.data(), reply.header("etag")), (before.data(), before.header("etag")));
    assert_eq!(cx.update(&id, &json!({ "customFields": null })).data()["customFields"], json!({}));
}

fn a_no_op_changes_nothing(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = story_contact(&cx);
    let before = cx.read(&id);
    for body in [
        json!({}),
        json!({ "firstName": "Zoë" }),
        json!({ "firstName": "  Zoë " }),
        json!({ "middleName": null, "lastContactedAt": "" }),
        json!({ "primaryPhoneCode": "4-4" }),
        json!({ "tags": ["vip", "newsletter", "VIP"] }),
        json!({ "dob": "1990-05-17T00:00:00Z" }),
        json!({ "customFields": { "region": { "code": "EMEA" }, "plan": "gold" } }),
        json!({ "customFields": { "nothing": null, "region": {} } }),
        json!({ "source": null, "status": "active" }),
        story::new_contact(),
    ] {
        cx.advance(5_000);
        let reply = cx.update(&id, &body);
        assert_eq!(reply.data(), before.data(), "{body}");
        assert_eq!(reply.header("etag"), before.header("etag"), "{body}");
    }
    // The spelling of a tag, an address or a number is part of its value.
    for body in
        [json!({ "tags": ["VIP", "newsletter"] }), json!({ "primaryEmail": "zoe.okafor@example.com" })]
    {
        let before = cx.read(&id);
        assert_ne!(cx.update(&id, &body).header("etag"), before.header("etag"), "{body}");
    }
}

fn a_fetched_record_can_be_sent_back(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = story_contact(&cx);
    let before = cx.read(&id);
    cx.advance(60_000);
    let reply = cx.update(&id, before.data());
    assert_eq!((reply.data(), reply.header("etag")), (before.data(), before.header("etag")));
    let mut edited = before.data().clone();
    edited["firstName"] = json!("Zoe");
    edited["id"] = json!("000000000000000000000000");
    edited["createdAt"] = json!("1999-01-01T00:00:00.000Z");
    edited["isArchived"] = json!(true);
    let reply = cx.update(&id, &edited);
    assert_eq!(reply.id(), id);
    assert_eq!(reply.data()["createdAt"], before.data()["createdAt"]);
    assert_eq!(reply.data()["isArchived"], false);
    assert_eq!(reply.data()["updatedAt"], "2026-01-31T09:16:02.123Z");
}

fn only_sent_fields_are_validated(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = cx
        .create(&json!({ "primaryEmail": "a@b.co", "gender": "x", "customFields": { "member": "old" } }))
        .id();
    cx.define(&json!({
        "fields": [{ "name": "gender", "options": [{ "value": "female", "label": "F" }] }, { "name": "lastName", "required": true }],
        "customFields": [{ "name": "member", "type": "integer" }],
        "allowUndeclaredCustomFields": false,
    }));
    let reply = cx.update(&id, &json!({ "firstName": "A" }));
    assert_eq!(reply.data()["gender"], "x");
    assert_eq!(reply.data()["customFields"], json!({ "member": "old" }));
    assert_eq!(reply.data()["lastName"], Value::Null);
    let _ = cx
        .try_update(&id, &json!({ "gender": "x", "lastName": null }))
        .invalid(&[("gender", "enum"), ("lastName", "required")]);
}

fn the_phone_agrees_after_the_merge(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = cx
        .create(&json!({ "primaryEmail": "a@b.co", "primaryPhone": "+44 20 7946", "primaryPhoneCode": "44" }))
        .id();
    let _ = cx.try_update(&id, &json!({ "primaryPhoneCode": "49" })).invalid(&[("primaryPhone", "conflict")]);
    let _ = cx
        .try_update(&id, &json!({ "primaryPhone": "+49 20 7946" }))
        .invalid(&[("primaryPhone", "conflict")]);
    let _ = cx.update(&id, &json!({ "primaryPhone": "+49 20 7946", "primaryPhoneCode": "49" }));
    let _ = cx.update(&id, &json!({ "primaryPhoneCode": null }));
    let _ = cx.update(&id, &json!({ "primaryPhone": "+33 123" }));
    let _ = cx.try_update(&id, &json!({ "primaryPhoneCode": "1" })).invalid(&[("primaryPhone", "conflict")]);
}

fn archived_contacts_are_read_only(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = story_contact(&cx);
    let _ = cx.patch(&format!("/contacts/platformid/{id}/chatbots/<A>/archive")).expect(200);
    let before = cx.read(&id);
    for body in [
        json!({}),
        json!({ "firstName": "Zoë" }),
        json!({ "firstName": "New" }),
        json!({ "isArchived": false }),
    ] {
        for reply in [cx.try_update(&id, &body), cx.put("/contacts/crm-1001/chatbots/<A>", &body)] {
            let reply = reply.fails(409, "CONTACT_ARCHIVED");
            assert_eq!(reply.json["message"], "The contact is archived");
            let expected =
                json!({ "resource": "contact", "id": id, "archivedAt": before.data()["archivedAt"] });
            assert_eq!(reply.json["details"], expected);
        }
    }
    assert_eq!(cx.read(&id).data(), before.data());
    let _ = cx.get("/contacts/crm-1001/chatbots/<A>").expect(200);
}

fn times(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = story_contact(&cx);
    cx.advance(86_400_000);
    let reply = cx.update(&id, &json!({ "firstName": "Z" }));
    assert_eq!(reply.data()["createdAt"], "2026-01-31T09:15:02.123Z");
    assert_eq!(reply.data()["updatedAt"], "2026-02-01T09:15:02.123Z");
    // A clock that went backwards does not move `updatedAt` back.
    cx.advance(-3_600_000);
    let reply = cx.update(&id, &json!({ "firstName": "Y" }));
    assert_eq!(reply.data()["updatedAt"], "2026-02-01T09:15:02.123Z");
}

fn both_ways_of_addressing(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = story_contact(&cx);
    let by_external = cx.put("/contacts/crm-1001/chatbots/<A>", &json!({ "firstName": "A" })).expect(200);
    assert_eq!(by_external.data(), cx.read(&id).data());
    let upper = id.to_uppercase();
    let by_id = cx.update(&upper, &json!({ "firstName": "B" }));
    assert_eq!(by_id.id(), id, "upper-case digits are normalised");
    assert_eq!(cx.get("/contacts/crm-1001/chatbots/<A>").expect(200).data(), by_id.data());
}

fn absent_contacts(backend: Backend) {
    let cx = Sandbox::new(backend);
    let body = json!({ "firstName": 7, "nickname": 1 });
    for (path, id, hint) in [
        ("/contacts/no%2Fsuch/chatbots/<A>", "no/such", ""),
        ("/contacts/%20/chatbots/<A>", " ", ""),
        ("/contacts/platformid/697dc8165d4ffa83cfc35cfc/chatbots/<A>", "697dc8165d4ffa83cfc35cfc", ""),
        (
            "/contacts/platformid/crm-1001/chatbots/<A>",
            "crm-1001",
            "; platform ids are 24 hexadecimal characters",
        ),
    ] {
        // A missing resource in the path is reported before any error of the body.
        let reply = cx.put(path, &body).fails(404, "CONTACT_NOT_FOUND");
        assert_eq!(reply.json["message"], format!("Contact not found{hint}"));
        assert_eq!(reply.json["details"], json!({ "resource": "contact", "id": id }));
    }
}

fn all_errors_at_once(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = story_contact(&cx);
    let body = json!({ "status": "gone", "tags": ["a", 1], "primaryEmail": null, "x": 1, "customFields": { "$a": 1 }, "dob": "2030-01-01" });
    let _ = cx.try_update(&id, &body).invalid(&[
        ("status", "enum"),
        ("tags[1]", "type"),
        ("primaryEmail", "required"),
        ("x", "unknown"),
        ("customFields.$a", "pattern"),
        ("dob", "maximum"),
    ]);
}

fn a_refused_update_stores_nothing(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = story_contact(&cx);
    let other = cx.create(&json!({ "primaryEmail": "b@b.co", "externalReferenceId": "taken" }));
    let before = cx.read(&id);
    let _ = cx.try_update(&id, &json!({ "firstName": "New", "lastName": 7 })).fails(400, "VALIDATION_ERROR");
    let _ = cx
        .try_update(&id, &json!({ "firstName": "New", "externalReferenceId": "taken" }))
        .fails(409, "DUPLICATE_EXTERNAL_REFERENCE_ID");
    let reply = cx
        .call("PUT", &format!("/contacts/platformid/{id}/chatbots/<A>"))
        .json(&json!({ "firstName": "New" }))
        .header("if-match", "\"other\"")
        .send();
    let _ = reply.fails(412, "PRECONDITION_FAILED");
    let after = cx.read(&id);
    assert_eq!((after.data(), after.header("etag")), (before.data(), before.header("etag")));
    assert_eq!(cx.read(&other.id()).data(), other.data());
}

/// Without `If-Match` the last write wins for each field, inside one transaction.
fn concurrent_updates(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = story_contact(&cx);
    let path = format!("/contacts/platformid/{id}/chatbots/<A>");
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (cx, path) = (&cx, &path);
            scope.spawn(move || {
                for round in 0..10 {
                    let key = format!("w{writer}");
                    let reply = cx.put(path, &json!({ "customFields": { key: round } }));
                    assert!(reply.status == 200 || reply.code() == "CONCURRENT_UPDATE", "{}", reply.text);
                }
            });
        }
    });
    let custom = cx.read(&id).data()["customFields"].clone();
    for writer in 0..4 {
        assert!(custom[format!("w{writer}")].is_number(), "an update was lost: {custom}");
    }
}
