//! Requests and outcomes of document extraction.

use serde_json::Value;

use super::idempotency::{Idempotency, IdempotencyKey};
use crate::extraction::{DocumentForm, Extraction, ExtractionMetadata};
use crate::json::{JsonSchema, object_schema};
use crate::reply::StoredReply;
use crate::request::{BodyKind, Part, Reader, request};
use crate::validation::Violations;
use crate::values::Block;

request! {
    /// `POST /document-extraction/extract`
    #[derive(Debug, Default)]
    pub struct ExtractDocument {
        /// The form, as it arrives.
        pub form: DocumentForm,
        /// The idempotency of the request. Its fingerprint is known when the form was read:
        /// [`ReceivedForm::fingerprint`](crate::extraction::ReceivedForm::fingerprint) replaces the one here.
        pub idempotency: Option<Idempotency<ExtractedDocument>> = IdempotencyKey<ExtractedDocument>,
        /// What is wrong around the form.
        pub faults: Violations,
    }
}

impl Part for DocumentForm {
    type Value = DocumentForm;
    const BODY: BodyKind = BodyKind::Document;

    fn body_schema() -> Option<Value> {
        Some(NewExtraction::reference())
    }

    fn read(request: &mut Reader<'_>) -> DocumentForm {
        request.sent.take_document()
    }
}

/// The form of an extraction.
pub(crate) struct NewExtraction;

object_schema! { NewExtraction as "NewExtraction" { "additionalProperties": false } = {
    "document": String {
        "contentMediaType": "application/octet-stream",
        "description": "The document: 1 byte to 20 MiB, at most 50 pages, 1,000,000 characters or 40 megapixels. Its type is decided by its content."
    },
    "schema": String {
        "contentMediaType": "application/json",
        "contentSchema": { "$ref": "#/components/schemas/ExtractionSchema" },
        "description": "The fields to be found, as JSON: the service's own schema, or a standard JSON Schema of an object."
    },
    "customInstructions" optional: Block<4000> {
        "description": "Guidance for an engine that can follow it; changes neither the schema nor the form of the answer."
    },
    "saveToStorage" optional: String {
        "enum": ["true", "false", "1", "0"],
        "default": "false",
        "description": "Whether the service keeps the document, encrypted, for 90 days."
    },
} }

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
