//! POST /forms/batch/contacts/{externalReferenceId}/chatbots/{agentId}

use serde::Serialize;
use serde::ser::Serializer;
use serde_json::Value;

use super::{contact, shapes};
use crate::access::{Action, Caller, Permission, Scope};
use crate::operation::{
    Access, Base, BodyKind, Conditional, Context, Creation, DecodedRequest, EndpointMetadata, Method,
    Operation, Parameter, creation,
};
use crate::reply::{ApiError, ErrorCode, Reply, StoredReply, success_body};
use crate::service::{BatchResult, Created, ReplyEncoder, SubmitForms};
use crate::service_info::ServiceInfo;

/// Submits several forms.
pub struct Batch;

/// What a batch answers: its result; nothing where a stored answer is given again.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchAnswer(pub Option<BatchResult>);

impl Serialize for BatchAnswer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// The status of a result whose elements would each have answered `success` alone.
fn status(result: &BatchResult, success: u16) -> u16 {
    if result.failed() == 0 { success } else { 207 }
}

/// The answer to a batch as an idempotency key stores it.
fn stored_reply(_: &ServiceInfo, result: &BatchResult) -> Result<StoredReply, ApiError> {
    let body = String::from_utf8(success_body(&result.message(), result, None)?)
        .map_err(|_| ApiError::internal())?;
    Ok(StoredReply { status: status(result, 201), location: None, body: body.into() })
}

impl Operation for Batch {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "submitForms",
        method: Method::Post,
        base: Base::OpenApi,
        path: "/forms/batch/contacts/{externalReferenceId}/chatbots/{agentId}",
        tag: "Forms",
        summary: "Submit several forms",
        description: "Submits 1 to 10 forms for a contact. With `allOrNone` (the default) all are stored or none; without, each stands alone and the answer is 207 when at least one failed.",
        access: Access::Key(Permission::new(Scope::Forms, Action::Create)),
        body: BodyKind::Required,
        query: &[Parameter::DRY_RUN],
        success: &[200, 201, 207],
        errors: &[
            ErrorCode::ContactNotFound,
            ErrorCode::ContactArchived,
            ErrorCode::TemplateInactive,
            ErrorCode::ConcurrentUpdate,
        ],
        idempotent: true,
        conditional: Conditional::No,
    };
    type Caller = Caller;
    type Input = SubmitForms;
    type Output = BatchAnswer;

    fn decode(incoming: &DecodedRequest<'_>) -> SubmitForms {
        let Creation { body, dry_run, idempotency } = creation(incoming, ReplyEncoder(stored_reply));
        SubmitForms { contact: contact(incoming), body, dry_run, idempotency }
    }

    async fn run(cx: Context<'_, Caller>, input: SubmitForms) -> Result<Reply<BatchAnswer>, ApiError> {
        let (result, success) = match cx.service.submit_forms(cx.caller, input).await? {
            Created::New(result) => (result, 201),
            Created::Preview(result) => (result, 200),
            Created::Replayed(stored) => {
                return Ok(Reply { replay: Some(stored), ..Reply::ok("", BatchAnswer(None)) });
            }
        };
        let status = status(&result, success);
        Ok(Reply { status, ..Reply::ok(result.message(), BatchAnswer(Some(result))) })
    }

    fn request_schema() -> Option<Value> {
        Some(shapes::reference("SubmissionBatch"))
    }

    fn response_schema() -> Value {
        shapes::envelope(shapes::reference("BatchResult"))
    }

    fn dry_run_schema() -> Option<Value> {
        Some(shapes::envelope(shapes::reference("BatchResult")))
    }

    fn request_example() -> Option<Value> {
        Some(shapes::batch_example())
    }

    fn response_example() -> Value {
        shapes::envelope_example("Batch processed: 2 succeeded, 0 failed", shapes::batch_result_example())
    }
}
