//! GET /forms/contacts/{externalReferenceId}/chatbots/{agentId}

use crate::access::{Action, Caller, Permission, Scope};
use crate::forms::Submission;
use crate::operation::{Access, Context, EndpointMetadata, Method, Operation};
use crate::reply::{ApiError, ErrorCode, Reply};
use crate::service::ListSubmissions;

/// Lists the submissions of a contact.
pub struct List;

const MESSAGE: &str = "Submissions retrieved successfully";

impl Operation for List {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "listSubmissions",
        method: Method::Get,
        path: "/forms/contacts/{externalReferenceId}/chatbots/{agentId}",
        tag: "Forms",
        summary: "List submissions",
        description: "Submissions of a contact, newest first, in every status unless filtered; superseded ones only when asked for. Totals are exact.",
        access: Access::Key(Permission::new(Scope::Forms, Action::Read)),
        errors: &[ErrorCode::ContactNotFound],
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = ListSubmissions;
    type Output = Vec<Submission>;

    async fn run(
        cx: Context<'_, Caller>,
        input: ListSubmissions,
    ) -> Result<Reply<Vec<Submission>>, ApiError> {
        let page = cx.service.list_submissions(cx.caller, input).await?;
        let reply = Reply::ok(MESSAGE, page.items);
        Ok(Reply { pagination: Some(page.pagination), ..reply })
    }
}
