//! `formData` as a whole: asked, hidden, unknown and oversized values (contract 2.3.1, 5.3, 6.2).

use contract_tests::{Backend, on_every_backend};
use serde_json::{Value, json};

use crate::support::{ask, raw, read, sandbox, submit, try_submit, with_fields};

on_every_backend!(
    groups_and_lists,
    required_answers,
    blank_text_where_it_can_be_no_answer,
    single_lines_without_what_nobody_sees,
    unknown_names,
    conditions,
    sensitive_values,
    numbers_as_written,
    numbers_of_any_exponent,
    all_errors_at_once,
    more_than_a_hundred,
    the_greatest_size,
    echoed_values,
    hints_are_never_applied,
);

fn groups_and_lists(backend: Backend) {
    let cx = sandbox(backend);
    let template = with_fields(
        &cx,
        json!([
            { "name": "g", "type": "group", "fields": [
                { "name": "a", "type": "text", "required": true },
                { "name": "h", "type": "group", "fields": [{ "name": "b", "type": "integer", "required": true }] } ] },
            { "name": "l", "type": "list", "validation": { "minItems": 1, "maxItems": 2 }, "fields": [
                { "name": "c", "type": "text", "required": true }, { "name": "d", "type": "boolean" } ] },
        ]),
    );
    let found = |data: Value, expected: &[(&str, &str)]| {
        let reply = try_submit(&cx, &template, &json!({ "formData": data }));
        if expected.is_empty() {
            assert_eq!(reply.expect(201).data()["formData"], data);
        } else {
            let _ = reply.invalid(expected);
        }
    };
    // Required children count only if the group is present.
    found(json!({}), &[]);
    found(json!({ "g": { "a": "x" }, "l": [{ "c": "x" }, { "c": "y", "d": false }] }), &[]);
    found(json!({ "g": { "a": "x", "h": { "b": 1 } } }), &[]);
    found(json!({ "g": {} }), &[("formData.g.a", "required")]);
    found(json!({ "g": { "h": {} } }), &[("formData.g.h.b", "required"), ("formData.g.a", "required")]);
    found(json!({ "g": [] }), &[("formData.g", "type")]);
    found(
        json!({ "g": { "a": "x", "h": 1, "z": 1 } }),
        &[("formData.g.h", "type"), ("formData.g.z", "unknown")],
    );
    found(json!({ "l": {} }), &[("formData.l", "type")]);
    found(json!({ "l": [] }), &[("formData.l", "minItems")]);
    found(json!({ "l": [1, null] }), &[("formData.l[0]", "type"), ("formData.l[1]", "type")]);
    found(
        json!({ "l": [{ "d": 1 }, { "c": " ", "e": 1 }] }),
        &[
            ("formData.l[0].d", "type"),
            ("formData.l[0].c", "required"),
            ("formData.l[1].c", "required"),
            ("formData.l[1].e", "unknown"),
        ],
    );
    found(json!({ "l": [{ "c": "x" }, { "c": "x" }, { "c": "x" }] }), &[("formData.l", "maxItems")]);
}

