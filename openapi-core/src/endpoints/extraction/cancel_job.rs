//! PATCH /document-extraction/jobs/{jobId}/cancel

use crate::access::{Action, Caller, Permission, Scope};
use crate::extraction::ExtractionJob;
use crate::operation::{Access, Context, EndpointMetadata, Method, Operation};
use crate::reply::{ApiError, ErrorCode, Reply};
use crate::validation::Violations;

/// Cancels a queued extraction.
pub struct CancelJob;

impl Operation for CancelJob {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "cancelExtraction",
        method: Method::Patch,
        path: "/document-extraction/jobs/{jobId}/cancel",
        tag: "Document extraction",
        summary: "Cancel a queued extraction",
        description: "Ends an extraction that is queued or running. It costs nothing.",
        access: Access::Key(Permission::new(Scope::DocumentExtraction, Action::Create)),
        errors: &[ErrorCode::JobNotFound, ErrorCode::JobFinished, ErrorCode::ConcurrentUpdate],
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = (String, Violations);
    type Output = ExtractionJob;

    async fn run(
        cx: Context<'_, Caller>,
        (id, faults): Self::Input,
    ) -> Result<Reply<ExtractionJob>, ApiError> {
        if !faults.is_empty() {
            return Err(faults.into());
        }
        Ok(Reply::ok(
            "Extraction cancelled successfully",
            cx.service.cancel_extraction(cx.caller, &id).await?,
        ))
    }
}
