//! The errors of failed extractions, with the messages of the contract.

use crate::credits::CreditShortage;
use crate::extraction::{ExtractError, UnsupportedDocument, document_too_large};
use crate::json::Json;
use crate::reply::{ApiError, ErrorCode};
use crate::storage::QuotaExcess;

/// 415 of a document that cannot be read.
pub(super) fn unsupported(found: UnsupportedDocument) -> ApiError {
    let allowed = found.allowed.into_iter().map(Json::from).collect();
    ApiError::new(ErrorCode::UnsupportedFileType, "Documents of this type are not accepted")
        .with_detail("detected", found.detected.as_str())
        .with_detail("allowed", Json::Array(allowed))
}

pub(super) fn timed_out() -> ApiError {
    ApiError::new(ErrorCode::ExtractionTimeout, "The extraction took too long")
}

pub(super) fn too_few_credits(shortage: CreditShortage) -> ApiError {
    let CreditShortage { required, available } = shortage;
    let are = if available == 1 { "is" } else { "are" };
    let credits = if required == 1 { "credit" } else { "credits" };
    let message = format!("The extraction needs {required} {credits}, {available} {are} available");
    ApiError::new(ErrorCode::InsufficientCredits, message)
        .with_detail("required", required)
        .with_detail("available", available)
}

/// 503 of an account that others change all the time: nothing was charged.
pub(super) fn credits_in_use() -> ApiError {
    ApiError::new(ErrorCode::ServiceUnavailable, "The credits are being changed by others; try again")
}

pub(super) fn too_many_running(limit: u32) -> ApiError {
    let message = format!("{limit} extractions are already running for this key");
    ApiError::new(ErrorCode::ConcurrencyLimitExceeded, message).with_detail("limit", limit)
}

pub(super) fn too_many_documents() -> ApiError {
    let message = "The service holds as many documents as it can; try again";
    ApiError::new(ErrorCode::ExtractionUnavailable, message).with_retry_after(5)
}

/// What the extractor's failure is to the caller; what it was goes to the log where an operator can do something.
pub(super) fn not_extracted(error: ExtractError) -> ApiError {
    match error {
        ExtractError::TooLarge { unit, limit, actual } => {
            let actual = actual.map_or(Json::Null, |actual| Json::Number(actual.into()));
            document_too_large(unit.as_str(), limit, actual)
        }
        ExtractError::Encrypted => {
            ApiError::new(ErrorCode::DocumentEncrypted, "The document is protected by a password")
        }
        ExtractError::Unreadable(why) => {
            ApiError::new(ErrorCode::DocumentUnreadable, format!("The document cannot be read: {why}"))
        }
        ExtractError::Unavailable { reason, retry_after } => {
            tracing::error!(reason, "the extraction engine is not available");
            let error =
                ApiError::new(ErrorCode::ExtractionUnavailable, "Extraction is not available; try again");
            match retry_after {
                Some(after) => error.with_retry_after(after.as_secs().max(1)),
                None => error,
            }
        }
        ExtractError::BadAnswer(reason) => {
            tracing::error!(reason, "the extraction engine returned an unusable result");
            ApiError::new(ErrorCode::ExtractionFailed, "The extraction engine gave no usable answer")
        }
        ExtractError::TimedOut => timed_out(),
    }
}

/// 429 of a queue that has as many jobs of the agent as it may.
pub(super) fn queue_full(excess: &QuotaExcess) -> ApiError {
    let message = format!("{} extractions of the agent are already queued or running", excess.limit);
    ApiError::new(ErrorCode::QueueFull, message).with_detail("limit", excess.limit).with_retry_after(30)
}
