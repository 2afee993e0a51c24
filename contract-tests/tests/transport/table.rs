//! The table of endpoints as the loops read it: how to reach each one with a request that succeeds.

use contract_tests::{Call, Sandbox, story};
use openapi_core::endpoints::ENDPOINTS;
use openapi_core::operation::{Access, Base, BodyKind, Meta};
use serde_json::{Value, json};

/// Every endpoint.
pub fn all() -> impl Iterator<Item = &'static Meta> {
    ENDPOINTS.iter().map(|endpoint| endpoint.meta)
}

/// The endpoints behind the key headers.
pub fn with_key() -> impl Iterator<Item = &'static Meta> {
    all().filter(|meta| meta.access != Access::Public)
}

/// The endpoints that take a body.
pub fn with_body() -> impl Iterator<Item = &'static Meta> {
    all().filter(|meta| meta.body != BodyKind::None)
}

/// A path of an endpoint below {origin}.
pub fn path(meta: &Meta, external_id: &str, contact_id: &str, agent: &str) -> String {
    let base = match meta.base {
        Base::OpenApi => openapi_core::reply::BASE_PATH,
        Base::Origin => "",
    };
    let path = meta.path.replace("{externalReferenceId}", external_id).replace("{contactId}", contact_id);
    format!("{base}{}", path.replace("{agentId}", agent))
}

/// A sandbox with the contact of the examples, and its id.
pub fn prepared(backend: contract_tests::Backend) -> (Sandbox, String) {
    let cx = Sandbox::new(backend);
    let id = cx.create(&story::new_contact()).id();
    (cx, id)
}

/// The path of an endpoint that leads to the contact of the examples.
pub fn real_path(meta: &Meta, contact_id: &str) -> String {
    path(meta, "crm-1001", contact_id, "<A>")
}

/// A body that the endpoint accepts.
pub fn body(meta: &Meta) -> Option<Value> {
    match meta.body {
        BodyKind::None => None,
        BodyKind::Optional => Some(json!({})),
        BodyKind::Required if meta.id == "createContact" => Some(json!({ "primaryEmail": "a@b.co" })),
        BodyKind::Required => Some(json!({ "firstName": "Zoë" })),
    }
}

/// A request that succeeds.
pub fn good<'a>(cx: &'a Sandbox, meta: &Meta, contact_id: &str) -> Call<'a> {
    let call = cx.at(meta.method.as_str(), &real_path(meta, contact_id));
    match body(meta) {
        Some(body) => call.json(&body),
        None => call,
    }
}
