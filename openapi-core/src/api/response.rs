//! The last step of a request: encodes its outcome as an HTTP response with the headers of contract 5.2.

use std::net::IpAddr;

use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};
use serde::Serialize;

use super::settings::Settings;
use crate::access::{Actor, ApiKey};
use crate::auth::{Authenticated, rate_headers};
use crate::endpoints::contacts::percent_encode;
use crate::limits::Decision;
use crate::operation::DecodedRequest;
use crate::reply::{ApiBody, ApiError, PageTarget, Pagination, Reply, content_type, success_body};
use crate::service::is_not_modified;
use crate::values::{AgentId, Timestamp};

pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const REVALIDATE: HeaderValue = HeaderValue::from_static("private, no-cache");
const SECRET_EXPIRES: HeaderName = HeaderName::from_static("x-api-secret-expires");
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// The result of a request.
pub enum Outcome {
    /// The reply of an operation with its encoded body.
    Answered {
        /// Status and headers.
        reply: Reply<()>,
        /// The envelope; empty for a response without a body.
        body: Vec<u8>,
        /// Whether `If-None-Match` applies: a client that has this version gets 304.
        conditional: bool,
    },
    /// Content that is not JSON.
    Content {
        /// The status.
        status: u16,
        /// Its headers.
        headers: HeaderMap,
        /// The bytes.
        body: ApiBody,
    },
    /// The response to OPTIONS.
    Options {
        /// The header `Allow`.
        allow: HeaderValue,
    },
    /// The request failed.
    Failed(ApiError),
}

impl Outcome {
    /// A reply in its envelope.
    ///
    /// # Errors
    /// INTERNAL_ERROR when the data cannot be serialised.
    pub fn success<T: Serialize>(reply: Reply<T>) -> Result<Self, ApiError> {
        let body = success_body(&reply.message, &reply.data, reply.pagination.as_ref())?;
        Ok(Outcome::Answered { reply: reply.map(drop), body, conditional: false })
    }

    /// 204, without a body.
    #[must_use]
    pub fn no_content() -> Self {
        Outcome::Content { status: 204, headers: HeaderMap::new(), body: ApiBody::empty() }
    }
}

/// The body of a response before it gets its headers.
enum Body {
    Json(Vec<u8>),
    Content(ApiBody),
}

/// What the API learns about a request while it handles it.
pub(super) struct RequestContext {
    pub(super) summary: ResponseSummary,
    /// The client's address, if the host passed it.
    pub(super) peer: Option<IpAddr>,
    pub(super) now: Timestamp,
    pub(super) decision: Option<Decision>,
    pub(super) rate_policy: Option<HeaderValue>,
    pub(super) secret_expires: Option<Timestamp>,
}

impl RequestContext {
    pub(super) fn new(request_id: String, peer: Option<IpAddr>, now: Timestamp) -> Self {
        let summary = ResponseSummary::new(request_id);
        RequestContext { summary, peer, now, decision: None, rate_policy: None, secret_expires: None }
    }

    /// Records the authenticated caller.
    pub(super) fn enter(&mut self, entry: &Authenticated) {
        self.decision = Some(entry.decision);
        self.rate_policy.clone_from(&entry.rate_policy);
        self.secret_expires = entry.secret_expires;
        self.summary.agent = Some(entry.caller.agent_id.clone());
        if let Actor::ApiKey(key) = &entry.caller.actor {
            self.summary.key = Some(key.clone());
        }
    }
}

/// The summary of a request for logs and metrics, in the extensions of the response or next to it.
#[derive(Clone, Debug)]
pub struct ResponseSummary {
    /// The operation id, if a route was found.
    pub operation: Option<&'static str>,
    /// The path template, if a route was found.
    pub route: Option<&'static str>,
    /// The caller's agent.
    pub agent: Option<AgentId>,
    /// The caller's key.
    pub key: Option<ApiKey>,
    /// The id of the request.
    pub request_id: String,
    /// The error code of a failure.
    pub code: Option<&'static str>,
}

impl ResponseSummary {
    /// The summary of a request of which only the id is known.
    #[must_use]
    pub const fn new(request_id: String) -> Self {
        ResponseSummary { operation: None, route: None, agent: None, key: None, request_id, code: None }
    }
}

