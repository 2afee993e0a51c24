//! Forms: templates and submissions on the command line, next to a running server.

use std::time::Duration;

use serde_json::{Value, json};

use super::support::{Sandbox, Serving, credentials, request, within};

const FEEDBACK: &str = r#"{ "name": "Feedback", "submissionPolicy": "keepAll", "fields": [
    { "name": "rating", "label": "Rating", "type": "integer", "required": true, "validation": { "minimum": 1, "maximum": 5 } },
    { "name": "why", "type": "textarea", "showIf": { "field": "rating", "op": "in", "value": [1, 2] } },
    { "name": "tags", "type": "checkboxes", "options": ["a", "b"] } ] }"#;

/// Calls the API and returns status and body.
fn call(server: &Serving, key: &Value, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let keys = credentials(key);
    let headers: Vec<(&str, &str)> = keys.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let headers = [&headers[..], &[("Content-Type", "application/json")]].concat();
    let (status, answer) =
        request(&server.api, method, &format!("/v1/open{path}"), &headers, &body.to_string());
    (status, serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer}")))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

#[test]
fn templates_are_made_edited_and_taken_out_of_use() {
    let sandbox = Sandbox::new();
    sandbox.with_key();
    sandbox.write("feedback.json", FEEDBACK);
    let made = sandbox.json(&["templates", "create", "--agent", "acme", "--file", "feedback.json"]);
    assert_eq!((&made["status"], &made["version"]), (&json!("draft"), &json!(1)));
    assert_eq!(made["fields"][1]["label"], "why", "a label by default");
    let id = text(&made["id"]);

    let with = |command: &str, more: &[&str]| {
        sandbox.json(&[&["templates", command, id, "--agent", "acme"], more].concat())
    };
    assert_eq!(with("activate", &[])["status"], "active");
    // The output of `show` can be passed back, and changes nothing.
    let shown = with("show", &[]);
    sandbox.write("shown.json", &shown.to_string());
    assert_eq!(with("edit", &["--file", "shown.json"]), shown);
    let mut edited = shown.clone();
    edited["name"] = json!("Feedback 2");
    edited["disabledTransitions"] = json!([{ "from": "approved", "to": "under_review" }]);
    sandbox.write("edited.json", &edited.to_string());
    let edited = with("edit", &["--file", "edited.json"]);
    assert_eq!((&edited["version"], &edited["name"]), (&json!(2), &json!("Feedback 2")));
    assert_eq!(with("archive", &[])["status"], "archived");

    let listed = sandbox.json(&["templates", "list", "--agent", "acme"]);
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["fieldCount"]), (1, &json!(3)));
    let table = sandbox.run(&["templates", "show", id, "--agent", "acme"]);
    assert!(table.stdout.contains("rating in [1,2]"), "{table:?}");
    assert!(table.stderr.contains("archived, version 2"), "{table:?}");
    assert!(table.stderr.contains("from approved to under_review"), "{table:?}");
    let audited = sandbox.json(&["audit", "tail", "--agent", "acme"]).to_string();
    for action in ["template.create", "template.activate", "template.edit", "template.archive"] {
        assert!(audited.contains(action), "{action}");
    }
}

