//! externalReferenceId (contract 2.1.2).

use contract_tests::{Backend, Sandbox, on_every_backend};
use serde_json::{Value, json};

on_every_backend!(
    valid_external_ids,
    invalid_external_ids,
    reserved_names,
    the_configured_id_segment_is_reserved,
    exact_and_case_sensitive,
    collisions,
    collisions_with_archived_contacts,
    rename_and_clear,
    a_hexadecimal_external_id_is_not_a_platform_id,
);

fn body(id: &Value) -> Value {
    json!({ "primaryEmail": "a@b.co", "externalReferenceId": id })
}

fn path(id: &str) -> String {
    let encoded: String = id
        .bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect();
    format!("/contacts/{encoded}/chatbots/<A>")
}

fn valid_external_ids(backend: Backend) {
    let cx = Sandbox::new(backend);
    for id in [
        "x",
        "crm/1001",
        "a b",
        "a%2Fb",
        "50% + 1",
        "a+b",
        "é",
        "e\u{301}",
        "Schema",
        "schema2",
        "PLATFORMID",
        "...",
        ".a",
        "?page=1",
        "#",
        "\\",
        "\"quoted\"",
        "null",
        "a\u{200b}",
        "697dc8165d4ffa83cfc35cfc",
        &"é".repeat(255),
        "archive.json",
    ] {
        let created = cx.create(&body(&json!(id)));
        assert_eq!(created.data()["externalReferenceId"], id, "stored exactly");
        let location = created.header("location").expect("a location");
        assert_eq!(location, format!("/v1/open{}", path(id).replace("<A>", cx.agent.as_str())));
        assert_eq!(cx.at("GET", location).send().expect(200).data(), created.data());
        let _ = cx.at("GET", &format!("{location}/")).send().expect(200);
    }
    // `null` means none, and any number of contacts may have none.
    for _ in 0..2 {
        let created = cx.create(&body(&Value::Null));
        assert_eq!(created.data()["externalReferenceId"], Value::Null);
        let id = created.id();
        assert_eq!(
            created.header("location"),
            Some(format!("/v1/open/contacts/platformid/{id}/chatbots/{}", cx.agent).as_str())
        );
    }
}

fn invalid_external_ids(backend: Backend) {
    let cx = Sandbox::new(backend);
    for (id, kind) in [
        (json!(""), "minLength"),
        (json!("x".repeat(256)), "maxLength"),
        (json!("é".repeat(256)), "maxLength"),
        (json!(" a"), "pattern"),
        (json!("a "), "pattern"),
        (json!(" "), "pattern"),
        (json!("a\u{a0}"), "pattern"),
        (json!("\u{3000}a"), "pattern"),
        (json!("a\nb"), "invalidCharacters"),
        (json!("a\u{0}"), "invalidCharacters"),
        (json!("a\u{85}b"), "invalidCharacters"),
        (json!("a\u{2028}b"), "invalidCharacters"),
        (json!("a\u{2029}"), "invalidCharacters"),
        (json!("\t"), "invalidCharacters"),
        (json!(7), "type"),
        (json!(["a"]), "type"),
    ] {
        let _ = cx.try_create(&body(&id)).invalid(&[("externalReferenceId", kind)]);
        let contact = cx.create(&json!({ "primaryEmail": "a@b.co" })).id();
        let _ = cx
            .try_update(&contact, &json!({ "externalReferenceId": id }))
            .invalid(&[("externalReferenceId", kind)]);
    }
}

fn reserved_names(backend: Backend) {
    let cx = Sandbox::new(backend);
    for id in ["schema", "chatbots", "archive", "unarchive", "platformid", ".", ".."] {
        let reply = cx.try_create(&body(&json!(id))).invalid(&[("externalReferenceId", "reserved")]);
        assert_eq!(reply.violation(0)["value"], id);
    }
}

fn the_configured_id_segment_is_reserved(backend: Backend) {
    let cx = Sandbox::with_settings(backend, |settings| {
        settings.service_info = settings.service_info.clone().with_id_segment("acme-id").expect("a segment");
    });
    let _ = cx.try_create(&body(&json!("acme-id"))).invalid(&[("externalReferenceId", "reserved")]);
    let created = cx.create(&body(&json!("platformid")));
    assert_eq!(
        created.header("location"),
        Some(format!("/v1/open/contacts/platformid/chatbots/{}", cx.agent).as_str())
    );
    let id = created.id();
    let _ = cx.get(&format!("/contacts/acme-id/{id}/chatbots/<A>")).expect(200);
    let _ = cx.get("/contacts/platformid/chatbots/<A>").expect(200);
    let _ = cx.get(&format!("/contacts/platformid/{id}/chatbots/<A>")).fails(404, "ROUTE_NOT_FOUND");
    let other = cx.create(&json!({ "primaryEmail": "a@b.co" }));
    assert_eq!(
        other.header("location"),
        Some(format!("/v1/open/contacts/acme-id/{}/chatbots/{}", other.id(), cx.agent).as_str())
    );
}

