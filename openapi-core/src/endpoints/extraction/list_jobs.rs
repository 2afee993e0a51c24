//! GET /document-extraction/jobs

use crate::access::{Action, Caller, Permission, Scope};
use crate::extraction::ExtractionJob;
use crate::operation::{Access, Context, EndpointMetadata, Method, Operation};
use crate::reply::{ApiError, Reply};
use crate::service::ListExtractions;

/// Lists queued extractions.
pub struct ListJobs;

impl Operation for ListJobs {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "listExtractions",
        method: Method::Get,
        path: "/document-extraction/jobs",
        tag: "Document extraction",
        summary: "List queued extractions",
        description: "Queued, running and ended extractions, newest first, without their results; totals are exact.",
        access: Access::Key(Permission::new(Scope::DocumentExtraction, Action::Read)),
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = ListExtractions;
    type Output = Vec<ExtractionJob>;

    async fn run(cx: Context<'_, Caller>, input: Self::Input) -> Result<Reply<Vec<ExtractionJob>>, ApiError> {
        let page = cx.service.list_extractions(cx.caller, input).await?;
        let reply = Reply::ok("Extractions retrieved successfully", page.items);
        Ok(Reply { pagination: Some(page.pagination), ..reply })
    }
}