/// Missing, `null` or blank; `false` and 0 are answers.
fn required_answers(backend: Backend) {
    let cx = sandbox(backend);
    let kinds = [
        "text", "textarea", "email", "phone", "url", "number", "integer", "boolean", "date", "time",
        "datetime", "select", "radio",
    ];
    let fields: Vec<Value> = kinds
        .iter()
        .map(|kind| {
            let mut field = json!({ "name": kind, "type": kind, "required": true });
            if matches!(*kind, "select" | "radio") {
                field["options"] = json!([{ "value": "a", "label": "A" }]);
            }
            field
        })
        .collect();
    let template = with_fields(&cx, json!(fields));
    let paths: Vec<String> = kinds.iter().map(|kind| format!("formData.{kind}")).collect();
    let expected: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "required")).collect();
    // In the order of the template.
    let _ = try_submit(&cx, &template, &json!({ "formData": {} })).invalid(&expected);
    let nothing: Value = kinds.iter().map(|kind| ((*kind).to_owned(), Value::Null)).collect();
    let _ = try_submit(&cx, &template, &json!({ "formData": nothing })).invalid(&expected);
    for blank in ["", "  ", "\t"] {
        let texts: Vec<&str> =
            kinds.into_iter().filter(|kind| !matches!(*kind, "number" | "integer" | "boolean")).collect();
        let data: Value = texts.iter().map(|kind| ((*kind).to_owned(), json!(blank))).collect();
        let reply = try_submit(&cx, &template, &json!({ "formData": data })).fails(400, "VALIDATION_ERROR");
        let mut found = reply.violations();
        found.sort_unstable();
        let mut sorted = expected.clone();
        sorted.sort_unstable();
        assert_eq!(found, sorted, "{blank:?}");
    }
    let good = json!({ "text": "x", "textarea": "x", "email": "a@b.co", "phone": "123", "url": "http://a.b", "number": 0, "integer": 0, "boolean": false,
        "date": "2026-01-01", "time": "00:00", "datetime": "2026-01-01T00:00:00Z", "select": "a", "radio": "a" });
    assert_eq!(submit(&cx, &template, &good).data()["formData"], good);
    // A value of another type is another error.
    let _ = try_submit(
        &cx,
        &with_fields(&cx, json!([{ "name": "v", "type": "text", "required": true }])),
        &json!({ "formData": { "v": 7 } }),
    )
    .invalid(&[("formData.v", "type")]);
}

fn unknown_names(backend: Backend) {
    let cx = sandbox(backend);
    let template = with_fields(&cx, json!([{ "name": "Name", "type": "text" }]));
    let data = json!({ "name": "x", "Name ": 1, "": null, "__proto__": {}, "a.b": [], "Name": "x" });
    let reply = try_submit(&cx, &template, &json!({ "formData": data })).fails(400, "VALIDATION_ERROR");
    assert!(reply.violations().iter().all(|(_, kind)| *kind == "unknown"), "{}", reply.shown());
    assert_eq!(reply.violations().len(), 5);
    assert_eq!(reply.violations()[0].0, "formData.name");
    let reply =
        try_submit(&cx, &template, &json!({ "formData": { "a\u{0}": 1 } })).fails(400, "VALIDATION_ERROR");
    assert_eq!(reply.violations()[0].1, "invalidCharacters");
}

