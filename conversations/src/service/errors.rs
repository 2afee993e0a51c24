//! The errors of the widget's calls.

use openapi_core::limits::Full;
use openapi_core::reply::{ApiError, ErrorCode};

use crate::widget::StreamLimitExceeded;

pub(super) fn token_invalid() -> ApiError {
    ApiError::new(ErrorCode::TokenInvalid, "The token is not valid")
}

pub(super) fn agent_not_available() -> ApiError {
    ApiError::new(ErrorCode::AgentNotAvailable, "This agent is not available")
}

pub(super) fn visitor_blocked() -> ApiError {
    ApiError::new(ErrorCode::VisitorBlocked, "This chat is not available")
}

pub(super) fn too_many_streams(by: StreamLimitExceeded) -> ApiError {
    let full = |scope: &'static str, limit: u32| {
        ApiError::new(ErrorCode::RateLimitExceeded, "Too many open streams")
            .with_detail("scope", scope)
            .with_detail("window", "open")
            .with_detail("limit", limit)
            .with_detail("retryAfterSeconds", 5_u32)
            .with_retry_after(5)
    };
    match by {
        StreamLimitExceeded::Address(limit) => full("address", limit),
        StreamLimitExceeded::Agent(limit) => full("agent", limit),
        StreamLimitExceeded::SharedState => {
            ApiError::new(ErrorCode::ServiceUnavailable, "Too many answers are being written")
                .with_retry_after(5)
        }
    }
}

pub(super) fn too_many(scope: &'static str, full: Full) -> ApiError {
    ApiError::new(ErrorCode::RateLimitExceeded, "Too many messages")
        .with_detail("scope", scope)
        .with_detail("window", full.window.name)
        .with_detail("limit", full.window.limit)
        .with_detail("retryAfterSeconds", full.wait)
        .with_retry_after(full.wait)
}
