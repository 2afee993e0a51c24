//! The values that a field of each type accepts (contract 2.3.1).

use contract_tests::{Backend, Sandbox, on_every_backend};
use serde_json::{Value, json};

use crate::support::{raw, sandbox, try_submit, with_fields};

on_every_backend!(every_type, text_under_rules, numbers_under_rules, dates_and_times_under_rules, choices);

/// One optional field `v`: accepted values are returned as sent, all others have their rule.
#[track_caller]
fn judged(cx: &Sandbox, field: Value, accepted: &[Value], refused: &[(Value, &str)]) {
    let mut field = field;
    field["name"] = json!("v");
    let template = with_fields(cx, json!([field]));
    for value in accepted {
        let reply = try_submit(cx, &template, &json!({ "formData": { "v": value } }));
        assert_eq!(reply.status, 201, "{field} {value}: {}", reply.shown());
        assert_eq!(reply.data()["formData"]["v"], *value, "{field}");
    }
    for (value, kind) in refused {
        let reply = try_submit(cx, &template, &json!({ "formData": { "v": value } }));
        assert_eq!(reply.violations(), [("formData.v", *kind)], "{field} {value}: {}", reply.shown());
    }
}

/// Values of every JSON type except the given ones.
fn of_other_types(own: &[&str]) -> Vec<(Value, &'static str)> {
    let all = [
        ("string", json!("text")),
        ("number", json!(4.5)),
        ("boolean", json!(true)),
        ("array", json!([1])),
        ("object", json!({ "a": 1 })),
    ];
    all.into_iter().filter(|(name, _)| !own.contains(name)).map(|(_, value)| (value, "type")).collect()
}

fn every_type(backend: Backend) {
    let cx = sandbox(backend);
    let check = |kind: &str, own: &[&str], accepted: &[Value], refused: &[(Value, &str)]| {
        judged(&cx, json!({ "type": kind }), accepted, refused);
        judged(&cx, json!({ "type": kind }), &[], &of_other_types(own));
    };
    check(
        "text",
        &["string"],
        &[json!("x"), json!(" as sent "), json!("é".repeat(1_000)), json!("")],
        &[
            (json!("é".repeat(1_001)), "maxLength"),
            (json!("a\nb"), "invalidCharacters"),
            (json!("\u{7f}"), "invalidCharacters"),
            (json!("a\u{0}"), "invalidCharacters"),
        ],
    );
    check(
        "textarea",
        &["string"],
        &[json!("a\tb\r\nc"), json!("é".repeat(20_000))],
        &[
            (json!("é".repeat(20_001)), "maxLength"),
            (json!("a\u{1b}b"), "invalidCharacters"),
            (json!("a\u{0}"), "invalidCharacters"),
        ],
    );
    let long = format!("{}@{}.{}.{}.com", "a".repeat(64), "b".repeat(63), "c".repeat(63), "d".repeat(57));
    assert_eq!(long.len(), 254);
    check(
        "email",
        &["string"],
        &[json!("a@b.co"), json!("Zoë.Okafor@exämple.com"), json!(long)],
        &[
            (json!("a"), "format"),
            (json!("a@b"), "format"),
            (json!("Zoë <a@b.co>"), "format"),
            (json!("a@b.co."), "format"),
            (json!("\"a b\"@b.co"), "format"),
            (json!("a@[192.0.2.1]"), "format"),
            (json!(format!("a{long}")), "maxLength"),
        ],
    );
    check(
        "phone",
        &["string"],
        &[json!("+44 20 7946 0999"), json!("(020) 7946-0958"), json!("123"), json!("1".repeat(15))],
        &[
            (json!("12"), "format"),
            (json!("1".repeat(16)), "format"),
            (json!("call me"), "format"),
            (json!("1 ".repeat(17)), "maxLength"),
        ],
    );
    check(
        "url",
        &["string"],
        &[
            json!("https://example.com/a?b=c#d"),
            json!("http://localhost:8080"),
            json!(format!("https://example.com/{}", "a".repeat(2_028))),
        ],
        &[
            (json!("example.com"), "format"),
            (json!("ftp://example.com"), "format"),
            (json!("javascript:alert(1)"), "format"),
            (json!("/a"), "format"),
            (json!("https://"), "format"),
            (json!(format!("https://example.com/{}", "a".repeat(2_029))), "maxLength"),
        ],
    );
    check("number", &["number"], &[json!(0), json!(-1.25), json!(1e300)], &[(json!("42"), "type")]);
    check(
        "integer",
        &["number"],
        &[json!(0), json!(-42), json!(3.0)],
        &[(json!(3.5), "type"), (json!("42"), "type")],
    );
    check(
        "boolean",
        &["boolean"],
        &[json!(true), json!(false)],
        &[(json!("true"), "type"), (json!(1), "type"), (json!(0), "type")],
    );
    check(
        "date",
        &["string"],
        &[json!("2026-01-31"), json!("2024-02-29"), json!("0001-01-01")],
        &[
            (json!("2026-02-29"), "format"),
            (json!("2026-1-31"), "format"),
            (json!("31.01.2026"), "format"),
            (json!("2026-01-31T00:00:00Z"), "format"),
        ],
    );
    check(
        "time",
        &["string"],
        &[json!("00:00"), json!("23:59"), json!("23:59:59")],
        &[
            (json!("24:00"), "format"),
            (json!("9:30"), "format"),
            (json!("09:30:60"), "format"),
            (json!("09:30:00.5"), "format"),
            (json!("09:30Z"), "format"),
            (json!("09:60"), "format"),
        ],
    );
    check(
        "datetime",
        &["string"],
        &[
            json!("2026-01-31T09:30:00Z"),
            json!("2026-01-31T09:30:00.123456+05:30"),
            json!("2026-01-31T09:30:00-23:00"),
        ],
        &[
            (json!("2026-01-31T09:30:00"), "format"),
            (json!("2026-01-31"), "format"),
            (json!("2026-01-31T25:30:00Z"), "format"),
            (json!("yesterday"), "format"),
        ],
    );
}

