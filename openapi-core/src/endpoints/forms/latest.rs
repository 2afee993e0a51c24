//! GET /forms/contacts/{externalReferenceId}/templates/{templateId}/latest/chatbots/{agentId}

use crate::access::{Action, Caller, Permission, Scope};
use crate::forms::WithHistory;
use crate::operation::{Access, Conditional, Context, EndpointMetadata, Method, Operation};
use crate::reply::{ApiError, ErrorCode, Reply};
use crate::service::LatestSubmission;

/// Answers the latest submission of a contact under a template.
pub struct Latest;

const MESSAGE: &str = "Submission retrieved successfully";

impl Operation for Latest {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "getLatestSubmission",
        method: Method::Get,
        path: "/forms/contacts/{externalReferenceId}/templates/{templateId}/latest/chatbots/{agentId}",
        tag: "Forms",
        summary: "Get the latest submission",
        description: "The newest submission of a contact under a template that was handed in, is not superseded and not archived; the template may be out of use.",
        access: Access::Key(Permission::new(Scope::Forms, Action::Read)),
        errors: &[ErrorCode::ContactNotFound, ErrorCode::TemplateNotFound, ErrorCode::SubmissionNotFound],
        conditional: Conditional::Read,
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = LatestSubmission;
    type Output = WithHistory;

    async fn run(cx: Context<'_, Caller>, input: LatestSubmission) -> Result<Reply<WithHistory>, ApiError> {
        let submission = cx.service.latest_submission(cx.caller, input).await?;
        let etag = submission.etag();
        Ok(Reply::ok(MESSAGE, WithHistory(submission)).with_etag(etag))
    }
}
