//! What a caller wants read from a document and what it gets: the schema language, the findings of an engine and the
//! result that is made of them (contract 12).
//!
//! [`ExtractionSchema`] is read from JSON with every fault at once. An engine ([`DocumentExtractor`])
//! answers it with [`Finding`]s, one for each field; [`Extraction::of`] makes the answer of the service of both.

mod examples;
mod extractor;
mod finding;
mod form;
mod form_files;
mod job;
mod read;
mod result;
mod schema;

pub use examples::{SCHEMA_EXAMPLES, SchemaExample, SchemaExamples};
pub use extractor::{
    DocumentExtractor, DocumentLimits, DocumentText, DocumentUnit, ExtractError, ExtractionTask, Findings,
    NoExtractor, OpenDocument, SentDocument, UnsupportedDocument,
};
pub use finding::{BoundingBox, Confidence, Evidence, Finding, Leaf, Rejection};
pub(crate) use form::document_too_large;
pub use form::{DocumentForm, DocumentSink, JobParts, ReceivedForm, SentParts};
pub(crate) use form_files::MAX_FILES;
pub use job::{
    DeletedJob, ExtractionBatch, ExtractionJob, ExtractionStatus, JobBody, JobError, QueuedBatch,
    QueuedDocument,
};
pub(crate) use result::Answered;
pub use result::{
    DocumentFacts, Extraction, ExtractionMetadata, ExtractionWarning, Notice, Usage, Validation,
};
pub use schema::{
    Bound, ExtractionField, ExtractionSchema, ExtractionType, MAX_BYTES, MAX_DEPTH, MAX_FIELDS, MAX_NODES,
};
