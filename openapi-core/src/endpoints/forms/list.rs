//! GET /forms/contacts/{externalReferenceId}/chatbots/{agentId}

use serde_json::Value;

use super::{contact, shapes};
use crate::access::{Action, Caller, Permission, Scope};
use crate::forms::{Submission, SubmissionStatus};
use crate::operation::{
    Access, Base, BodyKind, Conditional, Context, DecodedRequest, EndpointMetadata, Method, Operation,
    Parameter, page_request,
};
use crate::reply::{ApiError, ErrorCode, Reply};
use crate::service::{ListSubmissions, SubmissionListQuery, Unvalidated};
use crate::values::{TemplateId, TextValue, refuse_longer};

/// Lists the submissions of a contact.
pub struct List;

const MESSAGE: &str = "Submissions retrieved successfully";

impl Operation for List {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "listSubmissions",
        method: Method::Get,
        base: Base::OpenApi,
        path: "/forms/contacts/{externalReferenceId}/chatbots/{agentId}",
        tag: "Forms",
        summary: "List submissions",
        description: "Submissions of a contact, newest first, in every status unless filtered; superseded ones only when asked for. Totals are exact.",
        access: Access::Key(Permission::new(Scope::Forms, Action::Read)),
        body: BodyKind::None,
        query: &[
            Parameter::PAGE,
            Parameter::LIMIT,
            Parameter::CURSOR,
            Parameter::TEMPLATE_ID,
            Parameter::SUBMISSION_STATUS,
            Parameter::INCLUDE_SUPERSEDED,
            Parameter::CLIENT_ID,
        ],
        success: &[200],
        errors: &[ErrorCode::ContactNotFound],
        idempotent: false,
        conditional: Conditional::No,
    };
    type Caller = Caller;
    type Input = ListSubmissions;
    type Output = Vec<Submission>;

    fn decode(incoming: &DecodedRequest<'_>) -> ListSubmissions {
        let query = incoming.query();
        let parsed = SubmissionListQuery {
            template: query
                .read("templateId", |text| text.parse::<TemplateId>().map_err(|invalid| invalid.0)),
            status: query.read("status", SubmissionStatus::parse),
            include_superseded: query.boolean("includeSuperseded").unwrap_or(false),
            client_id: query.read("clientId", |text| {
                refuse_longer(text, 128)?;
                Ok(text.to_owned())
            }),
            page: page_request(&query, 20),
        };
        ListSubmissions {
            contact: contact(incoming),
            query: Unvalidated::new(Some(parsed), query.into_faults()),
        }
    }

    async fn run(
        cx: Context<'_, Caller>,
        input: ListSubmissions,
    ) -> Result<Reply<Vec<Submission>>, ApiError> {
        let page = cx.service.list_submissions(cx.caller, input).await?;
        let reply = Reply::ok(MESSAGE, page.items);
        Ok(Reply { pagination: Some(page.pagination), ..reply })
    }

    fn response_schema() -> Value {
        shapes::list_envelope(shapes::reference("ListedSubmission"))
    }

    fn response_example() -> Value {
        shapes::list_example(MESSAGE, vec![shapes::listed_example()], 20)
    }
}
