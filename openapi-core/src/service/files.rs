//! Requests and outcomes about files.

use std::fmt;
use std::net::IpAddr;

use http::HeaderMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::contacts::{ContactTarget, Reason};
use super::idempotency::{Idempotency, IdempotencyKey};
use super::page::{Paging, SORT_ORDER};
use super::tags::{IfMatch, TagMatch};
use super::unvalidated::Unvalidated;
use crate::files::{ContactFile, Disposition, FileKind, FileName, Link, Selection, Upload};
use crate::json::{Constant, JsonSchema, json_object, object_schema, same_schema};
use crate::ports::BlobStream;
use crate::request::rules::{OneOf, UnlessBlank, Within};
use crate::request::{BodyKind, Parameter, Part, Reader, parameter, parameters, request};
use crate::storage::{FileSort, Order};
use crate::validation::{ValidationCode, ValidationIssue, Violations};
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

impl Part for FileTarget {
    type Value = FileTarget;

    fn read(request: &mut Reader<'_>) -> FileTarget {
        FileTarget { contact: ContactTarget::read(request), file: String::read(request) }
    }
}

request! {
    /// `POST /files/chatbots/<A>/<cid>`
    #[derive(Debug)]
    pub struct UploadFile {
        /// The contact, by platform id.
        pub contact: ContactTarget,
        /// The file, as it arrives.
        pub upload: Upload,
        /// The idempotency of the request. Its fingerprint is known when the upload has ended:
        /// [`Received::fingerprint`](crate::files::Received::fingerprint) replaces the one here.
        pub idempotency: Option<Idempotency<ContactFile>> = IdempotencyKey<ContactFile>,
        /// The errors outside of the form.
        pub faults: Violations,
    }
}

/// The form of an upload.
pub(crate) struct NewFile;

object_schema! { NewFile as "NewFile" { "additionalProperties": false } = {
    "file": String {
        "contentMediaType": "application/octet-stream",
        "description": "The file: 1 byte to 25 MiB. Its type is decided by its content."
    },
} }

impl Part for Upload {
    type Value = Upload;
    const BODY: BodyKind = BodyKind::File;

    fn body_schema() -> Option<Value> {
        Some(NewFile::reference())
    }

    fn read(request: &mut Reader<'_>) -> Upload {
        request.sent.take_upload()
    }
}

request! {
    /// `GET /files/chatbots/<A>/<cid>`
    #[derive(Clone, Debug, PartialEq)]
    pub struct ListFiles {
        /// The contact, by platform id.
        pub contact: ContactTarget,
        /// The query.
        pub query: Unvalidated<FileListQuery>,
    }
}

parameters! {
    /// The query of a list of files (contract 4.3).
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct FileListQuery {
        /// What files are sorted by; names without regard to case.
        "sortBy" sort: FileSort = OneOf(FileSort::ALL, FileSort::as_str),
        /// The direction.
        "sortOrder" order: Order = SORT_ORDER,
        ..page: Paging<20>,
    }
}

request! {
    /// `GET /files/chatbots/<A>/<cid>/files/<fid>/signed-url`
    #[derive(Clone, Debug, PartialEq)]
    pub struct SignUrl {
        /// The file.
        pub target: FileTarget,
        /// The query.
        pub query: Unvalidated<SignUrlQuery>,
    }
}

parameters! {
    /// The options of a signed URL.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct SignUrlQuery {
        /// How long the URL lives, in seconds.
        "expiresIn" expires_in: u64 = Within(Link::LIFETIMES, Link::USUAL_LIFETIME),
        /// Whether a browser saves the file or shows it; `inline` only for PDF, images, audio, video and plain text.
        "disposition" disposition: Disposition = OneOf(Disposition::ALL, Disposition::as_str),
    }
}

/// A signed URL.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    pub content_type: FileKind,
    /// Its size in bytes.
    pub file_size: u64,
}

