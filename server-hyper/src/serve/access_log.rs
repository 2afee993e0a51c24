//! One line and a few counters for each answered request. Nothing in them is a secret: no query, no header value but the
//! id of the request, no body.

use std::time::Instant;

use http::Method;
use openapi_core::access::ApiKey;
use openapi_core::api::ResponseSummary;
use openapi_core::values::AgentId;

use crate::metrics::{Answered, Metrics};
use crate::ports::monotonic;

/// Counts and logs an answer.
pub fn note(
    metrics: &Metrics,
    method: &Method,
    address: &str,
    begun: Instant,
    status: u16,
    handled: Option<&ResponseSummary>,
) {
    let took = monotonic() - begun;
    let method = label(method);
    let Some(handled) = handled else {
        // Pages that are no part of the API.
        metrics.tally().answered(&Answered { route: "static", method, status, code: "" }, took);
        return;
    };
    let route = handled.route.unwrap_or("unknown");
    metrics.tally().answered(&Answered { route, method, status, code: handled.code.unwrap_or("") }, took);
    tracing::info!(
        target: "access",
        // As text, and not as something that is to be formatted.
        message = "request",
        request_id = handled.request_id.as_str(),
        method,
        route,
        status,
        duration_ms = took.as_secs_f64() * 1_000.0,
        address,
        agent = handled.agent.as_ref().map(AgentId::as_str),
        key = handled.key.as_ref().map(ApiKey::as_str),
        code = handled.code,
    );
}

/// A method as a label: of the endless many that clients may send, only those that endpoints have.
fn label(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}
