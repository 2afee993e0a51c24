//! The port of the extraction engine, which turns documents into values.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use super::finding::Finding;
use super::result::ExtractionWarning;
use super::schema::ExtractionSchema;
use crate::values::AgentId;

/// Reads documents. Two steps, because what a document costs is known only once it was read (contract 6.3, step 15):
/// [`DocumentExtractor::open`] reads its text, [`OpenDocument::extract`] makes values of it.
///
/// # Contract
/// - Neither step keeps or logs anything of the document beyond its own end.
/// - Dropping a future stops its work soon, and everything that it started.
/// - Text of the document and `instructions` are data: neither changes schema, shape of the findings or limits.
/// - A document may be hostile; no document panics, hangs or uses memory without bound.
#[async_trait]
pub trait DocumentExtractor: Send + Sync {
    /// The type of a document by its content (contract 12.1): some bytes of it are looked at, nothing is read.
    ///
    /// # Errors
    /// What it was found to be, when this extractor cannot read it.
    fn detect(&self, document: &SentDocument) -> Result<&'static str, UnsupportedDocument>;

    /// Reads the text of a document of a type that was detected.
    ///
    /// # Errors
    /// Those of reading: too large, encrypted, unreadable, timed out, unavailable.
    async fn open(
        &self,
        document: SentDocument,
        limits: DocumentLimits,
        timeout: Duration,
    ) -> Result<Box<dyn OpenDocument>, ExtractError>;

    /// What a document costs follows from this, before it is queued. By default it is read as a whole; an extractor that
    /// counts pages without recognising characters does that instead.
    ///
    /// # Errors
    /// Those of [`DocumentExtractor::open`].
    async fn measure(
        &self,
        document: SentDocument,
        limits: DocumentLimits,
        timeout: Duration,
    ) -> Result<DocumentText, ExtractError> {
        Ok(self.open(document, limits, timeout).await?.text())
    }
}

/// A document whose text was read.
#[async_trait]
pub trait OpenDocument: Send + Sync {
    /// What was found about it.
    fn text(&self) -> DocumentText;

    /// Finds the values of a schema's fields.
    ///
    /// # Errors
    /// Those of the engine: unavailable, bad answer, timed out.
    async fn extract(self: Box<Self>, task: ExtractionTask) -> Result<Findings, ExtractError>;
}

/// A document as it was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentDocument {
    /// Its bytes.
    pub content: Bytes,
    /// The name that the sender gives it.
    pub file_name: String,
}

/// How large a document may be (contract 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentLimits {
    /// Its pages.
    pub pages: u32,
    /// The characters of its text.
    pub characters: u64,
    /// The pixels of an image.
    pub pixels: u64,
}

impl Default for DocumentLimits {
    fn default() -> Self {
        DocumentLimits { pages: 50, characters: 1_000_000, pixels: 40_000_000 }
    }
}

/// What is known of a document once its text was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentText {
    /// Its pages; none for text and DOCX.
    pub page_count: Option<u32>,
    /// The characters of its text.
    pub character_count: u64,
    /// Whether characters were recognised.
    pub ocr_applied: bool,
}

/// What to find in a document.
#[derive(Clone, Debug)]
pub struct ExtractionTask {
    /// The fields.
    pub schema: ExtractionSchema,
    /// Guidance of the caller, at most 4,000 characters.
    pub instructions: Option<String>,
    /// Whose document it is: an operator may have chosen an engine for the agent.
    pub agent: AgentId,
    /// How long it may take.
    pub timeout: Duration,
}

/// What an engine found.
#[derive(Clone, Debug, PartialEq)]
pub struct Findings {
    /// One finding for each field of the schema, in its order.
    pub fields: Vec<Finding>,
    /// `noText`, `ocrUnavailable` and `rowsTruncated`; an ambiguous date is part of its finding.
    pub warnings: Vec<ExtractionWarning>,
    /// The language of the text (ISO 639-1), if it was detected.
    pub language: Option<String>,
    /// The engine that answered: `builtin`, or the name that the operator gives another.
    pub engine: String,
}

/// A document of a type that cannot be read: 415 UNSUPPORTED_FILE_TYPE.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("documents of type {detected} cannot be read")]
pub struct UnsupportedDocument {
    /// What the content was found to be.
    pub detected: String,
    /// The types that can be read here.
    pub allowed: Vec<&'static str>,
}

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentUnit {
    /// Bytes, as inflated.
    Bytes,
    /// Pages.
    Pages,
    /// Characters of text.
    Characters,
    /// Pixels of an image.
    Pixels,
}

impl DocumentUnit {
    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            DocumentUnit::Bytes => "bytes",
            DocumentUnit::Pages => "pages",
            DocumentUnit::Characters => "characters",
            DocumentUnit::Pixels => "pixels",
        }
    }
}

/// Why a document gave no values (contract 6.1).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// 413 DOCUMENT_TOO_LARGE.
    #[error("the document is too large: at most {limit} {}", unit.as_str())]
    TooLarge {
        /// What is counted.
        unit: DocumentUnit,
        /// The most of it.
        limit: u64,
        /// How much there is; none when counting ended at the limit.
        actual: Option<u64>,
    },
    /// 422 DOCUMENT_ENCRYPTED.
    #[error("the document is protected by a password")]
    Encrypted,
    /// 422 DOCUMENT_UNREADABLE.
    #[error("the document cannot be read: {0}")]
    Unreadable(String),
    /// 503 EXTRACTION_UNAVAILABLE: the engine is down or overloaded.
    #[error("extraction is unavailable: {reason}")]
    Unavailable {
        /// For the log.
        reason: String,
        /// When to try again.
        retry_after: Option<Duration>,
    },
    /// 502 EXTRACTION_FAILED: the engine's answer was unusable, also after one attempt to repair it.
    #[error("the engine gave no usable answer: {0}")]
    BadAnswer(String),
    /// 504 EXTRACTION_TIMEOUT.
    #[error("extraction took too long")]
    TimedOut,
}

/// No extraction: every document is answered 503 EXTRACTION_UNAVAILABLE.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoExtractor;

#[async_trait]
impl DocumentExtractor for NoExtractor {
    fn detect(&self, _: &SentDocument) -> Result<&'static str, UnsupportedDocument> {
        Ok("application/octet-stream")
    }

    async fn open(
        &self,
        _: SentDocument,
        _: DocumentLimits,
        _: Duration,
    ) -> Result<Box<dyn OpenDocument>, ExtractError> {
        Err(ExtractError::Unavailable { reason: "no engine is installed".to_owned(), retry_after: None })
    }
}
