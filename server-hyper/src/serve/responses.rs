//! Responses of the server itself, in the contract's envelope.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderName};
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode, Version};
use openapi_core::api::ResponseSummary;
use openapi_core::ports::{Clock, IdGenerator};
use openapi_core::reply::{ApiError, ErrorCode};

/// The header with the request id.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// `Strict-Transport-Security` of a server that terminates TLS (contract 5.2).
#[must_use]
pub fn transport_security() -> HeaderValue {
    HeaderValue::from_static("max-age=31536000; includeSubDomains")
}

/// Creates the responses that need no handler.
#[derive(Clone)]
pub struct ServerResponses {
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
}

impl std::fmt::Debug for ServerResponses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerResponses").finish_non_exhaustive()
    }
}

impl ServerResponses {
    /// Uses these ports.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, ids: Arc<dyn IdGenerator>) -> Self {
        ServerResponses { clock, ids }
    }

    /// The response to a head that is rejected. It closes the connection, because the start of the next request is
    /// uncertain.
    #[must_use]
    pub fn rejected(
        &self,
        code: ErrorCode,
        reason: &'static str,
        parts: &Parts,
    ) -> (Response<Bytes>, ResponseSummary) {
        let error = ApiError::new(code, reason);
        let (mut response, handled) = self.error(&error, parts.headers.get(REQUEST_ID));
        if parts.version < Version::HTTP_2 {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        (response, handled)
    }

    /// 500 INTERNAL_ERROR.
    #[must_use]
    pub fn internal_error(&self, request_id: Option<&HeaderValue>) -> (Response<Bytes>, ResponseSummary) {
        self.error(&ApiError::internal(), request_id)
    }

    /// The response to a connection that is not admitted.
    #[must_use]
    pub fn refused(&self, code: ErrorCode, message: &'static str) -> Response<Bytes> {
        let (mut response, _) = self.error(&ApiError::new(code, message), None);
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        response
    }

    /// 204 with the methods of the server: the response to `OPTIONS *`.
    #[must_use]
    pub fn options(&self, request_id: Option<&HeaderValue>) -> (Response<Bytes>, ResponseSummary) {
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = StatusCode::NO_CONTENT;
        response
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"));
        self.finish(response, self.request_id(request_id), None)
    }

    fn error(
        &self,
        error: &ApiError,
        request_id: Option<&HeaderValue>,
    ) -> (Response<Bytes>, ResponseSummary) {
        let request_id = self.request_id(request_id);
        let mut response = Response::new(Bytes::from(error.to_json(&request_id)));
        *response.status_mut() =
            StatusCode::from_u16(error.code().status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
        for (name, value) in error.headers() {
            headers.insert(name, value.clone());
        }
        self.finish(response, request_id, Some(error.code().as_str()))
    }

    fn finish(
        &self,
        mut response: Response<Bytes>,
        request_id: String,
        code: Option<&'static str>,
    ) -> (Response<Bytes>, ResponseSummary) {
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(http::header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if let Ok(value) = HeaderValue::from_str(&request_id) {
            headers.insert(REQUEST_ID, value);
        }
        let handled =
            ResponseSummary { operation: None, route: None, agent: None, key: None, request_id, code };
        (response, handled)
    }

    /// The client's request id if it is valid, otherwise a new one (contract 5.2).
    fn request_id(&self, given: Option<&HeaderValue>) -> String {
        let given = given.and_then(|value| value.to_str().ok()).filter(|text| {
            (1..=128).contains(&text.len())
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
        });
        given.map_or_else(|| self.ids.uuid_v7(self.clock.now()), str::to_owned)
    }
}
