//! GET /forms/contacts/{externalReferenceId}/templates/{templateId}/latest/chatbots/{agentId}

use serde_json::Value;

use super::{contact, shapes};
use crate::access::{Action, Caller, Permission, Scope};
use crate::forms::WithHistory;
use crate::operation::{
    Access, Base, BodyKind, Conditional, Context, DecodedRequest, EndpointMetadata, Method, Operation,
    Parameter,
};
use crate::reply::{ApiError, ErrorCode, Reply};
use crate::service::{LatestSubmission, Unvalidated};

/// Answers the latest submission of a contact under a template.
pub struct Latest;

const MESSAGE: &str = "Submission retrieved successfully";

impl Operation for Latest {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "getLatestSubmission",
        method: Method::Get,
        base: Base::OpenApi,
        path: "/forms/contacts/{externalReferenceId}/templates/{templateId}/latest/chatbots/{agentId}",
        tag: "Forms",
        summary: "Get the latest submission",
        description: "The newest submission of a contact under a template that was handed in, is not superseded and not archived; the template may be out of use.",
        access: Access::Key(Permission::new(Scope::Forms, Action::Read)),
        body: BodyKind::None,
        query: &[Parameter::INCLUDE_DRAFTS],
        success: &[200],
        errors: &[ErrorCode::ContactNotFound, ErrorCode::TemplateNotFound, ErrorCode::SubmissionNotFound],
        idempotent: false,
        conditional: Conditional::Read,
    };
    type Caller = Caller;
    type Input = LatestSubmission;
    type Output = WithHistory;

    fn decode(incoming: &DecodedRequest<'_>) -> LatestSubmission {
        let query = incoming.query();
        let include_drafts = query.boolean("includeDrafts").unwrap_or(false);
        LatestSubmission {
            contact: contact(incoming),
            template: incoming.path_value("templateId").to_owned(),
            include_drafts: Unvalidated::new(Some(include_drafts), query.into_faults()),
        }
    }

    async fn run(cx: Context<'_, Caller>, input: LatestSubmission) -> Result<Reply<WithHistory>, ApiError> {
        let submission = cx.service.latest_submission(cx.caller, input).await?;
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
