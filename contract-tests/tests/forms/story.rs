//! The examples of contract 2.3 and 4.4 as one scenario, response by response, literally.

use contract_tests::sandbox::instant;
use contract_tests::{Backend, Form, Reply, Sandbox, on_every_backend, story};
use serde_json::{Value, json};

on_every_backend!(the_story);

const KEY: &str = "svck_RfJZUgVExJF32DK00DIYDXH21VOQOJ";
const INTAKE: &str = "69623f40cde3f537d8e4bddb";
const FEEDBACK: &str = "69624648a093e8895b0b1554";
const FILE: &str = "697dc94b74a1f572c54b78cf";

macro_rules! example {
    ($name:literal) => {
        serde_json::from_str::<Value>(include_str!(concat!("examples/", $name, ".json"))).expect("JSON")
    };
}

/// Pairs of a sandbox id and the corresponding example id.
struct Story {
    cx: Sandbox,
    ids: Vec<(String, &'static str)>,
}

impl Story {
    fn know(&mut self, id: String, example: &'static str) {
        self.ids.push((id, example));
    }

    /// Converts example text for the sandbox.
    fn ours(&self, text: &str) -> String {
        self.ids.iter().fold(text.to_owned(), |text, (id, example)| text.replace(example, id))
    }

    /// Converts sandbox text to the examples' ids.
    fn theirs(&self, text: &str) -> String {
        self.ids.iter().fold(text.to_owned(), |text, (id, example)| text.replace(id, example))
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Reply {
        let body: Value = serde_json::from_str(&self.ours(&body.to_string())).expect("JSON");
        self.cx.call(method, &self.ours(path)).json(&body).send()
    }

    fn get(&self, path: &str) -> Reply {
        self.cx.get(&self.ours(path)).expect(200)
    }

    #[track_caller]
    fn says(&self, reply: &Reply, expected: &Value) {
        assert_eq!(self.theirs(&reply.text), expected.to_string());
    }

    fn at(&self, time: &str) {
        self.cx.clock.set(instant(time));
    }
}

/// Templates, contact and file before the first submission.
fn begun(backend: Backend) -> Story {
    let mut story = Story { cx: Sandbox::new(backend), ids: Vec::new() };
    story.know(story.cx.credentials.key.clone(), KEY);
    story.at("2026-01-10T12:00:00.000Z");
    let mut first = story::intake();
    first["fields"].as_array_mut().expect("fields").truncate(4);
    let intake = story.cx.template(&first);
    story.know(intake.clone(), INTAKE);
    story.at("2026-01-10T12:30:00.000Z");
    let feedback = story.cx.template(&story::feedback());
    story.know(feedback, FEEDBACK);
    story.at("2026-01-12T08:30:00.000Z");
    assert_eq!(story.cx.edit_template(&intake, &story::intake()).version, 2);
    story.at("2026-01-31T09:15:02.123Z");
    let contact = story.cx.create(&story::new_contact()).id();
    story.know(contact.clone(), story::CONTACT_ID);
    story.at("2026-01-31T09:20:11.480Z");
    let upload = story.cx.call("POST", &format!("/files/chatbots/<A>/{contact}"));
    let file = upload.form(&Form::of_file("referral.pdf", story::PDF)).send().expect(201).id();
    story.know(file, FILE);
    story
}

fn the_story(backend: Backend) {
    let mut story = begun(backend);
    documents(&story);
    submit_and_approve(&mut story);
    lists(&story);
    batches(&mut story);
}

fn documents(story: &Story) {
    let schema_path = format!("/forms/templates/{INTAKE}/schema/chatbots/<A>");
    let schema = story.get(&schema_path);
    let data: Value = serde_json::from_str(&story.theirs(&schema.data().to_string())).expect("JSON");
    let expected = example!("schema");
    assert_eq!(data["fields"], expected["fields"]);
    // The published schema must contain the example's JSON Schema; the contract's table may add to it.
    for name in ["$schema", "type", "additionalProperties", "required"] {
        assert_eq!(data["jsonSchema"][name], expected["jsonSchema"][name], "{name}");
    }
    is_within(&expected["jsonSchema"]["properties"], &data["jsonSchema"]["properties"]);
    for name in ["templateId", "name", "description", "version", "status", "submissionPolicy"] {
        assert_eq!(data[name], expected[name], "{name}");
    }
    let names: Vec<&String> = expected.as_object().expect("an object").keys().collect();
    assert_eq!(data.as_object().expect("an object").keys().collect::<Vec<_>>(), names);
    assert_eq!(schema.json["message"], "Template schema retrieved successfully");
    let etag = schema.header("etag").expect("a tag").to_owned();
    let call = story.cx.call("GET", &story.ours(&schema_path));
    let same = call.header("if-none-match", &etag).send().expect(304);
    assert_eq!((same.header("etag"), same.text.as_str()), (Some(etag.as_str()), ""));

    let structure = story.get(&format!("/forms/templates/{INTAKE}/structure/chatbots/<A>"));
    let data: Value = serde_json::from_str(&story.theirs(&structure.data().to_string())).expect("JSON");
    assert_eq!(data, example!("structure"));
    assert_eq!(structure.header("deprecation"), Some("@1767225600"));
    let successor = format!(
        "<https://api.example.com/v1/open/forms/templates/{INTAKE}/schema/chatbots/{}>; rel=\"successor-version\"",
        story.cx.agent
    );
    assert_eq!(structure.header("link"), Some(story.ours(&successor).as_str()));
    assert_eq!(structure.header("etag"), None);
    assert_eq!(structure.header("sunset"), None);

    story.says(&story.get("/forms/templates/chatbots/<A>"), &example!("templates"));
}

/// Every member of `part` is in `whole`.
#[track_caller]
fn is_within(part: &Value, whole: &Value) {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => {
            for (name, value) in part {
                is_within(value, whole.get(name).unwrap_or_else(|| panic!("{name} is missing in {whole:?}")));
            }
        }
        _ => assert_eq!(part, whole),
    }
}

fn submit_and_approve(story: &mut Story) {
    story.at("2026-01-31T09:30:45.007Z");
    let path = format!("/forms/submit/{INTAKE}/contacts/crm-1001");
    let submitted = story.send("POST", &path, &example!("submit_request")).expect(201);
    let id = submitted.id();
    story.know(id.clone(), "697dcbc5e0d14b96a816c9e5");
    story.says(&submitted, &example!("submit_response"));
    let location = format!("/v1/open/forms/submissions/{id}/chatbots/{}", story.cx.agent);
    assert_eq!(submitted.header("location"), Some(location.as_str()));
    let etag = submitted.header("etag").expect("a tag").to_owned();
    let read = story.cx.at("GET", &location).send().expect(200);
    assert_eq!(read.data(), submitted.data());
    assert_eq!(read.header("etag"), Some(etag.as_str()));

    story.at("2026-01-31T10:05:00.250Z");
    let path = format!("/forms/submissions/{id}/chatbots/<A>");
    let approve = story.cx.call("PUT", &path).json(&example!("update_request")).header("if-match", &etag);
    let approved = approve.send().expect(200);
    let record = example!("submission");
    let expected =
        json!({ "success": true, "message": "Submission updated successfully", "data": record.clone() });
    story.says(&approved, &expected);
    assert_ne!(approved.header("etag"), Some(etag.as_str()));
    assert_eq!(approved.header("location"), None);
    let expected = json!({ "success": true, "message": "Submission retrieved successfully", "data": record });
    for path in [path, format!("/forms/contacts/crm-1001/templates/{INTAKE}/latest/chatbots/<A>")] {
        let reply = story.get(&path);
        story.says(&reply, &expected);
        assert_eq!(reply.header("etag"), approved.header("etag"));
    }
}

fn lists(story: &Story) {
    story.says(&story.get("/forms/contacts/crm-1001/chatbots/<A>"), &example!("submissions"));
}

fn batches(story: &mut Story) {
    story.at("2026-01-31T11:00:00.500Z");
    let path = "/forms/batch/contacts/crm-1001/chatbots/<A>";
    let reply = story.send("POST", path, &example!("batch_request")).expect(201);
    let id = |reply: &Reply, at: usize| {
        reply.data()["results"][at]["submission"]["id"].as_str().expect("an id").to_owned()
    };
    story.know(id(&reply, 0), "697de0b05cc9af5da5dda942");
    story.know(id(&reply, 1), "697de0b0a10c53658fa39b1a");
    story.says(&reply, &example!("batch_response"));
    assert_eq!((reply.header("location"), reply.header("etag")), (None, None));

    // Contract 6.4: the approved submission has been superseded.
    let old = format!("/forms/submissions/{}/chatbots/<A>", story.ours("697dcbc5e0d14b96a816c9e5"));
    let refused = story.cx.call("PUT", &old).json(&json!({ "reviewNotes": "Too late" }));
    let refused = refused.header("x-request-id", story::REQUEST_ID).send().expect(409);
    story.says(&refused, &json!({ "success": false, "message": "The submission has been superseded", "code": "SUBMISSION_SUPERSEDED", "requestId": "019c13a3-6137-710c-9fa1-91a5ee824f39", "details": { "supersededBy": "697de0b05cc9af5da5dda942" } }));

    story.at("2026-01-31T11:10:00.020Z");
    let reply = story.send("POST", path, &example!("batch_each_request")).expect(207);
    story.know(id(&reply, 0), "697de308ccf1e5a8f4c1d7ca");
    story.says(&reply, &example!("batch_each_response"));
}
