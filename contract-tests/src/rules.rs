//! Rules for every reply to any request (contract 2.5, 5.2, 6, 8.2).

use http::request::Parts;
use http::{HeaderMap, Method};
use openapi_core::access::Caller;
use openapi_core::api::Settings;
use openapi_core::json::{self, Json};
use openapi_core::reply::ErrorCode;
use openapi_core::validation::ValidationCode;
use openapi_core::values::Timestamp;
use serde_json::Value;

use crate::document::{self, members};
use crate::reply::Reply;

/// The request of a reply.
pub struct Asked<'a> {
    /// Its head.
    pub request: Parts,
    /// The settings of the API.
    pub settings: &'a Settings,
}

/// The members of `details` for each code that has details (contract 6.1).
fn details_of(code: &str) -> &'static [&'static str] {
    match code {
        "EVENTS_LOST" => &["oldest", "head", "reason"],
        "INVALID_JSON" => &["line", "column"],
        "API_KEY_EXPIRED" => &["expiredAt"],
        "INSUFFICIENT_CREDITS" => &["required", "available"],
        "INSUFFICIENT_PERMISSIONS" => &["required"],
        "CONTACT_NOT_FOUND"
        | "FILE_NOT_FOUND"
        | "TEMPLATE_NOT_FOUND"
        | "SUBMISSION_NOT_FOUND"
        | "ENDPOINT_NOT_FOUND"
        | "JOB_NOT_FOUND"
        | "BATCH_NOT_FOUND" => &["resource", "id"],
        "DUPLICATE_EXTERNAL_REFERENCE_ID" => &["existingContactId", "archived"],
        "DUPLICATE_VALUE" => &["field", "existingContactId", "archived"],
        "CONTACT_ARCHIVED" => &["resource", "id", "archivedAt"],
        "SUBMISSION_SUPERSEDED" => &["supersededBy"],
        "SUBMISSION_LOCKED" => &["status"],
        "INVALID_STATUS_TRANSITION" => &["from", "to", "allowed"],
        "TEMPLATE_INACTIVE" => &["resource", "id", "status"],
        "PAYLOAD_TOO_LARGE" | "FILE_TOO_LARGE" | "DOCUMENT_TOO_LARGE" | "STORAGE_QUOTA_EXCEEDED" => {
            &["limit", "actual", "unit"]
        }
        "CONCURRENCY_LIMIT_EXCEEDED" | "ENDPOINT_LIMIT_EXCEEDED" | "STREAM_LIMIT_EXCEEDED" | "QUEUE_FULL" => {
            &["limit"]
        }
        "JOB_FINISHED" => &["resource", "id", "status"],
        "UNSUPPORTED_FILE_TYPE" => &["detected", "allowed"],
        "RATE_LIMIT_EXCEEDED" => &["window", "limit", "retryAfterSeconds"],
        _ => &[],
    }
}

/// The headers required by a code (contract 6.1).
fn headers_of(code: &str) -> &'static [&'static str] {
    match code {
        "MISSING_CREDENTIALS" | "INVALID_CREDENTIALS" | "API_KEY_REVOKED" | "API_KEY_EXPIRED" => {
            &["www-authenticate"]
        }
        "METHOD_NOT_ALLOWED" => &["allow"],
        "UNSUPPORTED_MEDIA_TYPE" => &["accept"],
        "RANGE_NOT_SATISFIABLE" => &["content-range"],
        "CONCURRENT_UPDATE"
        | "IDEMPOTENCY_KEY_IN_USE"
        | "RATE_LIMIT_EXCEEDED"
        | "TOO_MANY_FAILED_ATTEMPTS"
        | "CONCURRENCY_LIMIT_EXCEEDED"
        | "STREAM_LIMIT_EXCEEDED"
        | "QUEUE_FULL"
        | "SERVICE_UNAVAILABLE"
        | "EXTRACTION_UNAVAILABLE"
        | "STORAGE_UNAVAILABLE" => &["retry-after"],
        _ => &[],
    }
}

/// Undocumented headers that a response may carry: they belong to HTTP or to every response.
const UNDOCUMENTED: [&str; 8] = [
    "content-type",
    "content-length",
    "cache-control",
    "content-security-policy",
    "referrer-policy",
    "x-content-type-options",
    "x-accel-buffering",
    "vary",
];

const RATE_HEADERS: [&str; 5] =
    ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "ratelimit-policy", "ratelimit"];