fn text_under_rules(backend: Backend) {
    let cx = sandbox(backend);
    for kind in ["text", "textarea"] {
        judged(
            &cx,
            json!({ "type": kind, "validation": { "minLength": 2, "maxLength": 4, "pattern": "^[a-zé]+$" } }),
            &[json!("ab"), json!("éééé")],
            &[
                (json!("a"), "minLength"),
                (json!("abcde"), "maxLength"),
                (json!("AB"), "pattern"),
                (json!("ABCDE"), "maxLength"),
            ],
        );
    }
    // Anchored only if written so.
    judged(
        &cx,
        json!({ "type": "text", "validation": { "pattern": "b" } }),
        &[json!("abc")],
        &[(json!("a"), "pattern")],
    );
    let template = with_fields(
        &cx,
        json!([{ "name": "v", "label": "Code", "type": "text", "validation": { "pattern": "^[0-9]{4}$", "patternMessage": "four digits" } }]),
    );
    let reply = try_submit(&cx, &template, &json!({ "formData": { "v": "x" } }))
        .invalid(&[("formData.v", "pattern")]);
    assert!(reply.violation(0)["message"].as_str().expect("text").contains("four digits"));
    assert!(reply.violation(0)["message"].as_str().expect("text").starts_with("formData.v "));
}

fn numbers_under_rules(backend: Backend) {
    let cx = sandbox(backend);
    judged(
        &cx,
        json!({ "type": "number", "validation": { "minimum": -1.5, "maximum": 2, "multipleOf": 0.1 } }),
        &[json!(-1.5), json!(2), json!(0.3), json!(0), json!(1.1)],
        &[(json!(-1.6), "minimum"), (json!(2.01), "maximum"), (json!(0.25), "multipleOf")],
    );
    judged(
        &cx,
        json!({ "type": "integer", "validation": { "minimum": 1, "maximum": 9, "multipleOf": 3 } }),
        &[json!(3), json!(9.0)],
        &[(json!(0), "minimum"), (json!(10), "maximum"), (json!(4), "multipleOf"), (json!(3.5), "type")],
    );
    // Zero has no sign.
    let template = with_fields(
        &cx,
        json!([{ "name": "v", "type": "number", "validation": { "minimum": 0, "maximum": 0 } }]),
    );
    for zero in ["0", "-0", "0.0", "-0.0", "-0e5", "-0.00E-7"] {
        let _ = raw(&cx, &template, &format!("{{\"v\":{zero}}}")).expect(201);
    }
    for (beyond, rule) in [("-1e-400", "minimum"), ("-0.001", "minimum"), ("1e-300", "maximum")] {
        let _ = raw(&cx, &template, &format!("{{\"v\":{beyond}}}")).invalid(&[("formData.v", rule)]);
    }
    let template = with_fields(
        &cx,
        json!([{ "name": "v", "type": "integer", "validation": { "minimum": 9007199254740993_i64 } }]),
    );
    // Compared as decimal numbers, not as doubles.
    let _ = raw(&cx, &template, "{\"v\":9007199254740992}").invalid(&[("formData.v", "minimum")]);
    let _ = raw(&cx, &template, "{\"v\":9007199254740993}").expect(201);
    let _ = raw(&cx, &template, "{\"v\":1e16}").expect(201);
}

