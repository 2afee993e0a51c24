//! Why a document was not read.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why a document was not read. Each kind is one error code of contract 6.1.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadError {
    /// Its content is of no type that is read here (`UNSUPPORTED_MEDIA_TYPE`).
    #[error("the document is of no supported type")]
    Unsupported,
    /// It opens with a password only (`DOCUMENT_ENCRYPTED`).
    #[error("the document is encrypted")]
    Encrypted,
    /// It is damaged, or would take more time or memory than a document may (`DOCUMENT_UNREADABLE`).
    #[error("the document cannot be read: {0}")]
    Unreadable(Reason),
    /// It is larger than the [`Limits`](super::Limits) allow (`DOCUMENT_TOO_LARGE`).
    #[error("the document has more than {limit} {unit}")]
    TooLarge {
        /// What there is too much of.
        unit: Unit,
        /// How many are allowed.
        limit: u64,
        /// How many there are; `None` where counting stopped at the limit.
        actual: Option<u64>,
    },
}

/// What a document is measured in (contract 6.1, `details.unit`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Bytes: of the document, or of what it unpacks to.
    Bytes,
    /// Pages, or frames of an image.
    Pages,
    /// Characters of text.
    Characters,
    /// Pixels of one image.
    Pixels,
}

impl std::fmt::Display for Unit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Bytes => "bytes",
            Self::Pages => "pages",
            Self::Characters => "characters",
            Self::Pixels => "pixels",
        })
    }
}

/// What is wrong with an unreadable document, for people; callers decide by [`ReadError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// It breaks the rules of its format, or ends too early.
    Damaged,
    /// It declares a document type, which no document of its kind needs and which can grow without bound.
    Doctype,
    /// It nests deeper than a document does, or has more parts.
    Structure,
    /// Reading it took more time than a document may.
    Time,
    /// Reading it took more memory than a document may, or ended its process.
    Memory,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Damaged => "it is damaged",
            Self::Doctype => "it declares a document type",
            Self::Structure => "its structure is beyond bounds",
            Self::Time => "it takes too long",
            Self::Memory => "it takes too much memory",
        })
    }
}

impl ReadError {
    pub(crate) const DAMAGED: Self = Self::Unreadable(Reason::Damaged);
    pub(crate) const STRUCTURE: Self = Self::Unreadable(Reason::Structure);

    pub(crate) const fn too_many_bytes(limit: u64) -> Self {
        Self::TooLarge { unit: Unit::Bytes, limit, actual: None }
    }
}
