//! GET /document-extraction/jobs/{jobId}

use crate::access::{Action, Caller, Permission, Scope};
use crate::extraction::ExtractionJob;
use crate::operation::{Access, Context, EndpointMetadata, Method, Operation};
use crate::reply::{ApiError, ErrorCode, Reply};
use crate::service::GetExtraction;

/// Answers a queued extraction.
pub struct GetJob;

impl Operation for GetJob {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "getExtraction",
        method: Method::Get,
        path: "/document-extraction/jobs/{jobId}",
        tag: "Document extraction",
        summary: "Get a queued extraction",
        description: "One extraction with its result, which stays for the operator's retention period after the end, 7 days by default. With `wait`, the answer waits for the end.",
        access: Access::Key(Permission::new(Scope::DocumentExtraction, Action::Read)),
        errors: &[ErrorCode::JobNotFound],
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = GetExtraction;
    type Output = ExtractionJob;

    async fn run(cx: Context<'_, Caller>, input: Self::Input) -> Result<Reply<ExtractionJob>, ApiError> {
        let job = cx.service.extraction(cx.caller, input).await?;
        Ok(Reply::ok("Extraction retrieved successfully", job))
    }
}
