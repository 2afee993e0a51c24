//! GET /forms/templates/chatbots/{agentId}

use serde_json::Value;

use super::shapes;
use crate::access::{Action, Caller, Permission, Scope};
use crate::forms::TemplateSummary;
use crate::operation::{
    Access, Base, BodyKind, Conditional, Context, DecodedRequest, EndpointMetadata, Method, Operation,
    Parameter, page_request,
};
use crate::reply::{ApiError, Reply};
use crate::service::{ListTemplates, Unvalidated};

/// Lists the templates that forms can be submitted under.
pub struct Templates;

const MESSAGE: &str = "Templates retrieved successfully";

impl Operation for Templates {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "listTemplates",
        method: Method::Get,
        base: Base::OpenApi,
        path: "/forms/templates/chatbots/{agentId}",
        tag: "Forms",
        summary: "List templates",
        description: "The active templates of the agent, by name.",
        access: Access::Key(Permission::new(Scope::Forms, Action::Read)),
        body: BodyKind::None,
        query: &[Parameter::PAGE, Parameter::LIMIT_100, Parameter::CURSOR],
        success: &[200],
        errors: &[],
        idempotent: false,
        conditional: Conditional::No,
    };
    type Caller = Caller;
    type Input = ListTemplates;
    type Output = Vec<TemplateSummary>;

    fn decode(incoming: &DecodedRequest<'_>) -> ListTemplates {
        let query = incoming.query();
        let page = page_request(&query, 100);
        ListTemplates { page: Unvalidated::new(Some(page), query.into_faults()) }
    }

    async fn run(
        cx: Context<'_, Caller>,
        input: ListTemplates,
    ) -> Result<Reply<Vec<TemplateSummary>>, ApiError> {
        let page = cx.service.list_templates(cx.caller, input).await?;
        let reply = Reply::ok(MESSAGE, page.items);
        Ok(Reply { pagination: Some(page.pagination), ..reply })
    }

    fn response_schema() -> Value {
        shapes::list_envelope(shapes::reference("Template"))
    }

    fn response_example() -> Value {
        shapes::list_example(MESSAGE, shapes::template_examples(), 100)
    }
}
