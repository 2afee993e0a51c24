//! Shared by the form tests.

use contract_tests::{Backend, Call, Reply, Sandbox};
use openapi_core::access::{Actor, Caller, Permissions};
use serde_json::{Value, json};

/// The path of the batch of the sandbox's contact.
pub const BATCH: &str = "/forms/batch/contacts/crm-1001/chatbots/<A>";

/// The path of the submissions of the sandbox's contact.
pub const ALL: &str = "/forms/contacts/crm-1001/chatbots/<A>";

/// An unused id.
pub const NOTHING: &str = "697d00000000000000000000";

/// A sandbox with the contact `crm-1001`.
pub fn sandbox(backend: Backend) -> Sandbox {
    let cx = Sandbox::new(backend);
    let _ = contact(&cx, "crm-1001");
    cx
}

/// Creates a contact and returns its platform id.
#[track_caller]
pub fn contact(cx: &Sandbox, external_id: &str) -> String {
    cx.create(&json!({ "externalReferenceId": external_id, "primaryEmail": "a@b.co" })).id()
}

/// Archives the sandbox's contact.
#[track_caller]
pub fn archive_contact(cx: &Sandbox) {
    let _ = cx.patch("/contacts/crm-1001/chatbots/<A>/archive").expect(200);
}

/// A template with one required text, one optional text and one list of at least one element.
pub fn note() -> Value {
    json!({ "name": "Note", "fields": [
        { "name": "text", "type": "text", "required": true },
        { "name": "more", "type": "textarea" },
        { "name": "count", "type": "number" },
        { "name": "items", "type": "list", "validation": { "minItems": 1 }, "fields": [{ "name": "what", "type": "text", "required": true }] },
    ] })
}

/// A definition with another policy.
pub fn keeping_all(mut definition: Value) -> Value {
    definition["submissionPolicy"] = json!("keepAll");
    definition
}

/// A request that bypasses a key's limits, as a caller that the host authenticated.
pub fn ask<'a>(cx: &'a Sandbox, method: &str, path: &str) -> Call<'a> {
    cx.call(method, path).as_caller(Caller {
        agent_id: cx.agent.clone(),
        actor: Actor::User("tester".into()),
        permissions: Permissions::all(),
        address: None,
        request_id: "test".into(),
    })
}

/// A request with a JSON body that bypasses a key's limits.
pub fn send(cx: &Sandbox, method: &str, path: &str, body: &Value) -> Reply {
    ask(cx, method, path).json(body).send()
}

/// A `GET` that bypasses a key's limits.
pub fn get(cx: &Sandbox, path: &str) -> Reply {
    ask(cx, "GET", path).send()
}

/// The submit path of a template.
pub fn submit_path(template: &str) -> String {
    format!("/forms/submit/{template}/contacts/crm-1001")
}

/// The path of a submission.
pub fn one(id: &str) -> String {
    format!("/forms/submissions/{id}/chatbots/<A>")
}

/// The path of the latest submission under a template.
pub fn latest(template: &str) -> String {
    format!("/forms/contacts/crm-1001/templates/{template}/latest/chatbots/<A>")
}

/// A request to submit.
pub fn try_submit(cx: &Sandbox, template: &str, body: &Value) -> Reply {
    send(cx, "POST", &submit_path(template), body)
}

/// Submits data.
#[track_caller]
pub fn submit(cx: &Sandbox, template: &str, data: &Value) -> Reply {
    try_submit(cx, template, &json!({ "formData": data })).expect(201)
}

/// Stores a draft.
#[track_caller]
pub fn draft(cx: &Sandbox, template: &str, data: &Value) -> Reply {
    try_submit(cx, template, &json!({ "formData": data, "status": "draft" })).expect(201)
}

/// A request to update a submission.
pub fn change(cx: &Sandbox, id: &str, body: &Value) -> Reply {
    send(cx, "PUT", &one(id), body)
}

/// Changes the state of a submission.
#[track_caller]
pub fn to(cx: &Sandbox, id: &str, status: &str) -> Reply {
    change(cx, id, &json!({ "status": status })).expect(200)
}

/// Reads a submission.
#[track_caller]
pub fn read(cx: &Sandbox, id: &str) -> Reply {
    get(cx, &one(id)).expect(200)
}

/// Every state of a submission, in the order of contract 3.
pub const STATES: [&str; 6] = ["draft", "submitted", "under_review", "approved", "rejected", "archived"];

/// Brings a new submission with this data into a state.
#[track_caller]
pub fn in_state(cx: &Sandbox, template: &str, data: &Value, state: &str) -> Reply {
    match state {
        "draft" => draft(cx, template, data),
        "submitted" => submit(cx, template, data),
        _ => {
            let id = submit(cx, template, data).id();
            cx.advance(5);
            to(cx, &id, state)
        }
    }
}

/// The submission is unchanged since `before`.
#[track_caller]
pub fn is_unchanged(cx: &Sandbox, before: &Reply) {
    let now = read(cx, &before.id());
    assert_eq!(now.data(), before.data());
    assert_eq!(now.header("etag"), before.header("etag"));
}

/// A template with these fields that allows coexisting submissions.
#[track_caller]
pub fn with_fields(cx: &Sandbox, fields: Value) -> String {
    cx.template(&keeping_all(json!({ "name": "Values", "fields": fields })))
}

/// Submits data verbatim.
pub fn raw(cx: &Sandbox, template: &str, data: &str) -> Reply {
    let call = ask(cx, "POST", &submit_path(template)).text(&format!("{{\"formData\":{data}}}"));
    call.header("content-type", "application/json").send()
}
