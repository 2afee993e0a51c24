//! Why a document cannot be read.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why a document cannot be read. Each variant is one error code of contract 6.1.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadError {
    /// The content has no supported type (`UNSUPPORTED_MEDIA_TYPE`).
    #[error("the document is of no supported type")]
    Unsupported,
    /// The document requires a password (`DOCUMENT_ENCRYPTED`).
    #[error("the document is encrypted")]
    Encrypted,
    /// The document is damaged or exceeds the limits of time or memory (`DOCUMENT_UNREADABLE`).
    #[error("the document cannot be read: {0}")]
    Unreadable(Reason),
    /// The document exceeds the [`Limits`](super::Limits) (`DOCUMENT_TOO_LARGE`).
    #[error("the document has more than {limit} {unit}")]
    TooLarge {
        /// The unit of the exceeded limit.
        unit: Unit,
        /// The limit.
        limit: u64,
        /// The actual number; `None` if counting stopped at the limit.
        actual: Option<u64>,
    },
}

/// What a document is measured in (contract 6.1, `details.unit`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Bytes of the document, packed or unpacked.
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

/// Why a document is unreadable, for people. Callers match on [`ReadError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The document violates its format or is truncated.
    Damaged,
    /// It declares a document type, which no document of its kind needs and which can grow without bound.
    Doctype,
    /// The document nests too deeply or has too many parts.
    Structure,
    /// Reading exceeded the time limit.
    Time,
    /// Reading exceeded the memory limit or crashed the process.
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
