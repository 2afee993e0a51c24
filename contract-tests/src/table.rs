//! Drives loops over the endpoint table: how to call each endpoint successfully.

use crate::{Backend, Call, Form, Sandbox, story};
use openapi_core::endpoints::ENDPOINTS;
use openapi_core::operation::{Base, BodyKind, Endpoint, EndpointMetadata};
use serde_json::{Value, json};

/// The rows of the table, with those of other crates.
pub fn endpoints() -> impl Iterator<Item = &'static Endpoint> {
    ENDPOINTS.iter().chain(events::endpoints::ENDPOINTS)
}

/// Every endpoint.
pub fn all() -> impl Iterator<Item = &'static EndpointMetadata> {
    endpoints().map(|endpoint| endpoint.meta)
}

/// The endpoints that require key headers.
pub fn with_key() -> impl Iterator<Item = &'static EndpointMetadata> {
    all().filter(|meta| !meta.access.is_public())
}

/// The endpoints that take a JSON body.
pub fn with_json() -> impl Iterator<Item = &'static EndpointMetadata> {
    all().filter(|meta| meta.body.is_json())
}

/// The stored records: the contact of the examples, its file, a template and a submission.
#[derive(Clone, Debug)]
pub struct Known {
    /// The contact.
    pub contact: String,
    /// The file.
    pub file: String,
    /// Path and query of a signed URL of the file.
    pub link: String,
    /// The template.
    pub template: String,
    /// The submission.
    pub submission: String,
    /// The webhook endpoint.
    pub endpoint: String,
    /// A queued extraction.
    pub job: String,
}

impl Known {
    /// The path parameters that name a record.
    #[must_use]
    pub fn named(&self) -> Named<'_> {
        Named {
            external_id: "crm-1001",
            contact: &self.contact,
            file: &self.file,
            template: &self.template,
            submission: &self.submission,
            endpoint: &self.endpoint,
            job: &self.job,
            batch: "may",
            agent: "<A>",
        }
    }
}

/// A path parameter.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// The external id of a contact.
    pub external_id: &'a str,
    /// The platform id of a contact.
    pub contact: &'a str,
    /// A file.
    pub file: &'a str,
    /// A template.
    pub template: &'a str,
    /// A submission.
    pub submission: &'a str,
    /// A webhook endpoint.
    pub endpoint: &'a str,
    /// A queued extraction.
    pub job: &'a str,
    /// A batch of extractions.
    pub batch: &'a str,
    /// The agent.
    pub agent: &'a str,
}

impl<'a> Named<'a> {
    /// Sets every path parameter to the same text.
    #[must_use]
    pub fn all(name: &'a str, agent: &'a str) -> Self {
        Named {
            external_id: name,
            contact: name,
            file: name,
            template: name,
            submission: name,
            endpoint: name,
            job: name,
            batch: name,
            agent,
        }
    }
}

/// A path of an endpoint below {origin}.
#[must_use]
pub fn path(meta: &EndpointMetadata, named: Named<'_>) -> String {
    let base = match meta.base {
        Base::OpenApi => openapi_core::reply::BASE_PATH,
        Base::Origin => "",
    };
    let path = meta
        .path
        .replace("{externalReferenceId}", named.external_id)
        .replace("{contactId}", named.contact)
        .replace("{fileId}", named.file)
        .replace("{templateId}", named.template)
        .replace("{submissionId}", named.submission)
        .replace("{endpointId}", named.endpoint)
        .replace("{jobId}", named.job)
        .replace("{batchId}", named.batch)
        .replace("{agentId}", named.agent);
    format!("{base}{path}")
}

/// A sandbox with the contact of the examples, a file, a template that allows coexisting submissions, and a
/// submission.
#[must_use]
pub fn prepared(backend: Backend) -> (Sandbox, Known) {
    prepare(Sandbox::new(backend))
}

/// Adds the same records to an empty sandbox.
///
/// # Panics
/// If something is rejected.
#[must_use]
pub fn prepare(cx: Sandbox) -> (Sandbox, Known) {
    let contact = cx.create(&story::new_contact()).id();
    let file = upload(&cx, &contact);
    let at = format!("/v1/open/files/chatbots/<A>/{contact}/files/{file}/signed-url");
    let signed = cx.at("GET", &at).send().expect(200);
    let url = signed.data()["url"].as_str().expect("a URL");
    let link = url.strip_prefix(crate::document::ORIGIN).expect("below the origin").to_owned();
    let template = cx.template(&story::feedback());
    let target = format!("/v1/open/forms/submit/{template}/contacts/crm-1001");
    let submission = cx.at("POST", &target).json(&submission_body()).send().expect(201).id();
    let endpoint = endpoint(&cx);
    let job = queue(&cx);
    (cx, Known { contact, file, link, template, submission, endpoint, job })
}

