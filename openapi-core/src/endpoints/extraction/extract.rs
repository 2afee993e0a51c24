//! POST /document-extraction/extract

use http::{HeaderName, HeaderValue};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use serde_json::Value;

use super::shapes;
use crate::access::{Action, Caller, Permission, Scope};
use crate::operation::{
    Access, Base, BodyKind, Conditional, Context, DecodedRequest, EncodedResponse, EndpointMetadata, Method,
    Operation, Payload, idempotency,
};
use crate::reply::{ApiError, ErrorCode, Reply, StoredReply};
use crate::service::{ExtractDocument, Extracted, ExtractedDocument, ReplyEncoder};
use crate::service_info::ServiceInfo;
use crate::validation::Violations;

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

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ExtractedDocument { extraction, metadata } = self.0;
        let mut body = serializer.serialize_struct("Body", 4)?;
        body.serialize_field("success", &true)?;
        body.serialize_field("message", MESSAGE)?;
        body.serialize_field("data", &extraction.data)?;
        body.serialize_field("metadata", &extraction.with(metadata))?;
        body.end()
    }
}

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

/// The answer to an extraction as an idempotency key stores it.
fn stored_reply(_: &ServiceInfo, document: &ExtractedDocument) -> Result<StoredReply, ApiError> {
    let body = String::from_utf8(body(document)?).map_err(|_| ApiError::internal())?;
    Ok(StoredReply { status: 200, location: None, body: body.into() })
}

impl Operation for Extract {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "extractDocument",
        method: Method::Post,
        base: Base::OpenApi,
        path: "/document-extraction/extract",
        tag: "Document extraction",
        summary: "Extract a document",
        description: "Finds the values of the fields of a schema in a document (PDF, DOCX, plain text, JPEG, PNG, TIFF, WebP, BMP or GIF), each with its confidence and the text of the document that says it. What is not in the document is `null`. Costs credits of the key's agent, by page; nothing where the answer is no 2xx.",
        access: Access::Key(Permission::new(Scope::DocumentExtraction, Action::Create)),
        body: BodyKind::Document,
        query: &[],
        success: &[200],
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
        idempotent: true,
        conditional: Conditional::No,
    };
    type Caller = Caller;
    type Input = ExtractDocument;
    type Output = Outcome;

    fn decode(incoming: &DecodedRequest<'_>) -> ExtractDocument {
        let mut faults = Violations::new();
        let idempotency = idempotency(incoming, &mut faults, ReplyEncoder(stored_reply));
        faults.extend(incoming.query().into_faults());
        ExtractDocument { form: incoming.take_document(), idempotency, faults }
    }

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

    fn request_schema() -> Option<Value> {
        Some(shapes::reference("NewExtraction"))
    }

    fn response_schema() -> Value {
        shapes::extraction_envelope()
    }

    fn response_example() -> Value {
        shapes::extraction_example()
    }
}
