//! The errors of the widget's calls.

use openapi_core::limits::Full;
use openapi_core::reply::{ApiError, ErrorCode};

use crate::widget::OpenLimitExceeded;

pub(super) fn token_invalid() -> ApiError {
    ApiError::new(ErrorCode::TokenInvalid, "The token is not valid")
}

pub(super) fn agent_not_available() -> ApiError {
    ApiError::new(ErrorCode::AgentNotAvailable, "This agent is not available")
}

pub(super) fn visitor_blocked() -> ApiError {
    ApiError::new(ErrorCode::VisitorBlocked, "This chat is not available")
}

pub(super) fn too_many_streams(by: OpenLimitExceeded) -> ApiError {
    too_many_open("Too many open streams", "Too many answers are being written", by)
}

pub(super) fn too_many_uploads(by: OpenLimitExceeded) -> ApiError {
    too_many_open("Too many files are being sent", "Too many files are being received", by)
}

fn too_many_open(limited_by: &'static str, busy: &'static str, by: OpenLimitExceeded) -> ApiError {
    let full = |scope, limit| limited(limited_by, scope, ("open", limit), 5);
    match by {
        OpenLimitExceeded::Visitor => full("visitor", 1),
        OpenLimitExceeded::Address(limit) => full("address", limit),
        OpenLimitExceeded::Agent(limit) => full("agent", limit),
        OpenLimitExceeded::Process => ApiError::new(ErrorCode::ServiceUnavailable, busy).with_retry_after(5),
    }
}

pub(super) fn too_many(scope: &'static str, full: Full) -> ApiError {
    limited("Too many messages", scope, (full.window.name, full.window.limit), full.wait)
}

fn limited(
    message: &'static str,
    scope: &'static str,
    (window, limit): (&'static str, u32),
    wait: u64,
) -> ApiError {
    ApiError::new(ErrorCode::RateLimitExceeded, message)
        .with_detail("scope", scope)
        .with_detail("window", window)
        .with_detail("limit", limit)
        .with_detail("retryAfterSeconds", wait)
        .with_retry_after(wait)
}
