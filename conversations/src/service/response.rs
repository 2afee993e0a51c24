//! The last step of a request: encodes its result as an HTTP response.

use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use openapi_core::api::{ApiBody, ResponseSummary};
use openapi_core::reply::ApiError;
use sha2::{Digest, Sha256};

use super::call::{Call, CorsPolicy, WidgetRequest, WidgetResponse};

const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Encodes the result of a request, with the headers that every response has.
pub(super) fn finish(
    parts: &Parts,
    answer: Result<WidgetResponse, ApiError>,
    visit: WidgetRequest,
) -> Response<ApiBody> {
    let mut headers = HeaderMap::with_capacity(12);
    let fixed = HeaderValue::from_static;
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, fixed("nosniff"));
    let mut caching = fixed("no-store");
    let mut code = None;
    let (status, body) = match answer {
        Ok(WidgetResponse::Json { status, message, data }) => {
            headers.insert(header::CONTENT_TYPE, JSON);
            let body = serde_json::json!({ "success": true, "message": message, "data": data });
            (status, ApiBody::from(body.to_string()))
        }
        Ok(WidgetResponse::Config { body }) => {
            caching = fixed("max-age=60, stale-while-revalidate=600");
            revalidated(parts, body, &mut headers)
        }
        Ok(WidgetResponse::Empty) => (StatusCode::NO_CONTENT, ApiBody::empty()),
        Ok(WidgetResponse::Events(stream)) => {
            headers.insert(header::CONTENT_TYPE, fixed("text/event-stream"));
            caching = fixed("no-store, no-transform");
            headers.insert(HeaderName::from_static("x-accel-buffering"), fixed("no"));
            (StatusCode::OK, ApiBody::events(stream))
        }
        Ok(WidgetResponse::Options) => {
            headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, fixed("GET, POST"));
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, fixed("content-type"));
            headers.insert(header::ACCESS_CONTROL_MAX_AGE, fixed("7200"));
            (StatusCode::NO_CONTENT, ApiBody::empty())
        }
        Err(error) => {
            code = Some(error.code().as_str());
            for (name, value) in error.headers() {
                headers.insert(name, value.clone());
            }
            headers.insert(header::CONTENT_TYPE, JSON);
            let status =
                StatusCode::from_u16(error.code().status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            (status, ApiBody::from(error.to_json(&visit.request_id)))
        }
    };
    headers.insert(header::CACHE_CONTROL, caching);
    allow_origin(visit.readers, &mut headers);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, fixed("Retry-After, X-Request-Id"));
    if let Ok(id) = HeaderValue::from_str(&visit.request_id) {
        headers.insert(REQUEST_ID, id);
    }
    let handled = ResponseSummary {
        operation: visit.call.map(Call::operation),
        route: visit.call.map(Call::path),
        agent: visit.agent,
        key: None,
        request_id: visit.request_id,
        code,
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response.extensions_mut().insert(handled);
    response
}

/// The configuration with its validator, or 304 if the browser has this version.
fn revalidated(parts: &Parts, body: Vec<u8>, headers: &mut HeaderMap) -> (StatusCode, ApiBody) {
    let digest: String = Sha256::digest(&body)[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    // The validator is weak, so that a proxy may compress the body.
    let etag = format!("W/\"{digest}\"");
    let known = parts.headers.get_all(header::IF_NONE_MATCH).iter();
    let is_known = known.filter_map(|value| value.to_str().ok()).any(|tags| {
        tags.split(',').any(|tag| tag.trim().trim_start_matches("W/") == &etag[2..] || tag.trim() == "*")
    });
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        headers.insert(header::ETAG, etag);
    }
    if is_known {
        return (StatusCode::NOT_MODIFIED, ApiBody::empty());
    }
    headers.insert(header::CONTENT_TYPE, JSON);
    (StatusCode::OK, ApiBody::from(body))
}

/// The headers by which a browser decides which pages may read the response.
fn allow_origin(policy: CorsPolicy, headers: &mut HeaderMap) {
    let (allowed, varies) = match policy {
        CorsPolicy::Any => (HeaderValue::from_static("*"), false),
        CorsPolicy::AnyForNow => (HeaderValue::from_static("*"), true),
        CorsPolicy::Origin(origin) => (origin, true),
    };
    if varies {
        headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    }
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
}
