//! Updates: merging, drafts, the pinned version (contract 2.3.2).

use contract_tests::{Backend, on_every_backend};
use serde_json::{Value, json};

use crate::support::{change, draft, is_unchanged, keeping_all, note, read, sandbox, submit, to, try_submit};

on_every_backend!(
    merging,
    removed_answers,
    notes,
    nulls,
    drafts_may_be_incomplete,
    drafts_are_submitted,
    the_pinned_version,
    an_inactive_template,
    client_ids,
    many_at_once,
);

fn free_form() -> Value {
    keeping_all(json!({ "name": "Merge", "fields": [
        { "name": "a", "type": "text" },
        { "name": "n", "type": "number" },
        { "name": "tags", "type": "multiselect", "options": [{ "value": "x", "label": "X" }, { "value": "y", "label": "Y" }] },
        { "name": "g", "type": "group", "fields": [{ "name": "b", "type": "text" }, { "name": "h", "type": "group", "fields": [
            { "name": "c", "type": "text" }, { "name": "d", "type": "text" }] }] },
        { "name": "l", "type": "list", "fields": [{ "name": "e", "type": "text" }, { "name": "f", "type": "text" }] },
    ] }))
}

/// RFC 7396: objects merge at every depth, `null` removes, everything else is replaced.
fn merging(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&free_form());
    let stored = json!({ "a": "1", "n": 1.50, "tags": ["x", "y"], "g": { "b": "2", "h": { "c": "3", "d": "4" } }, "l": [{ "e": "5", "f": "6" }, { "e": "7" }] });
    for (patch, merged) in [
        (json!({ "a": "new" }), json!({ "a": "new" })),
        (
            json!({ "g": { "h": { "c": "new" } } }),
            json!({ "g": { "b": "2", "h": { "c": "new", "d": "4" } } }),
        ),
        (json!({ "g": { "h": { "c": null } } }), json!({ "g": { "b": "2", "h": { "d": "4" } } })),
        (json!({ "g": { "b": null, "h": null } }), json!({ "g": {} })),
        (json!({ "g": {} }), json!({})),
        (json!({ "tags": ["y"] }), json!({ "tags": ["y"] })),
        (json!({ "tags": [] }), json!({ "tags": [] })),
        (json!({ "l": [{ "f": "new" }] }), json!({ "l": [{ "f": "new" }] })),
        (json!({ "l": [{ "e": "8", "f": null }, {}] }), json!({ "l": [{ "e": "8" }, {}] })),
        (json!({ "n": 2 }), json!({ "n": 2 })),
    ] {
        let id = submit(&cx, &template, &stored).id();
        let reply = change(&cx, &id, &json!({ "formData": patch })).expect(200);
        let mut expected = stored.clone();
        for (name, value) in merged.as_object().expect("an object") {
            expected[name] = value.clone();
        }
        assert_eq!(reply.data()["formData"], expected, "{patch}");
        assert_eq!(read(&cx, &id).data(), reply.data());
    }
    let id = submit(&cx, &template, &stored).id();
    let reply = change(
        &cx,
        &id,
        &json!({ "formData": { "a": null, "g": null, "l": null, "tags": null, "n": null } }),
    );
    assert_eq!(reply.expect(200).data()["formData"], json!({}));
}

/// `null` counts as unanswered and is not stored, on submit as well.
fn removed_answers(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&free_form());
    let sent = json!({ "a": null, "n": 0, "g": { "b": null, "h": { "c": null } }, "l": [{ "e": null }, { "f": "x" }], "tags": null });
    let reply = submit(&cx, &template, &sent);
    assert_eq!(reply.data()["formData"], json!({ "n": 0, "g": { "h": {} }, "l": [{}, { "f": "x" }] }));
    // Removing an absent answer changes nothing.
    cx.advance(10);
    let same =
        change(&cx, &reply.id(), &json!({ "formData": { "a": null, "g": { "b": null } } })).expect(200);
    assert_eq!(same.data(), reply.data());
    // A required answer cannot be removed.
    let template = cx.template(&note());
    let before = submit(&cx, &template, &json!({ "text": "x", "more": "y" }));
    let gone = change(&cx, &before.id(), &json!({ "formData": { "text": null, "more": null } }));
    let gone = gone.invalid(&[("formData.text", "required")]);
    assert_eq!(gone.violation(0)["value"], Value::Null);
    is_unchanged(&cx, &before);
}

