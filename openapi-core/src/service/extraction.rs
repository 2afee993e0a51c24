//! Requests and outcomes of document extraction.

use serde_json::{Value, json};

use super::idempotency::{Idempotency, IdempotencyKey};
use super::page::Paging;
use super::unvalidated::Unvalidated;
use crate::extraction::{
    DocumentForm, Extraction, ExtractionJob, ExtractionMetadata, ExtractionStatus, MAX_FILES, QueuedBatch,
};
use crate::json::{JsonSchema, object_schema};
use crate::reply::StoredReply;
use crate::request::rules::{AsSent, Text, Within};
use crate::request::{BodyKind, Part, Reader, parameters, request};
use crate::validation::Violations;
use crate::values::{Block, ContactId, FileId, Line, PlatformId};

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

request! {
    /// `POST /document-extraction/jobs`
    #[derive(Debug, Default)]
    pub struct QueueExtraction {
        /// The form, as it arrives.
        pub form: DocumentForm = JobForm,
        /// The idempotency of the request; its fingerprint is that of the form, as in [`ExtractDocument`].
        pub idempotency: Option<Idempotency<ExtractionJob>> = IdempotencyKey<ExtractionJob>,
        /// What is wrong around the form.
        pub faults: Violations,
    }
}

/// The form of an extraction that is to be queued.
struct JobForm;

impl Part for JobForm {
    type Value = DocumentForm;
    const BODY: BodyKind = BodyKind::Document;

    fn body_schema() -> Option<Value> {
        Some(NewExtractionJob::reference())
    }

    fn read(request: &mut Reader<'_>) -> DocumentForm {
        request.sent.take_document()
    }
}

request! {
    /// `POST /document-extraction/batches`
    #[derive(Debug, Default)]
    pub struct QueueBatch {
        /// The form, as it arrives.
        pub form: DocumentForm = BatchForm,
        /// The idempotency of the request; its fingerprint is that of the form, as in [`ExtractDocument`].
        pub idempotency: Option<Idempotency<QueuedBatch>> = IdempotencyKey<QueuedBatch>,
        /// What is wrong around the form.
        pub faults: Violations,
    }
}

/// The form of a batch of extractions.
struct BatchForm;

impl Part for BatchForm {
    type Value = DocumentForm;
    const BODY: BodyKind = BodyKind::Documents;

    fn body_schema() -> Option<Value> {
        Some(NewExtractionBatch::reference())
    }

    fn read(request: &mut Reader<'_>) -> DocumentForm {
        request.sent.take_document()
    }
}

request! {
    /// `GET /document-extraction/jobs`
    #[derive(Clone, Debug, PartialEq)]
    pub struct ListExtractions {
        /// The query.
        pub query: Unvalidated<ExtractionListQuery>,
    }
}

parameters! {
    /// The query of a list of extractions (contract 12.5).
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct ExtractionListQuery {
        /// Only extractions of this status.
        "status" status: Option<ExtractionStatus> = Text,
        /// Only extractions of this batch.
        "batchId" batch: Option<String> = AsSent(64),
        /// Only extractions with exactly this client id.
        "clientId" client_id: Option<String> = AsSent(256),
        ..page: Paging<20>,
    }
}

request! {
    /// `GET /document-extraction/jobs/<jid>`
    #[derive(Clone, Debug, PartialEq)]
    pub struct GetExtraction {
        /// The id, as sent.
        pub id: String,
        /// The query.
        pub query: Unvalidated<ExtractionWait>,
    }
}

parameters! {
    /// How long to wait.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct ExtractionWait {
        /// How many seconds the answer waits for the end of the job.
        "wait" wait: u64 = Within(0..=25, 0),
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

/// The form of an extraction that is to be queued.
pub(crate) struct NewExtractionJob;

object_schema! { NewExtractionJob as "NewExtractionJob" { "additionalProperties": false } = {
    "document" optional: String {
        "contentMediaType": "application/octet-stream",
        "description": "The document, as of `extract`; or `contactId` and `fileId` instead."
    },
    "contactId" optional: ContactId { "description": "The contact whose file is the document." },
    "fileId" optional: FileId { "description": "That file." },
    "schema": String {
        "contentMediaType": "application/json",
        "contentSchema": { "$ref": "#/components/schemas/ExtractionSchema" },
        "description": "The fields to be found, as of `extract`."
    },
    "customInstructions" optional: Block<4000> { "description": "Guidance, as of `extract`." },
    "saveToStorage" optional: String {
        "enum": ["true", "false", "1", "0"],
        "default": "false",
        "description": "Whether the service keeps the document after the job has ended, encrypted, for 90 days."
    },
    "clientId" optional: Line<256> { "description": "What the caller knows the job by." },
    "batchId" optional: Line<64> { "description": "A name that joins jobs." },
    "notify" optional: PlatformId {
        "description": "The webhook endpoint that alone receives the event of the end; it must subscribe to it."
    },
} }

/// The form of a batch of extractions. It is a job's, with other sources of documents.
pub(crate) struct NewExtractionBatch;

impl JsonSchema for NewExtractionBatch {
    const NAME: Option<&'static str> = Some("NewExtractionBatch");

    fn schema() -> Value {
        let mut schema = NewExtractionJob::schema();
        let id = json!({ "type": "string", "pattern": "^[0-9A-Fa-f]{24}$" });
        let file = json!({
            "type": "object",
            "required": ["contactId", "fileId"],
            "additionalProperties": false,
            "properties": { "contactId": id.clone(), "fileId": id },
        });
        if let Some(members) = schema["properties"].as_object_mut() {
            let document = members.remove("document").unwrap_or_default();
            members.remove("contactId");
            members.remove("fileId");
            let documents = json!({
                "type": "array", "minItems": 1, "maxItems": 20, "items": document,
                "description": "The documents, each a part of its own; or `files` instead.",
            });
            members.insert("document".to_owned(), documents);
            let files = json!({
                "type": "string",
                "contentMediaType": "application/json",
                "contentSchema": { "type": "array", "minItems": 1, "maxItems": MAX_FILES, "items": file },
                "description": "The files of contacts that are the documents, as JSON.",
            });
            members.insert("files".to_owned(), files);
        }
        schema
    }
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
