//! GET /forms/submissions/{submissionId}/chatbots/{agentId}

use crate::access::{Action, Caller, Permission, Scope};
use crate::forms::WithHistory;
use crate::operation::{Access, Conditional, Context, EndpointMetadata, Method, Operation};
use crate::reply::{ApiError, ErrorCode, Reply};
use crate::validation::Violations;

/// Answers one submission.
pub struct Get;

const MESSAGE: &str = "Submission retrieved successfully";

impl Operation for Get {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "getSubmission",
        method: Method::Get,
        path: "/forms/submissions/{submissionId}/chatbots/{agentId}",
        tag: "Forms",
        summary: "Get a submission",
        description: "One submission with the history of its status, superseded or not.",
        access: Access::Key(Permission::new(Scope::Forms, Action::Read)),
        errors: &[ErrorCode::SubmissionNotFound],
        conditional: Conditional::Read,
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = (String, Violations);
    type Output = WithHistory;

    async fn run(cx: Context<'_, Caller>, (id, faults): Self::Input) -> Result<Reply<WithHistory>, ApiError> {
        let submission = cx.service.submission(cx.caller, &id).await?;
        if !faults.is_empty() {
            return Err(faults.into());
        }
        let etag = submission.etag();
        Ok(Reply::ok(MESSAGE, WithHistory(submission)).with_etag(etag))
    }
}
