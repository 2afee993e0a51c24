//! The initial corpus: a successful request for each endpoint and widget call, and the committed cases.

use std::path::Path;

use contract_tests::table::endpoints;
use contract_tests::{Form, story};
use openapi_core::operation::{Base, BodyKind, EndpointMetadata};
use serde_json::{Value, json};

use super::case::{Case, Who};

/// The committed cases: former findings, and requests that are hard to generate.
const REPRODUCERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/campaigns/fuzzing/kept");

/// The committed cases with their file names.
pub fn reproducers() -> Vec<(String, Case)> {
    let folder = std::fs::read_dir(Path::new(REPRODUCERS)).expect("the folder of reproducers");
    let mut reproducers: Vec<(String, Case)> = folder
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let bytes = std::fs::read(&path).expect("a reproducer");
            (name.clone(), Case::read(&bytes).unwrap_or_else(|| panic!("{name} is no request")))
        })
        .collect();
    reproducers.sort_by(|a, b| a.0.cmp(&b.0));
    reproducers
}

/// The initial corpus of a campaign.
pub fn all() -> Vec<Case> {
    let mut seeds: Vec<Case> = endpoints().map(|endpoint| of_endpoint(endpoint.meta)).collect();
    seeds.push(Case::new(Who::Key, "GET", "/v1/open/contacts/chatbots/<A>?page=1&limit=2&search=zoe&status=active&tag=vip&sortBy=firstName&sortOrder=asc&includeArchived=true&primaryEmail=a%40b.co&createdSince=2026-01-01T00:00:00Z&updatedSince=2026-01-01T00:00:00Z"));
    seeds.push(Case::new(Who::Key, "GET", "/v1/open/forms/contacts/crm-1001/chatbots/<A>?templateId=<TEMPLATE>&status=draft&includeSuperseded=true&clientId=x&page=1&limit=1"));
    seeds.push(Case::new(
        Who::Key,
        "GET",
        "/v1/open/files/chatbots/<A>/<CONTACT>?sortBy=fileName&sortOrder=desc&limit=1",
    ));
    seeds.push(json_case("POST", "/v1/open/contacts/chatbots/<A>?dryRun=true", &story::new_contact()));
    seeds.push(json_case("PUT", "/v1/open/contacts/new-one/chatbots/<A>?upsert=true", &story::new_contact()));
    seeds.extend(of_widget());
    seeds.extend(reproducers().into_iter().map(|(_, case)| case));
    seeds
}

fn json_case(method: &str, target: &str, body: &Value) -> Case {
    Case::new(Who::Key, method, target).with_body("application/json", body.to_string())
}

fn of_endpoint(meta: &EndpointMetadata) -> Case {
    let base = if meta.base == Base::OpenApi { "/v1/open" } else { "" };
    let path = meta.path.replace("{externalReferenceId}", "crm-1001").replace("{contactId}", "<CONTACT>");
    let path = path.replace("{fileId}", "<FILE>").replace("{templateId}", "<TEMPLATE>");
    let path = path.replace("{submissionId}", "<SUBMISSION>").replace("{agentId}", "<A>");
    let (method, target) = (meta.method.as_str(), format!("{base}{path}"));
    let form =
        |form: Form| Case::new(Who::Key, method, &target).with_body(&form.content_type(), form.bytes());
    match (meta.body, meta.id) {
        (_, "downloadFile") => Case::new(Who::Nobody, method, "<LINK>"),
        (BodyKind::None, _) => Case::new(Who::Key, method, &target),
        (BodyKind::File, _) => form(Form::of_file("é.pdf", story::PDF)),
        (BodyKind::Documents, _) => form(
            Form::new()
                .document("a.txt", b"total: 12")
                .document("b.txt", b"total: 7")
                .text("schema", r#"{"total":{"type":"number"}}"#)
                .text("batchId", "may"),
        ),
        (BodyKind::Document, _) => form(
            Form::new()
                .document("a.txt", b"total: 12")
                .text("schema", r#"{"total":{"type":"number","required":true,"description":"x"}}"#)
                .text("saveToStorage", "true")
                .text("customInstructions", "Be exact"),
        ),
        (BodyKind::Optional, _) => json_case(method, &target, &json!({ "reason": "Old" })),
        (BodyKind::Required, "submitForm") => json_case(
            method,
            &target,
            &json!({ "formData": { "rating": 5, "comment": "x" }, "submissionNotes": "n", "clientId": "c", "status": "draft" }),
        ),
        (BodyKind::Required, "submitForms") => json_case(
            method,
            &target,
            &json!({ "allOrNone": false, "submissions": [
                { "templateId": "<TEMPLATE>", "formData": { "rating": 5 } }, { "templateId": "<TEMPLATE>", "formData": { "rating": 9 } }] }),
        ),
        (BodyKind::Required, "updateSubmission") => json_case(
            method,
            &target,
            &json!({ "formData": { "rating": 4 }, "status": "under_review", "reviewNotes": "Seen", "submissionNotes": "n" }),
        ),
        (BodyKind::Required, _) => json_case(method, &target, &story::new_contact()),
    }
}

/// One call of each kind to the widget, starting with a turn.
pub fn of_widget() -> Vec<Case> {
    let turn = json!({
        "v": 1, "agentId": "<A>", "id": "5f0c2b1e-8a47-4d3b-9c61-000000000002", "token": "<TOKEN>", "text": "Hello", "uploads": [],
        "lead": { "fields": { "primaryEmail": "zoe@example.com" } }, "user": null,
        "page": { "url": "https://www.example.com/a", "title": "A", "referrer": null, "utm": { "source": "x" } },
        "locale": "de-AT", "tz": "Europe/London", "metadata": { "plan": "gold" }, "persist": "local", "challenge": null, "hp": ""
    });
    let of_turn = json!({ "token": "<TOKEN>", "turn": "5f0c2b1e-8a47-4d3b-9c61-000000000001", "after": 1 });
    let calls = [
        ("/turns", turn),
        ("/turns/resume", of_turn.clone()),
        ("/turns/cancel", of_turn.clone()),
        ("/sync", of_turn),
        ("/history", json!({ "token": "<TOKEN>", "before": 9, "limit": 5 })),
        (
            "/lead",
            json!({
                "agentId": "<A>", "token": "<TOKEN>", "fields": { "primaryEmail": "a@b.co", "firstName": "Zoë" }, "consent": null,
                "page": null, "elapsedMs": 8200, "hp": ""
            }),
        ),
        ("/feedback", json!({ "token": "<TOKEN>", "message": 2, "rating": "up", "comment": "x" })),
        ("/close", json!({ "token": "<TOKEN>" })),
        ("/uploads", json!({ "token": "<TOKEN>" })),
    ];
    let calls = calls.map(|(path, body)| {
        let case = Case::new(Who::Visitor, "POST", &format!("/widget/v1{path}"));
        let mut case = case.with_body("text/plain;charset=UTF-8", body.to_string());
        case.headers.push((b"origin".to_vec(), b"https://www.example.com".to_vec()));
        case
    });
    let config = Case::new(Who::Visitor, "GET", "/widget/v1/config?agentId=<A>&locale=de-AT");
    calls.into_iter().chain([config]).collect()
}
