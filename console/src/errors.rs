//! Failures as answers of the console.

use http::{HeaderValue, header};
use openapi_core::admin::AdminError;
use openapi_core::json::Json;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::validation::{Location, ValidationCode, ValidationError, ValidationIssue, Violations};
use serde_json::Value;

use crate::capability::Capability;

/// 404 of a record that is not there, or of an agent without a grant.
pub(crate) fn not_found(resource: &'static str, id: &str) -> ApiError {
    ApiError::new(ErrorCode::NotFound, format!("There is no {resource} with this id"))
        .with_detail("resource", resource)
        .with_detail("id", id)
}

/// The answer to a failed action.
pub(crate) fn failed(error: AdminError) -> ApiError {
    match error {
        AdminError::NotFound { what, id } => not_found(what, &id),
        AdminError::Invalid(violations) => violations.into(),
        AdminError::Conflict(text) => ApiError::new(ErrorCode::Conflict, sentence(&text)),
        AdminError::Refused(text) => ApiError::new(ErrorCode::NotPossible, sentence(&text)),
        AdminError::Contents { error } => error.into(),
        AdminError::Storage { error } => error.into(),
        error => {
            tracing::error!(%error, "an operation of the console failed");
            ApiError::internal()
        }
    }
}

/// 412 of a change that was made on another version, with what is stored now and its tag.
pub(crate) fn stale(etag: &str, current: &Value) -> ApiError {
    let text = "Somebody changed this in the meantime. Look at both and save again";
    let error =
        ApiError::new(ErrorCode::PreconditionFailed, text).with_detail("current", Json::from(current));
    match HeaderValue::from_str(etag) {
        Ok(tag) => error.with_header(header::ETAG, tag),
        Err(_) => error,
    }
}

/// The text of an error as a sentence.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Refuses an action whose effect was not confirmed by typing `expected`.
pub(crate) fn confirmed(sent: &str, expected: &str) -> Result<(), ApiError> {
    if sent == expected {
        return Ok(());
    }
    let issue = ValidationIssue::new(ValidationCode::Conflict, format!("must be {expected}, to confirm"));
    let mut violations = Violations::new();
    violations.push(ValidationError::new(Location::Body, "confirm", Some(&sent.into()), issue));
    Err(violations.into())
}

/// 403 of an operator without a capability.
pub(crate) fn lacks(capability: Capability) -> ApiError {
    ApiError::new(ErrorCode::InsufficientRole, format!("Your roles lack {capability}"))
        .with_detail("capability", capability.as_str())
}

/// 401 of a caller who has proved nothing: one answer to unknown people, wrong passwords and refused passkeys.
pub(crate) fn proves_nobody() -> ApiError {
    ApiError::new(
        ErrorCode::Unauthenticated,
        "This does not match an account. Check what you entered and try again",
    )
}

/// 403 of a session that can only set up a way to sign in.
pub(crate) fn must_set_up() -> ApiError {
    ApiError::new(
        ErrorCode::SetUpRequired,
        "First set up a way to sign in: a passkey, or a password with one-time codes",
    )
}

/// A fault of one member of the body, without its value.
pub(crate) fn refused(name: &str, issue: ValidationIssue) -> ApiError {
    Violations::from(ValidationError::new(Location::Body, name, None, issue)).into()
}
