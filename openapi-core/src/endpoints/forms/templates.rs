//! GET /forms/templates/chatbots/{agentId}

use crate::access::{Action, Caller, Permission, Scope};
use crate::forms::TemplateSummary;
use crate::operation::{Access, Context, EndpointMetadata, Method, Operation};
use crate::reply::{ApiError, Reply};
use crate::service::ListTemplates;

/// Lists the templates that forms can be submitted under.
pub struct Templates;

const MESSAGE: &str = "Templates retrieved successfully";

impl Operation for Templates {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "listTemplates",
        method: Method::Get,
        path: "/forms/templates/chatbots/{agentId}",
        tag: "Forms",
        summary: "List templates",
        description: "The active templates of the agent, by name.",
        access: Access::Key(Permission::new(Scope::Forms, Action::Read)),
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = ListTemplates;
    type Output = Vec<TemplateSummary>;

    async fn run(
        cx: Context<'_, Caller>,
        input: ListTemplates,
    ) -> Result<Reply<Vec<TemplateSummary>>, ApiError> {
        let page = cx.service.list_templates(cx.caller, input).await?;
        let reply = Reply::ok(MESSAGE, page.items);
        Ok(Reply { pagination: Some(page.pagination), ..reply })
    }
}
