//! POST /document-extraction/extract

use http::{HeaderName, HeaderValue};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::access::{Action, Caller, Permission, Scope};
use crate::extraction::Answered;
use crate::json::{Constant, JsonSchema, Object, json_object, same_schema};
use crate::operation::{Access, Context, EncodedResponse, EndpointMetadata, Method, Operation, Payload};
use crate::reply::{ApiError, ErrorCode, Reply, StoredReply};
use crate::service::{ExtractDocument, Extracted, ExtractedDocument, Replayable};
use crate::service_info::ServiceInfo;

/// Finds the values of fields in a document.
pub struct Extract;

const MESSAGE: &str = "Document extracted successfully";

/// What the extraction cost.
const CHARGED: HeaderName = HeaderName::from_static("x-credits-charged");
/// What is left.
const REMAINING: HeaderName = HeaderName::from_static("x-credits-remaining");

/// What an extraction answers; nothing where a stored answer is given again.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome(Option<Box<ExtractedDocument>>);

/// The body: `metadata` is next to `data`.
struct Body<'a>(&'a ExtractedDocument);

json_object! { Body<'_> = |body| {
    "success": Constant<true> = Constant(true),
    "message": &'static str = MESSAGE,
    "data": Object {
        "description": "The value of every field of the schema; `null` where the document has none."
    } = body.0.extraction.data,
    "metadata": Answered<'_> = body.0.extraction.with(&body.0.metadata),
} }

same_schema! { Outcome => Object, }

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Some(document) => document.extraction.data.serialize(serializer),
            None => serializer.serialize_none(),
        }
    }
}

fn body(document: &ExtractedDocument) -> Result<Vec<u8>, ApiError> {
    serde_json::to_vec(&Body(document)).map_err(|error| {
        tracing::error!(%error, "failed to serialize an extraction");
        ApiError::internal()
    })
}

impl Replayable for ExtractedDocument {
    fn stored_reply(_: &ServiceInfo, document: &ExtractedDocument) -> Result<StoredReply, ApiError> {
        let body = String::from_utf8(body(document)?).map_err(|_| ApiError::internal())?;
        Ok(StoredReply { status: 200, location: None, body: body.into() })
    }
}

impl Operation for Extract {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "extractDocument",
        method: Method::Post,
        path: "/document-extraction/extract",
        tag: "Document extraction",
        summary: "Extract a document",
        description: "Finds the values of the fields of a schema in a document (PDF, DOCX, XLSX, PPTX, OpenDocument, RTF, HTML, CSV, EML, plain text, JPEG, PNG, TIFF, WebP, BMP or GIF), each with its confidence and the text of the document that says it. What is not in the document is `null`. Costs credits of the key's agent, by page; nothing where the answer is no 2xx.",
        access: Access::Key(Permission::new(Scope::DocumentExtraction, Action::Create)),
        errors: &[
            ErrorCode::InsufficientCredits,
            ErrorCode::StorageQuotaExceeded,
            ErrorCode::DocumentTooLarge,
            ErrorCode::DocumentEncrypted,
            ErrorCode::DocumentUnreadable,
            ErrorCode::ConcurrencyLimitExceeded,
            ErrorCode::ExtractionFailed,
            ErrorCode::ExtractionUnavailable,
            ErrorCode::StorageUnavailable,
            ErrorCode::ExtractionTimeout,
        ],
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = ExtractDocument;
    type Output = Outcome;

    async fn run(cx: Context<'_, Caller>, input: ExtractDocument) -> Result<Reply<Outcome>, ApiError> {
        Ok(match cx.service.extract_document(cx.caller, input).await? {
            Extracted::New(document) => {
                let usage = document.metadata.usage;
                let reply = Reply::ok(MESSAGE, Outcome(Some(document)))
                    .with_header(CHARGED, HeaderValue::from(usage.credits_charged));
                match usage.credits_remaining {
                    Some(credits) => reply.with_header(REMAINING, HeaderValue::from(credits)),
                    None => reply,
                }
            }
            Extracted::Replayed(stored) => {
                let reply = Reply::ok(MESSAGE, Outcome(None)).with_header(CHARGED, HeaderValue::from(0));
                Reply { replay: Some(stored), ..reply }
            }
        })
    }

    fn encode(reply: Reply<Outcome>) -> Result<EncodedResponse, ApiError> {
        let body = match &reply.data.0 {
            Some(document) => body(document)?,
            None => Vec::new(),
        };
        Ok(EncodedResponse { reply: reply.map(|_| ()), body: Payload::Json(body) })
    }

    fn response_schema() -> Value {
        Body::schema()
    }
}
