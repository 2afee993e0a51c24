//! Errors of the API.

use std::borrow::Cow;

use http::{HeaderName, HeaderValue, header};

use super::ErrorCode;
use crate::json::{Constant, Json, Object, json_object, same_schema};
use crate::ports::{BlobError, BlobErrorKind};
use crate::validation::{Location, MAX_LISTED, ValidationCode, ValidationError, Violations};

/// A failed request: what becomes the error envelope (contract 6).
#[derive(Clone, Debug, PartialEq)]
pub struct ApiError(Box<Inner>);

#[derive(Clone, Debug, PartialEq)]
struct Inner {
    code: ErrorCode,
    message: Cow<'static, str>,
    violations: Option<Violations>,
    details: Vec<(&'static str, Json)>,
    headers: Vec<(HeaderName, HeaderValue)>,
    version: Option<&'static str>,
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.0.code.as_str(), self.0.message)
    }
}

impl std::error::Error for ApiError {}

impl ApiError {
    /// An error with its message, a short English sentence.
    pub fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        let headers = match code {
            ErrorCode::MissingCredentials
            | ErrorCode::InvalidCredentials
            | ErrorCode::ApiKeyRevoked
            | ErrorCode::ApiKeyExpired => {
                vec![(header::WWW_AUTHENTICATE, HeaderValue::from_static("ApiKey realm=\"open-api\""))]
            }
            ErrorCode::ConcurrentUpdate
            | ErrorCode::IdempotencyKeyInUse
            | ErrorCode::ConcurrencyLimitExceeded
            | ErrorCode::StreamLimitExceeded
            | ErrorCode::EventsUnavailable
            | ErrorCode::QueueFull
            | ErrorCode::ServiceUnavailable
            | ErrorCode::ExtractionUnavailable
            | ErrorCode::StorageUnavailable => {
                vec![(header::RETRY_AFTER, HeaderValue::from_static("1"))]
            }
            _ => Vec::new(),
        };
        let message = message.into();
        ApiError(Box::new(Inner {
            code,
            message,
            violations: None,
            details: Vec::new(),
            headers,
            version: None,
        }))
    }

    /// The code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.0.code
    }

    /// The message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The violations of a VALIDATION_ERROR, and of the conflicts that stem from one field.
    #[must_use]
    pub fn violations(&self) -> &[ValidationError] {
        self.0.violations.as_ref().map_or(&[], Violations::listed)
    }

    /// A member of `details`.
    #[must_use]
    pub fn detail(&self, name: &str) -> Option<&Json> {
        self.0.details.iter().find(|(member, _)| *member == name).map(|(_, value)| value)
    }

    /// Headers that belong to the error.
    #[must_use]
    pub fn headers(&self) -> &[(HeaderName, HeaderValue)] {
        &self.0.headers
    }

    /// Adds a member of `details`.
    #[must_use]
    pub fn with_detail(mut self, name: &'static str, value: impl Into<Json>) -> Self {
        self.0.details.push((name, value.into()));
        self
    }

    /// Adds a header, in place of an earlier one of that name.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers.retain(|(known, _)| *known != name);
        self.0.headers.push((name, value));
        self
    }

    /// Sets `Retry-After`, in seconds.
    #[must_use]
    pub fn with_retry_after(self, seconds: u64) -> Self {
        self.with_header(header::RETRY_AFTER, seconds.into())
    }

    /// Adds the member `version`, which the health check's error carries.
    #[must_use]
    pub fn with_version(mut self, version: &'static str) -> Self {
        self.0.version = Some(version);
        self
    }

    /// A VALIDATION_ERROR with all violations.
    #[must_use]
    pub fn validation(violations: Violations) -> Self {
        let message = violations.message();
        let total = violations.total();
        let mut error = ApiError::new(ErrorCode::ValidationError, message);
        if total > MAX_LISTED {
            let total = u32::try_from(total).unwrap_or(u32::MAX);
            error = error.with_detail("truncated", true).with_detail("totalErrors", total);
        }
        error.0.violations = Some(violations);
        error
    }

    /// A conflict that stems from one field of the body.
    #[must_use]
    pub fn with_violation(
        mut self,
        field: &str,
        value: Json,
        rule: ValidationCode,
        words: impl Into<Cow<'static, str>>,
    ) -> Self {
        let fault = crate::validation::ValidationIssue::new(rule, words);
        let mut violations = Violations::new();
        violations.push(ValidationError::new(Location::Body, field, Some(&value), fault));
        self.0.violations = Some(violations);
        self
    }

    /// A fault of the service; what it was goes to the log, not to the caller.
    #[must_use]
    pub fn internal() -> Self {
        ApiError::new(ErrorCode::InternalError, "An internal error occurred")
    }

    /// The data store is not there.
    #[must_use]
    pub fn unavailable() -> Self {
        ApiError::new(ErrorCode::ServiceUnavailable, "The data store is not available")
    }
}

impl From<BlobError> for ApiError {
    fn from(error: BlobError) -> Self {
        match error.kind {
            BlobErrorKind::Unavailable => {
                tracing::warn!(error = ?error.source, "the store of file contents is not available");
                ApiError::new(ErrorCode::StorageUnavailable, "The store of file contents is not available")
            }
            BlobErrorKind::Missing | BlobErrorKind::Internal => {
                tracing::error!(kind = %error.kind, error = ?error.source, "the store of file contents failed");
                ApiError::internal()
            }
        }
    }
}

impl From<Violations> for ApiError {
    fn from(violations: Violations) -> Self {
        ApiError::validation(violations)
    }
}

/// An error of one element of a batch: what its envelope would hold but for what belongs to the request.
pub(crate) struct BatchError<'a>(&'a ApiError);

json_object! { BatchError<'_> = |error| {
    "code": &'static str = error.0.code().as_str(),
    "message": str = *error.0.message(),
    "validationErrors" optional: [ValidationError] = error.0.0.listed(),
    "details" optional: Object = error.0.0.details().as_ref(),
} }

impl Inner {
    /// The violations, if the error has any.
    fn listed(&self) -> Option<&[ValidationError]> {
        self.violations.as_ref().map(Violations::listed)
    }

    /// The details, if there are any.
    fn details(&self) -> Option<Object> {
        let members =
            || self.details.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        (!self.details.is_empty()).then(members)
    }
}

/// The error envelope of one request.
struct ErrorBody<'a> {
    error: &'a ApiError,
    request_id: &'a str,
}

json_object! { ErrorBody<'_> as "Error" = |body| {
    "success": Constant<false> = Constant(false),
    "message": str = *body.error.message(),
    "code": &'static str {
        "enum": ErrorCode::ALL.iter().map(|code| code.as_str()).collect::<Vec<_>>()
    } = body.error.code().as_str(),
    "requestId": str = *body.request_id,
    "validationErrors" optional: [ValidationError] = body.error.0.listed(),
    "details" optional: Object = body.error.0.details().as_ref(),
    "version" optional: &'static str { "description": "On the health check only." } = body.error.0.version.as_ref(),
} }

same_schema! { ApiError => ErrorBody<'_>, }

impl ApiError {
    /// The error as it stands in the result of a batch.
    pub(crate) fn in_batch(&self) -> BatchError<'_> {
        BatchError(self)
    }

    /// The JSON of the error envelope.
    #[must_use]
    pub fn to_json(&self, request_id: &str) -> String {
        serde_json::to_string(&ErrorBody { error: self, request_id }).unwrap_or_default()
    }
}
