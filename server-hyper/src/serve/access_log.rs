//! Access log and metrics of each response. They contain no secret: no query, no body, and of the headers only the
//! request id.

use std::time::Instant;

use http::Method;
use openapi_core::access::ApiKey;
use openapi_core::api::ResponseSummary;
use openapi_core::values::AgentId;

use crate::metrics::{Metrics, ResponseLabels};
use crate::ports::monotonic;

/// Records and logs a response.
pub fn record(
    metrics: &Metrics,
    method: &Method,
    address: &str,
    started: Instant,
    status: u16,
    handled: Option<&ResponseSummary>,
) {
    let took = monotonic() - started;
    let method = label(method);
    let Some(handled) = handled else {
        metrics.requests.record(&ResponseLabels { route: "static", method, status, code: "" }, took);
        return;
    };
    let route = handled.route.unwrap_or("unknown");
    metrics
        .requests
        .record(&ResponseLabels { route, method, status, code: handled.code.unwrap_or("") }, took);
    tracing::info!(
        target: "access",
        // A string field; the message syntax would need formatting.
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

/// The label of a method. Clients can send any method, so the set of labels is bounded here.
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
