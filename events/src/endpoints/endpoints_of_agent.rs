//! POST and GET /events/endpoints/chatbots/{agentId}

use openapi_core::access::{Action, Caller, Permission, Scope};
use openapi_core::operation::{Access, Conditional, Context, EndpointMetadata, Method, Operation};
use openapi_core::reply::{ApiError, BASE_PATH, Creation, ErrorCode, Reply, StoredReply};
use openapi_core::service::{Created, Replayable};
use openapi_core::service_info::ServiceInfo;

use super::webhooks;
use crate::webhooks::{CreateEndpoint, Endpoint, ListEndpoints};

const PATH: &str = "/events/endpoints/chatbots/{agentId}";
const CREATED: &str = "Endpoint created successfully";

/// Creates an endpoint.
pub struct Create;

fn location(endpoint: &Endpoint) -> String {
    format!("{BASE_PATH}/events/endpoints/{}/chatbots/{}", endpoint.id, endpoint.agent_id)
}

impl Replayable for Endpoint {
    fn stored_reply(_: &ServiceInfo, endpoint: &Endpoint) -> Result<StoredReply, ApiError> {
        StoredReply::new(201, Some(location(endpoint)), CREATED, endpoint)
    }
}

impl Operation for Create {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "createWebhookEndpoint",
        method: Method::Post,
        path: PATH,
        tag: "Webhooks",
        summary: "Create an endpoint",
        description: "Registers a URL that events are sent to. The answer does not contain the secret that signs them: read it with *Show the secret*.",
        access: Access::Key(Permission::new(Scope::Events, Action::Create)),
        success: &[201],
        errors: &[
            ErrorCode::EndpointLimitExceeded,
            ErrorCode::ConcurrentUpdate,
            ErrorCode::EventsUnavailable,
        ],
        conditional: Conditional::Tagged,
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = CreateEndpoint;
    type Output = Creation<Endpoint>;

    async fn run(
        cx: Context<'_, Caller>,
        input: CreateEndpoint,
    ) -> Result<Reply<Creation<Endpoint>>, ApiError> {
        Ok(match webhooks(cx.services)?.create(cx.caller, input).await? {
            Created::New(endpoint) | Created::Preview(endpoint) => {
                let (location, etag) = (location(&endpoint), endpoint.etag());
                Reply::ok(CREATED, Creation::Stored(endpoint)).created(location).with_etag(etag)
            }
            Created::Replayed(stored) => Reply::replayed(stored),
        })
    }
}

/// Lists the endpoints of the agent.
pub struct List;

impl Operation for List {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "listWebhookEndpoints",
        method: Method::Get,
        path: PATH,
        tag: "Webhooks",
        summary: "List endpoints",
        description: "The endpoints of the agent with their progress, oldest first.",
        access: Access::Key(Permission::new(Scope::Events, Action::Read)),
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = ListEndpoints;
    type Output = Vec<Endpoint>;

    async fn run(cx: Context<'_, Caller>, input: ListEndpoints) -> Result<Reply<Vec<Endpoint>>, ApiError> {
        let page = webhooks(cx.services)?.list(cx.caller, input).await?;
        let reply = Reply::ok("Endpoints retrieved successfully", page.items);
        Ok(Reply { pagination: Some(page.pagination), ..reply })
    }
}