json_object! { SignedUrl as "SignedUrl" = |signed| {
    "url": String {
        "format": "uri", "description": "Opaque. Anyone who has it can download the file until it expires."
    } = signed.url,
    "method": &'static str { "const": "GET" } = signed.method,
    "expiresAt": Timestamp = signed.expires_at,
    "expiresIn": u64 { "minimum": Link::LIFETIMES.start(), "maximum": Link::LIFETIMES.end() } = signed.expires_in,
    "fileName": FileName = signed.file_name,
    "contentType": &'static str {
        "description": "The media type of the content, whatever the upload declared."
    } = signed.content_type.media_type(),
    "fileSize": u64 { "minimum": 1, "description": "In bytes." } = signed.file_size,
} }

request! {
    /// `DELETE /files/chatbots/<A>/<cid>/files/<fid>`
    #[derive(Clone, Debug, PartialEq)]
    pub struct DeleteFile {
        /// The file.
        pub target: FileTarget,
        /// The `If-Match` header.
        pub if_match: Option<TagMatch> = IfMatch,
        /// Why.
        pub reason: Unvalidated<Option<Block<500>>> = Unvalidated<DeleteReason>,
    }
}

/// The body of a deletion.
pub(crate) struct DeleteRequest;

object_schema! { DeleteRequest as "DeleteRequest" { "additionalProperties": false } = {
    "reason" optional: Option<Block<500>> { "description": "Stored in the audit log only." },
} }

parameter! {
    /// Why, for the audit log: the same as the member of the body, because some intermediaries drop the body of a DELETE.
    ReasonParameter = "reason": Option<Block<500>> = UnlessBlank
}

/// The reason of a deletion, in the body or in the query.
struct DeleteReason;

impl Part for DeleteReason {
    type Value = Option<Block<500>>;
    const PARAMETERS: &'static [Parameter] = ReasonParameter::PARAMETERS;
    const BODY: BodyKind = Reason::<DeleteRequest>::BODY;

    fn body_schema() -> Option<Value> {
        Reason::<DeleteRequest>::body_schema()
    }

    fn read(request: &mut Reader<'_>) -> Option<Block<500>> {
        let in_query = ReasonParameter::read(request);
        let in_body = Reason::<DeleteRequest>::read(request);
        if let (Some(one), Some(other)) = (&in_query, &in_body)
            && one != other
        {
            let text = "differs from the reason in the body";
            request.query.fault("reason", ValidationIssue::new(ValidationCode::Conflict, text));
        }
        in_body.or(in_query)
    }
}

/// The outcome of a deletion.
#[derive(Clone, Debug, PartialEq)]
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

json_object! { DeletedFile as "DeletedFile" = |file| {
    "id": FileId = file.id,
    "deleted": Constant<true> = Constant(file.deleted),
    "deletedAt": Timestamp = file.deleted_at,
    "reason": Option<Block<500>> = file.reason,
} }

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
    /// The client's address, if the server knows it.
    pub address: Option<IpAddr>,
}

/// The parameters of a signed URL: opaque, so that they are verified where the link is.
impl Part for DownloadFile {
    type Value = DownloadFile;
    const PARAMETERS: &'static [Parameter] = {
        const fn text(name: &'static str, description: &'static str) -> Parameter {
            Parameter { name, description, schema: String::schema }
        }
        &[
            text("exp", "When the link ends, in epoch seconds."),
            text("kid", "Whom the link was issued to."),
            text("d", "How the file is offered."),
            text("sig", "The signature."),
        ]
    };

    fn read(request: &mut Reader<'_>) -> DownloadFile {
        request.take_faults();
        DownloadFile {
            file: String::read(request),
            query: request.sent.query_pairs.to_vec(),
            headers: request.sent.headers.clone(),
            is_head: request.sent.is_head,
            address: request.sent.address,
        }
    }
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
    /// From the store of file contents.
    Stream(BlobStream),
}

same_schema! { FileContent => ContactFile, }

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