/// Checks a reply against the rules.
///
/// # Panics
/// If it breaks one.
#[track_caller]
pub fn check(asked: &Asked<'_>, reply: &Reply) {
    transport(asked, reply);
    if is_content(reply) {
        content(asked, reply);
    } else if is_stream(reply) {
        stream(reply);
    } else if reply.bytes.is_empty() {
        assert!(
            asked.request.method == Method::HEAD || matches!(reply.status, 204 | 304),
            "{} without a body",
            reply.status
        );
    } else if reply.status < 400 {
        success(asked, reply);
    } else {
        failure(reply);
    }
    rate_limits(asked, reply);
    documented(reply);
}

fn transport(asked: &Asked<'_>, reply: &Reply) {
    let id = reply.header("x-request-id").expect("X-Request-Id is on every response");
    let sent = asked.request.headers.get("x-request-id").and_then(|id| id.to_str().ok());
    let form = |text: &str| {
        (1..=128).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    match sent.filter(|sent| form(sent)) {
        Some(sent) => assert_eq!(id, sent, "a well-formed X-Request-Id is echoed"),
        None => assert!(is_uuid_v7(id), "{id} is no UUIDv7"),
    }
    assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
    let tagged = reply.header("etag").is_some() && reply.status < 400;
    if !is_content(reply) && !is_stream(reply) {
        let caching = if tagged { "private, no-cache" } else { "no-store" };
        assert_eq!(reply.header("cache-control"), Some(caching), "{}", reply.status);
        let has_content = !reply.text.is_empty() || reply.header("content-length").is_some_and(|n| n != "0");
        let media_type = has_content.then_some("application/json; charset=utf-8");
        assert_eq!(reply.header("content-type"), media_type);
    }
    if asked.request.method == Method::HEAD || matches!(reply.status, 204 | 304) {
        assert!(reply.text.is_empty(), "a body to {} {}", asked.request.method, reply.status);
    }
    if asked.settings.cors_origins.is_empty() {
        let cors = reply.headers.keys().find(|name| name.as_str().starts_with("access-control"));
        assert_eq!(cors, None, "CORS headers without configured origins");
    }
    let transport_security = reply.header("strict-transport-security").is_some();
    assert_eq!(transport_security, asked.settings.strict_transport_security);
    if let Some(etag) = reply.header("etag") {
        let inner = etag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
        assert!(inner.is_some_and(|tag| !tag.is_empty() && !tag.contains('"')), "{etag} is not strong");
    }
    if let Some(location) = reply.header("location") {
        let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%/".contains(&byte);
        assert!(location.starts_with("/v1/open/") && location.bytes().all(unreserved), "{location}");
        assert!(reply.status < 300, "Location on {}", reply.status);
    }
}

/// Whether a reply is a file download.
fn is_content(reply: &Reply) -> bool {
    reply.operation == Some("downloadFile") && reply.status < 400
}

/// Whether a reply is a stream of events.
fn is_stream(reply: &Reply) -> bool {
    reply.operation == Some("streamEvents") && reply.status < 400
}

/// Checks a stream of events (contract 17.3).
fn stream(reply: &Reply) {
    for (name, value) in [
        ("content-type", "text/event-stream"),
        ("cache-control", "no-store, no-transform"),
        ("x-accel-buffering", "no"),
    ] {
        assert_eq!(reply.header(name), Some(value));
    }
    let is_line = |line: &str| {
        line.is_empty()
            || ["retry: ", "id: ", "event: ", "data: {", ": "].iter().any(|begin| line.starts_with(begin))
    };
    assert!(reply.text.lines().all(is_line), "{}", reply.text);
}

/// Checks a file download (contract 2.2).
fn content(asked: &Asked<'_>, reply: &Reply) {
    for (name, value) in [("cache-control", "private, no-store"), ("referrer-policy", "no-referrer")] {
        assert_eq!(reply.header(name), Some(value));
    }
    if reply.status == 304 {
        assert!(reply.bytes.is_empty() && reply.header("content-length").is_none());
        return;
    }
    for (name, value) in
        [("content-security-policy", "sandbox; default-src 'none'"), ("accept-ranges", "bytes")]
    {
        assert_eq!(reply.header(name), Some(value));
    }
    let disposition = reply.header("content-disposition").expect("Content-Disposition");
    assert!(disposition.contains("; filename=\"") && disposition.contains("; filename*=UTF-8''"));
    assert_eq!(reply.header("etag").map(str::len), Some(66), "a SHA-256 in quotes");
    let length: usize = reply.header("content-length").and_then(|n| n.parse().ok()).expect("a length");
    if asked.request.method == Method::HEAD {
        assert!(reply.bytes.is_empty());
    } else {
        assert_eq!(reply.bytes.len(), length);
    }
    assert_eq!(reply.status == 206, reply.header("content-range").is_some());
}

fn is_uuid_v7(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            14 => byte == b'7',
            19 => b"89ab".contains(&byte),
            _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
        })
}

