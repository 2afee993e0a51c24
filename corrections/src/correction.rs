//! A correction, and the record that it is stored as.

use openapi_core::access::Actor;
use openapi_core::extraction::DocumentFacts;
use openapi_core::json::RawObject;
use openapi_core::reply::ApiError;
use openapi_core::storage::{RecordId, RecordKey, RecordKind, StoredRecord, Subject};
use openapi_core::values::{ContactId, FileId, JobId, PlatformId, Timestamp};
use serde::{Deserialize, Serialize};

/// A document with the values that it has, by the word of a person.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Correction {
    /// The extraction.
    pub job: JobId,
    /// The document.
    pub document: DocumentFacts,
    /// The contact whose file it is.
    pub contact: Option<ContactId>,
    /// That file.
    pub file: Option<FileId>,
    /// The copy of a document that was sent.
    pub copy: Option<FileId>,
    /// The schema of the extraction, as it was sent.
    pub schema: RawObject,
    /// Guidance of the caller of the extraction.
    pub instructions: Option<String>,
    /// A value for each field of the schema, `null` where the document has none.
    pub expected: RawObject,
    /// Who said so last.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
}

impl Correction {
    /// The correction of a record.
    pub(crate) fn of(record: &StoredRecord) -> Result<Self, ApiError> {
        serde_json::from_str(record.body.as_str()).map_err(|error| {
            tracing::error!(%error, "a stored correction cannot be read");
            ApiError::internal()
        })
    }

    /// The record of this version.
    pub(crate) fn record(&self, version: u64) -> Result<StoredRecord, ApiError> {
        let body = serde_json::to_string(self).and_then(RawObject::from_text).map_err(|error| {
            tracing::error!(%error, "failed to serialize a correction");
            ApiError::internal()
        })?;
        Ok(StoredRecord {
            key: key_of(self.job),
            version,
            subject: self.contact.map(Subject::Contact),
            unique: None,
            due_at: None,
            body,
        })
    }
}

/// The key of the correction of an extraction.
pub(crate) fn key_of(job: JobId) -> RecordKey {
    RecordKey::new(RecordKind::Correction, id_of(job))
}

pub(crate) fn id_of(job: JobId) -> RecordId {
    PlatformId::from_bytes(*job.as_bytes()).into()
}
