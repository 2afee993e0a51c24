//! The table of endpoints as the loops read it: how to reach each one with a request that succeeds.

use contract_tests::{Call, Form, Sandbox, story};
use openapi_core::endpoints::ENDPOINTS;
use openapi_core::operation::{Base, BodyKind, Meta};
use serde_json::{Value, json};

/// Every endpoint.
pub fn all() -> impl Iterator<Item = &'static Meta> {
    ENDPOINTS.iter().map(|endpoint| endpoint.meta)
}

/// The endpoints behind the key headers.
pub fn with_key() -> impl Iterator<Item = &'static Meta> {
    all().filter(|meta| !meta.access.is_public())
}

/// The endpoints that take a JSON body.
pub fn with_json() -> impl Iterator<Item = &'static Meta> {
    all().filter(|meta| meta.body.is_json())
}

/// What is stored: the contact of the examples and a file of it.
pub struct Known {
    /// The contact.
    pub contact: String,
    /// The file.
    pub file: String,
    /// Path and query of a signed URL of the file.
    pub link: String,
}

/// What stands in a path.
#[derive(Clone, Copy)]
pub struct Named<'a> {
    pub external_id: &'a str,
    pub contact: &'a str,
    pub file: &'a str,
    pub agent: &'a str,
}

/// A path of an endpoint below {origin}.
pub fn path(meta: &Meta, named: Named<'_>) -> String {
    let base = match meta.base {
        Base::OpenApi => openapi_core::reply::BASE_PATH,
        Base::Origin => "",
    };
    let path = meta
        .path
        .replace("{externalReferenceId}", named.external_id)
        .replace("{contactId}", named.contact)
        .replace("{fileId}", named.file)
        .replace("{agentId}", named.agent);
    format!("{base}{path}")
}

/// A sandbox with the contact of the examples and a file.
pub fn prepared(backend: contract_tests::Backend) -> (Sandbox, Known) {
    let cx = Sandbox::new(backend);
    let contact = cx.create(&story::new_contact()).id();
    let file = upload(&cx, &contact);
    let at = format!("/v1/open/files/chatbots/<A>/{contact}/files/{file}/signed-url");
    let signed = cx.at("GET", &at).send().expect(200);
    let url = signed.data()["url"].as_str().expect("a URL");
    let link = url.strip_prefix(contract_tests::document::ORIGIN).expect("below the origin").to_owned();
    (cx, Known { contact, file, link })
}

/// Uploads a file and returns its id.
pub fn upload(cx: &Sandbox, contact: &str) -> String {
    let target = format!("/v1/open/files/chatbots/<A>/{contact}");
    cx.at("POST", &target).form(&form()).send().expect(201).id()
}

fn form() -> Form {
    Form::of_file("referral.pdf", story::PDF)
}

/// The path of an endpoint that leads to the contact of the examples and its file.
pub fn real_path(meta: &Meta, known: &Known) -> String {
    if meta.id == "downloadFile" {
        return known.link.clone();
    }
    let Known { contact, file, .. } = known;
    path(meta, Named { external_id: "crm-1001", contact, file, agent: "<A>" })
}

/// A target with another parameter.
pub fn with_query(target: &str, query: &str) -> String {
    format!("{target}{}{query}", if target.contains('?') { '&' } else { '?' })
}

/// A body that the endpoint accepts.
pub fn body(meta: &Meta) -> Option<Value> {
    match meta.body {
        BodyKind::None | BodyKind::File => None,
        BodyKind::Optional => Some(json!({})),
        BodyKind::Required if meta.id == "createContact" => Some(json!({ "primaryEmail": "a@b.co" })),
        BodyKind::Required => Some(json!({ "firstName": "Zoë" })),
    }
}

/// A request to a target with a body that the endpoint accepts.
pub fn to<'a>(cx: &'a Sandbox, meta: &Meta, target: &str) -> Call<'a> {
    let call = cx.at(meta.method.as_str(), target);
    match body(meta) {
        Some(body) => call.json(&body),
        None if meta.body == BodyKind::File => call.form(&form()),
        None => call,
    }
}

/// A request that succeeds. What it deletes is made for it.
pub fn good<'a>(cx: &'a Sandbox, meta: &Meta, known: &Known) -> Call<'a> {
    if meta.id == "deleteFile" {
        let file = upload(cx, &known.contact);
        let named = Named { external_id: "crm-1001", contact: &known.contact, file: &file, agent: "<A>" };
        return to(cx, meta, &path(meta, named));
    }
    to(cx, meta, &real_path(meta, known))
}