fn names(value: &Value) -> Vec<&str> {
    members(value).keys().map(String::as_str).collect()
}

fn success(asked: &Asked<'_>, reply: &Reply) {
    let operation = reply.operation.expect("a success has an operation");
    if operation == "describeApi" {
        return;
    }
    let expected: &[&str] = match operation {
        "health" => &["success", "message", "version"],
        "extractDocument" => &["success", "message", "data", "metadata"],
        "pullEvents" => &["success", "message", "data", "stream"],
        "listWebhookAttempts" => &["success", "message", "data", "nextCursor"],
        operation if operation.starts_with("list") => &["success", "message", "data", "pagination"],
        _ => &["success", "message", "data"],
    };
    assert_eq!(names(&reply.json), expected, "{}", reply.text);
    assert_eq!(reply.json["success"], true);
    sentence(&reply.json["message"]);
    if matches!(operation, "pullEvents" | "listWebhookAttempts") {
        assert!(reply.data().is_array());
    } else if operation.starts_with("list") {
        assert!(reply.data().is_array());
        pagination(asked, reply);
    } else if operation != "health" {
        assert!(reply.data().is_object());
    }
}

fn sentence(message: &Value) {
    let message = message.as_str().expect("message is text");
    assert!(!message.is_empty() && !message.ends_with('.') || message.contains("Unknown field"), "{message}");
}

fn pagination(asked: &Asked<'_>, reply: &Reply) {
    let pagination = reply.pagination();
    assert_eq!(
        names(pagination),
        [
            "currentPage",
            "totalPages",
            "totalItems",
            "itemsPerPage",
            "hasNextPage",
            "hasPreviousPage",
            "nextCursor"
        ]
    );
    let number = |name: &str| pagination[name].as_u64().unwrap_or_else(|| panic!("{name} in {pagination}"));
    let (page, pages, items, limit) =
        (number("currentPage"), number("totalPages"), number("totalItems"), number("itemsPerPage"));
    assert_eq!(pages, items.div_ceil(limit));
    assert_eq!(pagination["hasPreviousPage"], page > 1 && pages > 0);
    assert_eq!(pagination["hasNextPage"], !pagination["nextCursor"].is_null(), "{pagination}");
    let by_cursor = asked.request.uri.query().is_some_and(|query| query.contains("cursor="));
    if !by_cursor {
        assert_eq!(pagination["hasNextPage"], page < pages, "{pagination}");
        let begun = (page - 1).saturating_mul(limit);
        assert_eq!(reply.column("id").len() as u64, items.saturating_sub(begun).min(limit));
    }
    assert!(reply.column("id").len() as u64 <= limit);
}

fn failure(reply: &Reply) {
    let code = reply.code();
    let known = ErrorCode::ALL.iter().find(|known| known.as_str() == code);
    let known = known.unwrap_or_else(|| panic!("the catalogue has no code {code:?}: {}", reply.text));
    assert_eq!(known.status(), reply.status, "the status of {code}");
    assert_eq!(reply.json["success"], false);
    sentence(&reply.json["message"]);
    assert_eq!(reply.json["requestId"].as_str(), reply.header("x-request-id"));
    let with_violations = matches!(
        code,
        "VALIDATION_ERROR"
            | "DUPLICATE_EXTERNAL_REFERENCE_ID"
            | "DUPLICATE_VALUE"
            | "INVALID_STATUS_TRANSITION"
    );
    let truncated = code == "VALIDATION_ERROR" && reply.json.get("details").is_some();
    let mut details = if truncated { vec!["truncated", "totalErrors"] } else { details_of(code).to_vec() };
    details.extend(names_its_document(reply, code).then_some("index"));
    let mut expected = vec!["success", "message", "code", "requestId"];
    expected.extend(with_violations.then_some("validationErrors"));
    expected.extend((!details.is_empty()).then_some("details"));
    expected
        .extend((code == "SERVICE_UNAVAILABLE" && reply.operation == Some("health")).then_some("version"));
    assert_eq!(names(&reply.json), expected, "{}", reply.text);
    if !details.is_empty() {
        let mut named = names(&reply.json["details"]);
        if code == "TEMPLATE_INACTIVE" && reply.operation == Some("submitForms") {
            assert_eq!(named.pop(), Some("index"), "{}", reply.text);
        }
        assert_eq!(named, details, "{}", reply.text);
    }
    if with_violations {
        violations(reply, code);
    }
    for name in headers_of(code) {
        assert!(reply.header(name).is_some(), "{code} without {name}");
    }
    if let Some(wait) = reply.header("retry-after") {
        assert!(wait.parse::<u64>().is_ok_and(|wait| wait >= 1), "Retry-After: {wait}");
        assert!(headers_of(code).contains(&"retry-after"), "Retry-After on {code}");
    }
    if reply.status == 401 {
        assert_eq!(reply.header("www-authenticate"), Some("ApiKey realm=\"open-api\""));
    }
}