/// A hidden field is not required; a value sent for it is `conflict`, never dropped.
fn conditions(backend: Backend) {
    let cx = sandbox(backend);
    let options = json!([{ "value": "x", "label": "X" }, { "value": "y", "label": "Y" }, { "value": "z", "label": "Z" }]);
    let template = with_fields(
        &cx,
        json!([
            { "name": "kind", "type": "select", "options": options },
            { "name": "many", "type": "multiselect", "options": options },
            { "name": "eq", "type": "text", "required": true, "showIf": { "field": "kind", "op": "equals", "value": "x" } },
            { "name": "ne", "type": "text", "showIf": { "field": "kind", "op": "notEquals", "value": "x" } },
            { "name": "within", "type": "text", "showIf": { "field": "kind", "op": "in", "value": ["y", "z"] } },
            { "name": "has", "type": "text", "showIf": { "field": "many", "op": "contains", "value": "y" } },
            { "name": "any", "type": "text", "showIf": { "field": "many", "op": "answered", "value": true } },
            { "name": "chained", "type": "text", "required": true, "showIf": { "field": "eq", "op": "answered", "value": true } },
            { "name": "rows", "type": "list", "fields": [
                { "name": "on", "type": "boolean" }, { "name": "why", "type": "text", "required": true, "showIf": { "field": "on", "op": "equals", "value": true } }] },
        ]),
    );
    let found = |data: Value, expected: &[(&str, &str)]| {
        let reply = try_submit(&cx, &template, &json!({ "formData": data }));
        if expected.is_empty() {
            let _ = reply.expect(201);
        } else {
            let _ = reply.invalid(expected);
        }
    };
    found(json!({}), &[]);
    found(json!({ "kind": "x" }), &[("formData.eq", "required")]);
    found(json!({ "kind": "x", "eq": "a" }), &[("formData.chained", "required")]);
    found(json!({ "kind": "x", "eq": "a", "chained": "b" }), &[]);
    found(json!({ "kind": "y", "eq": "a" }), &[("formData.eq", "conflict")]);
    found(json!({ "eq": "a" }), &[("formData.eq", "conflict")]);
    // The value of a hidden field is not validated further; `null` counts as no value.
    found(json!({ "kind": "y", "eq": 7, "ne": null }), &[("formData.eq", "conflict")]);
    found(json!({ "kind": "x", "eq": "a", "chained": "b", "ne": "c" }), &[("formData.ne", "conflict")]);
    found(json!({ "kind": "x", "eq": "a", "chained": "b", "ne": null }), &[]);
    found(json!({ "kind": "y", "ne": "c", "within": "d" }), &[]);
    found(
        json!({ "kind": "x", "eq": "a", "chained": "b", "within": "d" }),
        &[("formData.within", "conflict")],
    );
    found(json!({ "many": ["x", "y"], "has": "a", "any": "b" }), &[]);
    found(json!({ "many": ["x"], "has": "a", "any": "b" }), &[("formData.has", "conflict")]);
    found(json!({ "any": "b" }), &[("formData.any", "conflict")]);
    found(
        json!({ "rows": [{ "on": true }, { "on": false, "why": "x" }, { "on": true, "why": "x" }, {}] }),
        &[("formData.rows[0].why", "required"), ("formData.rows[1].why", "conflict")],
    );
    // An update checks the merged data: a value that is now hidden must be removed.
    let id = submit(&cx, &template, &json!({ "kind": "y", "within": "d" })).id();
    let reply = crate::support::change(&cx, &id, &json!({ "formData": { "kind": null } }));
    let _ = reply.invalid(&[("formData.within", "conflict")]);
    let reply = crate::support::change(&cx, &id, &json!({ "formData": { "kind": null, "within": null } }))
        .expect(200);
    assert_eq!(reply.data()["formData"], json!({}));
}

fn sensitive_values(backend: Backend) {
    let cx = sandbox(backend);
    let template = with_fields(
        &cx,
        json!([
            { "name": "pin", "type": "text", "sensitive": true, "validation": { "maxLength": 3, "pattern": "^[0-9]*$" } },
            { "name": "amount", "type": "number", "sensitive": true, "validation": { "maximum": 1 } },
            { "name": "kinds", "type": "multiselect", "sensitive": true, "options": [{ "value": "a", "label": "A" }] },
            { "name": "group", "type": "group", "sensitive": true, "fields": [{ "name": "inner", "type": "integer" }] },
            { "name": "list", "type": "list", "sensitive": true, "fields": [{ "name": "inner", "type": "boolean" }] },
            { "name": "open", "type": "integer" },
        ]),
    );
    let data = json!({ "pin": "secret-1", "amount": 1234567, "kinds": ["secret-2"], "group": { "inner": "secret-3", "secretName": "secret-4" },
        "list": [{ "inner": "secret-5" }, "secret-6"], "open": "shown" });
    for batch in [false, true] {
        let reply = if batch {
            let body =
                json!({ "submissions": [{ "templateId": template, "formData": data }], "allOrNone": false });
            crate::support::send(&cx, "POST", crate::support::BATCH, &body).expect(207)
        } else {
            try_submit(&cx, &template, &json!({ "formData": data })).fails(400, "VALIDATION_ERROR")
        };
        assert!(!reply.text.contains("secret-") && !reply.text.contains("1234567"), "{}", reply.text);
        assert!(reply.text.contains("shown"));
    }
}

