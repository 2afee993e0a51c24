//! Data of another agent or contact does not exist for the caller (contract 2.3.2, 4.4, 6.1).

use contract_tests::{Backend, Credentials, Sandbox, on_every_backend};
use openapi_core::values::AgentId;
use serde_json::{Value, json};

use crate::support::{BATCH, NOTHING, contact, get, note, one, read, sandbox, send, submit, submit_path};

on_every_backend!(another_agents_data_is_absent, keys_decide, another_contacts_data_is_absent);

/// Another agent with a key, a template, a contact `crm-1001` of its own and a submission.
fn neighbour(cx: &Sandbox) -> (AgentId, Credentials, String, String) {
    let agent = cx.new_agent("other");
    let owner = agent.clone();
    let key = cx.issue(|key| key.agent_id = owner);
    let template = cx.template_of(&agent, &note());
    let create = json!({ "externalReferenceId": "crm-1001", "primaryEmail": "a@b.co" });
    let _ = cx.call("POST", "/contacts/chatbots/other").json(&create).with(&key).send().expect(201);
    let call = cx.call("POST", &submit_path(&template)).json(&json!({ "formData": { "text": "theirs" } }));
    let submission = call.with(&key).send().expect(201).id();
    (agent, key, template, submission)
}

/// Every response about another agent's data equals the one for absent data.
fn another_agents_data_is_absent(backend: Backend) {
    let cx = sandbox(backend);
    let (_, key, template, submission) = neighbour(&cx);
    let own = cx.template(&note());
    let asked = |template: &str, submission: &str| -> Vec<(u16, Value)> {
        let element = json!({ "templateId": template, "formData": { "text": "x" } });
        [
            ("POST", submit_path(template), json!({ "formData": { "text": "x" } })),
            ("POST", format!("{}?dryRun=1", submit_path(template)), json!({})),
            ("POST", BATCH.to_owned(), json!({ "submissions": [element] })),
            ("GET", one(submission), json!({})),
            ("PUT", one(submission), json!({ "status": "archived" })),
            ("GET", crate::support::latest(template), json!({})),
            ("GET", format!("/forms/templates/{template}/schema/chatbots/<A>"), json!({})),
            ("GET", format!("/forms/templates/{template}/structure/chatbots/<A>"), json!({})),
            ("GET", format!("{}?templateId={template}", crate::support::ALL), json!({})),
        ]
        .into_iter()
        .map(|(method, path, body)| {
            let reply = send(&cx, method, &path, &body);
            let mut json = reply.json;
            if let Some(json) = json.as_object_mut() {
                json.shift_remove("requestId");
            }
            let text = json.to_string().replace(template, "T").replace(submission, "S");
            (reply.status, serde_json::from_str(&text).expect("JSON"))
        })
        .collect()
    };
    assert_eq!(asked(&template, &submission), asked(NOTHING, "697d00000000000000000001"));
    assert_eq!(get(&cx, "/forms/templates/chatbots/<A>").column("id"), [json!(own)]);
    let theirs = cx.call("GET", &one(&submission).replace("<A>", "other")).with(&key).send().expect(200);
    assert_eq!(
        (&theirs.data()["status"], &theirs.data()["formData"]["text"]),
        (&json!("submitted"), &json!("theirs"))
    );
}

/// Submit does not name an agent: the key's agent decides. All other endpoints reject another agent's path.
fn keys_decide(backend: Backend) {
    let cx = sandbox(backend);
    let (_, key, template, submission) = neighbour(&cx);
    let body = json!({ "formData": { "text": "x" } });
    let theirs = cx.call("POST", &submit_path(&template)).json(&body).with(&key).send().expect(201);
    assert_eq!(theirs.data()["agentId"], "other");
    assert_eq!(theirs.header("location").map(|path| path.ends_with("/chatbots/other")), Some(true));
    for (method, path) in [
        ("POST", BATCH.to_owned()),
        ("GET", crate::support::ALL.to_owned()),
        ("GET", one(&submission)),
        ("PUT", one(&submission)),
        ("GET", crate::support::latest(&template)),
        ("GET", "/forms/templates/chatbots/<A>".to_owned()),
        ("GET", format!("/forms/templates/{template}/schema/chatbots/<A>")),
        ("GET", format!("/forms/templates/{template}/structure/chatbots/<A>")),
    ] {
        let reply = cx.call(method, &path.replace("<A>", "other")).json(&json!({})).send();
        let _ = reply.fails(403, "AGENT_FORBIDDEN");
        let _ = cx.call(method, &path).json(&json!({})).with(&key).send().fails(403, "AGENT_FORBIDDEN");
    }
}

fn another_contacts_data_is_absent(backend: Backend) {
    let cx = sandbox(backend);
    let _ = contact(&cx, "crm-2");
    let template = cx.template(&note());
    let id = submit(&cx, &template, &json!({ "text": "x" })).id();
    let path = "/forms/contacts/crm-2/chatbots/<A>";
    assert_eq!(get(&cx, &format!("{path}?includeSuperseded=1")).expect(200).data(), &json!([]));
    let latest = format!("/forms/contacts/crm-2/templates/{template}/latest/chatbots/<A>");
    let _ = get(&cx, &latest).fails(404, "SUBMISSION_NOT_FOUND");
    assert_eq!(read(&cx, &id).data()["externalReferenceId"], "crm-1001");
}