/// Whether an error says which document of a batch it is about: each that a single document can have does, and so does not
/// the excess of all together.
fn names_its_document(reply: &Reply, code: &str) -> bool {
    let of_one = matches!(
        code,
        "UNSUPPORTED_FILE_TYPE"
            | "CONTACT_NOT_FOUND"
            | "FILE_NOT_FOUND"
            | "DOCUMENT_ENCRYPTED"
            | "DOCUMENT_UNREADABLE"
    );
    let is_one = of_one || code == "DOCUMENT_TOO_LARGE" && !reply.json["details"]["index"].is_null();
    is_one && reply.operation == Some("queueExtractionBatch")
}

fn violations(reply: &Reply, code: &str) {
    let listed = reply.json["validationErrors"].as_array().expect("an array");
    assert!(!listed.is_empty() && listed.len() <= 100);
    for error in listed {
        assert_eq!(names(error), ["field", "message", "value", "type", "in"], "{error}");
        let (field, message) = (error["field"].as_str(), error["message"].as_str());
        let (field, message) = (field.expect("a field"), message.expect("a message"));
        assert!(
            message.starts_with(&format!("{field} "))
                || message.starts_with(&format!("Unknown field '{field}'.")),
            "{message}"
        );
        let kind = error["type"].as_str().expect("a type");
        assert!(ValidationCode::ALL.iter().any(|rule| rule.as_str() == kind), "{kind}");
        assert_eq!(kind == "unique", code.starts_with("DUPLICATE"), "{error}");
        assert_eq!(kind == "transition", code == "INVALID_STATUS_TRANSITION", "{error}");
        let source = error["in"].as_str().expect("a location");
        assert!(["body", "query", "path", "header", "form"].contains(&source));
        let value = &error["value"];
        assert!(!value.is_object() && !value.is_array(), "{error}");
        assert!(source != "header" || value.is_null(), "the value of a header is echoed");
        // Numbers are echoed verbatim; those beyond the range of doubles were read as text.
        let is_number = |text: &str| matches!(json::parse(text.as_bytes()), Ok(Json::Number(_)));
        let is_short = |text: &str| text.chars().count() <= 257 || is_number(text);
        assert!(value.as_str().is_none_or(is_short), "{value} is too long");
    }
    if code == "VALIDATION_ERROR" {
        let total = reply.json["details"]["totalErrors"].as_u64().unwrap_or(listed.len() as u64);
        assert!(total == listed.len() as u64 || total > 100 && listed.len() == 100);
        let first = listed[0]["message"].as_str().unwrap_or_default();
        let more = if total > 1 { format!(" (and {} more)", total - 1) } else { String::new() };
        assert_eq!(reply.json["message"], format!("Validation failed: {first}{more}"));
        let rank = |error: &Value| {
            ["path", "header", "query", "form", "body"].iter().position(|source| error["in"] == *source)
        };
        assert!(listed.is_sorted_by_key(rank), "path, header, query, body: {}", reply.text);
    }
}

