//! Fields that hold files of the contact (contract 2.3.1, 2.3.2).

use contract_tests::{Backend, Form, Sandbox, on_every_backend, story};
use serde_json::{Value, json};

use crate::support::{
    BATCH, NOTHING, change, contact, draft, get, keeping_all, sandbox, send, submit, to, try_submit,
};

on_every_backend!(one_file, several_files, absent_files, an_unchanged_id, nested_files, shapes);

fn fields() -> Value {
    keeping_all(json!({ "name": "Files", "fields": [
        { "name": "one", "type": "file" },
        { "name": "many", "type": "file", "validation": { "minItems": 1, "maxItems": 2 } },
        { "name": "note", "type": "text" },
        { "name": "g", "type": "group", "fields": [{ "name": "f", "type": "file" }] },
        { "name": "l", "type": "list", "fields": [{ "name": "f", "type": "file", "required": true }] },
    ] }))
}

fn platform_id(cx: &Sandbox) -> String {
    get(cx, "/contacts/crm-1001/chatbots/<A>").expect(200).id()
}

fn upload(cx: &Sandbox, contact: &str) -> String {
    let call = cx.call("POST", &format!("/files/chatbots/<A>/{contact}"));
    call.form(&Form::of_file("a.pdf", story::PDF)).send().expect(201).id()
}

fn delete(cx: &Sandbox, contact: &str, file: &str) {
    let path = format!("/files/chatbots/<A>/{contact}/files/{file}");
    let _ = cx.call("DELETE", &path).send().expect(200);
}

fn one_file(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&fields());
    let file = upload(&cx, &platform_id(&cx));
    let reply = submit(&cx, &template, &json!({ "one": file }));
    assert_eq!(reply.data()["formData"]["one"], json!(file));
}

fn several_files(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&fields());
    let contact = platform_id(&cx);
    let (a, b, c) = (upload(&cx, &contact), upload(&cx, &contact), upload(&cx, &contact));
    let found = |value: Value, expected: &[(&str, &str)]| {
        let reply = try_submit(&cx, &template, &json!({ "formData": { "many": value } }));
        if expected.is_empty() {
            let _ = reply.expect(201);
        } else {
            let _ = reply.invalid(expected);
        }
    };
    found(json!([a, b]), &[]);
    found(json!([]), &[("formData.many", "minItems")]);
    found(json!([a, b, c]), &[("formData.many", "maxItems")]);
    found(json!([a, NOTHING]), &[("formData.many[1]", "reference")]);
    found(json!([7, NOTHING]), &[("formData.many[0]", "type"), ("formData.many[1]", "reference")]);
    let _ = draft(&cx, &template, &json!({ "many": [] }));
}

/// Unknown, deleted, another contact's, another agent's: indistinguishable responses.
fn absent_files(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&fields());
    let own = platform_id(&cx);
    let other = contact(&cx, "crm-2");
    let (deleted, elsewhere) = (upload(&cx, &own), upload(&cx, &other));
    delete(&cx, &own, &deleted);
    let agent = cx.new_agent("other");
    let key = cx.issue(|key| key.agent_id = agent);
    let create = cx.call("POST", "/contacts/chatbots/other").json(&json!({ "primaryEmail": "a@b.co" }));
    let foreign = create.with(&key).send().expect(201).id();
    let path = format!("/files/chatbots/other/{foreign}");
    let foreign =
        cx.call("POST", &path).form(&Form::of_file("a.pdf", story::PDF)).with(&key).send().expect(201).id();
    let mut messages = Vec::new();
    for id in [NOTHING, &deleted, &elsewhere, &foreign] {
        for status in ["submitted", "draft"] {
            let body = json!({ "formData": { "one": id }, "status": status });
            let reply = try_submit(&cx, &template, &body).invalid(&[("formData.one", "reference")]);
            assert_eq!(reply.violation(0)["value"], id);
            messages.push(reply.violation(0)["message"].clone());
        }
        let body = json!({ "submissions": [{ "templateId": template, "formData": { "one": id } }] });
        let _ = send(&cx, "POST", BATCH, &body).invalid(&[("submissions[0].formData.one", "reference")]);
    }
    messages.dedup();
    assert_eq!(messages.len(), 1, "{messages:?}");
}

/// An unchanged file id is not looked up again: the file may be deleted.
fn an_unchanged_id(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&fields());
    let contact = platform_id(&cx);
    let (file, gone) = (upload(&cx, &contact), upload(&cx, &contact));
    let data = json!({ "one": file, "many": [file], "g": { "f": file }, "l": [{ "f": file }] });
    let id = submit(&cx, &template, &data).id();
    let drafted = draft(&cx, &template, &data).id();
    delete(&cx, &contact, &file);
    delete(&cx, &contact, &gone);
    let reply = change(&cx, &id, &json!({ "formData": { "note": "x" } })).expect(200);
    assert_eq!(reply.data()["formData"]["one"], json!(file));
    let _ = change(&cx, &id, &json!({ "formData": data })).expect(200);
    let _ = change(&cx, &drafted, &json!({ "formData": { "note": "x" } })).expect(200);
    let _ = to(&cx, &drafted, "submitted");
    // A new id is.
    let reply = change(&cx, &id, &json!({ "formData": { "one": gone } }));
    let _ = reply.invalid(&[("formData.one", "reference")]);
    let reply = change(&cx, &id, &json!({ "formData": { "many": [file, gone] } }));
    let _ = reply.invalid(&[("formData.many[1]", "reference")]);
    // A file that was removed counts as new when it returns.
    let nothing = json!({ "one": null, "many": null, "g": null, "l": null });
    let _ = change(&cx, &id, &json!({ "formData": nothing })).expect(200);
    let _ =
        change(&cx, &id, &json!({ "formData": { "one": file } })).invalid(&[("formData.one", "reference")]);
    // A new submission checks every file.
    let reply = try_submit(&cx, &template, &json!({ "formData": data })).fails(400, "VALIDATION_ERROR");
    assert_eq!(
        reply.violations(),
        [
            ("formData.one", "reference"),
            ("formData.many[0]", "reference"),
            ("formData.g.f", "reference"),
            ("formData.l[0].f", "reference")
        ]
    );
}

fn nested_files(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&fields());
    let file = upload(&cx, &platform_id(&cx));
    let data = json!({ "g": { "f": file }, "l": [{ "f": file }, { "f": NOTHING }, {}] });
    let reply = try_submit(&cx, &template, &json!({ "formData": data }));
    let _ = reply.invalid(&[("formData.l[1].f", "reference"), ("formData.l[2].f", "required")]);
}

fn shapes(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&fields());
    for (value, kind) in [
        (json!(7), "type"),
        (json!({}), "type"),
        (json!(true), "type"),
        (json!("x"), "format"),
        (json!(NOTHING.to_uppercase()), "format"),
        (json!(format!("{NOTHING}0")), "format"),
    ] {
        let reply = try_submit(&cx, &template, &json!({ "formData": { "one": value } }));
        let _ = reply.invalid(&[("formData.one", kind)]);
    }
}
