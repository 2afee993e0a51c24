//! GET /forms/submissions/{submissionId}/chatbots/{agentId}

use serde_json::Value;

use super::shapes;
use crate::access::{Action, Caller, Permission, Scope};
use crate::forms::WithHistory;
use crate::operation::{
    Access, Base, BodyKind, Conditional, Context, DecodedRequest, EndpointMetadata, Method, Operation,
};
use crate::reply::{ApiError, ErrorCode, Reply};
use crate::validation::Violations;

/// Answers one submission.
pub struct Get;

const MESSAGE: &str = "Submission retrieved successfully";

impl Operation for Get {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "getSubmission",
        method: Method::Get,
        base: Base::OpenApi,
        path: "/forms/submissions/{submissionId}/chatbots/{agentId}",
        tag: "Forms",
        summary: "Get a submission",
        description: "One submission with the history of its status, superseded or not.",
        access: Access::Key(Permission::new(Scope::Forms, Action::Read)),
        body: BodyKind::None,
        query: &[],
        success: &[200],
        errors: &[ErrorCode::SubmissionNotFound],
        idempotent: false,
        conditional: Conditional::Read,
    };
    type Caller = Caller;
    type Input = (String, Violations);
    type Output = WithHistory;

    fn decode(incoming: &DecodedRequest<'_>) -> Self::Input {
        (incoming.path_value("submissionId").to_owned(), incoming.query().into_faults())
    }

    async fn run(cx: Context<'_, Caller>, (id, faults): Self::Input) -> Result<Reply<WithHistory>, ApiError> {
        let submission = cx.service.submission(cx.caller, &id).await?;
        if !faults.is_empty() {
            return Err(faults.into());
        }
        let etag = submission.etag();
        Ok(Reply::ok(MESSAGE, WithHistory(submission)).with_etag(etag))
    }

    fn response_schema() -> Value {
        shapes::envelope(shapes::reference("Submission"))
    }

    fn response_example() -> Value {
        shapes::envelope_example(MESSAGE, shapes::approved_example())
    }
}
