//! customFields: the free-form object (contract 2.1.1, 2.1.3, 5.3).

use contract_tests::{Backend, Reply, Sandbox, on_every_backend};
use serde_json::{Value, json};

on_every_backend!(
    any_json_value,
    numbers_come_back_as_written,
    numbers_out_of_bounds,
    member_count,
    keys,
    depth,
    string_length,
    serialised_size,
    nulls_are_not_stored,
    several_errors_in_order,
    zero_characters,
    values_stay_as_sent,
    many_members_are_refused,
);

fn create(cx: &Sandbox, custom: &Value) -> Reply {
    cx.try_create(&json!({ "primaryEmail": "a@b.co", "customFields": custom }))
}

#[track_caller]
fn keeps(cx: &Sandbox, custom: &Value) {
    let created = create(cx, custom).expect(201);
    assert_eq!(created.data()["customFields"].to_string(), custom.to_string());
    assert_eq!(cx.read(&created.id()).data(), created.data());
}

fn any_json_value(backend: Backend) {
    let cx = Sandbox::new(backend);
    keeps(&cx, &json!({}));
    keeps(
        &cx,
        &json!({ "a": "", "b": 1, "c": true, "d": [], "e": {}, "f": [null, [1, { "g": "h" }]], "z": 0, "y": 1 }),
    );
    keeps(&cx, &json!({ "primaryEmail": 7, "id": "x", "_": 1, "__proto__": { "constructor": 1 } }));
}

/// The text of `customFields` in a response.
fn text_of(reply: &Reply) -> &str {
    let start = reply.text.find("\"customFields\":").expect("customFields") + "\"customFields\":".len();
    let end = reply.text.find(",\"isArchived\"").expect("the next member");
    &reply.text[start..end]
}

fn numbers_come_back_as_written(backend: Backend) {
    let cx = Sandbox::new(backend);
    let long = format!("0.{}", "1".repeat(62));
    assert_eq!(long.len(), 64);
    let custom = format!(
        "{{\"a\":1.50,\"b\":-0,\"c\":1E+2,\"d\":12345678901234567890123456789,\"e\":1e308,\"f\":-1e308,\"g\":{long},\"h\":[0.10,1e-400]}}"
    );
    let body = format!("{{\"primaryEmail\":\"a@b.co\",\"customFields\": {custom} }}");
    let reply = cx.call("POST", "/contacts/chatbots/<A>").text(&body).send().expect(201);
    assert_eq!(text_of(&reply), custom);
    assert_eq!(text_of(&cx.read(&reply.id())), custom);
    let list = cx.get("/contacts/chatbots/<A>").expect(200);
    assert_eq!(text_of(&list), custom);
}

fn numbers_out_of_bounds(backend: Backend) {
    let cx = Sandbox::new(backend);
    let post = |number: &str| {
        let body = format!("{{\"primaryEmail\":\"a@b.co\",\"customFields\":{{\"n\":[{number}]}}}}");
        cx.call("POST", "/contacts/chatbots/<A>").text(&body).send()
    };
    let _ = post(&"1".repeat(64)).expect(201);
    let _ = post(&"1".repeat(65)).invalid(&[("customFields.n[0]", "maxLength")]);
    let _ = post(&format!("1e-{}", "0".repeat(62))).invalid(&[("customFields.n[0]", "maxLength")]);
    let _ = post("1.1e308").invalid(&[("customFields.n[0]", "maximum")]);
    let _ = post("-1.1e308").invalid(&[("customFields.n[0]", "maximum")]);
    let reply = post("1e309").invalid(&[("customFields.n[0]", "maximum")]);
    assert!(reply.text.contains("\"value\":1e309"), "echoed as written: {}", reply.text);
    let _ = post("1e99999999999999999999").invalid(&[("customFields.n[0]", "maximum")]);
}