/// Contract 5.3: as written, up to 64 characters and 1e308.
fn numbers_as_written(backend: Backend) {
    let cx = sandbox(backend);
    let template =
        with_fields(&cx, json!([{ "name": "n", "type": "number" }, { "name": "i", "type": "integer" }]));
    let data = "{\"n\":1.500e+2,\"i\":10000000000000000000000001}";
    let reply = raw(&cx, &template, data).expect(201);
    assert!(reply.text.contains(data), "{}", reply.text);
    assert!(read(&cx, &reply.id()).text.contains(data));
    for written in ["3.0", "1E2", "-0", "0.000", "1e0", "12e-0"] {
        let reply = raw(&cx, &template, &format!("{{\"n\":{written}}}")).expect(201);
        assert!(reply.text.contains(&format!("{{\"n\":{written}}}")), "{}", reply.text);
    }
    for whole in ["3.0", "1E2", "-0", "30e-1", "1.5e1"] {
        let _ = raw(&cx, &template, &format!("{{\"i\":{whole}}}")).expect(201);
    }
    for broken in ["3.5", "1e-1", "0.0001"] {
        let _ = raw(&cx, &template, &format!("{{\"i\":{broken}}}")).invalid(&[("formData.i", "type")]);
    }
    let _ = raw(&cx, &template, &format!("{{\"n\":{}}}", "1".repeat(64))).expect(201);
    let _ =
        raw(&cx, &template, &format!("{{\"n\":{}}}", "1".repeat(65))).invalid(&[("formData.n", "maxLength")]);
    let _ = raw(&cx, &template, "{\"n\":1e308}").expect(201);
    let _ = raw(&cx, &template, "{\"n\":1.1e308}").invalid(&[("formData.n", "maximum")]);
    let _ = raw(&cx, &template, "{\"n\":-1e309}").invalid(&[("formData.n", "maximum")]);
    // The same number with another spelling changes the data.
    let id = raw(&cx, &template, "{\"n\":1}").expect(201).id();
    let call = ask(&cx, "PUT", &crate::support::one(&id)).text("{\"formData\":{\"n\":1.0}}");
    let reply = call.header("content-type", "application/json").send().expect(200);
    assert!(reply.text.contains("\"formData\":{\"n\":1"), "{}", reply.text);
}

/// However a number is written, it is judged immediately and by its value.
fn numbers_of_any_exponent(backend: Backend) {
    let cx = sandbox(backend);
    let template = with_fields(
        &cx,
        json!([
            { "name": "step", "type": "number", "validation": { "multipleOf": 0.1 } },
            { "name": "least", "type": "number", "validation": { "minimum": 0.5 } },
            { "name": "most", "type": "number", "validation": { "maximum": 0.5 } },
            { "name": "whole", "type": "integer", "validation": { "multipleOf": 7 } },
        ]),
    );
    let found = |name: &str, number: &str, expected: Option<&str>| {
        let reply = raw(&cx, &template, &format!("{{\"{name}\":{number}}}"));
        match expected {
            None => assert_eq!(reply.status, 201, "{name} {number}: {}", reply.shown()),
            Some(kind) => {
                let field = format!("formData.{name}");
                assert_eq!(reply.violations(), [(field.as_str(), kind)], "{number}: {}", reply.shown());
            }
        }
    };
    for tiny in
        ["1e-300", "1e-999", "1e-999999999", "9e-9223372036854775808", "1e-99999999999999999999999999"]
    {
        found("step", tiny, Some("multipleOf"));
        found("least", tiny, Some("minimum"));
        found("most", tiny, None);
        found("whole", tiny, Some("type"));
    }
    for zero in ["0e999999999", "0.0e-999999999", "-0e99999999999999999999999999", "0e9223372036854775807"] {
        found("step", zero, None);
        found("least", zero, Some("minimum"));
        found("most", zero, None);
        found("whole", zero, None);
    }
    for great in ["7e307", "0.7E308"] {
        found("step", great, None);
        found("least", great, None);
        found("most", great, Some("maximum"));
        found("whole", great, None);
    }
    for huge in ["1e309", "1e999999999", "1e99999999999999999999999999", "-1e9223372036854775807"] {
        for name in ["step", "least", "most", "whole"] {
            found(name, huge, Some("maximum"));
        }
    }
}

