//! Requests and outcomes of document extraction.

use super::Idempotency;
use crate::extraction::{DocumentForm, Extraction, ExtractionMetadata};
use crate::reply::StoredReply;
use crate::validation::Violations;

/// `POST /document-extraction/extract`
#[derive(Debug, Default)]
pub struct ExtractDocument {
    /// The form, as it arrives.
    pub form: DocumentForm,
    /// The idempotency of the request. Its fingerprint is known when the form was read:
    /// [`ReceivedForm::fingerprint`](crate::extraction::ReceivedForm::fingerprint) replaces the one here.
    pub idempotency: Option<Idempotency<ExtractedDocument>>,
    /// What is wrong around the form.
    pub faults: Violations,
}

/// The outcome of an extraction.
#[derive(Clone, Debug, PartialEq)]
pub enum Extracted {
    /// It was made.
    New(Box<ExtractedDocument>),
    /// It was made by an earlier request with the same idempotency key.
    Replayed(StoredReply),
}

/// The values of a document and how they came about.
#[derive(Clone, Debug, PartialEq)]
pub struct ExtractedDocument {
    /// `data` and its metadata.
    pub extraction: Extraction,
    /// The rest of `metadata`.
    pub metadata: ExtractionMetadata,
}
