//! Declared custom fields of each type (contract 2.1.4, 2.3.1).

use contract_tests::{Backend, Reply, Sandbox, on_every_backend};
use serde_json::{Value, json};

on_every_backend!(
    strings,
    texts,
    emails_phones_codes,
    urls,
    numbers,
    integers,
    large_numbers_are_compared_exactly,
    booleans,
    dates_and_times,
    selects,
    multiselects,
    tags,
    objects,
    required_values,
    stored_as_sent,
    limits_of_custom_fields_apply,
);

/// A sandbox whose schema declares one field `f`.
fn sandbox(backend: Backend, definition: &Value) -> Sandbox {
    let cx = Sandbox::new(backend);
    let mut field = definition.clone();
    field["name"] = json!("f");
    cx.define(&json!({ "customFields": [field] }));
    cx
}

fn create(cx: &Sandbox, value: &Value) -> Reply {
    cx.try_create(&json!({ "primaryEmail": "a@b.co", "customFields": { "f": value } }))
}

#[track_caller]
fn accepts(cx: &Sandbox, values: &[Value]) {
    for value in values {
        let reply = create(cx, value).expect(201);
        assert_eq!(reply.data()["customFields"]["f"].to_string(), value.to_string());
        let id = cx.create(&json!({ "primaryEmail": "a@b.co", "externalReferenceId": reply.id(), "customFields": { "f": value } }));
        let _ = cx.update(&id.id(), &json!({ "customFields": { "f": value } }));
    }
}

#[track_caller]
fn refuses(cx: &Sandbox, kind: &str, values: &[Value]) {
    for value in values {
        let _ = create(cx, value).invalid(&[("customFields.f", kind)]);
    }
}

fn others(but: &[&str]) -> Vec<Value> {
    [
        ("string", json!("text")),
        ("number", json!(7)),
        ("boolean", json!(true)),
        ("array", json!(["x"])),
        ("object", json!({ "x": 1 })),
    ]
    .into_iter()
    .filter(|(name, _)| !but.contains(name))
    .map(|(_, value)| value)
    .collect()
}

fn strings(backend: Backend) {
    let cx = sandbox(backend, &json!({ "type": "string" }));
    accepts(&cx, &[json!(""), json!(" x "), json!("é".repeat(1_000)), json!("42")]);
    refuses(&cx, "maxLength", &[json!("é".repeat(1_001))]);
    refuses(&cx, "invalidCharacters", &[json!("a\nb"), json!("a\tb"), json!("a\u{85}")]);
    refuses(&cx, "type", &others(&["string"]));
    let cx =
        sandbox(backend, &json!({ "type": "string", "minLength": 2, "maxLength": 3, "pattern": "^[a-z]+$" }));
    accepts(&cx, &[json!("ab"), json!("abc")]);
    refuses(&cx, "minLength", &[json!("a"), json!("A")]);
    refuses(&cx, "maxLength", &[json!("abcd"), json!("ABCD")]);
    refuses(&cx, "pattern", &[json!("AB"), json!("a b")]);
}

fn texts(backend: Backend) {
    let cx = sandbox(backend, &json!({ "type": "text" }));
    accepts(&cx, &[json!("a\r\n\tb"), json!("é".repeat(5_000)), json!(" \n ")]);
    refuses(&cx, "maxLength", &[json!("é".repeat(5_001))]);
    refuses(&cx, "invalidCharacters", &[json!("a\u{b}b"), json!("a\u{0}b"), json!("a\u{7f}")]);
    refuses(&cx, "type", &others(&["string"]));
}