fn dates_and_times_under_rules(backend: Backend) {
    let cx = sandbox(backend);
    judged(
        &cx,
        json!({ "type": "date", "validation": { "minDate": "2026-01-01", "maxDate": "2026-12-31" } }),
        &[json!("2026-01-01"), json!("2026-12-31")],
        &[
            (json!("2025-12-31"), "minimum"),
            (json!("2027-01-01"), "maximum"),
            (json!("2026-13-01"), "format"),
        ],
    );
    judged(
        &cx,
        json!({ "type": "time", "validation": { "minDate": "09:00", "maxDate": "17:30:30" } }),
        &[json!("09:00"), json!("09:00:00"), json!("17:30"), json!("17:30:30")],
        &[(json!("08:59:59"), "minimum"), (json!("17:30:31"), "maximum"), (json!("17:31"), "maximum")],
    );
    judged(
        &cx,
        json!({ "type": "datetime", "validation": { "minDate": "2026-01-01T00:00:00Z", "maxDate": "2026-01-02T00:00:00+01:00" } }),
        &[
            json!("2026-01-01T01:00:00+01:00"),
            json!("2026-01-01T23:00:00Z"),
            json!("2025-12-31T23:30:00-01:00"),
        ],
        &[
            (json!("2026-01-01T00:59:59+01:00"), "minimum"),
            (json!("2026-01-01T23:00:00.001Z"), "maximum"),
            (json!("2026-01-01T09:15:60Z"), "format"),
        ],
    );
}

fn choices(backend: Backend) {
    let cx = sandbox(backend);
    let options = json!([{ "value": "a", "label": "A" }, { "value": "B b", "label": "B" }, { "value": "c", "label": "C" }]);
    for kind in ["select", "radio"] {
        judged(
            &cx,
            json!({ "type": kind, "options": options }),
            &[json!("a"), json!("B b")],
            &[
                (json!("A"), "enum"),
                (json!("b b"), "enum"),
                (json!("d"), "enum"),
                (json!("a "), "enum"),
                (json!(1), "type"),
                (json!(["a"]), "type"),
                (json!(true), "type"),
            ],
        );
    }
    for kind in ["multiselect", "checkboxes"] {
        let field =
            json!({ "type": kind, "options": options, "validation": { "minItems": 1, "maxItems": 2 } });
        judged(
            &cx,
            field.clone(),
            &[json!(["a"]), json!(["c", "a"])],
            &[
                (json!([]), "minItems"),
                (json!(["a", "B b", "c"]), "maxItems"),
                (json!(["a", "a"]), "uniqueItems"),
                (json!("a"), "type"),
                (json!({}), "type"),
            ],
        );
        let mut field = field;
        field["name"] = json!("v");
        let template = with_fields(&cx, json!([field]));
        let found = |value: Value, expected: &[(&str, &str)]| {
            let _ = try_submit(&cx, &template, &json!({ "formData": { "v": value } })).invalid(expected);
        };
        found(json!(["a", "d"]), &[("formData.v[1]", "enum")]);
        found(json!([1, "A"]), &[("formData.v[0]", "type"), ("formData.v[1]", "enum")]);
        found(json!([null]), &[("formData.v[0]", "type")]);
    }
}