/// Members as sent, then missing ones in the order of the template; at most one error per value.
fn all_errors_at_once(backend: Backend) {
    let cx = sandbox(backend);
    let template = with_fields(
        &cx,
        json!([
            { "name": "last", "type": "text", "required": true },
            { "name": "first", "type": "text", "required": true, "validation": { "minLength": 5, "pattern": "^x" }, "example": "xxxxx" },
            { "name": "n", "type": "integer", "validation": { "minimum": 10, "multipleOf": 7 } },
            { "name": "missing", "type": "boolean", "required": true },
        ]),
    );
    let data = json!({ "x": 1, "n": 3, "first": "a", "last": null });
    let body = json!({ "clientId": 1, "formData": data, "nonsense": true, "submissionNotes": [] });
    let reply = try_submit(&cx, &template, &body).invalid(&[
        ("clientId", "type"),
        ("formData.x", "unknown"),
        ("formData.n", "minimum"),
        ("formData.first", "minLength"),
        ("formData.last", "required"),
        ("formData.missing", "required"),
        ("nonsense", "unknown"),
        ("submissionNotes", "type"),
    ]);
    assert_eq!(reply.json["message"], "Validation failed: clientId must be a string (and 7 more)");
    assert_eq!(reply.violation(2)["message"], "formData.n must be at least 10");
    assert_eq!(reply.violation(5)["message"], "formData.missing is required");
}

fn more_than_a_hundred(backend: Backend) {
    let cx = sandbox(backend);
    let template = with_fields(
        &cx,
        json!([{ "name": "l", "type": "list", "fields": [{ "name": "a", "type": "boolean" }] }]),
    );
    let data = |count: usize| json!({ "formData": { "l": vec![json!({ "a": 1 }); count] } });
    let reply = try_submit(&cx, &template, &data(100)).fails(400, "VALIDATION_ERROR");
    assert_eq!((reply.violations().len(), reply.json.get("details")), (100, None));
    let reply = try_submit(&cx, &template, &data(5_000)).fails(400, "VALIDATION_ERROR");
    assert_eq!(reply.violations().len(), 100);
    assert_eq!(reply.json["details"], json!({ "truncated": true, "totalErrors": 5_000 }));
    assert!(reply.json["message"].as_str().expect("text").ends_with("(and 4999 more)"));
}

/// 256 KiB, serialised, to the byte.
fn the_greatest_size(backend: Backend) {
    let cx = sandbox(backend);
    let fields: Vec<Value> =
        (0..20).map(|at| json!({ "name": format!("t{at:02}"), "type": "textarea" })).collect();
    let template = with_fields(&cx, json!(fields));
    let data = |size: usize| {
        let mut data = serde_json::Map::new();
        let mut left = size - 2;
        for at in 0..20 {
            let frame = "\"t00\":\"\"".len() + usize::from(at > 0);
            if left < frame {
                break;
            }
            let room = left - frame;
            let bytes = room.min(20_000);
            // Leaves room for the frame of another member.
            let bytes = if room > bytes && room - bytes < 9 { bytes - 9 } else { bytes };
            data.insert(format!("t{at:02}"), json!("a".repeat(bytes)));
            left -= frame + bytes;
        }
        let data = Value::Object(data);
        assert_eq!(data.to_string().len(), size);
        data
    };
    const MOST: usize = 256 * 1024;
    let id = submit(&cx, &template, &data(MOST)).id();
    assert_eq!(read(&cx, &id).data()["formData"].to_string().len(), MOST);
    let reply = try_submit(&cx, &template, &json!({ "formData": data(MOST + 1) }))
        .invalid(&[("formData", "maxSize")]);
    assert_eq!(reply.violation(0)["value"], Value::Null);
    let drafted = try_submit(&cx, &template, &json!({ "formData": data(MOST + 1), "status": "draft" }));
    let _ = drafted.invalid(&[("formData", "maxSize")]);
    // The limit applies to the merged data, in bytes.
    let reply = crate::support::change(&cx, &id, &json!({ "formData": { "t19": "é" } }));
    let _ = reply.invalid(&[("formData", "maxSize")]);
    let _ = crate::support::change(&cx, &id, &json!({ "formData": { "t00": null, "t19": "é" } })).expect(200);
}