fn emails_phones_codes(backend: Backend) {
    let cx = sandbox(backend, &json!({ "type": "email" }));
    accepts(&cx, &[json!("a@b.co"), json!("Ä@Bücher.example")]);
    refuses(&cx, "format", &[json!("a@b"), json!("Ada <a@b.co>"), json!("a b@c.de")]);
    refuses(&cx, "maxLength", &[json!(format!("a@{}.co", "b".repeat(300)))]);
    refuses(&cx, "type", &others(&["string"]));
    let cx = sandbox(backend, &json!({ "type": "phone" }));
    accepts(&cx, &[json!("+44 (0)20/7946-0958"), json!("123")]);
    refuses(&cx, "format", &[json!("12"), json!("123 ext"), json!("1234567890123456")]);
    refuses(&cx, "maxLength", &[json!("1 ".repeat(17))]);
    refuses(&cx, "type", &others(&["string"]));
    let cx = sandbox(backend, &json!({ "type": "phoneCode" }));
    accepts(&cx, &[json!("+44"), json!("1-684")]);
    refuses(&cx, "format", &[json!("0"), json!("12345"), json!("x")]);
    refuses(&cx, "type", &others(&["string"]));
}

fn urls(backend: Backend) {
    let cx = sandbox(backend, &json!({ "type": "url" }));
    let longest = format!("https://example.com/{}", "a".repeat(2_048 - 20));
    accepts(
        &cx,
        &[
            json!("https://example.com"),
            json!("HTTP://example.com:8080/a?b=c#d"),
            json!("https://bücher.example/ä"),
            json!("http://127.0.0.1/"),
            json!(longest),
        ],
    );
    refuses(&cx, "maxLength", &[json!(format!("{longest}a"))]);
    refuses(
        &cx,
        "format",
        &[
            json!("example.com"),
            json!("ftp://example.com"),
            json!("//example.com"),
            json!("https://"),
            json!("javascript:alert(1)"),
            json!("https://a b.co"),
            json!("mailto:a@b.co"),
            json!("/path"),
        ],
    );
    refuses(&cx, "type", &others(&["string"]));
}

fn numbers(backend: Backend) {
    let cx = sandbox(backend, &json!({ "type": "number", "minimum": -1.5, "maximum": 10 }));
    accepts(&cx, &[json!(-1.5), json!(10), json!(0), json!(9.99)]);
    refuses(&cx, "minimum", &[json!(-1.51), json!(-100)]);
    refuses(&cx, "maximum", &[json!(10.01), json!(1e300)]);
    refuses(&cx, "type", &others(&["number"]));
    refuses(&cx, "type", &[json!("42")]);
    let cx = sandbox(backend, &json!({ "type": "number" }));
    accepts(&cx, &[json!(1e308), json!(-1e308), json!(0.1)]);
    let post = |number: &str| {
        let body = format!("{{\"primaryEmail\":\"a@b.co\",\"customFields\":{{\"f\":{number}}}}}");
        cx.call("POST", "/contacts/chatbots/<A>").text(&body).send()
    };
    let reply = post("1.50e+01").expect(201);
    assert!(reply.text.contains("{\"f\":1.50e+01}"), "{}", reply.text);
    let _ = post("1e309").invalid(&[("customFields.f", "maximum")]);
    let _ = post(&"1".repeat(65)).invalid(&[("customFields.f", "maxLength")]);
}

fn integers(backend: Backend) {
    let cx = sandbox(backend, &json!({ "type": "integer", "minimum": 0, "maximum": 1000 }));
    accepts(&cx, &[json!(0), json!(1_000)]);
    refuses(&cx, "type", &[json!(0.5), json!("3"), json!(999.999)]);
    refuses(&cx, "minimum", &[json!(-1)]);
    refuses(&cx, "maximum", &[json!(1_001)]);
    refuses(&cx, "type", &others(&["number"]));
    let post = |number: &str| {
        let body = format!("{{\"primaryEmail\":\"a@b.co\",\"customFields\":{{\"f\":{number}}}}}");
        cx.call("POST", "/contacts/chatbots/<A>").text(&body).send()
    };
    for integer in ["3.0", "1e3", "1000.000", "0.5e1", "30e-1", "0e99"] {
        let reply = post(integer).expect(201);
        assert!(reply.text.contains(&format!("{{\"f\":{integer}}}")), "as written: {}", reply.text);
    }
    for fraction in ["0.5", "1e-1", "35e-1"] {
        let _ = post(fraction).invalid(&[("customFields.f", "type")]);
    }
}