/// Whether the request counted against its key's limits; `None` if the reply does not show it.
fn counted(asked: &Asked<'_>, reply: &Reply) -> Option<bool> {
    let public = reply
        .operation
        .is_none_or(|operation| matches!(operation, "health" | "describeApi" | "downloadFile"));
    if public || asked.request.extensions.get::<Caller>().is_some() {
        return Some(false);
    }
    match (reply.status, reply.code()) {
        (401, _) | (_, "IP_NOT_ALLOWED" | "TOO_MANY_FAILED_ATTEMPTS") => Some(false),
        (403 | 429, _) if asked.request.method == Method::HEAD => None,
        (400, "BAD_REQUEST") => None,
        (400, "") => None,
        _ => Some(true),
    }
}

fn rate_limits(asked: &Asked<'_>, reply: &Reply) {
    let present = RATE_HEADERS.map(|name| reply.header(name).is_some());
    let all = present.iter().all(|present| *present);
    assert!(all || !present.iter().any(|present| *present), "some of the rate headers: {:?}", reply.headers);
    if let Some(counted) = counted(asked, reply) {
        assert_eq!(all, counted, "rate headers on {} {}", reply.status, reply.text);
    }
    if all {
        rate_headers(&reply.headers);
    }
}

/// Parses values such as `"minute";q=60;w=60, "hour";q=1000;w=3600`.
///
/// # Panics
/// If the text has another form.
#[must_use]
pub fn windows(text: &str, first: &str, second: &str) -> [(u64, u64); 2] {
    let mut parts = text.split(", ");
    let windows = ["minute", "hour"].map(|window| {
        let part = parts.next().unwrap_or_default();
        let rest = part.strip_prefix(&format!("\"{window}\";{first}="));
        let pair = rest.and_then(|rest| rest.split_once(&format!(";{second}=")));
        let pair = pair.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        pair.unwrap_or_else(|| panic!("{part:?} in {text:?}"))
    });
    assert_eq!(parts.next(), None, "{text}");
    windows
}

fn rate_headers(headers: &HeaderMap) {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let number = |name: &str| text(name).parse::<u64>().unwrap_or_else(|_| panic!("{name}: {}", text(name)));
    let [(minute, w1), (hour, w2)] = windows(text("ratelimit-policy"), "q", "w");
    assert_eq!((w1, w2), (60, 3_600));
    let [(minute_left, t1), (hour_left, t2)] = windows(text("ratelimit"), "r", "t");
    assert!(minute_left <= minute && hour_left <= hour && t1 <= 60 && t2 <= 3_600);
    let (limit, left) = if minute_left < hour_left { (minute, minute_left) } else { (hour, hour_left) };
    assert_eq!((number("x-ratelimit-limit"), number("x-ratelimit-remaining")), (limit, left));
    assert!(number("x-ratelimit-reset") > 1_000_000_000);
}

fn documented(reply: &Reply) {
    let Some(operation) = reply.operation else {
        let early = [
            "BAD_REQUEST",
            "URI_TOO_LONG",
            "HEADERS_TOO_LARGE",
            "ROUTE_NOT_FOUND",
            "METHOD_NOT_ALLOWED",
            "TOO_MANY_FAILED_ATTEMPTS",
        ];
        assert!(
            reply.status == 204 || reply.text.is_empty() || early.contains(&reply.code()),
            "{} outside of any operation",
            reply.text
        );
        return;
    };
    let response = document::response(operation, reply.status);
    let declared: Vec<String> =
        response["headers"].as_object().into_iter().flatten().map(|(name, _)| name.to_lowercase()).collect();
    for name in reply.headers.keys() {
        let by_setting = name.as_str().starts_with("access-control-") || name == "strict-transport-security";
        let known = by_setting
            || UNDOCUMENTED.contains(&name.as_str())
            || declared.iter().any(|known| known == name.as_str());
        assert!(known, "the header {name} is not documented for {operation} {}", reply.status);
    }
    if !reply.bytes.is_empty() && !is_content(reply) && !is_stream(reply) {
        if reply.status >= 400 {
            let codes = document::codes(operation, reply.status);
            assert!(codes.contains(&reply.code()), "{} is not documented for {operation}", reply.code());
        }
        document::validate(operation, reply.status, &reply.json);
    }
}

/// Parses a timestamp of a reply.
///
/// # Panics
/// If the value is not one.
#[must_use]
pub fn timestamp(value: &Value) -> Timestamp {
    let text = value.as_str().expect("a timestamp");
    let instant: Timestamp = text.parse().unwrap_or_else(|_| panic!("{text} is no timestamp"));
    assert_eq!(instant.to_string(), text, "UTC with milliseconds and Z");
    instant
}