fn member_count(backend: Backend) {
    let cx = Sandbox::new(backend);
    let members = |count: usize| -> Value { (0..count).map(|n| (format!("k{n}"), json!(n))).collect() };
    keeps(&cx, &members(100));
    let _ = create(&cx, &members(101)).invalid(&[("customFields", "maxProperties")]);
    // Only top-level keys are counted.
    keeps(&cx, &json!({ "inner": members(150) }));
    let id = create(&cx, &members(100)).expect(201).id();
    let _ = cx
        .try_update(&id, &json!({ "customFields": { "one more": 1 } }))
        .invalid(&[("customFields", "maxProperties")]);
    let _ = cx.update(&id, &json!({ "customFields": { "one more": 1, "k0": null } }));
}

fn keys(backend: Backend) {
    let cx = Sandbox::new(backend);
    let longest = "é".repeat(64);
    keeps(&cx, &json!({ longest.as_str(): 1, "a b": 1, "c$": 1, "-": 2, " ": 3, "[0]": 4 }));
    let too_long = "é".repeat(65);
    for key in ["", "$", "$set", "a.b", ".", "a\nb", "a\u{7f}", "a\u{85}", &too_long] {
        let field = format!("customFields.{key}");
        let reply = create(&cx, &json!({ key: "v" })).invalid(&[(&field, "pattern")]);
        assert_eq!(reply.violation(0)["value"], "v");
        let field = format!("customFields.a.{key}");
        let _ = create(&cx, &json!({ "a": { key: 1 } })).invalid(&[(&field, "pattern")]);
        let field = format!("customFields.a[1].{key}");
        let _ = create(&cx, &json!({ "a": [0, { key: 1 }] })).invalid(&[(&field, "pattern")]);
    }
}

fn depth(backend: Backend) {
    let cx = Sandbox::new(backend);
    keeps(&cx, &json!({ "1": { "2": { "3": { "4": { "5": "deepest" } } } } }));
    keeps(&cx, &json!({ "1": [[[["5"]]]] }));
    keeps(&cx, &json!({ "1": { "2": [{ "4": {} }] } }));
    keeps(&cx, &json!({ "1": { "2": { "3": { "4": { "5": {} } } } } }));
    keeps(&cx, &json!({ "1": { "2": { "3": { "4": { "5": [] } } } } }));
    for deeper in [
        json!({ "1": { "2": { "3": { "4": { "5": { "6": 1 } } } } } }),
        json!({ "1": [[[[["6"]]]]] }),
        json!({ "1": { "2": [{ "4": [{ "6": null, "7": 1 }] }] } }),
    ] {
        let reply = create(&cx, &deeper).invalid(&[("customFields", "maxDepth")]);
        assert_eq!(reply.violation(0)["value"], Value::Null);
    }
    // An update is measured after the merge.
    let id = create(&cx, &json!({ "1": { "2": { "3": { "4": {} } } } })).expect(201).id();
    let deeper = json!({ "customFields": { "1": { "2": { "3": { "4": { "5": { "6": 1 } } } } } } });
    let _ = cx.try_update(&id, &deeper).invalid(&[("customFields", "maxDepth")]);
}

fn string_length(backend: Backend) {
    let cx = Sandbox::new(backend);
    let longest = "é".repeat(5_000);
    keeps(&cx, &json!({ "a": longest, "b": ["x".repeat(5_000)] }));
    let reply = create(&cx, &json!({ "a": { "b": ["é".repeat(5_001)] } }))
        .invalid(&[("customFields.a.b[0]", "maxLength")]);
    let value = reply.violation(0)["value"].as_str().unwrap_or_default().to_owned();
    assert_eq!(value, format!("{}…", "é".repeat(256)));
}

fn serialised_size(backend: Backend) {
    let cx = Sandbox::new(backend);
    let of_size = |bytes: usize| -> Value {
        // Strings of 5,000 characters, then one that fills up; `é` is two bytes.
        let mut members = serde_json::Map::new();
        for name in ["a", "b", "c"] {
            members.insert(name.into(), json!("é".repeat(4_990)));
        }
        let base = Value::Object(members.clone()).to_string().len() + ",\"d\":\"\"".len();
        members.insert("d".into(), json!("x".repeat(bytes - base)));
        let value = Value::Object(members);
        assert_eq!(value.to_string().len(), bytes);
        value
    };
    keeps(&cx, &of_size(32 * 1024));
    let _ = create(&cx, &of_size(32 * 1024 + 1)).invalid(&[("customFields", "maxSize")]);
    let id = create(&cx, &of_size(32 * 1024)).expect(201).id();
    let _ =
        cx.try_update(&id, &json!({ "customFields": { "e": 1 } })).invalid(&[("customFields", "maxSize")]);
    let _ = cx.update(&id, &json!({ "customFields": { "e": 1, "a": null } }));
}