/// Doubles cannot distinguish these; the contract speaks of numbers.
fn large_numbers_are_compared_exactly(backend: Backend) {
    let cx = sandbox(backend, &json!({ "type": "integer", "maximum": 9_007_199_254_740_992_u64 }));
    accepts(&cx, &[json!(9_007_199_254_740_992_u64)]);
    refuses(&cx, "maximum", &[json!(9_007_199_254_740_993_u64)]);
}

fn booleans(backend: Backend) {
    let cx = sandbox(backend, &json!({ "type": "boolean" }));
    accepts(&cx, &[json!(true), json!(false)]);
    refuses(&cx, "type", &others(&["boolean"]));
    refuses(&cx, "type", &[json!("true"), json!(1), json!("")]);
}

fn dates_and_times(backend: Backend) {
    let cx = sandbox(backend, &json!({ "type": "date", "minimum": "2000-01-01", "maximum": "2030-12-31" }));
    accepts(&cx, &[json!("2000-01-01"), json!("2024-02-29"), json!("2030-12-31")]);
    refuses(
        &cx,
        "format",
        &[
            json!("2023-02-29"),
            json!("2024-02-29T00:00:00Z"),
            json!(""),
            json!(" 2024-02-29"),
            json!("29.02.2024"),
        ],
    );
    refuses(&cx, "minimum", &[json!("1999-12-31")]);
    refuses(&cx, "maximum", &[json!("2031-01-01")]);
    refuses(&cx, "type", &others(&["string"]));
    let cx = sandbox(
        backend,
        &json!({ "type": "datetime", "minimum": "2026-01-01T00:00:00+01:00", "maximum": "2026-01-02T00:00:00Z" }),
    );
    accepts(
        &cx,
        &[json!("2025-12-31T23:00:00Z"), json!("2026-01-02T01:00:00+01:00"), json!("2026-01-01t00:00:00.5z")],
    );
    refuses(
        &cx,
        "format",
        &[json!("2026-01-01"), json!("2026-01-01T00:00:00"), json!("2026-13-01T00:00:00Z"), json!("")],
    );
    refuses(&cx, "minimum", &[json!("2025-12-31T22:59:59Z")]);
    refuses(&cx, "maximum", &[json!("2026-01-02T00:00:00.001Z")]);
    refuses(&cx, "type", &others(&["string"]));
}

const OPTIONS: &str = r#"[{ "value": "gold", "label": "Gold" }, { "value": "silver", "label": "Silver" }]"#;

fn options() -> Value {
    serde_json::from_str(OPTIONS).expect("options")
}

fn selects(backend: Backend) {
    let cx = sandbox(backend, &json!({ "type": "select", "options": options() }));
    accepts(&cx, &[json!("gold"), json!("silver")]);
    refuses(&cx, "enum", &[json!("Gold"), json!("bronze"), json!(" gold"), json!("")]);
    refuses(&cx, "type", &others(&["string"]));
    let reply = create(&cx, &json!("x")).invalid(&[("customFields.f", "enum")]);
    assert_eq!(reply.violation(0)["message"], "customFields.f must be one of gold, silver");
}

fn multiselects(backend: Backend) {
    let cx = sandbox(backend, &json!({ "type": "multiselect", "options": options() }));
    accepts(&cx, &[json!([]), json!(["gold"]), json!(["silver", "gold"])]);
    refuses(&cx, "type", &others(&["array"]));
    refuses(&cx, "uniqueItems", &[json!(["gold", "gold"]), json!(["gold", "silver", "gold"])]);
    let _ = create(&cx, &json!(["gold", "x", 7]))
        .invalid(&[("customFields.f[1]", "enum"), ("customFields.f[2]", "type")]);
    let _ = create(&cx, &json!(["x", "y", "z", "w"])).invalid(&[
        ("customFields.f[0]", "enum"),
        ("customFields.f[1]", "enum"),
        ("customFields.f[2]", "enum"),
        ("customFields.f[3]", "enum"),
    ]);
}