fn notes(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let id = submit(&cx, &template, &json!({ "text": "x" })).id();
    for name in ["submissionNotes", "reviewNotes"] {
        let set = |value: Value| change(&cx, &id, &json!({ name: value }));
        let most = "é".repeat(4_000);
        assert_eq!(set(json!(most)).expect(200).data()[name], json!(most));
        assert_eq!(set(json!("a\n\tb\r\nc")).expect(200).data()[name], json!("a\n\tb\r\nc"));
        let _ = set(json!("é".repeat(4_001))).invalid(&[(name, "maxLength")]);
        let _ = set(json!("a\u{1}")).invalid(&[(name, "invalidCharacters")]);
        let _ = set(json!(7)).invalid(&[(name, "type")]);
        assert_eq!(set(json!(" \n ")).expect(200).data()[name], Value::Null);
        let _ = set(json!("again")).expect(200);
        assert_eq!(set(json!(null)).expect(200).data()[name], Value::Null);
    }
    let body = |notes: Value| json!({ "formData": { "text": "x" }, "submissionNotes": notes });
    assert_eq!(
        try_submit(&cx, &template, &body(json!("  "))).expect(201).data()["submissionNotes"],
        Value::Null
    );
    assert_eq!(
        try_submit(&cx, &template, &body(json!(null))).expect(201).data()["submissionNotes"],
        Value::Null
    );
    let _ = try_submit(&cx, &template, &body(json!("x".repeat(4_001))))
        .invalid(&[("submissionNotes", "maxLength")]);
    let early = json!({ "formData": { "text": "x" }, "reviewNotes": "n" });
    let _ = try_submit(&cx, &template, &early).invalid(&[("reviewNotes", "unknown")]);
    let _ = try_submit(&cx, &template, &json!({ "formData": { "text": "x" }, "reviewNotes": null }))
        .invalid(&[("reviewNotes", "unknown")]);
}

fn nulls(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let before = submit(&cx, &template, &json!({ "text": "x" }));
    let reply = change(&cx, &before.id(), &json!({ "formData": null, "status": null }));
    let _ = reply.invalid(&[("formData", "required"), ("status", "required")]);
    for wrong in [json!([]), json!("x"), json!(1), json!(true)] {
        let _ = change(&cx, &before.id(), &json!({ "formData": wrong })).invalid(&[("formData", "type")]);
        let _ = try_submit(&cx, &template, &json!({ "formData": wrong })).invalid(&[("formData", "type")]);
    }
    is_unchanged(&cx, &before);
    let _ = try_submit(&cx, &template, &json!({})).invalid(&[("formData", "required")]);
    let _ = try_submit(&cx, &template, &json!({ "formData": null })).invalid(&[("formData", "required")]);
    // Contract 16: a draft skips the template's `required`, not the member itself.
    let _ = try_submit(&cx, &template, &json!({ "status": "draft" })).invalid(&[("formData", "required")]);
}

/// A draft skips `required` and `minItems` and checks everything else, on creation and on update.
fn drafts_may_be_incomplete(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let reply = draft(&cx, &template, &json!({ "items": [] }));
    assert_eq!(reply.json["data"]["status"], "draft");
    assert_eq!((&reply.data()["submittedAt"], &reply.data()["revision"]), (&Value::Null, &json!(1)));
    assert_eq!(reply.data()["statusHistory"].as_array().map(Vec::len), Some(1));
    assert_eq!(reply.data()["statusHistory"][0]["to"], "draft");
    let id = reply.id();
    for data in [
        json!({ "items": [{}] }),
        json!({ "text": "", "items": [{ "what": null }] }),
        json!({ "text": null }),
    ] {
        let _ = draft(&cx, &template, &data);
        let _ = change(&cx, &id, &json!({ "formData": data })).expect(200);
    }
    let bad = json!({ "text": 1, "items": [{ "what": 2, "other": 3 }], "count": "1", "x": 1 });
    let found = [
        ("formData.text", "type"),
        ("formData.items[0].what", "type"),
        ("formData.items[0].other", "unknown"),
        ("formData.count", "type"),
        ("formData.x", "unknown"),
    ];
    let _ = try_submit(&cx, &template, &json!({ "formData": bad, "status": "draft" })).invalid(&found);
    let reply = change(&cx, &id, &json!({ "formData": bad })).fails(400, "VALIDATION_ERROR");
    let mut violations = reply.violations();
    violations.sort_unstable();
    let mut expected = found.to_vec();
    expected.sort_unstable();
    assert_eq!(violations, expected);
}