/// Like a merge into an empty value (RFC 7396): the content of an array is part of its value.
fn nulls_are_not_stored(backend: Backend) {
    let cx = Sandbox::new(backend);
    let reply = create(
        &cx,
        &json!({ "a": null, "b": { "c": null, "d": { "e": null } }, "f": [null, { "g": null }] }),
    );
    assert_eq!(
        reply.expect(201).data()["customFields"],
        json!({ "b": { "d": {} }, "f": [null, { "g": null }] })
    );
    let reply = create(&cx, &Value::Null).expect(201);
    assert_eq!(reply.data()["customFields"], json!({}));
}

fn several_errors_in_order(backend: Backend) {
    let cx = Sandbox::new(backend);
    let body =
        json!({ "customFields": { "a.b": 1, "c": "x".repeat(5_001), "d": { "$e": 2 } }, "firstName": 3 });
    let _ = cx.try_create(&body).invalid(&[
        ("customFields.a.b", "pattern"),
        ("customFields.c", "maxLength"),
        ("customFields.d.$e", "pattern"),
        ("firstName", "type"),
        ("primaryEmail", "required"),
    ]);
}

fn zero_characters(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = create(&cx, &json!({ "a": "b\u{0}" })).invalid(&[("customFields.a", "invalidCharacters")]);
    let _ = create(&cx, &json!({ "a": [{ "b": "\u{0}" }] }))
        .invalid(&[("customFields.a[0].b", "invalidCharacters")]);
    // U+0000 is the only character rejected in values.
    keeps(&cx, &json!({ "a": "\u{1}\u{7f}\u{85}\u{2028}\u{feff}\r\n\t\u{fffe}𝒳" }));
    // In a name it breaks the rule for all names (contract 5.3), which precedes the rule for keys.
    let _ = create(&cx, &json!({ "a\u{0}": 1 })).invalid(&[("customFields.a\u{0}", "invalidCharacters")]);
    let _ = create(&cx, &json!({ "a": { "\u{0}": 1 } }))
        .invalid(&[("customFields.a.\u{0}", "invalidCharacters")]);
}

fn values_stay_as_sent(backend: Backend) {
    let cx = Sandbox::new(backend);
    keeps(
        &cx,
        &json!({ "at": "2026-01-31T09:15:02+05:30", "padded": "  x  ", "upper": "TRUE", "e": "e\u{301}" }),
    );
}

/// Untrusted input may be rejected, but must not take long (contract 9: a body of 1 MiB). With a cost quadratic in the
/// number of members, this test alone takes minutes.
fn many_members_are_refused(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = cx.create(&json!({ "primaryEmail": "a@b.co" })).id();
    let update = format!("/contacts/platformid/{id}/chatbots/<A>");
    let members = |count: usize| {
        let members: Vec<String> = (0..count).map(|n| format!("\"{n:x}\":1")).collect();
        members.join(",")
    };
    let flat = |members: &str| format!("{{\"primaryEmail\":\"a@b.co\",\"customFields\":{{{members}}}}}");
    let nested = |members: &str| flat(&format!("\"a\":{{{members}}}"));
    let unknown = |members: &str| format!("{{\"primaryEmail\":\"a@b.co\",{members}}}");
    let many = members(50_000);
    for (method, path) in [("POST", "/contacts/chatbots/<A>"), ("PUT", update.as_str())] {
        for (body, fault) in
            [(flat(&many), "maxProperties"), (nested(&many), "maxSize"), (unknown(&many), "unknown")]
        {
            assert!(body.len() < 1_048_576);
            let reply = cx.call(method, path).text(&body).send();
            assert_eq!(reply.fails(400, "VALIDATION_ERROR").violation(0)["type"], fault);
        }
    }
}