fn tags(backend: Backend) {
    let cx = sandbox(backend, &json!({ "type": "tags" }));
    accepts(&cx, &[json!([]), json!(["a", "b"])]);
    refuses(&cx, "type", &others(&["array"]));
    refuses(&cx, "maxItems", &[json!(vec!["x"; 101])]);
    let _ = create(&cx, &json!(["", "é".repeat(65), 7, "a\nb"])).invalid(&[
        ("customFields.f[0]", "minLength"),
        ("customFields.f[1]", "maxLength"),
        ("customFields.f[2]", "type"),
        ("customFields.f[3]", "invalidCharacters"),
    ]);
}

fn objects(backend: Backend) {
    let cx = sandbox(backend, &json!({ "type": "object" }));
    accepts(&cx, &[json!({}), json!({ "a": { "b": [1] } })]);
    refuses(&cx, "type", &others(&["object"]));
    let _ = create(&cx, &json!({ "$a": 1 })).invalid(&[("customFields.f.$a", "pattern")]);
}

fn required_values(backend: Backend) {
    for (definition, good, blank) in [
        (json!({ "type": "string" }), json!("x"), Some(json!("  "))),
        (json!({ "type": "text" }), json!("x"), Some(json!("\n"))),
        (json!({ "type": "email" }), json!("a@b.co"), Some(json!(""))),
        (json!({ "type": "phone" }), json!("123"), Some(json!(" "))),
        (json!({ "type": "phoneCode" }), json!("44"), Some(json!(""))),
        (json!({ "type": "url" }), json!("https://a.co"), Some(json!(""))),
        (json!({ "type": "date" }), json!("2024-02-29"), Some(json!(""))),
        (json!({ "type": "datetime" }), json!("2024-02-29T00:00:00Z"), Some(json!(" "))),
        (json!({ "type": "select", "options": options() }), json!("gold"), Some(json!(""))),
        (json!({ "type": "multiselect", "options": options() }), json!(["gold"]), Some(json!([]))),
        (json!({ "type": "tags" }), json!(["a"]), Some(json!([]))),
        (json!({ "type": "object" }), json!({ "a": 1 }), Some(json!({}))),
        (json!({ "type": "boolean" }), json!(false), None),
        (json!({ "type": "number" }), json!(0), None),
        (json!({ "type": "integer" }), json!(0), None),
    ] {
        let mut definition = definition.clone();
        definition["required"] = json!(true);
        let cx = sandbox(backend, &definition);
        accepts(&cx, std::slice::from_ref(&good));
        refuses(&cx, "required", &[Value::Null]);
        refuses(&cx, "required", blank.as_slice());
        for body in [json!({}), json!({ "customFields": null }), json!({ "customFields": {} })] {
            let mut body = body;
            body["primaryEmail"] = json!("a@b.co");
            let reply = cx.try_create(&body).invalid(&[("customFields.f", "required")]);
            assert_eq!(reply.violation(0)["message"], "customFields.f is required");
        }
        let id = create(&cx, &good).expect(201).id();
        let _ = cx.update(&id, &json!({ "customFields": { "other": 1 } }));
        for body in [json!({ "customFields": { "f": null } }), json!({ "customFields": null })] {
            let _ = cx.try_update(&id, &body).invalid(&[("customFields.f", "required")]);
        }
    }
}

/// Values inside `customFields` stay as sent, declared or not.
fn stored_as_sent(backend: Backend) {
    let cx = sandbox(backend, &json!({ "type": "datetime" }));
    accepts(&cx, &[json!("2026-01-31T09:15:02.123456+05:30")]);
    let cx = sandbox(backend, &json!({ "type": "phoneCode" }));
    accepts(&cx, &[json!("4-4")]);
    let cx = sandbox(backend, &json!({ "type": "tags" }));
    accepts(&cx, &[json!(["VIP", "vip", " x "])]);
}

fn limits_of_custom_fields_apply(backend: Backend) {
    let cx = sandbox(backend, &json!({ "type": "object" }));
    let _ = create(&cx, &json!({ "2": { "3": { "4": { "5": 1 } } } })).expect(201);
    let deeper = json!({ "2": { "3": { "4": { "5": { "6": 1 } } } } });
    let _ = create(&cx, &deeper).invalid(&[("customFields", "maxDepth")]);
    let _ = create(&cx, &json!({ "a": "x".repeat(5_001) })).invalid(&[("customFields.f.a", "maxLength")]);
}