fn exact_and_case_sensitive(backend: Backend) {
    let cx = Sandbox::new(backend);
    let ids = ["abc", "ABC", "Abc", "é", "e\u{301}", "É"];
    for id in ids {
        let _ = cx.create(&body(&json!(id)));
    }
    for id in ids {
        assert_eq!(cx.get(&path(id)).expect(200).data()["externalReferenceId"], id);
    }
    let _ = cx.get(&path("aBC")).fails(404, "CONTACT_NOT_FOUND");
}

fn collisions(backend: Backend) {
    let cx = Sandbox::new(backend);
    let first = cx.create(&body(&json!("crm-1001"))).id();
    let second = cx.create(&body(&json!("crm-1002"))).id();
    for reply in [
        cx.try_create(&body(&json!("crm-1001"))),
        cx.try_update(&second, &json!({ "externalReferenceId": "crm-1001" })),
        cx.put("/contacts/crm-1002/chatbots/<A>", &json!({ "externalReferenceId": "crm-1001" })),
    ] {
        let reply = reply.fails(409, "DUPLICATE_EXTERNAL_REFERENCE_ID");
        assert_eq!(reply.json["details"], json!({ "existingContactId": first, "archived": false }));
        assert_eq!(reply.violations(), [("externalReferenceId", "unique")]);
        assert_eq!(reply.violation(0)["value"], "crm-1001");
    }
    assert_eq!(cx.read(&second).data()["externalReferenceId"], "crm-1002");
    // A rename to the same id is neither a collision nor a change.
    let before = cx.read(&second);
    let after = cx.update(&second, &json!({ "externalReferenceId": "crm-1002" }));
    assert_eq!((after.data(), after.header("etag")), (before.data(), before.header("etag")));
    assert_eq!(after.header("location"), None);
}

fn collisions_with_archived_contacts(backend: Backend) {
    let cx = Sandbox::new(backend);
    let first = cx.create(&body(&json!("crm-1001"))).id();
    let _ = cx.patch("/contacts/crm-1001/chatbots/<A>/archive").expect(200);
    let reply = cx.try_create(&body(&json!("crm-1001"))).fails(409, "DUPLICATE_EXTERNAL_REFERENCE_ID");
    assert_eq!(reply.json["details"], json!({ "existingContactId": first, "archived": true }));
}

fn rename_and_clear(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = cx.create(&body(&json!("one"))).id();
    let reply =
        cx.put("/contacts/one/chatbots/<A>", &json!({ "externalReferenceId": "two words" })).expect(200);
    let location = format!("/v1/open/contacts/two%20words/chatbots/{}", cx.agent);
    assert_eq!(reply.header("location"), Some(location.as_str()));
    let _ = cx.get("/contacts/one/chatbots/<A>").fails(404, "CONTACT_NOT_FOUND");
    let _ = cx.at("GET", &location).send().expect(200);
    // The old id is free again.
    let _ = cx.create(&body(&json!("one")));
    let reply = cx.update(&id, &json!({ "externalReferenceId": null }));
    assert_eq!(reply.data()["externalReferenceId"], Value::Null);
    let location = format!("/v1/open/contacts/platformid/{id}/chatbots/{}", cx.agent);
    assert_eq!(reply.header("location"), Some(location.as_str()));
    let _ = cx.get("/contacts/two%20words/chatbots/<A>").fails(404, "CONTACT_NOT_FOUND");
    let reply = cx.update(&id, &json!({ "externalReferenceId": "three" }));
    let location = format!("/v1/open/contacts/three/chatbots/{}", cx.agent);
    assert_eq!(reply.header("location"), Some(location.as_str()));
    // Other changes return no location.
    let reply = cx.put("/contacts/three/chatbots/<A>", &json!({ "firstName": "A" })).expect(200);
    assert_eq!(reply.header("location"), None);
}

fn a_hexadecimal_external_id_is_not_a_platform_id(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = cx.create(&json!({ "primaryEmail": "a@b.co" })).id();
    let _ = cx.get(&format!("/contacts/{id}/chatbots/<A>")).fails(404, "CONTACT_NOT_FOUND");
    let other = cx.create(&body(&json!(id))).id();
    assert_ne!(other, id);
    assert_eq!(cx.get(&format!("/contacts/{id}/chatbots/<A>")).expect(200).id(), other);
    assert_eq!(cx.read(&id).id(), id);
}