/// Uploads a file and returns its id.
#[must_use]
pub fn upload(cx: &Sandbox, contact: &str) -> String {
    let target = format!("/v1/open/files/chatbots/<A>/{contact}");
    cx.at("POST", &target).form(&form()).send().expect(201).id()
}

/// Creates a webhook endpoint and returns its id.
#[must_use]
pub fn endpoint(cx: &Sandbox) -> String {
    cx.at("POST", "/v1/open/events/endpoints/chatbots/<A>").json(&endpoint_body()).send().expect(201).id()
}

fn endpoint_body() -> Value {
    json!({ "url": "https://hooks.example.com/events" })
}

fn submission_body() -> Value {
    json!({ "formData": { "rating": 5 } })
}

fn form() -> Form {
    Form::of_file("referral.pdf", story::PDF)
}

fn extraction() -> Form {
    Form::new().document("invoice.txt", b"total: 12").text("schema", r#"{"total":{"type":"string"}}"#)
}

/// Queues an extraction of the batch `may` and returns its id.
#[must_use]
pub fn queue(cx: &Sandbox) -> String {
    let form = extraction().text("batchId", "may");
    cx.at("POST", "/v1/open/document-extraction/jobs").form(&form).send().expect(201).id()
}

/// The path of an endpoint for the contact of the examples and its file.
#[must_use]
pub fn real_path(meta: &EndpointMetadata, known: &Known) -> String {
    if meta.id == "downloadFile" {
        return known.link.clone();
    }
    path(meta, known.named())
}

/// Adds a query parameter to a target.
#[must_use]
pub fn with_query(target: &str, query: &str) -> String {
    format!("{target}{}{query}", if target.contains('?') { '&' } else { '?' })
}

/// A body that the endpoint accepts.
#[must_use]
pub fn body(meta: &EndpointMetadata, known: &Known) -> Option<Value> {
    Some(match (meta.body, meta.id) {
        (BodyKind::None | BodyKind::File | BodyKind::Document | BodyKind::Documents, _) => return None,
        (BodyKind::Optional, _) => json!({}),
        (BodyKind::Required, "createContact") => json!({ "primaryEmail": "a@b.co" }),
        (BodyKind::Required, "createWebhookEndpoint") => endpoint_body(),
        (BodyKind::Required, "updateWebhookEndpoint") => json!({ "mode": "ordered" }),
        (BodyKind::Required, "replayWebhookEvents") => json!({ "after": 0 }),
        (BodyKind::Required, "submitForm") => submission_body(),
        (BodyKind::Required, "submitForms") => {
            json!({ "submissions": [{ "templateId": known.template, "formData": { "rating": 5 } }] })
        }
        (BodyKind::Required, "updateSubmission") => json!({ "reviewNotes": "Seen" }),
        (BodyKind::Required, _) => json!({ "firstName": "Zoë" }),
    })
}

/// The success status.
#[must_use]
pub fn success(meta: &EndpointMetadata) -> u16 {
    if matches!(
        meta.id,
        "createContact"
            | "uploadFile"
            | "submitForm"
            | "submitForms"
            | "createWebhookEndpoint"
            | "queueExtraction"
            | "queueExtractionBatch"
    ) {
        201
    } else {
        200
    }
}

/// A request to a target with a body that the endpoint accepts.
#[must_use]
pub fn to<'a>(cx: &'a Sandbox, meta: &EndpointMetadata, known: &Known, target: &str) -> Call<'a> {
    let call = cx.at(meta.method.as_str(), target);
    match body(meta, known) {
        Some(body) => call.json(&body),
        None if meta.body == BodyKind::File => call.form(&form()),
        None if meta.body.has_documents() => call.form(&extraction()),
        None => call,
    }
}

/// A successful request. It creates what the endpoint deletes.
#[must_use]
pub fn good<'a>(cx: &'a Sandbox, meta: &EndpointMetadata, known: &Known) -> Call<'a> {
    if meta.id == "deleteFile" {
        let file = upload(cx, &known.contact);
        return to(cx, meta, known, &path(meta, Named { file: &file, ..known.named() }));
    }
    if meta.id == "deleteWebhookEndpoint" {
        let endpoint = endpoint(cx);
        return to(cx, meta, known, &path(meta, Named { endpoint: &endpoint, ..known.named() }));
    }
    if matches!(meta.id, "cancelExtraction" | "deleteExtraction") {
        let job = queue(cx);
        return to(cx, meta, known, &path(meta, Named { job: &job, ..known.named() }));
    }
    to(cx, meta, known, &real_path(meta, known))
}
