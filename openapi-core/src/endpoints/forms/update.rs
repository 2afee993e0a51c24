//! PUT /forms/submissions/{submissionId}/chatbots/{agentId}

use crate::access::{Action, Caller, Permission, Scope};
use crate::forms::WithHistory;
use crate::operation::{Access, Context, EndpointMetadata, Method, Operation};
use crate::reply::{ApiError, ErrorCode, Reply};
use crate::service::UpdateSubmission;

/// Changes a submission.
pub struct Update;

const MESSAGE: &str = "Submission updated successfully";

impl Operation for Update {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "updateSubmission",
        method: Method::Put,
        path: "/forms/submissions/{submissionId}/chatbots/{agentId}",
        tag: "Forms",
        summary: "Update a submission",
        description: "Merges `formData` (RFC 7396: `null` removes an answer, lists are replaced) and checks the result against the version of the template that the submission was made under; replaces notes; changes the status. Data and status apply together or not at all. `formData` and `submissionNotes` change only in `draft`, `submitted` and `rejected`.",
        access: Access::Key(Permission::new(Scope::Forms, Action::Update)),
        errors: &[
            ErrorCode::SubmissionNotFound,
            ErrorCode::ContactArchived,
            ErrorCode::SubmissionSuperseded,
            ErrorCode::SubmissionLocked,
            ErrorCode::InvalidStatusTransition,
        ],
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = UpdateSubmission;
    type Output = WithHistory;

    async fn run(cx: Context<'_, Caller>, input: UpdateSubmission) -> Result<Reply<WithHistory>, ApiError> {
        let submission = cx.service.update_submission(cx.caller, input).await?;
        let etag = submission.etag();
        Ok(Reply::ok(MESSAGE, WithHistory(submission)).with_etag(etag))
    }
}