fn drafts_are_submitted(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let before = draft(&cx, &template, &json!({ "items": [], "more": "m" }));
    let id = before.id();
    cx.advance(10);
    // All stored data is checked, with and without new data.
    let reply = change(&cx, &id, &json!({ "status": "submitted" })).fails(400, "VALIDATION_ERROR");
    assert_eq!(reply.violations(), [("formData.items", "minItems"), ("formData.text", "required")]);
    let reply = change(&cx, &id, &json!({ "status": "submitted", "formData": { "items": null } }));
    let _ = reply.invalid(&[("formData.text", "required")]);
    is_unchanged(&cx, &before);
    let body = json!({ "status": "submitted", "formData": { "items": [{ "what": "w" }], "text": "t" } });
    let reply = change(&cx, &id, &body).expect(200);
    let data = reply.data();
    assert_eq!(data["formData"], json!({ "items": [{ "what": "w" }], "more": "m", "text": "t" }));
    assert_eq!((&data["status"], &data["revision"]), (&json!("submitted"), &json!(1)));
    assert_eq!(
        (&data["submittedAt"], &data["updatedAt"]),
        (&data["statusHistory"][1]["at"], &data["submittedAt"])
    );
    assert_ne!(data["createdAt"], data["submittedAt"]);
    // `submittedAt` is set once.
    cx.advance(10);
    let _ = to(&cx, &id, "rejected");
    cx.advance(10);
    let again = to(&cx, &id, "submitted");
    assert_eq!(again.data()["submittedAt"], data["submittedAt"]);
    assert_eq!(again.data()["revision"], 1);
    // An archived draft was never submitted.
    let other = draft(&cx, &template, &json!({})).id();
    assert_eq!(to(&cx, &other, "archived").data()["submittedAt"], Value::Null);
}

/// A submission is validated against the version under which it was created.
fn the_pinned_version(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&keeping_all(note()));
    let (old, drafted) = (
        submit(&cx, &template, &json!({ "text": "x", "count": 1 })),
        draft(&cx, &template, &json!({ "text": "x" })),
    );
    let edited = keeping_all(json!({ "name": "Note, renewed", "fields": [
        { "name": "text", "type": "text", "validation": { "maxLength": 1 } },
        { "name": "added", "type": "boolean", "required": true },
    ] }));
    assert_eq!(cx.edit_template(&template, &edited).version, 2);
    // A no-op creates no version.
    assert_eq!(cx.edit_template(&template, &edited).version, 2);
    let reply = change(&cx, &old.id(), &json!({ "formData": { "text": "longer", "count": 2 } })).expect(200);
    assert_eq!(reply.data()["templateVersion"], 1);
    let _ = change(&cx, &old.id(), &json!({ "formData": { "added": true } }))
        .invalid(&[("formData.added", "unknown")]);
    let handed_in = to(&cx, &drafted.id(), "submitted");
    assert_eq!(handed_in.data()["templateVersion"], 1);
    let new = submit(&cx, &template, &json!({ "text": "x", "added": false }));
    assert_eq!(
        (&new.data()["templateVersion"], &new.data()["templateName"]),
        (&json!(2), &json!("Note, renewed"))
    );
    let refused = try_submit(&cx, &template, &json!({ "formData": { "text": "longer", "count": 1 } }));
    let _ = refused.invalid(&[
        ("formData.text", "maxLength"),
        ("formData.count", "unknown"),
        ("formData.added", "required"),
    ]);
}

/// Submissions of an inactive template can be changed and reviewed; new ones are rejected.
fn an_inactive_template(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let id = submit(&cx, &template, &json!({ "text": "x" })).id();
    let drafted = draft(&cx, &template, &json!({ "text": "x" })).id();
    let _ = cx.archive_template(&template);
    for body in [json!({ "formData": { "text": "x" } }), json!({ "formData": {}, "status": "draft" })] {
        let reply = try_submit(&cx, &template, &body).fails(409, "TEMPLATE_INACTIVE");
        let details = json!({ "resource": "template", "id": template, "status": "archived" });
        assert_eq!(
            (&reply.json["details"], &reply.json["message"]),
            (&details, &json!("The template is archived"))
        );
    }
    let _ = change(&cx, &id, &json!({ "formData": { "text": "y" } })).expect(200);
    let _ = to(&cx, &id, "approved");
    let _ = to(&cx, &drafted, "submitted");
    let _ = cx.activate_template(&template);
    let _ = submit(&cx, &template, &json!({ "text": "x" }));
    let never = cx.draft_template(&note());
    let reply =
        try_submit(&cx, &never, &json!({ "formData": { "text": "x" } })).fails(409, "TEMPLATE_INACTIVE");
    assert_eq!(reply.json["details"], json!({ "resource": "template", "id": never, "status": "draft" }));
}

