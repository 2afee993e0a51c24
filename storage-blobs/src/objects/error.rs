//! Maps the errors of object stores to those of the port.

use object_store::Error;
use openapi_core::ports::{BlobError, BlobErrorKind};

/// For reads: a missing object is missing.
pub(super) fn failed(error: Error) -> BlobError {
    let kind = match &error {
        Error::NotFound { .. } => BlobErrorKind::Missing,
        // No response, a response that asks to retry later, or no permission.
        Error::Generic { .. } | Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
            BlobErrorKind::Unavailable
        }
        _ => BlobErrorKind::Internal,
    };
    BlobError::new(kind, error)
}

/// For writes: the bucket is missing.
pub(super) fn failed_to_write(error: Error) -> BlobError {
    let mut failed = failed(error);
    if failed.kind == BlobErrorKind::Missing {
        failed.kind = BlobErrorKind::Unavailable;
    }
    failed
}

/// Whether a store may have rejected a range that reaches beyond the end, with status 416 or 400. The type of that
/// error is not public, so the check reads the status in its message, and the caller must ask for the length.
pub(super) fn is_about_range(error: &BlobError) -> bool {
    let mut causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    causes.any(|cause| cause.to_string().contains("status code: 4"))
}
