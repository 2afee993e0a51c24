//! PUT /forms/submissions/{submissionId}/chatbots/{agentId}

use serde_json::Value;

use super::shapes;
use crate::access::{Action, Caller, Permission, Scope};
use crate::forms::WithHistory;
use crate::operation::{
    Access, Base, BodyKind, Conditional, Context, DecodedRequest, EndpointMetadata, Method, Operation,
    if_match,
};
use crate::reply::{ApiError, ErrorCode, Reply};
use crate::service::{Unvalidated, UpdateSubmission};
use crate::validation::Violations;

/// Changes a submission.
pub struct Update;

const MESSAGE: &str = "Submission updated successfully";

impl Operation for Update {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "updateSubmission",
        method: Method::Put,
        base: Base::OpenApi,
        path: "/forms/submissions/{submissionId}/chatbots/{agentId}",
        tag: "Forms",
        summary: "Update a submission",
        description: "Merges `formData` (RFC 7396: `null` removes an answer, lists are replaced) and checks the result against the version of the template that the submission was made under; replaces notes; changes the status. Data and status apply together or not at all. `formData` and `submissionNotes` change only in `draft`, `submitted` and `rejected`.",
        access: Access::Key(Permission::new(Scope::Forms, Action::Update)),
        body: BodyKind::Required,
        query: &[],
        success: &[200],
        errors: &[
            ErrorCode::SubmissionNotFound,
            ErrorCode::ContactArchived,
            ErrorCode::SubmissionSuperseded,
            ErrorCode::SubmissionLocked,
            ErrorCode::InvalidStatusTransition,
        ],
        idempotent: false,
        conditional: Conditional::Write,
    };
    type Caller = Caller;
    type Input = UpdateSubmission;
    type Output = WithHistory;

    fn decode(incoming: &DecodedRequest<'_>) -> UpdateSubmission {
        let mut faults = Violations::new();
        let if_match = if_match(incoming, &mut faults);
        faults.extend(incoming.query().into_faults());
        let members = incoming.members(&mut faults);
        UpdateSubmission {
            submission: incoming.path_value("submissionId").to_owned(),
            body: Unvalidated::new(members, faults),
            if_match,
        }
    }

    async fn run(cx: Context<'_, Caller>, input: UpdateSubmission) -> Result<Reply<WithHistory>, ApiError> {
        let submission = cx.service.update_submission(cx.caller, input).await?;
        let etag = submission.etag();
        Ok(Reply::ok(MESSAGE, WithHistory(submission)).with_etag(etag))
    }

    fn request_schema() -> Option<Value> {
        Some(shapes::reference("SubmissionChanges"))
    }

    fn response_schema() -> Value {
        shapes::envelope(shapes::reference("Submission"))
    }

    fn request_example() -> Option<Value> {
        Some(shapes::update_example())
    }

    fn response_example() -> Value {
        shapes::envelope_example(MESSAGE, shapes::approved_example())
    }
}
