//! POST /forms/batch/contacts/{externalReferenceId}/chatbots/{agentId}

use serde_json::Value;

use crate::access::{Action, Caller, Permission, Scope};
use crate::json::JsonSchema;
use crate::operation::{Access, Context, EndpointMetadata, Method, Operation};
use crate::reply::{ApiError, Creation, ErrorCode, Reply, StoredReply};
use crate::service::{BatchResult, Created, Replayable, SubmitForms};
use crate::service_info::ServiceInfo;

/// Submits several forms.
pub struct Batch;

/// The status of a result whose elements would each have answered `success` alone.
fn status(result: &BatchResult, success: u16) -> u16 {
    if result.failed() == 0 { success } else { 207 }
}

impl Replayable for BatchResult {
    fn stored_reply(_: &ServiceInfo, result: &BatchResult) -> Result<StoredReply, ApiError> {
        StoredReply::new(status(result, 201), None, &result.message(), result)
    }
}

impl Operation for Batch {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "submitForms",
        method: Method::Post,
        path: "/forms/batch/contacts/{externalReferenceId}/chatbots/{agentId}",
        tag: "Forms",
        summary: "Submit several forms",
        description: "Submits 1 to 10 forms for a contact. With `allOrNone` (the default) all are stored or none; without, each stands alone and the answer is 207 when at least one failed.",
        access: Access::Key(Permission::new(Scope::Forms, Action::Create)),
        success: &[200, 201, 207],
        errors: &[
            ErrorCode::ContactNotFound,
            ErrorCode::ContactArchived,
            ErrorCode::TemplateInactive,
            ErrorCode::ConcurrentUpdate,
        ],
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = SubmitForms;
    type Output = Creation<BatchResult>;

    async fn run(
        cx: Context<'_, Caller>,
        input: SubmitForms,
    ) -> Result<Reply<Creation<BatchResult>>, ApiError> {
        let (result, success) = match cx.service.submit_forms(cx.caller, input).await? {
            Created::New(result) => (result, 201),
            Created::Preview(result) => (result, 200),
            Created::Replayed(stored) => return Ok(Reply::replayed(stored)),
        };
        let status = status(&result, success);
        Ok(Reply { status, ..Reply::ok(result.message(), Creation::Stored(result)) })
    }

    fn dry_run_schema() -> Option<Value> {
        Some(BatchResult::envelope())
    }
}
