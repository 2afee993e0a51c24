//! The files of the dashboard.

use http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode};
use openapi_core::api::ApiBody;

/// The files of the dashboard.
pub struct Pages;

impl Pages {
    /// The files that this build contains.
    #[must_use]
    pub fn new() -> Self {
        Pages
    }

    /// Answers a GET.
    pub fn respond(&self, _: &Parts) -> Response<ApiBody> {
        self.text(
            StatusCode::NOT_FOUND,
            "this build has no dashboard; the API is at /console/v1\n".to_owned(),
        )
    }

    /// A plain answer.
    pub fn text(&self, status: StatusCode, text: String) -> Response<ApiBody> {
        let mut response = Response::new(ApiBody::from(bytes::Bytes::from(text)));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}
