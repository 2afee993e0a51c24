//! Response headers of the document.

use serde_json::{Map, Value, json};

use crate::operation::Endpoint;
use crate::operation::{Access, BodyKind, Conditional, Method};
use crate::reply::ErrorCode;

const HEADERS: &[(&str, &str, &str)] = &[
    ("X-Request-Id", "string", "The id of the request: the client's own, or a new one."),
    ("X-RateLimit-Limit", "integer", "The limit of the tighter window."),
    ("X-RateLimit-Remaining", "integer", "Requests left in the tighter window."),
    (
        "X-RateLimit-Reset",
        "integer",
        "When the oldest counted request leaves the tighter window, in epoch seconds.",
    ),
    ("RateLimit-Policy", "string", "Both limits and their windows in seconds."),
    ("RateLimit", "string", "What is left in both windows, and for how many seconds."),
    ("Retry-After", "integer", "Seconds after which a request succeeds."),
    ("ETag", "string", "The strong entity tag of the record."),
    ("Location", "string", "The path of what was created or renamed."),
    (
        "Link",
        "string",
        "The first, previous, next and last page, or the replacement of a deprecated endpoint (RFC 8288).",
    ),
    ("Deprecation", "string", "Since when the endpoint is deprecated (RFC 9745)."),
    ("Idempotent-Replayed", "string", "`true` when a stored answer is given again."),
    ("X-Credits-Charged", "integer", "The credits that the extraction cost; 0 for a stored answer."),
    ("X-Credits-Remaining", "integer", "The credits that are left; absent without a balance."),
    ("Allow", "string", "The methods of the path."),
    ("Accept-Ranges", "string", "`bytes`"),
    ("Content-Range", "string", "Which part of the file is sent, or that none can be."),
    ("Content-Disposition", "string", "How the file is offered, and its name (RFC 6266, RFC 8187)."),
    ("Accept", "string", "The media types that work."),
    ("WWW-Authenticate", "string", "`ApiKey realm=\"open-api\"`"),
    (
        "X-API-Secret-Expires",
        "string",
        "When the secret that was used ends, once a newer one exists (RFC 3339).",
    ),
];

/// The headers by name.
pub(super) fn components() -> Value {
    let headers: Map<String, Value> = HEADERS
        .iter()
        .map(|(name, kind, text)| {
            ((*name).to_owned(), json!({ "description": text, "schema": { "type": kind } }))
        })
        .collect();
    headers.into()
}

fn references(names: &[&str]) -> Value {
    let headers: Map<String, Value> = names
        .iter()
        .map(|name| ((*name).to_owned(), json!({ "$ref": format!("#/components/headers/{name}") })))
        .collect();
    headers.into()
}

const COUNTED: [&str; 5] = crate::auth::RATE_HEADER_NAMES;

/// The headers of a success.
pub(super) fn of_success(endpoint: &Endpoint, status: u16) -> Value {
    let meta = endpoint.meta;
    let mut names = vec!["X-Request-Id"];
    if !meta.access.is_public() {
        names.extend(COUNTED);
        names.push("X-API-Secret-Expires");
    }
    if meta.access == Access::Link && matches!(status, 200 | 206) {
        names.extend(["Accept-Ranges", "Content-Disposition"]);
    }
    if status == 206 {
        names.push("Content-Range");
    }
    if meta.conditional == Conditional::Read
        || meta.conditional == Conditional::Tagged
        || meta.conditional == Conditional::Write && meta.method != Method::Delete
    {
        names.push("ETag");
    }
    let renames = meta.errors.contains(&ErrorCode::DuplicateExternalReferenceId);
    let makes_one = status == 201 && (meta.conditional != Conditional::No || meta.body.has_documents());
    if makes_one || meta.method == Method::Put && renames {
        names.push("Location");
    }
    if meta.idempotent {
        names.push("Idempotent-Replayed");
    }
    if meta.body == BodyKind::Document && status == 200 {
        names.extend(["X-Credits-Charged", "X-Credits-Remaining"]);
    }
    if meta.query.iter().any(|parameter| parameter.name == "page") {
        names.push("Link");
    }
    if endpoint.deprecated {
        names.extend(["Deprecation", "Link"]);
    }
    references(&names)
}

/// The headers of an error status.
pub(super) fn of_error(endpoint: &Endpoint, status: u16) -> Value {
    let mut names = vec!["X-Request-Id"];
    if !endpoint.meta.access.is_public() && !matches!(status, 401 | 414 | 431) {
        names.extend(COUNTED);
        names.push("X-API-Secret-Expires");
    }
    names.extend(match status {
        401 => &["WWW-Authenticate"][..],
        405 => &["Allow"],
        409 | 429 | 503 => &["Retry-After"],
        412 => &["ETag"],
        415 => &["Accept"],
        416 => &["Content-Range"],
        _ => &[],
    });
    references(&names)
}