#[test]
fn errors_in_a_template_are_reported_with_their_paths() {
    let sandbox = Sandbox::new();
    sandbox.with_key();
    sandbox.write("bad.json", r#"{ "name": "Bad", "fields": [{ "name": "1", "type": "text" }, { "name": "s", "type": "select" }] }"#);
    let said = sandbox.run(&["templates", "create", "--agent", "acme", "--file", "bad.json"]).failed(1);
    assert!(said.contains("fields[0].name") && said.contains("fields[1].options is required"), "{said}");
    sandbox.write("none.json", "{ \"name\": ");
    let said = sandbox.run(&["templates", "create", "--agent", "acme", "--file", "none.json"]).failed(1);
    assert!(said.contains("none.json:1:"), "{said}");
    let said = sandbox.run(&["templates", "show", "697dc94b74a1f572c54b78cf", "--agent", "acme"]).failed(1);
    assert!(said.contains("697dc94b74a1f572c54b78cf"), "{said}");
    sandbox.run(&["templates", "show", "no-id", "--agent", "acme"]).failed(2);
    sandbox.write("feedback.json", FEEDBACK);
    sandbox.run(&["templates", "create", "--agent", "nobody", "--file", "feedback.json"]).failed(1);
    assert_eq!(sandbox.json(&["templates", "list", "--agent", "acme"]), json!([]));
}

#[test]
fn submissions_are_listed_shown_exported_and_erased() {
    let sandbox = Sandbox::new();
    let key = sandbox.with_key();
    sandbox.write("feedback.json", FEEDBACK);
    let made =
        sandbox.json(&["templates", "create", "--agent", "acme", "--file", "feedback.json", "--activate"]);
    let template = text(&made["id"]);
    sandbox.write("contacts.ndjson", r#"{"externalReferenceId":"crm-1","primaryEmail":"a@example.com"}"#);
    sandbox.run(&["contacts", "import", "--agent", "acme", "contacts.ndjson"]).done();

    let server = sandbox.serve(&[]);
    let submit = |data: Value| {
        let path = format!("/forms/submit/{template}/contacts/crm-1");
        let (status, answer) = call(&server, &key, "POST", &path, &json!({ "formData": data }));
        assert_eq!(status, 201, "{answer}");
        text(&answer["data"]["id"]).to_owned()
    };
    let first = submit(json!({ "rating": 1, "why": "=HYPERLINK(\"x\")", "tags": ["a", "b"] }));
    let second = submit(json!({ "rating": 5 }));
    let path = format!("/forms/submissions/{first}/chatbots/acme");
    let (status, _) = call(&server, &key, "PUT", &path, &json!({ "formData": { "tags": ["b"] } }));
    assert_eq!(status, 200);
    let (status, _) =
        call(&server, &key, "PUT", &path, &json!({ "status": "rejected", "reviewNotes": "Why?" }));
    assert_eq!(status, 200);

    // Commands see what the server wrote, while it runs.
    let listed = sandbox.json(&["submissions", "list", "--agent", "acme"]);
    let ids: Vec<&str> = listed.as_array().unwrap().iter().map(|one| text(&one["id"])).collect();
    assert_eq!(ids, [second.as_str(), &first]);
    let rejected = sandbox.json(&["submissions", "list", "--agent", "acme", "--status", "rejected"]);
    assert_eq!(rejected.as_array().unwrap().len(), 1);
    let limited = sandbox.json(&["submissions", "list", "--agent", "acme", "--limit", "1"]);
    assert_eq!(text(&limited[0]["id"]), second);
    sandbox.run(&["submissions", "list", "--agent", "acme", "--status", "lost"]).failed(2);

    let shown = sandbox.json(&["submissions", "show", &first, "--agent", "acme"]);
    assert_eq!(shown["statusHistory"].as_array().unwrap().len(), 2);
    assert_eq!(shown["formDataRevisions"][0]["formData"]["tags"], json!(["a", "b"]));
    let table = sandbox.run(&["submissions", "show", &first, "--agent", "acme"]);
    assert!(table.stdout.contains("rejected") && table.stdout.contains("Why?"), "{table:?}");

    let exported = sandbox.run(&["submissions", "export", "--agent", "acme"]).done();
    let lines: Vec<Value> = exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[1]["formData"]["rating"]), (2, &json!(1)));
    let csv = ["submissions", "export", "--agent", "acme", "--format", "csv"];
    let by_template = sandbox.run(&[&csv[..], &["--template", template]].concat()).done();
    let mut by_template = by_template.lines();
    let heads = by_template.next().unwrap();
    assert!(heads.ends_with("formData.rating,formData.why,formData.tags,formData"), "{heads}");
    let line = by_template.nth(1).unwrap();
    assert!(line.contains(r#",1,"'=HYPERLINK(""x"")",b,"#), "a formula is escaped: {line}");
    let plain = sandbox.run(&csv).done();
    assert!(plain.contains(r#"""rating"":5"#), "{plain}");
    assert_eq!(server.end(), 0);

    // Erasing the contact erases its submissions.
    sandbox.run(&["contacts", "erase", "--agent", "acme", "crm-1"]).done();
    assert_eq!(sandbox.json(&["submissions", "list", "--agent", "acme"]), json!([]));
    sandbox.run(&["submissions", "show", &first, "--agent", "acme"]).failed(1);
    let audited = sandbox.json(&["audit", "tail", "--agent", "acme"]);
    for entry in
        audited.as_array().unwrap().iter().filter(|entry| text(&entry["action"]).starts_with("submission."))
    {
        assert_eq!(entry["details"], json!({}), "{entry}");
    }
    sandbox.run(&["check"]).done();
}

#[test]
fn the_demo_has_two_templates() {
    let sandbox = Sandbox::new();
    let server = sandbox.serve_as("demo", &[]);
    let list = ["templates", "list", "--agent", "demo", "--json"];
    // It listens before the agent and the rest are created.
    within(Duration::from_secs(10), "two templates in use", || {
        sandbox.run(&list).stdout.matches("\"status\": \"active\"").count() == 2
    });
    let listed: Value = serde_json::from_str(&sandbox.run(&list).done()).unwrap();
    let names: Vec<&str> = listed.as_array().unwrap().iter().map(|one| text(&one["name"])).collect();
    assert_eq!(names, ["Clinical intake", "Customer feedback"]);
    assert_eq!(server.end(), 0);
}
