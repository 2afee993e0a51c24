//! Several processes over one store: a change by one of them applies to the others' writes immediately.

use contract_tests::{Backend, on_every_backend};
use serde_json::{Value, json};

use crate::support::{
    ALL, archive_contact, change, draft, get, keeping_all, note, sandbox, submit, to, try_submit,
};

on_every_backend!(inactive_templates, edited_templates, archived_contacts, heads_under_another_policy);

fn data() -> Value {
    json!({ "text": "x" })
}

fn inactive_templates(backend: Backend) {
    let cx = sandbox(backend);
    let elsewhere = cx.restarted();
    let template = cx.template(&note());
    let _ = submit(&elsewhere, &template, &data());
    let _ = cx.archive_template(&template);
    let _ = try_submit(&elsewhere, &template, &json!({ "formData": data() })).fails(409, "TEMPLATE_INACTIVE");
    let _ = cx.activate_template(&template);
    cx.advance(5_000);
    let _ = submit(&elsewhere, &template, &data());
}

/// A submission is pinned to the version in force when it is stored.
fn edited_templates(backend: Backend) {
    let cx = sandbox(backend);
    let elsewhere = cx.restarted();
    let template = cx.template(&note());
    let _ = submit(&elsewhere, &template, &data());
    let narrower = json!({ "name": "Note", "fields": [{ "name": "text", "type": "text", "validation": { "maxLength": 3 } }] });
    let _ = cx.edit_template(&template, &narrower);
    let reply = try_submit(&elsewhere, &template, &json!({ "formData": { "text": "longer", "count": 1 } }));
    let _ = reply.invalid(&[("formData.text", "maxLength"), ("formData.count", "unknown")]);
    assert_eq!(submit(&elsewhere, &template, &data()).data()["templateVersion"], 2);
}

fn archived_contacts(backend: Backend) {
    let cx = sandbox(backend);
    let elsewhere = cx.restarted();
    let template = cx.template(&note());
    let id = submit(&elsewhere, &template, &data()).id();
    archive_contact(&cx);
    let _ = try_submit(&elsewhere, &template, &json!({ "formData": data() })).fails(409, "CONTACT_ARCHIVED");
    let _ = change(&elsewhere, &id, &json!({ "status": "approved" })).fails(409, "CONTACT_ARCHIVED");
}

/// At most one submission of a pair is current, whichever process submits a draft after a change of policy.
fn heads_under_another_policy(backend: Backend) {
    let cx = sandbox(backend);
    let elsewhere = cx.restarted();
    let template = cx.template(&keeping_all(note()));
    let drafted = draft(&elsewhere, &template, &data()).id();
    // From now on the other process knows the version of the draft.
    let _ = change(&elsewhere, &drafted, &json!({ "formData": { "more": "m" } })).expect(200);
    let _ = cx.edit_template(&template, &note());
    let head = submit(&cx, &template, &data()).id();
    let handed_in = to(&elsewhere, &drafted, "submitted");
    assert_eq!(handed_in.data()["supersedes"], json!(head));
    let reply = get(&cx, &format!("{ALL}?includeSuperseded=1")).expect(200);
    let current =
        reply.data().as_array().expect("a list").iter().filter(|item| item["isSuperseded"] == false);
    assert_eq!(current.count(), 1);
}
