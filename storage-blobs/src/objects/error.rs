//! What object stores say, as the port says it.

use object_store::Error;
use openapi_core::ports::{BlobError, BlobErrorKind};

/// For reading: what is not found is missing.
pub(super) fn failed(error: Error) -> BlobError {
    let kind = match &error {
        Error::NotFound { .. } => BlobErrorKind::Missing,
        // No answer, an answer that says try later, or no permission.
        Error::Generic { .. } | Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
            BlobErrorKind::Unavailable
        }
        _ => BlobErrorKind::Internal,
    };
    BlobError::new(kind, error)
}

/// For writing: what is not found is the bucket.
pub(super) fn failed_to_write(error: Error) -> BlobError {
    let mut failed = failed(error);
    if failed.kind == BlobErrorKind::Missing {
        failed.kind = BlobErrorKind::Unavailable;
    }
    failed
}

/// Whether a store may have refused a range that reaches beyond the end: with 416, some with 400. The type of that error is
/// not public, so this goes by the status in its words, and the caller has to ask for the length.
pub(super) fn is_about_range(error: &BlobError) -> bool {
    let mut causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    causes.any(|cause| cause.to_string().contains("status code: 4"))
}