/// Scalars, with text truncated to 256 characters; objects and arrays are omitted.
fn echoed_values(backend: Backend) {
    let cx = sandbox(backend);
    let template = with_fields(
        &cx,
        json!([{ "name": "a", "type": "integer" }, { "name": "b", "type": "text" }, { "name": "c", "type": "boolean" }]),
    );
    let long = "é".repeat(2_000);
    let data = json!({ "a": long, "b": [1], "c": {}, "d": 1.5, "e": false, "f": null });
    let reply = try_submit(&cx, &template, &json!({ "formData": data })).fails(400, "VALIDATION_ERROR");
    let values: Vec<&Value> = (0..5).map(|at| &reply.violation(at)["value"]).collect();
    let cut = json!(format!("{}…", "é".repeat(256)));
    assert_eq!(values, [&cut, &Value::Null, &Value::Null, &json!(1.5), &json!(false)]);
}

/// `default`, `example` and `placeholder` are hints for form builders.
fn hints_are_never_applied(backend: Backend) {
    let cx = sandbox(backend);
    let template = with_fields(
        &cx,
        json!([
            { "name": "a", "type": "text", "default": "d", "example": "e", "placeholder": "p" },
            { "name": "b", "type": "boolean", "default": true },
            { "name": "c", "type": "integer", "required": true, "default": 7, "example": 8 },
        ]),
    );
    assert_eq!(submit(&cx, &template, &json!({ "c": 1, "b": null })).data()["formData"], json!({ "c": 1 }));
    let reply = try_submit(&cx, &template, &json!({ "formData": {} }));
    let _ = reply.invalid(&[("formData.c", "required")]);
}

