//! The files of the dashboard, and plain answers.

use bytes::Bytes;
use dashboard::Dashboard;
use http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_TYPE, IF_NONE_MATCH, X_CONTENT_TYPE_OPTIONS};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use openapi_core::api::ApiBody;

/// The files of the dashboard.
#[derive(Debug)]
pub struct Pages(Dashboard);

impl Pages {
    /// The files at the root of an origin.
    #[must_use]
    pub fn new() -> Self {
        Pages(Dashboard::new(""))
    }

    /// Answers a GET: a file, or the document, whose script reads the path.
    pub fn respond(&self, parts: &Parts) -> Response<ApiBody> {
        let text = |name: HeaderName| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let encodings = text(ACCEPT_ENCODING).unwrap_or_default();
        let Some(found) = self.0.respond(parts.uri.path(), encodings, text(IF_NONE_MATCH)) else {
            return self.text(StatusCode::NOT_FOUND, "there is no such file\n".to_owned());
        };
        let mut response = Response::new(ApiBody::from(found.body));
        *response.status_mut() = found.status;
        *response.headers_mut() = found.headers;
        response
    }

    /// A plain answer.
    pub fn text(&self, status: StatusCode, text: String) -> Response<ApiBody> {
        text_response(status, text)
    }
}

impl Default for Pages {
    fn default() -> Self {
        Pages::new()
    }
}

/// A response in plain text that nobody caches.
pub fn text_response(status: StatusCode, text: impl Into<Bytes>) -> Response<ApiBody> {
    let mut response = Response::new(ApiBody::from(text.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
