//! POST /forms/submit/{templateId}/contacts/{externalReferenceId}

use serde_json::Value;

use super::path;
use crate::access::{Action, Caller, Permission, Scope};
use crate::forms::{Submission, SubmissionPreview, WithHistory};
use crate::json::JsonSchema;
use crate::operation::{Access, Conditional, Context, EndpointMetadata, Method, Operation};
use crate::reply::{ApiError, Creation, ErrorCode, Reply, StoredReply};
use crate::service::{Created, Replayable, SubmitForm};
use crate::service_info::ServiceInfo;

/// Submits a form.
pub struct Submit;

const MESSAGE: &str = "Form submitted successfully";
const DRAFT: &str = "Draft stored successfully";

fn message(submission: &Submission) -> &'static str {
    if submission.submitted_at.is_some() { MESSAGE } else { DRAFT }
}

impl Replayable for Submission {
    fn stored_reply(_: &ServiceInfo, submission: &Submission) -> Result<StoredReply, ApiError> {
        let shown = WithHistory(submission.clone());
        StoredReply::new(201, Some(path(submission)), message(submission), &shown)
    }
}

impl Operation for Submit {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "submitForm",
        method: Method::Post,
        path: "/forms/submit/{templateId}/contacts/{externalReferenceId}",
        tag: "Forms",
        summary: "Submit a form",
        description: "Submits a form for a contact, which must exist. `formData` is checked against the template as a whole. A submission takes the place of the contact's earlier one under the template, unless the template keeps all. `status: \"draft\"` stores a draft: what is required may still be missing, all else is checked.",
        access: Access::Key(Permission::new(Scope::Forms, Action::Create)),
        success: &[200, 201],
        errors: &[
            ErrorCode::ContactNotFound,
            ErrorCode::TemplateNotFound,
            ErrorCode::ContactArchived,
            ErrorCode::TemplateInactive,
            ErrorCode::ConcurrentUpdate,
        ],
        conditional: Conditional::Tagged,
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = SubmitForm;
    type Output = Creation<WithHistory, SubmissionPreview>;

    async fn run(cx: Context<'_, Caller>, input: SubmitForm) -> Result<Reply<Self::Output>, ApiError> {
        Ok(match cx.service.submit_form(cx.caller, input).await? {
            Created::New(submission) => {
                let (location, etag) = (path(&submission), submission.etag());
                let message = message(&submission);
                let shown = Creation::Stored(WithHistory(submission));
                Reply::ok(message, shown).created(location).with_etag(etag)
            }
            Created::Preview(submission) => {
                let preview = SubmissionPreview { submission, in_batch: false };
                Reply::ok("Form is valid; nothing was stored", Creation::Preview(preview))
            }
            Created::Replayed(stored) => Reply::replayed(stored),
        })
    }

    fn dry_run_schema() -> Option<Value> {
        Some(SubmissionPreview::envelope())
    }
}