/// What forms in browsers send for a question that was left open.
fn blank_text_where_it_can_be_no_answer(backend: Backend) {
    let cx = sandbox(backend);
    let option = json!([{ "value": "a", "label": "A" }]);
    let fields = json!([
        { "name": "email", "type": "email" },
        { "name": "phone", "type": "phone" },
        { "name": "url", "type": "url" },
        { "name": "date", "type": "date", "validation": { "minDate": "2020-01-01" } },
        { "name": "time", "type": "time" },
        { "name": "datetime", "type": "datetime" },
        { "name": "select", "type": "select", "options": option },
        { "name": "radio", "type": "radio", "options": option },
        { "name": "file", "type": "file" },
        { "name": "code", "type": "text", "validation": { "pattern": "^[0-9]{4}$" } },
        { "name": "long", "type": "textarea", "validation": { "minLength": 2 } },
        { "name": "shown", "type": "text", "showIf": { "field": "date", "op": "answered", "value": false } },
        { "name": "group", "type": "group", "fields": [{ "name": "date", "type": "date" }] },
        { "name": "list", "type": "list", "fields": [{ "name": "date", "type": "date" }, { "name": "text", "type": "text" }] },
    ]);
    let names = ["email", "phone", "url", "date", "time", "datetime", "select", "radio", "file", "code"];
    let template = with_fields(&cx, fields.clone());
    for blank in ["", " ", "\u{a0}", "\u{200b}"] {
        let mut data: serde_json::Map<String, Value> =
            names.iter().map(|name| ((*name).to_owned(), json!(blank))).collect();
        data.insert("long".to_owned(), json!(""));
        data.insert("group".to_owned(), json!({ "date": blank }));
        data.insert("list".to_owned(), json!([{ "date": blank, "text": "x" }, { "date": "2026-01-31" }]));
        for status in ["submitted", "draft"] {
            let reply =
                try_submit(&cx, &template, &json!({ "formData": data, "status": status })).expect(201);
            let stored = json!({ "group": {}, "list": [{ "text": "x" }, { "date": "2026-01-31" }] });
            assert_eq!(reply.data()["formData"], stored, "{blank:?} {status}");
        }
    }
    // It is no answer for conditions either, and an update with it removes an answer.
    let reply =
        try_submit(&cx, &template, &json!({ "formData": { "date": "", "shown": "x" }, "status": "draft" }))
            .expect(201);
    let _ = try_submit(&cx, &template, &json!({ "formData": { "date": "2026-01-31", "shown": "x" } }))
        .invalid(&[("formData.shown", "conflict")]);
    let path = format!("/forms/submissions/{}/chatbots/<A>", reply.id());
    let changed = cx.put(&path, &json!({ "formData": { "shown": null, "date": "2026-01-31" } })).expect(200);
    assert_eq!(changed.data()["formData"], json!({ "date": "2026-01-31" }));
    assert_eq!(
        cx.put(&path, &json!({ "formData": { "date": "" } })).expect(200).data()["formData"],
        json!({})
    );
    // Free text may be empty, and a required answer may not be blank.
    let free =
        with_fields(&cx, json!([{ "name": "v", "type": "text" }, { "name": "w", "type": "textarea" }]));
    let blank = json!({ "v": "", "w": "" });
    assert_eq!(submit(&cx, &free, &blank).data()["formData"], blank);
    let demanded = with_fields(&cx, json!([{ "name": "v", "type": "date", "required": true }]));
    let _ = try_submit(&cx, &demanded, &json!({ "formData": { "v": "" } }))
        .invalid(&[("formData.v", "required")]);
    assert_eq!(
        try_submit(&cx, &demanded, &json!({ "formData": { "v": "" }, "status": "draft" })).expect(201).data()
            ["formData"],
        json!({})
    );
}

fn single_lines_without_what_nobody_sees(backend: Backend) {
    let cx = sandbox(backend);
    let template = with_fields(
        &cx,
        json!([
            { "name": "text", "type": "text" },
            { "name": "email", "type": "email" },
            { "name": "phone", "type": "phone" },
            { "name": "url", "type": "url" },
            { "name": "date", "type": "date" },
            { "name": "select", "type": "select", "options": [{ "value": "a", "label": "A" }] },
            { "name": "area", "type": "textarea" },
        ]),
    );
    for mark in ["\u{200b}", "\u{200e}", "\u{202e}", "\u{2066}", "\u{feff}"] {
        let around = |text: &str| format!("{mark}{text}{mark}");
        let sent = json!({ "text": around(" as sent "), "email": around("a@b.co"), "phone": around("+44 20 7946 0958"),
            "url": around("https://example.com/"), "date": around("2026-01-31"), "select": around("a"), "area": around("as sent") });
        let stored = json!({ "text": " as sent ", "email": "a@b.co", "phone": "+44 20 7946 0958",
            "url": "https://example.com/", "date": "2026-01-31", "select": "a", "area": around("as sent") });
        assert_eq!(submit(&cx, &template, &sent).data()["formData"], stored, "{mark:?}");
    }
    for (sent, stored) in [
        ("tel:+44-20-7946-0958", "+44-20-7946-0958"),
        ("020 7946 0958 ext 12", "020 7946 0958 x12"),
        ("０２０ ７９４６", "020 7946"),
    ] {
        assert_eq!(submit(&cx, &template, &json!({ "phone": sent })).data()["formData"]["phone"], stored);
    }
    let _ = try_submit(&cx, &template, &json!({ "formData": { "phone": " 020 7946 " } }))
        .invalid(&[("formData.phone", "format")]);
}
