//! Requests and outcomes about files.

use std::fmt;

use http::HeaderMap;
use serde::{Serialize, Serializer};

use super::{ContactTarget, Idempotency, PageRequest, TagMatch, Unvalidated};
use crate::files::{ContactFile, Disposition, FileKind, FileName, Selection, Upload};
use crate::ports::BlobStream;
use crate::storage::{FileSort, Order};
use crate::validation::Violations;
use crate::values::{Block, FileId, Timestamp};

/// Which file of which contact; the texts are as sent, percent-decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileTarget {
    /// The contact, by platform id.
    pub contact: ContactTarget,
    /// The file.
    pub file: String,
}

impl FileTarget {
    /// A file of a contact.
    #[must_use]
    pub fn new(contact: impl Into<String>, file: impl Into<String>) -> Self {
        FileTarget { contact: ContactTarget::Id(contact.into()), file: file.into() }
    }
}

/// `POST /files/chatbots/<A>/<cid>`
#[derive(Debug)]
pub struct UploadFile {
    /// The contact, by platform id.
    pub contact: ContactTarget,
    /// The file, as it arrives.
    pub upload: Upload,
    /// The idempotency of the request. Its fingerprint is known when the upload has ended:
    /// [`Received::fingerprint`](crate::files::Received::fingerprint) replaces the one here.
    pub idempotency: Option<Idempotency<ContactFile>>,
    /// The errors outside of the form.
    pub faults: Violations,
}

/// `GET /files/chatbots/<A>/<cid>`
#[derive(Clone, Debug, PartialEq)]
pub struct ListFiles {
    /// The contact, by platform id.
    pub contact: ContactTarget,
    /// The query.
    pub query: Unvalidated<FileListQuery>,
}

/// The query of a list of files (contract 4.3).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileListQuery {
    /// What they are sorted by.
    pub sort: FileSort,
    /// The direction.
    pub order: Order,
    /// Which part.
    pub page: PageRequest,
}

/// `GET /files/chatbots/<A>/<cid>/files/<fid>/signed-url`
#[derive(Clone, Debug, PartialEq)]
pub struct SignUrl {
    /// The file.
    pub target: FileTarget,
    /// The query.
    pub query: Unvalidated<SignUrlQuery>,
}

/// The options of a signed URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignUrlQuery {
    /// How long, in seconds.
    pub expires_in: u64,
    /// How the file is offered.
    pub disposition: Disposition,
}

/// A signed URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SignedUrl {
    /// The URL; a secret until it expires.
    pub url: String,
    /// `GET`
    pub method: &'static str,
    /// When it expires.
    pub expires_at: Timestamp,
    /// Its lifetime in seconds.
    pub expires_in: u64,
    /// The name of the file.
    pub file_name: FileName,
    /// The media type of its content.
    #[serde(serialize_with = "crate::files::media_type")]
    pub content_type: FileKind,
    /// Its size in bytes.
    pub file_size: u64,
}

/// `DELETE /files/chatbots/<A>/<cid>/files/<fid>`
#[derive(Clone, Debug, PartialEq)]
pub struct DeleteFile {
    /// The file.
    pub target: FileTarget,
    /// Why.
    pub reason: Unvalidated<Option<Block<500>>>,
    /// The `If-Match` header.
    pub if_match: Option<TagMatch>,
}

/// The outcome of a deletion.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeletedFile {
    /// The file.
    pub id: FileId,
    /// `true`
    pub deleted: bool,
    /// When it was deleted.
    pub deleted_at: Timestamp,
    /// Why.
    pub reason: Option<Block<500>>,
}

/// `GET {origin}/download/files/<fid>`
#[derive(Clone, Debug, PartialEq)]
pub struct DownloadFile {
    /// The file, as sent.
    pub file: String,
    /// The query, decoded: it holds the permission.
    pub query: Vec<(String, String)>,
    /// The headers; `Range` and `If-Range` are read.
    pub headers: HeaderMap,
    /// Whether only the head of the answer is wanted.
    pub is_head: bool,
}

/// The content of a file on its way out. As JSON it is the record of the file.
pub struct FileContent {
    /// The file.
    pub file: ContactFile,
    /// How it is offered.
    pub disposition: Disposition,
    /// Which part of it.
    pub selection: Selection,
    /// The bytes of the part.
    pub bytes: ContentSource,
}

/// Where the bytes of a download come from.
pub enum ContentSource {
    /// Nowhere: only the head is wanted.
    None,
    /// From here.
    Stream(BlobStream),
    /// From the store of file contents itself, under this URL.
    Elsewhere(String),
}

impl Serialize for FileContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.file.serialize(serializer)
    }
}

impl fmt::Debug for FileContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileContent")
            .field("file", &self.file)
            .field("disposition", &self.disposition)
            .field("selection", &self.selection)
            .finish_non_exhaustive()
    }
}
