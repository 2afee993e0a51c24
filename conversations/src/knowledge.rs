//! The knowledge of an agent: documents, split into passages.

use openapi_core::files::Sha256Digest;
use openapi_core::values::{KnowledgeId, Timestamp};
use serde::{Deserialize, Serialize};

/// A document that an agent answers from. Only passages of its content are stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KnowledgeDocument {
    /// The id.
    pub id: KnowledgeId,
    /// The name of the file it came from.
    pub file_name: String,
    /// What visitors see as the name of the source, 1 to 200 characters.
    pub title: String,
    /// Where visitors may read it: an absolute http or https URL.
    pub url: Option<String>,
    /// The language it is written in, as a BCP 47 tag.
    pub language: Option<String>,
    /// The media type of the file.
    pub content_type: String,
    /// SHA-256 of the file's bytes.
    pub sha256: Sha256Digest,
    /// Characters of its text.
    pub characters: u64,
    /// Its pages, where it has pages.
    pub pages: Option<u32>,
    /// How many passages it was cut into.
    pub passages: u32,
    /// When it was first added.
    pub created_at: Timestamp,
    /// When it was added or replaced last.
    pub updated_at: Timestamp,
}

/// A part of a document that is found and quoted as one: 200 to 1,200 characters where the text allows it, never across
/// a heading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Passage {
    /// Its position in the document, from 0.
    pub position: u32,
    /// The headings it stands under, the outermost first.
    pub headings: Vec<String>,
    /// The page it begins on, from 1, where the document has pages.
    pub page: Option<u32>,
    /// Where it begins in the text of the document, in characters.
    pub start: u64,
    /// Where it ends, in characters.
    pub end: u64,
    /// Its text, word for word as in the document.
    pub text: String,
}
