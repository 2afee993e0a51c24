//! The knowledge of an agent: documents, split into passages.

use openapi_core::files::Sha256Digest;
use openapi_core::values::{JobId, KnowledgeId, Timestamp};
use serde::{Deserialize, Serialize};

/// A document that an agent answers from. The store has only its passages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KnowledgeDocument {
    /// The id.
    pub id: KnowledgeId,
    /// The name of its file.
    pub file_name: String,
    /// The title that visitors see as the source, 1 to 200 characters.
    pub title: String,
    /// The address for visitors: an absolute http or https URL.
    pub url: Option<String>,
    /// Its language, as a BCP 47 tag.
    pub language: Option<String>,
    /// The media type of the file.
    pub content_type: String,
    /// SHA-256 of the file's bytes.
    pub sha256: Sha256Digest,
    /// Characters of its text.
    pub characters: u64,
    /// The number of pages, if it has pages.
    pub pages: Option<u32>,
    /// The number of its passages.
    pub passages: u32,
    /// The website that it is a page of ([`Website::id`](crate::Website::id)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<JobId>,
    /// Of a question-and-answer pair the phrasings of its question, the first one as its name. Its only passage is the
    /// answer. Empty for every other document.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<String>,
    /// When it was first added.
    pub created_at: Timestamp,
    /// When it was last added or replaced.
    pub updated_at: Timestamp,
}

impl KnowledgeDocument {
    /// Whether it is a question-and-answer pair.
    #[must_use]
    pub const fn is_pair(&self) -> bool {
        !self.questions.is_empty()
    }
}

/// A part of a document that is retrieved and quoted as a whole: 200 to 1,200 characters if the text allows it, never
/// across a heading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Passage {
    /// Its position in the document, from 0.
    pub position: u32,
    /// The headings above it, the outermost first.
    pub headings: Vec<String>,
    /// The page on which it begins, from 1, if the document has pages.
    pub page: Option<u32>,
    /// Where it begins in the text of the document, in characters.
    pub start: u64,
    /// Where it ends, in characters.
    pub end: u64,
    /// Its text, word for word as in the document.
    pub text: String,
}
