//! POST /forms/submit/{templateId}/contacts/{externalReferenceId}

use serde::Serialize;
use serde::ser::Serializer;
use serde_json::Value;

use super::{contact, path, shapes};
use crate::access::{Action, Caller, Permission, Scope};
use crate::forms::{Submission, SubmissionPreview, WithHistory};
use crate::operation::{
    Access, Base, BodyKind, Conditional, Context, Creation, DecodedRequest, EndpointMetadata, Method,
    Operation, Parameter, creation,
};
use crate::reply::{ApiError, ErrorCode, Reply, StoredReply, success_body};
use crate::service::{Created, ReplyEncoder, SubmitForm};
use crate::service_info::ServiceInfo;

/// Submits a form.
pub struct Submit;

const MESSAGE: &str = "Form submitted successfully";
const DRAFT: &str = "Draft stored successfully";

/// What a submit answers: the submission, or what it would be.
#[derive(Clone, Debug, PartialEq)]
pub enum SubmittedForm {
    /// The stored submission.
    Stored(Box<WithHistory>),
    /// The submission of a dry run.
    Preview(Box<SubmissionPreview>),
    /// Nothing: a stored answer is given again.
    Replayed,
}

impl Serialize for SubmittedForm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            SubmittedForm::Stored(submission) => submission.serialize(serializer),
            SubmittedForm::Preview(submission) => submission.serialize(serializer),
            SubmittedForm::Replayed => serializer.serialize_unit(),
        }
    }
}

fn message(submission: &Submission) -> &'static str {
    if submission.submitted_at.is_some() { MESSAGE } else { DRAFT }
}

/// The answer to a submit as an idempotency key stores it.
fn stored_reply(_: &ServiceInfo, submission: &Submission) -> Result<StoredReply, ApiError> {
    let shown = WithHistory(submission.clone());
    let body = String::from_utf8(success_body(message(submission), &shown, None)?)
        .map_err(|_| ApiError::internal())?;
    Ok(StoredReply { status: 201, location: Some(path(submission)), body: body.into() })
}

impl Operation for Submit {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "submitForm",
        method: Method::Post,
        base: Base::OpenApi,
        path: "/forms/submit/{templateId}/contacts/{externalReferenceId}",
        tag: "Forms",
        summary: "Submit a form",
        description: "Submits a form for a contact, which must exist. `formData` is checked against the template as a whole. A submission takes the place of the contact's earlier one under the template, unless the template keeps all. `status: \"draft\"` stores a draft: what is required may still be missing, all else is checked.",
        access: Access::Key(Permission::new(Scope::Forms, Action::Create)),
        body: BodyKind::Required,
        query: &[Parameter::DRY_RUN],
        success: &[200, 201],
        errors: &[
            ErrorCode::ContactNotFound,
            ErrorCode::TemplateNotFound,
            ErrorCode::ContactArchived,
            ErrorCode::TemplateInactive,
            ErrorCode::ConcurrentUpdate,
        ],
        idempotent: true,
        conditional: Conditional::Tagged,
    };
    type Caller = Caller;
    type Input = SubmitForm;
    type Output = SubmittedForm;

    fn decode(incoming: &DecodedRequest<'_>) -> SubmitForm {
        let Creation { body, dry_run, idempotency } = creation(incoming, ReplyEncoder(stored_reply));
        SubmitForm {
            template: incoming.path_value("templateId").to_owned(),
            contact: contact(incoming),
            body,
            dry_run,
            idempotency,
        }
    }

    async fn run(cx: Context<'_, Caller>, input: SubmitForm) -> Result<Reply<SubmittedForm>, ApiError> {
        Ok(match cx.service.submit_form(cx.caller, input).await? {
            Created::New(submission) => {
                let (location, etag) = (path(&submission), submission.etag());
                let message = message(&submission);
                let shown = SubmittedForm::Stored(Box::new(WithHistory(submission)));
                Reply::ok(message, shown).created(location).with_etag(etag)
            }
            Created::Preview(submission) => {
                let preview = SubmissionPreview { submission, in_batch: false };
                Reply::ok("Form is valid; nothing was stored", SubmittedForm::Preview(Box::new(preview)))
            }
            Created::Replayed(stored) => {
                Reply { replay: Some(stored), ..Reply::ok(MESSAGE, SubmittedForm::Replayed) }
            }
        })
    }

    fn request_schema() -> Option<Value> {
        Some(shapes::reference("NewSubmission"))
    }

    fn response_schema() -> Value {
        shapes::envelope(shapes::reference("Submission"))
    }

    fn dry_run_schema() -> Option<Value> {
        Some(shapes::envelope(shapes::reference("SubmissionPreview")))
    }

    fn request_example() -> Option<Value> {
        Some(shapes::submit_example())
    }

    fn response_example() -> Value {
        shapes::envelope_example(MESSAGE, shapes::submitted_example())
    }
}
