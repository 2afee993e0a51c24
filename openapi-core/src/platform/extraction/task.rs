//! One extraction: its request, and why its result was not stored.

use crate::extraction::{ExtractionSchema, SentDocument};
use crate::files::Sha256Digest;
use crate::reply::ApiError;
use crate::values::Timestamp;

/// A document with all that is asked of it.
pub(super) struct Task {
    pub(super) document: SentDocument,
    pub(super) sha256: Sha256Digest,
    pub(super) content_type: &'static str,
    pub(super) schema: ExtractionSchema,
    pub(super) instructions: Option<String>,
    pub(super) save: bool,
    pub(super) begun: Timestamp,
}

/// Why an answer was not stored.
pub(super) enum Refused {
    /// It certainly is not there.
    Definite(ApiError),
    /// It may be there, for all that is known.
    Unclear(ApiError),
}