fn client_ids(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&keeping_all(note()));
    let ask = |client_id: Value| {
        try_submit(&cx, &template, &json!({ "formData": { "text": "x" }, "clientId": client_id }))
    };
    let (one, two) = (ask(json!("same")).expect(201), ask(json!("same")).expect(201));
    assert_ne!(one.id(), two.id());
    assert_eq!((&one.data()["clientId"], &two.data()["clientId"]), (&json!("same"), &json!("same")));
    // Opaque: returned as sent.
    assert_eq!(ask(json!(" a  B ")).expect(201).data()["clientId"], json!(" a  B "));
    let found = crate::support::get(&cx, &format!("{}?clientId=%20a%20%20B%20", crate::support::ALL));
    assert_eq!(found.pagination()["totalItems"], 1);
    let most = "é".repeat(128);
    assert_eq!(ask(json!(most)).expect(201).data()["clientId"], json!(most));
    for none in [json!(null), json!(""), json!("  ")] {
        assert_eq!(ask(none).expect(201).data()["clientId"], Value::Null);
    }
    let _ = ask(json!("x".repeat(129))).invalid(&[("clientId", "maxLength")]);
    let _ = ask(json!("a\nb")).invalid(&[("clientId", "invalidCharacters")]);
    for wrong in [json!(7), json!(true), json!(["a"]), json!({})] {
        let _ = ask(wrong).invalid(&[("clientId", "type")]);
    }
    let _ = change(&cx, &one.id(), &json!({ "clientId": 7 })).invalid(&[("clientId", "type")]);
    // Absent remains absent.
    let id = ask(json!(null)).expect(201).id();
    let _ = change(&cx, &id, &json!({ "clientId": null })).expect(200);
    let _ = change(&cx, &id, &json!({ "clientId": " " })).expect(200);
    let _ = change(&cx, &id, &json!({ "clientId": "x" })).invalid(&[("clientId", "conflict")]);
}

/// Without `If-Match` the last write wins per field: no other writer's field is lost, and every accepted status change
/// is in the history.
fn many_at_once(backend: Backend) {
    let cx = sandbox(backend);
    let names: Vec<String> = (0..8).map(|at| format!("f{at}")).collect();
    let fields: Vec<Value> = names.iter().map(|name| json!({ "name": name, "type": "text" })).collect();
    let template = cx.template(&json!({ "name": "Wide", "fields": fields }));
    let id = submit(&cx, &template, &json!({})).id();
    let moved: usize = std::thread::scope(|scope| {
        let workers: Vec<_> = names
            .iter()
            .map(|name| {
                let (cx, id) = (&cx, &id);
                scope.spawn(move || {
                    // A finally lost race is reported; the client retries.
                    while change(cx, id, &json!({ "formData": { name: "x" } })).status != 200 {}
                    let mut moved = 0;
                    for status in ["rejected", "submitted"] {
                        let reply = change(cx, id, &json!({ "status": status, "reviewNotes": name }));
                        assert!(matches!(reply.status, 200 | 409), "{}", reply.text);
                        moved += usize::from(reply.status == 200);
                    }
                    moved
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().expect("no panic")).sum()
    });
    let reply = read(&cx, &id);
    let expected: Value = names.iter().map(|name| (name.clone(), json!("x"))).collect();
    assert_eq!(reply.data()["formData"], expected);
    let history = reply.data()["statusHistory"].as_array().expect("a history").clone();
    assert!(history.len() > 1 && history.len() <= moved + 1, "{history:?}");
    assert!(
        history.windows(2).all(|pair| pair[0]["to"] == pair[1]["from"] && pair[0]["to"] != pair[1]["to"])
    );
    assert_eq!(history.last().map(|last| &last["to"]), Some(&reply.data()["status"]));
}
