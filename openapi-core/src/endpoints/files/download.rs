//! GET {origin}/download/files/{fileId}

use http::{HeaderMap, HeaderValue, header};
use serde_json::{Value, json};

use crate::files::Selection;
use crate::operation::{
    Access, Anonymous, Base, Conditional, Context, EncodedResponse, EndpointMetadata, Method, Operation,
    Payload,
};
use crate::reply::{ApiBody, ApiError, ErrorCode, Reply};
use crate::service::{ContentSource, DownloadFile, FileContent};

/// Sends the content of a file to any client with a signed URL.
pub struct Download;

impl Operation for Download {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "downloadFile",
        method: Method::Get,
        base: Base::Origin,
        path: "/download/files/{fileId}",
        tag: "Files",
        summary: "Download a file",
        description: "The content of a file, under a signed URL. A single `Range` is honoured, and `If-None-Match`; other parameters are ignored.",
        access: Access::Link,
        conditional: Conditional::Read,
        success: &[200, 206],
        errors: &[
            ErrorCode::SignedUrlInvalid,
            ErrorCode::SignedUrlExpired,
            ErrorCode::FileNotFound,
            ErrorCode::RangeNotSatisfiable,
            ErrorCode::ServiceUnavailable,
            ErrorCode::StorageUnavailable,
        ],
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Anonymous;
    type Input = DownloadFile;
    type Output = FileContent;

    async fn run(cx: Context<'_, Anonymous>, input: DownloadFile) -> Result<Reply<FileContent>, ApiError> {
        Ok(Reply::ok("", cx.service.download_file(input).await?))
    }

    fn encode(reply: Reply<FileContent>) -> Result<EncodedResponse, ApiError> {
        let mut headers = HeaderMap::with_capacity(16);
        let mut put = |name, value: Result<HeaderValue, _>| {
            if let Ok(value) = value {
                headers.insert(name, value);
            }
        };
        let FileContent { file, disposition, selection, .. } = &reply.data;
        let (status, length) = match selection {
            Selection::Part { first, last } => {
                let range = format!("bytes {first}-{last}/{}", file.file_size);
                put(header::CONTENT_RANGE, HeaderValue::try_from(range));
                (206, last - first + 1)
            }
            Selection::NotModified => (304, 0),
            Selection::Whole | Selection::Unsatisfiable => (200, file.file_size),
        };
        if status != 304 {
            put(header::CONTENT_LENGTH, Ok(length.into()));
        }
        put(header::CACHE_CONTROL, Ok(HeaderValue::from_static("private, no-store")));
        put(header::REFERRER_POLICY, Ok(HeaderValue::from_static("no-referrer")));
        put(header::ETAG, HeaderValue::try_from(file.content_etag()));
        if matches!(status, 200 | 206) {
            put(header::CONTENT_TYPE, HeaderValue::from_str(file.content_type.media_type()));
            put(header::CONTENT_DISPOSITION, Ok(disposition.header(&file.file_name)));
            put(header::ACCEPT_RANGES, Ok(HeaderValue::from_static("bytes")));
            put(header::CONTENT_SECURITY_POLICY, Ok(HeaderValue::from_static("sandbox; default-src 'none'")));
        }
        let mut body = ApiBody::empty();
        let reply = reply.map(|content| {
            if let ContentSource::Stream(stream) = content.bytes {
                body = ApiBody::content(stream, length);
            }
        });
        Ok(EncodedResponse { reply, body: Payload::Content { status, headers, body } })
    }

    fn response_schema() -> Value {
        json!({ "type": "string", "contentMediaType": "application/octet-stream" })
    }
}