/// Encodes the outcome of a request with the headers that every response has, and records a failure in its summary.
/// The caller adds the headers that only its own responses have.
pub fn encode(
    parts: &Parts,
    outcome: Result<Outcome, ApiError>,
    summary: &mut ResponseSummary,
) -> Response<ApiBody> {
    // Room for what a counted reply carries; the next size up is a large allocation.
    let mut headers = HeaderMap::with_capacity(12);
    let (status, body) = match outcome.unwrap_or_else(Outcome::Failed) {
        Outcome::Answered { reply, body, conditional } => {
            let (status, body) = answered(parts, reply, body, conditional, &mut headers);
            (status, Body::Json(body))
        }
        Outcome::Content { status, headers: of_content, body } => {
            headers = of_content;
            (status, Body::Content(body))
        }
        Outcome::Options { allow } => {
            headers.insert(header::ALLOW, allow);
            (204, Body::Json(Vec::new()))
        }
        Outcome::Failed(error) => {
            summary.code = Some(error.code().as_str());
            headers.extend(error.headers().iter().cloned());
            (error.code().status(), Body::Json(error.to_json(&summary.request_id).into_bytes()))
        }
    };
    let caching = match headers.get(header::ETAG) {
        Some(_) if summary.code.is_none() => REVALIDATE,
        _ => NO_STORE,
    };
    // Contents of files and some replies bring their own.
    headers.entry(header::CACHE_CONTROL).or_insert(caching);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
    if let Ok(value) = HeaderValue::from_str(&summary.request_id) {
        headers.insert(REQUEST_ID, value);
    }
    let body = match body {
        Body::Content(body) => body,
        Body::Json(body) if body.is_empty() => ApiBody::empty(),
        Body::Json(body) => {
            headers.insert(header::CONTENT_TYPE, content_type());
            if parts.method == Method::HEAD {
                headers.insert(header::CONTENT_LENGTH, body.len().into());
                ApiBody::empty()
            } else {
                ApiBody::from(body)
            }
        }
    };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    *response.headers_mut() = headers;
    response
}

/// The headers of the Open API that depend on the settings and the key.
pub(super) fn api_headers(
    settings: &Settings,
    parts: &Parts,
    trace: &mut RequestContext,
    headers: &mut HeaderMap,
) {
    if settings.strict_transport_security {
        headers.insert(
            header::STRICT_TRANSPORT_SECURITY,
            HeaderValue::from_static("max-age=31536000; includeSubDomains"),
        );
    }
    if !settings.cors_origins.is_empty() {
        cors(settings, parts, headers);
    }
    if let Some(decision) = trace.decision {
        rate_headers(&decision, trace.now, trace.rate_policy.take(), headers);
    }
    if let Some(expires) = trace.secret_expires
        && let Ok(value) = HeaderValue::from_str(&expires.to_string())
    {
        headers.insert(SECRET_EXPIRES, value);
    }
}

fn answered(
    parts: &Parts,
    reply: Reply<()>,
    body: Vec<u8>,
    conditional: bool,
    headers: &mut HeaderMap,
) -> (u16, Vec<u8>) {
    let (status, location, body) = match reply.replay {
        Some(stored) => {
            headers.insert(REPLAYED, HeaderValue::from_static("true"));
            (stored.status, stored.location, stored.body.into_string().into_bytes())
        }
        None => (reply.status, reply.location, body),
    };
    let mut put = |name: HeaderName, text: Option<&str>| {
        if let Some(value) = text.and_then(|text| HeaderValue::from_str(text).ok()) {
            headers.insert(name, value);
        }
    };
    put(header::LOCATION, location.as_deref());
    put(header::ETAG, reply.etag.as_deref());
    headers.extend(reply.headers);
    if conditional && reply.etag.as_deref().is_some_and(|etag| is_not_modified(&parts.headers, etag)) {
        return (304, Vec::new());
    }
    (status, body)
}

/// The `Link` header of a list (RFC 8288): absolute URLs below the configured origin.
pub(super) fn links(
    settings: &Settings,
    incoming: &DecodedRequest<'_>,
    pagination: &Pagination,
) -> Option<HeaderValue> {
    let by_cursor = incoming.query_pairs.iter().any(|(name, value)| name == "cursor" && !value.is_empty());
    let others: Vec<String> = incoming
        .query_pairs
        .iter()
        .filter(|(name, _)| name != "page" && name != "cursor")
        .map(|(name, value)| format!("{}={}", percent_encode(name), percent_encode(value)))
        .collect();
    let links: Vec<String> = pagination
        .links(by_cursor)
        .into_iter()
        .map(|link| {
            let mut pairs = others.clone();
            match link.page {
                PageTarget::Number(page) => pairs.push(format!("page={page}")),
                PageTarget::Cursor(cursor) => pairs.push(format!("cursor={}", percent_encode(&cursor))),
                PageTarget::Start => {}
            }
            let query = if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) };
            format!(
                "<{}{}{query}>; rel=\"{}\"",
                settings.service_info.public_url(),
                incoming.path,
                link.relation
            )
        })
        .collect();
    if links.is_empty() { None } else { HeaderValue::from_str(&links.join(", ")).ok() }
}

fn cors(settings: &Settings, parts: &Parts, headers: &mut HeaderMap) {
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    let Some(origin) = parts.headers.get(header::ORIGIN) else { return };
    let listed = |allowed: &String| allowed == "*" || allowed.as_bytes() == origin.as_bytes();
    if !settings.cors_origins.iter().any(listed) {
        return;
    }
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.insert(
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("Deprecation, ETag, Link, Location, Retry-After, X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy, Idempotent-Replayed, X-Credits-Charged, X-Credits-Remaining"),
    );
    if parts.method == Method::OPTIONS {
        if let Some(allow) = headers.get(header::ALLOW).cloned() {
            headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, allow);
        }
        headers.insert(
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            HeaderValue::from_static("Content-Type, X-API-Key, X-API-Secret, X-Request-Id, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID"),
        );
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    }
}
