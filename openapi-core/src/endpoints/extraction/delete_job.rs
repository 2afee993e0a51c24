//! DELETE /document-extraction/jobs/{jobId}

use crate::access::{Action, Caller, Permission, Scope};
use crate::extraction::DeletedJob;
use crate::operation::{Access, Context, EndpointMetadata, Method, Operation};
use crate::reply::{ApiError, ErrorCode, Reply};
use crate::validation::Violations;

/// Removes a queued extraction.
pub struct DeleteJob;

impl Operation for DeleteJob {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "deleteExtraction",
        method: Method::Delete,
        path: "/document-extraction/jobs/{jobId}",
        tag: "Document extraction",
        summary: "Delete a queued extraction",
        description: "Removes an extraction with its result and the document that the service holds for it; one that has not ended is cancelled.",
        access: Access::Key(Permission::new(Scope::DocumentExtraction, Action::Create)),
        errors: &[ErrorCode::JobNotFound, ErrorCode::ConcurrentUpdate],
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = (String, Violations);
    type Output = DeletedJob;

    async fn run(cx: Context<'_, Caller>, (id, faults): Self::Input) -> Result<Reply<DeletedJob>, ApiError> {
        if !faults.is_empty() {
            return Err(faults.into());
        }
        Ok(Reply::ok("Extraction deleted successfully", cx.service.delete_extraction(cx.caller, &id).await?))
    }
}
