//! GET /document-extraction/batches/{batchId}

use crate::access::{Action, Caller, Permission, Scope};
use crate::extraction::ExtractionBatch;
use crate::operation::{Access, Context, EndpointMetadata, Method, Operation};
use crate::reply::{ApiError, ErrorCode, Reply};
use crate::validation::Violations;

/// Answers how the jobs of a batch stand.
pub struct GetBatch;

impl Operation for GetBatch {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "getExtractionBatch",
        method: Method::Get,
        path: "/document-extraction/batches/{batchId}",
        tag: "Document extraction",
        summary: "Get a batch",
        description: "How many extractions of a batch stand where.",
        access: Access::Key(Permission::new(Scope::DocumentExtraction, Action::Read)),
        errors: &[ErrorCode::BatchNotFound],
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = (String, Violations);
    type Output = ExtractionBatch;

    async fn run(
        cx: Context<'_, Caller>,
        (id, faults): Self::Input,
    ) -> Result<Reply<ExtractionBatch>, ApiError> {
        let found = cx.service.extraction_batch(cx.caller, &id).await?;
        if !faults.is_empty() {
            return Err(faults.into());
        }
        Ok(Reply::ok("Batch retrieved successfully", found))
    }
}
